// The embedded API server, killed 200 times in the middle of work: what it acknowledged is there, and watches resume
// without gap or duplicate. Writers and watchers are this process; the server is another, so the log of
// acknowledgements survives every kill.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <set>

#include "base/random.h"
#include "base/runtime.h"
#include "base/subprocess.h"
#include "kube/cluster_access.h"
#include "kube/https_api.h"
#include "support/places.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

constexpr int kKills = 200;
constexpr int kWriters = 4;
constexpr int kWatchers = 4;
const std::string kNamespace = "default";

class KillLoop {
 public:
  KillLoop() : state_dir_(folder_ / "s") {}

  void run();

 private:
  struct Seen {
    std::mutex mutex;
    std::string version;
    std::vector<std::string> created;  ///< names, in the order of their ADDED events
    std::vector<std::int64_t> versions;
    std::string failure;
  };

  bool start_server(const std::string& listen);
  /// Starts the server again if it ended by itself: between two runs anybody may have got its port for a moment.
  bool wait_beside_server(std::chrono::milliseconds time);
  std::unique_ptr<kube::HttpsApi> client();
  void write(int writer, std::stop_token stop);
  void watch(int watcher, std::stop_token stop);
  bool everybody_active(const std::vector<std::uint64_t>& acknowledged_before,
                        const std::vector<std::uint64_t>& seen_before);

  TempDir folder_;
  std::filesystem::path state_dir_;
  runtime::ThreadRuntime runtime_;
  std::optional<ChildProcess> server_;
  std::string address_;
  std::array<std::atomic<std::uint64_t>, kWriters> acknowledged_count_{};
  std::array<std::atomic<std::uint64_t>, kWatchers> seen_count_{};
  std::mutex mutex_;
  std::set<std::string> acknowledged_;
  std::array<Seen, kWatchers> seen_;
};

bool KillLoop::start_server(const std::string& listen) {
  Command command;
  command.argv = {strake_program().string(), "up",  "--state", state_dir_.string(), "--listen", listen,
                  "--config-listen",         "none"};
  command.log_file = folder_ / "server.log";
  auto started = ChildProcess::start(command);
  if (!started.ok()) return false;
  server_.emplace(*std::move(started));
  return true;
}

bool KillLoop::wait_beside_server(std::chrono::milliseconds time) {
  return !server_->wait_exit(time) || start_server(address_);
}

std::unique_ptr<kube::HttpsApi> KillLoop::client() {
  const auto config = kube::load_kubeconfig(kube::kubeconfig_locations(state_dir_ / "kubeconfig"));
  if (!config.ok() || config->empty()) return nullptr;
  auto access = kube::resolve_access(*config);
  if (!access.ok()) return nullptr;
  auto api = kube::HttpsApi::create(runtime_, *std::move(access));
  return api.ok() ? *std::move(api) : nullptr;
}

void KillLoop::write(int writer, std::stop_token stop) {
  const auto api = client();
  for (std::uint64_t number = 0; !stop.stop_requested(); ++number) {
    kube::Object object(kube::core::kConfigMap, {kNamespace, fmt::format("w{}-{}", writer, number)});
    const auto created = api->create(kube::core::kConfigMap, object, {}, runtime_.call_within(5s, stop));
    if (created.ok()) {
      std::lock_guard lock(mutex_);
      acknowledged_.insert(object.name());
      ++acknowledged_count_[static_cast<std::size_t>(writer)];
    }
    // Kills hit a write or the time between two; more writes than that only make the lists long.
    if (!runtime_.sleep(created.ok() ? 2ms : 5ms, stop).ok()) return;
  }
}

void KillLoop::watch(int watcher, std::stop_token stop) {
  Seen& seen = seen_[static_cast<std::size_t>(watcher)];
  const auto api = client();
  while (!stop.stop_requested()) {
    kube::WatchOptions options;
    options.resource_version = seen.version;
    auto stream = api->watch(kube::core::kConfigMap, kNamespace, options, {stop, {}});
    while (stream.ok() && !stop.stop_requested()) {
      auto event = (*stream)->next({stop, {}});
      if (!event.ok() && event.error().code() == Code::kExpired) {
        std::lock_guard lock(seen.mutex);
        seen.failure = "a version that was seen is gone: " + event.error().to_string();
        return;
      }
      if (!event.ok() || !*event) break;
      std::lock_guard lock(seen.mutex);
      seen.version = (*event)->object.resource_version();
      if ((*event)->type != kube::WatchType::kAdded) continue;
      seen.created.push_back((*event)->object.name());
      seen.versions.push_back(std::stoll(seen.version));
      ++seen_count_[static_cast<std::size_t>(watcher)];
    }
    if (!runtime_.sleep(5ms, stop).ok()) return;
  }
}

