#include "stub/callers.h"

#include <algorithm>

#include "api/kinds.h"
#include "api/roles.h"
#include "base/text.h"
#include "base/time.h"
#include "codec/base64.h"
#include "codec/compress.h"
#include "codec/utf8.h"

namespace strake::stub {

namespace {

constexpr std::size_t kMaxPageText = std::size_t{4} << 20;
constexpr std::size_t kMaxPages = 32;
constexpr std::size_t kMaxServerKey = 200;
constexpr std::size_t kMaxUses = 20'000;

json::Value caller_json(const Caller& caller) {
  json::Object item{{"address", caller.address},           {"pool", caller.pool},
                    {"knownPool", caller.known_pool},      {"reason", caller.reason},
                    {"last", format_rfc3339(caller.last)}, {"times", caller.times}};
  if (!caller.standing.empty()) item["showed"] = caller.standing;
  if (!caller.credential.empty()) item["credential"] = caller.credential;
  if (!caller.version.empty()) item["ignition"] = caller.version;
  return item;
}

std::string text_of(const json::Value& item, std::string_view field) {
  return clip_utf8(json::find_string(item, {field}).value_or(""), kMaxCallerText);
}

std::chrono::sys_seconds time_of(const json::Value& item, std::string_view field) {
  const auto time = parse_rfc3339(json::find_string(item, {field}).value_or(""));
  return time.ok() ? std::chrono::floor<std::chrono::seconds>(*time) : std::chrono::sys_seconds{};
}

std::uint64_t count_of(const json::Value& value) {
  if (value.is_int64()) return static_cast<std::uint64_t>(std::max<std::int64_t>(value.get_int64(), 0));
  return value.is_uint64() ? value.get_uint64() : 0;
}

Caller read_caller(const json::Value& item) {
  Caller caller;
  caller.address = text_of(item, "address");
  caller.pool = text_of(item, "pool");
  caller.known_pool = json::find_bool(item, {"knownPool"}).value_or(false);
  caller.reason = text_of(item, "reason");
  caller.standing = text_of(item, "showed");
  caller.credential = text_of(item, "credential");
  caller.version = text_of(item, "ignition");
  caller.last = time_of(item, "last");
  if (const json::Value* times = json::find(item, {"times"})) caller.times = count_of(*times);
  return caller;
}

/// The sum cannot wrap: what strangers wrote there may be anything.
void add_uses(std::map<std::string, std::uint64_t>& sum, const std::map<std::string, std::uint64_t>& more) {
  for (const auto& [id, count] : more) {
    std::uint64_t& total = sum[id];
    total = total + count < total ? UINT64_MAX : total + count;
  }
}

}  // namespace

kube::ObjectKey callers_key() {
  return {std::string(api::kMachineConfigNamespace), std::string(api::serving_object::kCallers)};
}

std::string encode_page(const CallerPage& page) {
  json::Array callers;
  callers.reserve(page.callers.size());
  for (const Caller& caller : page.callers) callers.push_back(caller_json(caller));
  json::Object uses;
  for (const auto& [id, count] : page.uses) uses[id] = count;
  return codec::gzip(json::write(json::Object{
      {"written", format_rfc3339(page.written)}, {"callers", std::move(callers)}, {"uses", std::move(uses)}}));
}

Result<CallerPage> decode_page(std::string_view bytes) {
  STRAKE_TRY(const std::string text, codec::gunzip(bytes, kMaxPageText));
  const auto document = json::parse(text, {.max_bytes = kMaxPageText, .max_depth = 8});
  if (!document.ok() || !document->is_object()) return error(Code::kCorrupt, "it is no page of callers");
  CallerPage page;
  page.written = time_of(*document, "written");
  if (const json::Value* callers = json::find(*document, {"callers"}); callers != nullptr && callers->is_array()) {
    const json::Array& list = callers->get_array();
    page.callers.reserve(std::min(list.size(), kMaxCallers));
    for (std::size_t i = 0; i < std::min(list.size(), kMaxCallers); ++i) page.callers.push_back(read_caller(list[i]));
  }
  if (const json::Value* uses = json::find(*document, {"uses"}); uses != nullptr && uses->is_object()) {
    for (const auto& use : uses->get_object()) {
      if (page.uses.size() == kMaxUses) break;
      page.uses.emplace(clip_utf8(use.key(), kMaxCallerText), count_of(use.value()));
    }
  }
  return page;
}

CallerPages read_pages(const kube::Object& config_map) {
  CallerPages pages;
  const json::Value* data = json::find(config_map.json(), {"binaryData"});
  if (data == nullptr || !data->is_object()) return pages;
  for (const auto& member : data->get_object()) {
    if (!member.value().is_string()) continue;
    const auto bytes = codec::decode_base64(json::as_view(member.value().get_string()));
    if (!bytes.ok()) continue;
    if (auto page = decode_page(*bytes); page.ok()) pages.emplace(std::string(member.key()), *std::move(page));
  }
  return pages;
}

std::vector<Caller> newest_callers(const CallerPages& pages) {
  std::vector<Caller> all;
  for (const auto& [server, page] : pages) all.insert(all.end(), page.callers.begin(), page.callers.end());
  std::ranges::stable_sort(all, std::ranges::greater{}, &Caller::last);
  if (all.size() > kMaxCallers) all.resize(kMaxCallers);
  return all;
}

std::map<std::string, std::uint64_t> uses_of(const CallerPages& pages) {
  std::map<std::string, std::uint64_t> uses;
  for (const auto& [server, page] : pages) add_uses(uses, page.uses);
  return uses;
}

PagePatch page_patch(const kube::Object& config_map, const std::string& server, CallerPage own) {
  struct Other {
    std::string server;
    std::size_t bytes = 0;
    CallerPage page;
  };
  std::vector<Other> others;
  json::Object data;
  const CallerPages pages = read_pages(config_map);
  if (const json::Value* present = json::find(config_map.json(), {"binaryData"});
      present != nullptr && present->is_object()) {
    for (const auto& member : present->get_object()) {
      const std::string name(member.key());
      if (name == server) continue;
      const auto page = pages.find(name);
      if (page == pages.end()) {
        data[name] = nullptr;  // nobody can read it
      } else {
        others.push_back({name, member.value().get_string().size(), page->second});
      }
    }
  }
  std::ranges::sort(others, std::ranges::greater{}, [](const Other& other) { return other.page.written; });
  std::size_t bytes = encode_page(own).size() * 4 / 3, kept = 1;
  for (const Other& other : others) {
    bytes += other.bytes;
    if (++kept <= kMaxPages && bytes <= kMaxCallerPagesBytes) continue;
    data[other.server] = nullptr;
    add_uses(own.uses, other.page.uses);
  }
  data[server] = codec::encode_base64(encode_page(own));
  json::Object patch{{"binaryData", std::move(data)}};
  // Two servers that put the same old page away must not both count its uses.
  if (!config_map.resource_version().empty()) {
    patch["metadata"] = json::Object{{"resourceVersion", config_map.resource_version()}};
  }
  return {std::move(patch), std::move(own)};
}

std::string server_key(std::string_view name) {
  std::string key;
  for (const char c : name.substr(0, kMaxServerKey)) {
    key += is_alphanumeric(c) || c == '-' || c == '.' || c == '_' ? c : '_';
  }
  return key.empty() || key == "." || key == ".." ? "config-server" : key;
}

}  // namespace strake::stub
