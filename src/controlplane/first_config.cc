#include "controlplane/first_config.h"

#include <algorithm>

#include "agent/plan.h"
#include "api/kinds.h"
#include "api/node_annotations.h"
#include "configserver/assembly.h"
#include "ignition/config.h"
#include "net/http_client.h"
#include "stub/managed_stub.h"
#include "stub/references.h"
#include "stub/stub.h"

namespace strake::controlplane {

namespace {

constexpr std::chrono::seconds kAnswerLimit{30};
constexpr std::size_t kMaxConfigBytes = std::size_t{64} << 20;
constexpr std::size_t kMaxStubBytes = std::size_t{1} << 20;

/// Of the pointer to this source, as the stub writes them.
Result<net::Headers> header_fields(std::string_view stub, std::string_view source) {
  json::ParseLimits limits;
  limits.max_bytes = kMaxStubBytes;
  STRAKE_TRY(const json::Value config, json::parse(stub, limits));
  std::vector<const json::Value*> pointers;
  if (const json::Value* replaced = json::find(config, {"ignition", "config", "replace"})) pointers.push_back(replaced);
  if (const json::Value* merged = json::find(config, {"ignition", "config", "merge"}); merged && merged->is_array()) {
    for (const json::Value& pointer : merged->get_array()) pointers.push_back(&pointer);
  }
  net::Headers fields;
  for (const json::Value* pointer : pointers) {
    const json::Value* own = json::find(*pointer, {"httpHeaders"});
    if (json::find_string(*pointer, {"source"}) != source || own == nullptr || !own->is_array()) continue;
    for (const json::Value& field : own->get_array()) {
      const auto name = json::find_string(field, {"name"}), value = json::find_string(field, {"value"});
      if (name && value) fields.add(*name, *value);
    }
  }
  return fields;
}

/// The name is in the file from which an agent completes the first boot.
std::string name_in(const json::Value& config) {
  const auto files = ignition::files_of(config);
  if (!files.ok()) return "";
  const auto file = std::ranges::find(*files, configserver::machine_path::kEncapsulated, &ignition::FileEntry::path);
  if (file == files->end()) return "";
  const auto machine_config = json::parse(file->contents);
  return machine_config.ok() ? json::find_string(*machine_config, {"metadata", "name"}).value_or("") : "";
}

}  // namespace

Result<FirstConfig> fetch_first_config(std::string_view stub_bytes, runtime::Runtime& runtime,
                                       const runtime::Call& call) {
  STRAKE_TRY_CONTEXT(const stub::Stub stub, stub::read_stub(stub_bytes), "the stub");
  const auto pointer = std::ranges::find_if(stub.pointers, [](const stub::Pointer& one) { return !one.pool.empty(); });
  if (pointer == stub.pointers.end()) return error(Code::kInvalidArgument, "the stub names no config server");
  net::ClientOptions options;
  options.ca_pem = net::to_pem(stub.trusted());
  options.proxy = net::ProxySettings{};
  options.max_body_bytes = kMaxConfigBytes;
  options.max_redirects = 0;
  STRAKE_TRY(const net::HttpClient client, net::HttpClient::create(options));
  net::Request request{"GET", pointer->source, {}, {}};
  STRAKE_TRY_CONTEXT(request.headers, header_fields(stub_bytes, pointer->source), "the stub");
  request.headers.add("Accept", fmt::format("application/vnd.coreos.ignition+json;version={}, */*;q=0.1",
                                            ignition::to_string(ignition::kLatestVersion)));
  std::chrono::milliseconds limit = kAnswerLimit;
  if (call.deadline) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*call.deadline - runtime.now());
    limit = std::clamp(left, std::chrono::milliseconds(1), limit);
  }
  STRAKE_TRY_CONTEXT(const net::Response answer,
                     client.send(request, {.timeout = limit, .idle_timeout = {}, .stop = call.stop}), "{}",
                     pointer->source);
  if (answer.status != 200) {
    return error(Code::kUnavailable, "{} answers {}; the log of the config server says why", pointer->source,
                 answer.status);
  }
  FirstConfig first;
  first.url = pointer->source;
  first.bytes = answer.body.size();
  json::ParseLimits limits;
  limits.max_bytes = kMaxConfigBytes;
  STRAKE_TRY_CONTEXT(const json::Value served, json::parse(answer.body, limits), "{}", pointer->source);
  STRAKE_TRY_CONTEXT(first.config, ignition::parse(served), "{}", pointer->source);
  first.version = ignition::kLatestVersion;
  first.name = name_in(first.config);
  return first;
}

Result<std::string> read_managed_stub(kube::KubeApi& api, const std::string& pool, const runtime::Call& call) {
  const std::string name = stub::managed_stub_name(pool);
  const auto secret = api.get(kube::core::kSecret, {std::string(api::kMachineApiNamespace), name}, call);
  if (!secret.ok() && secret.error().code() == Code::kNotFound) {
    return error(Code::kUnavailable, "pool {} has no stub yet (Secret {}): it is written when there is such a pool",
                 pool, name);
  }
  if (!secret.ok()) return Error(secret.error()).context(fmt::format("the stub of pool {}", pool));
  STRAKE_TRY_CONTEXT(std::string bytes, stub::stub_text(*secret), "Secret {}", name);
  return bytes;
}

Status write_first_config(FileTree& tree, const json::Value& config) {
  STRAKE_TRY(const agent::FileStates want, agent::files_of_spec(json::Object{{"config", config}}));
  for (const auto& [path, state] : want) {
    if (state->kind == FileState::Kind::kLink) {
      STRAKE_CHECK_OK(tree.write_link(path, state->contents));
    } else {
      STRAKE_CHECK_OK(tree.write(path, state->contents, state->mode, state->owner));
    }
  }
  return {};
}

}  // namespace strake::controlplane
