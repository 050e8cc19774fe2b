#include "workload.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "machine.h"

namespace strake::bench {

namespace {

using namespace std::chrono_literals;
using kube::core::kConfigMap;
using kube::core::kNamespace;
using kube::core::kNode;

const std::string kSpace = "bench";
constexpr auto kCallLimit = 60s;
constexpr auto kPhase = 2s;
constexpr int kFillers = 16;
constexpr std::uint32_t kPageSize = 500;
constexpr int kBurstEvents = 200;
constexpr int kBurstWriters = 4;
constexpr int kPacedEvents = 40;
constexpr auto kPace = 25ms;

/// About what a kubelet reports: 2 KiB.
kube::Object node_object(std::int64_t number) {
  kube::Object node(kNode, {"", fmt::format("node-{:05}", number)});
  for (const char* label : {"kubernetes.io/arch", "kubernetes.io/os", "node-role.kubernetes.io/worker",
                            "topology.kubernetes.io/region", "topology.kubernetes.io/zone"}) {
    node.set_label(label, fmt::format("value-{}", number % 7));
  }
  node.set_label("kubernetes.io/hostname", node.name());
  for (const char* annotation : {"currentConfig", "desiredConfig", "desiredDrain", "lastAppliedDrain"}) {
    node.set_annotation(fmt::format("machineconfiguration.openshift.io/{}", annotation),
                        "rendered-worker-0123456789abcdef0123456789abcdef");
  }
  json::Array conditions;
  for (const char* type : {"MemoryPressure", "DiskPressure", "PIDPressure", "Ready"}) {
    conditions.push_back(json::Object{{"type", type},
                                      {"status", std::string_view(type) == "Ready" ? "True" : "False"},
                                      {"reason", "KubeletHasEnough"},
                                      {"message", "the kubelet has enough of everything"},
                                      {"lastHeartbeatTime", "2026-01-01T00:00:00Z"},
                                      {"lastTransitionTime", "2026-01-01T00:00:00Z"}});
  }
  node.json().get_object()["status"] =
      json::Object{{"capacity", json::Object{{"cpu", "16"}, {"memory", "65536Mi"}, {"pods", "250"}}},
                   {"allocatable", json::Object{{"cpu", "15"}, {"memory", "64000Mi"}, {"pods", "250"}}},
                   {"conditions", std::move(conditions)},
                   {"addresses", json::Array{json::Object{{"type", "InternalIP"}, {"address", "10.0.0.1"}},
                                             json::Object{{"type", "Hostname"}, {"address", node.name()}}}},
                   {"nodeInfo", json::Object{{"architecture", "amd64"},
                                             {"operatingSystem", "linux"},
                                             {"osImage", "Fedora CoreOS 42"},
                                             {"kernelVersion", "6.12.0"},
                                             {"kubeletVersion", "v1.34.4"},
                                             {"containerRuntimeVersion", "cri-o://1.34"},
                                             {"machineID", "0123456789abcdef0123456789abcdef"},
                                             {"systemUUID", "0123456789abcdef0123456789abcdef"},
                                             {"bootID", "0123456789abcdef0123456789abcdef"},
                                             {"kubeProxyVersion", ""}}}};
  return node;
}

/// 1 KiB of data.
kube::Object map_object(const std::string& name) {
  kube::Object map(kConfigMap, {kSpace, name});
  map.json().get_object()["data"] = json::Object{{"settings", std::string(1024, 's')}};
  return map;
}

double seconds(runtime::Duration duration) { return std::chrono::duration<double>(duration).count(); }

double percentile(std::vector<double>& sorted, double part) {
  return sorted[static_cast<std::size_t>(part * static_cast<double>(sorted.size() - 1))];
}

/// A value of a JSON text without parsing megabytes of it.
std::string text_after(const std::string& body, std::string_view key) {
  const std::size_t at = body.find(key);
  if (at == std::string::npos) return "";
  const std::size_t begin = at + key.size();
  return body.substr(begin, body.find('"', begin) - begin);
}

/// Events as they reach one watcher.
struct Watcher {
  std::unique_ptr<kube::WatchStream> stream;
  runtime::Task task;
  std::vector<double> milliseconds;  ///< between the sending of a paced write and its arrival
};

}  // namespace

Status Workload::prepare() {
  const auto within = [&] { return runtime_.call_within(kCallLimit); };
  STRAKE_CHECK_OK(server_.api().create(kNamespace, kube::Object(kNamespace, {"", kSpace}), {}, within()));
  const auto create_node = [&](std::int64_t number) -> Status {
    STRAKE_CHECK_OK(server_.api().create(kNode, node_object(number), {}, within()));
    return {};
  };
  STRAKE_CHECK_OK(make_calls({kFillers, 10min, kNodes}, create_node));
  return {};
}

Result<Workload::Done> Workload::make_calls(const Load& load, const std::function<Status(std::int64_t)>& one) {
  std::atomic<std::int64_t> next = 0, made = 0;
  std::mutex mutex;
  Status failure;
  STRAKE_TRY(const double cpu_before, cpu_seconds(server_.processes()));
  STRAKE_TRY(const double own_cpu_before, cpu_seconds({::getpid()}));
  const runtime::TimePoint begin = runtime_.now();
  {
    std::vector<runtime::Task> writers;
    for (int i = 0; i < load.writers; ++i) {
      writers.push_back(runtime_.spawn("writer", [&](const std::stop_token&) {
        while (runtime_.now() - begin < load.duration) {
          const std::int64_t number = next++;
          if (number >= load.limit) return;
          const Status done = one(number);
          if (done.ok()) {
            ++made;
            continue;
          }
          std::lock_guard lock(mutex);
          failure = done;
          return;
        }
      }));
    }
    for (runtime::Task& writer : writers) writer.join();
  }
  const double took = seconds(runtime_.now() - begin);
  STRAKE_CHECK_OK(failure);
  STRAKE_TRY(const double cpu_after, cpu_seconds(server_.processes()));
  STRAKE_TRY(const double own_cpu_after, cpu_seconds({::getpid()}));
  const auto calls = static_cast<double>(made.load());
  return Done{calls / took, (cpu_after - cpu_before) / calls * 1e6, (own_cpu_after - own_cpu_before) / calls * 1e6};
}

Status Workload::measure_writes(int writers) {
  const std::string who = writers == 1 ? "1 writer" : fmt::format("{} writers", writers);
  const std::int64_t phase = ++phases_;
  const auto create_map = [&](std::int64_t number) -> Status {
    STRAKE_CHECK_OK(server_.api().create(kConfigMap, map_object(fmt::format("map-{}-{}", phase, number)), {},
                                         runtime_.call_within(kCallLimit)));
    return {};
  };
  const auto patch_node = [&](std::int64_t number) -> Status {
    const std::string value = fmt::format("{}-{}", phase, number);
    const json::Value patch =
        json::Object{{"metadata", json::Object{{"annotations", json::Object{{"bench.example.com/patched", value}}}}}};
    STRAKE_CHECK_OK(server_.api().patch(kNode, {"", fmt::format("node-{:05}", number % kNodes)},
                                        kube::PatchType::kMerge, patch, {}, runtime_.call_within(kCallLimit)));
    return {};
  };
  const auto report = [&](const std::string& what, const Done& done) {
    figures_.push_back({what + ", calls/s", done.calls_a_second});
    figures_.push_back({what + ", server CPU us a call", done.server_microseconds_a_call});
    figures_.push_back({what + ", client CPU us a call", done.client_microseconds_a_call});
  };
  STRAKE_TRY(const Done created, make_calls({writers, kPhase}, create_map));
  report(fmt::format("create, {}", who), created);
  STRAKE_TRY(const Done patched, make_calls({writers, kPhase}, patch_node));
  report(fmt::format("patch, {}", who), patched);
  return {};
}

Status Workload::measure_list(const std::string& name, std::uint32_t page_size, bool compressed) {
  const runtime::TimePoint begin = runtime_.now();
  STRAKE_TRY(const double cpu_before, cpu_seconds(server_.processes()));
  net::CallOptions limits;
  limits.timeout = kCallLimit;
  std::size_t bytes = 0, items = 0;
  std::string token;
  do {
    kube::ApiRequest request;
    request.path = {"api", "v1", "nodes"};
    if (page_size != 0) request.query.add("limit", std::to_string(page_size));
    if (!token.empty()) request.query.add("continue", token);
    STRAKE_TRY(kube::HttpsTransport::Prepared prepared, server_.wire().prepare(request, {}));
    if (!compressed) prepared.request.headers.set("Accept-Encoding", "identity");
    STRAKE_TRY(const net::Response answer, prepared.client->send(prepared.request, limits));
    if (answer.status != 200) return error(Code::kUnavailable, "listing answered {}", answer.status);
    bytes += answer.body.size();
    token = text_after(answer.body, "\"continue\":\"");
    for (std::size_t at = 0; (at = answer.body.find("\"uid\":\"", at)) != std::string::npos; ++at) ++items;
  } while (!token.empty());
  const double took = seconds(runtime_.now() - begin);
  STRAKE_TRY(const double cpu_after, cpu_seconds(server_.processes()));
  if (items != kNodes) return error(Code::kCorrupt, "{} Nodes were listed instead of {}", items, kNodes);
  figures_.push_back({fmt::format("{}, ms", name), took * 1e3});
  figures_.push_back({fmt::format("{}, MB/s", name), static_cast<double>(bytes) / 1e6 / took});
  figures_.push_back({fmt::format("{}, server CPU ms", name), (cpu_after - cpu_before) * 1e3});
  return {};
}

Status Workload::measure_watch() {
  const auto within = [&] { return runtime_.call_within(kCallLimit); };
  const std::string subject = fmt::format("subject-{}", ++phases_);
  STRAKE_TRY(const kube::Object made, server_.api().create(kConfigMap, map_object(subject), {}, within()));
  const auto change = [&](std::int64_t number) -> Status {
    const json::Value patch = json::Object{{"data", json::Object{{"number", std::to_string(number)}}}};
    STRAKE_CHECK_OK(server_.api().patch(kConfigMap, {kSpace, subject}, kube::PatchType::kMerge, patch, {}, within()));
    return {};
  };

  std::vector<std::atomic<std::int64_t>> sent_at(kPacedEvents);  // nanoseconds of the runtime's clock
  std::atomic<int> burst_done = 0;
  std::mutex mutex;
  Status failure;
  std::vector<Watcher> watchers(kWatchers);
  for (Watcher& watcher : watchers) {
    STRAKE_TRY(watcher.stream, server_.api().watch(kConfigMap, kSpace,
                                                   {.field_selector = "metadata.name=" + subject,
                                                    .resource_version = made.resource_version(),
                                                    .bookmarks = false},
                                                   within()));
  }
  for (Watcher& watcher : watchers) {
    watcher.task = runtime_.spawn("watcher", [&](const std::stop_token& stop) {
      int seen = 0;
      while (seen < kPacedEvents + kBurstEvents) {
        const auto event = watcher.stream->next(runtime_.call_within(kCallLimit, stop));
        if (!event.ok() || !*event) {
          std::lock_guard lock(mutex);
          if (!stop.stop_requested()) failure = event.ok() ? error(Code::kUnavailable, "a watch ended") : event.error();
          return;
        }
        const std::int64_t now = runtime_.now().time_since_epoch().count();
        if (seen < kPacedEvents) {
          watcher.milliseconds.push_back(static_cast<double>(now - sent_at[static_cast<std::size_t>(seen)]) / 1e6);
        }
        ++seen;
      }
      ++burst_done;
    });
  }

  for (int i = 0; i < kPacedEvents; ++i) {
    sent_at[static_cast<std::size_t>(i)] = runtime_.now().time_since_epoch().count();
    STRAKE_CHECK_OK(change(i));
    STRAKE_CHECK_OK(runtime_.sleep(kPace, {}));
  }
  STRAKE_TRY(const double cpu_before, cpu_seconds(server_.processes()));
  const runtime::TimePoint begin = runtime_.now();
  STRAKE_CHECK_OK(make_calls({kBurstWriters, 10min, kBurstEvents},
                             [&](std::int64_t number) { return change(kPacedEvents + static_cast<int>(number)); }));
  for (Watcher& watcher : watchers) watcher.task.join();
  const double took = seconds(runtime_.now() - begin);
  STRAKE_CHECK_OK(failure);
  if (burst_done != kWatchers) return error(Code::kCorrupt, "{} watchers saw everything", burst_done.load());
  STRAKE_TRY(const double cpu_after, cpu_seconds(server_.processes()));

  std::vector<double> latencies;
  for (const Watcher& watcher : watchers) {
    latencies.insert(latencies.end(), watcher.milliseconds.begin(), watcher.milliseconds.end());
  }
  std::ranges::sort(latencies);
  const double delivered = kBurstEvents * kWatchers;
  figures_.push_back({"watch by 100, events delivered/s", delivered / took});
  figures_.push_back({"watch by 100, server CPU us an event", (cpu_after - cpu_before) / delivered * 1e6});
  figures_.push_back({"watch by 100, latency p50, ms", percentile(latencies, 0.5)});
  figures_.push_back({"watch by 100, latency p99, ms", percentile(latencies, 0.99)});
  return {};
}

Result<std::vector<Figure>> Workload::run() {
  figures_.clear();
  STRAKE_CHECK_OK(measure_writes(1));
  STRAKE_CHECK_OK(measure_writes(16));
  STRAKE_CHECK_OK(measure_list("list 10,000 Nodes", 0, false));
  STRAKE_CHECK_OK(measure_list("list 10,000 Nodes, gzip", 0, true));
  STRAKE_CHECK_OK(measure_list("list 10,000 Nodes by 500", kPageSize, false));
  STRAKE_CHECK_OK(measure_watch());
  STRAKE_TRY(const double memory, resident_mebibytes(server_.processes()));
  figures_.push_back({"resident memory, MiB", memory});
  return figures_;
}

}  // namespace strake::bench
