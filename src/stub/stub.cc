#include "stub/stub.h"

#include <algorithm>

#include "base/text.h"
#include "codec/compress.h"
#include "codec/data_url.h"
#include "ignition/config.h"
#include "net/url.h"

namespace strake::stub {

namespace {

constexpr std::size_t kMaxAuthorityBytes = std::size_t{4} << 20;

const json::Array& list_at(const json::Value& config, std::initializer_list<std::string_view> path) {
  static const json::Array kNone;
  const json::Value* found = json::find(config, path);
  return found != nullptr && found->is_array() ? found->get_array() : kNone;
}

bool has_authorization(const json::Value& reference) {
  return std::ranges::any_of(list_at(reference, {"httpHeaders"}), [](const json::Value& header) {
    return equal_ignoring_case(json::find_string(header, {"name"}).value_or(""), "Authorization") &&
           json::find_string(header, {"value"}).has_value();
  });
}

Pointer pointer_of(const json::Value& reference) {
  Pointer pointer;
  pointer.source = json::find_string(reference, {"source"}).value_or("");
  pointer.scheme = lower_case(pointer.source.substr(0, std::min(pointer.source.find(':'), pointer.source.size())));
  pointer.has_token = has_authorization(reference);
  const auto url = net::parse_url(pointer.source);
  if (!url.ok()) return pointer;
  pointer.host = url->host;
  pointer.port = url->effective_port();
  const std::string_view path = url->path;
  if (path.starts_with("/config/") && !path.ends_with('/')) pointer.pool = path.substr(path.rfind('/') + 1);
  return pointer;
}

Result<std::string> authority_text(const json::Value& entry) {
  const auto source = json::find_string(entry, {"source"});
  if (!source) return error(Code::kInvalidArgument, "it has no source");
  if (!source->starts_with("data:")) {
    return error(Code::kUnsupported, "it lies elsewhere, and whoever controls that place decides whom to trust");
  }
  STRAKE_TRY(codec::DataUrl url, codec::parse_data_url(*source));
  if (json::find_string(entry, {"compression"}).value_or("") != "gzip") return std::move(url.data);
  return codec::gunzip(url.data, kMaxAuthorityBytes);
}

Authority authority_of(const json::Value& entry) {
  Authority authority;
  const auto text = authority_text(entry);
  if (!text.ok()) {
    authority.problem = text.error().to_string();
    return authority;
  }
  auto certificates = net::parse_bundle(*text);
  if (certificates.ok()) {
    authority.certificates = *std::move(certificates);
  } else {
    authority.problem = certificates.error().to_string();
  }
  return authority;
}

/// Sections with something in them, beside the one that points and trusts.
std::vector<std::string> extras_of(const json::Value& config) {
  std::vector<std::string> extras;
  for (const auto& section : config.get_object()) {
    if (section.key() == "ignition" || !section.value().is_object()) continue;
    for (const auto& member : section.value().get_object()) {
      if (!member.value().is_array() || member.value().get_array().empty()) continue;
      extras.push_back(fmt::format("{}.{} ({})", std::string_view(section.key()), std::string_view(member.key()),
                                   member.value().get_array().size()));
    }
  }
  return extras;
}

}  // namespace

bool Stub::points_to_config_server() const {
  return std::ranges::any_of(pointers, [](const Pointer& pointer) { return !pointer.pool.empty(); });
}

std::vector<net::Certificate> Stub::trusted() const {
  std::vector<net::Certificate> all;
  for (const Authority& authority : authorities) {
    all.insert(all.end(), authority.certificates.begin(), authority.certificates.end());
  }
  return all;
}

Result<Stub> read_stub(std::string_view bytes) {
  STRAKE_TRY(const std::string text, ignition::decode_config_bytes(bytes));
  const ignition::Checked checked = ignition::check_text(text);
  if (checked.report.is_fatal()) {
    const auto first =
        std::ranges::find(checked.report.findings, ignition::Severity::kError, &ignition::Finding::severity);
    if (first == checked.report.findings.end()) return error(Code::kInvalidArgument, "it is no Ignition config");
    // The message alone: what was found there may be a secret.
    const std::string where = first->path().empty() ? "" : first->path() + ": ";
    return error(Code::kInvalidArgument, "it is no Ignition config: {}{}", where, first->message);
  }
  Stub stub;
  stub.version = checked.version;
  stub.bytes = text.size();
  for (const std::string_view list : {"append", "merge"}) {
    for (const json::Value& reference : list_at(checked.config, {"ignition", "config", list})) {
      stub.pointers.push_back(pointer_of(reference));
    }
  }
  if (const json::Value* replace = json::find(checked.config, {"ignition", "config", "replace"});
      replace != nullptr && json::find_string(*replace, {"source"})) {
    stub.pointers.push_back(pointer_of(*replace));
  }
  for (const json::Value& entry : list_at(checked.config, {"ignition", "security", "tls", "certificateAuthorities"})) {
    stub.authorities.push_back(authority_of(entry));
  }
  stub.extras = extras_of(checked.config);
  return stub;
}

std::string_view oldest_ignition(ignition::SpecVersion version) {
  if (version.major == 2) return "0.x";
  switch (version.minor) {
    case 0: return "2.0.0";
    case 1: return "2.3.0";
    case 2: return "2.7.0";
    case 3: return "2.11.0";
    case 4: return "2.15.0";
    default: return "2.20.0";
  }
}

}  // namespace strake::stub