bool KillLoop::everybody_active(const std::vector<std::uint64_t>& acknowledged_before,
                                const std::vector<std::uint64_t>& seen_before) {
  for (std::size_t i = 0; i < kWriters; ++i) {
    if (acknowledged_count_[i] <= acknowledged_before[i]) return false;
  }
  for (std::size_t i = 0; i < kWatchers; ++i) {
    if (seen_count_[i] <= seen_before[i]) return false;
  }
  return true;
}

void KillLoop::run() {
  ASSERT_TRUE(start_server("127.0.0.1:0"));
  std::unique_ptr<kube::HttpsApi> first;
  for (int i = 0; i < 200 && !first; ++i) {
    (void)server_->wait_exit(50ms);
    first = client();
  }
  ASSERT_TRUE(first) << "the server did not start";
  address_ = first->access().server.substr(std::string("https://").size());
  const auto start = first->list(kube::core::kConfigMap, kNamespace, {}, runtime_.call_within(10s));
  ASSERT_TRUE(start.ok()) << start.error().to_string();
  for (Seen& seen : seen_) seen.version = start->resource_version;

  std::vector<runtime::Task> tasks;
  for (int i = 0; i < kWriters; ++i)
    tasks.push_back(runtime_.spawn("writer", [this, i](std::stop_token stop) { write(i, stop); }));
  for (int i = 0; i < kWatchers; ++i)
    tasks.push_back(runtime_.spawn("watcher", [this, i](std::stop_token stop) { watch(i, stop); }));

  SeededRandom random(42);
  for (int kill = 0; kill < kKills; ++kill) {
    const std::vector<std::uint64_t> acknowledged_before(acknowledged_count_.begin(), acknowledged_count_.end());
    const std::vector<std::uint64_t> seen_before(seen_count_.begin(), seen_count_.end());
    const runtime::TimePoint limit = runtime_.now() + 30s;
    while (!everybody_active(acknowledged_before, seen_before) && runtime_.now() < limit)
      ASSERT_TRUE(wait_beside_server(2ms));
    ASSERT_TRUE(everybody_active(acknowledged_before, seen_before))
        << "before kill " << kill << " not every writer and watcher was at work";
    ASSERT_TRUE(runtime_.sleep(std::chrono::microseconds(random.below(20'000)), {}).ok());
    server_->kill_now();
    ASSERT_TRUE(start_server(address_));
  }
  const std::vector<std::uint64_t> none_seen(seen_count_.begin(), seen_count_.end());
  const std::vector<std::uint64_t> none_written(acknowledged_count_.begin(), acknowledged_count_.end());
  const runtime::TimePoint limit = runtime_.now() + 30s;
  while (!everybody_active(none_written, none_seen) && runtime_.now() < limit) ASSERT_TRUE(wait_beside_server(10ms));
  for (int i = 0; i < kWriters; ++i) tasks[static_cast<std::size_t>(i)].stop_and_join();
  // The watchers catch up with everything before they are stopped.
  const auto end = client()->list(kube::core::kConfigMap, kNamespace, {}, runtime_.call_within(30s));
  ASSERT_TRUE(end.ok());
  const auto caught_up = [&] {
    for (Seen& seen : seen_) {
      std::lock_guard lock(seen.mutex);
      if (seen.created.size() < end->items.size() && seen.failure.empty()) return false;
    }
    return true;
  };
  const runtime::TimePoint catch_up_limit = runtime_.now() + 30s;
  while (!caught_up() && runtime_.now() < catch_up_limit) ASSERT_TRUE(runtime_.sleep(20ms, {}).ok());
  tasks.clear();

  std::set<std::string> stored;
  for (const kube::Object& object : end->items) stored.insert(object.name());
  std::vector<std::string> lost;
  for (const std::string& name : acknowledged_) {
    if (!stored.contains(name)) lost.push_back(name);
  }
  EXPECT_TRUE(lost.empty()) << lost.size() << " acknowledged writes are lost, the first is " << lost.front();
  for (const Seen& seen : seen_) {
    EXPECT_EQ(seen.failure, "");
    EXPECT_TRUE(std::adjacent_find(seen.versions.begin(), seen.versions.end(), std::greater_equal<>()) ==
                seen.versions.end())
        << "versions repeat or go back";
    EXPECT_EQ(std::set<std::string>(seen.created.begin(), seen.created.end()), stored);
    EXPECT_EQ(seen.created.size(), stored.size()) << "an event was delivered twice";
  }
  std::printf("%d kills, %zu acknowledged writes, %zu objects\n", kKills, acknowledged_.size(), stored.size());
}

TEST(StoreKill, AcknowledgedWritesSurviveAndWatchesResumeExactly) { KillLoop().run(); }

}  // namespace
}  // namespace strake::test
