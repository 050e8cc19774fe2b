#include "stub/stub.h"

#include <algorithm>

#include "base/text.h"
#include "codec/compress.h"
#include "codec/data_url.h"
#include "ignition/config.h"
#include "net/url.h"
#include "stub/token.h"

namespace strake::stub {

namespace {

constexpr std::size_t kMaxAuthorityBytes = std::size_t{4} << 20;

const json::Array& list_at(const json::Value& config, std::initializer_list<std::string_view> path) {
  static const json::Array kNone;
  const json::Value* found = json::find(config, path);
  return found != nullptr && found->is_array() ? found->get_array() : kNone;
}

bool is_authorization(const json::Value& header) {
  return equal_ignoring_case(json::find_string(header, {"name"}).value_or(""), "Authorization");
}

/// The values of the fields a request would have.
std::vector<std::string> authorization_of(const json::Value& reference) {
  std::vector<std::string> values;
  for (const json::Value& header : list_at(reference, {"httpHeaders"})) {
    if (auto value = json::find_string(header, {"value"}); value && is_authorization(header)) {
      values.push_back(*std::move(value));
    }
  }
  return values;
}

std::string shown_token_sha256(const std::vector<std::string>& authorization) {
  const std::vector<std::string_view> lines(authorization.begin(), authorization.end());
  const auto token = bearer_token(lines);
  return token.ok() && *token ? token_sha256(**token) : "";
}

void put_token(json::Object& reference, std::string_view token) {
  json::Value& headers = reference["httpHeaders"];
  if (!headers.is_array()) headers = json::Array{};
  json::Array& list = headers.get_array();
  json::Array next;
  bool placed = false;
  for (json::Value& header : list) {
    if (!is_authorization(header)) {
      next.push_back(std::move(header));
    } else if (!std::exchange(placed, true)) {
      header.as_object()["value"] = bearer_field(token);
      next.push_back(std::move(header));
    }
  }
  if (!placed) next.push_back(json::Object{{"name", "Authorization"}, {"value", bearer_field(token)}});
  list = std::move(next);
}

Pointer pointer_of(const json::Value& reference) {
  Pointer pointer;
  pointer.source = json::find_string(reference, {"source"}).value_or("");
  pointer.scheme = lower_case(pointer.source.substr(0, std::min(pointer.source.find(':'), pointer.source.size())));
  const std::vector<std::string> authorization = authorization_of(reference);
  pointer.has_token = !authorization.empty();
  pointer.token_sha256 = shown_token_sha256(authorization);
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

Result<std::string> with_token(std::string_view bytes, std::string_view pool, std::string_view token) {
  STRAKE_TRY(const Stub before, read_stub(bytes));
  if (before.version < kFirstWithHeaders) {
    return error(Code::kUnsupported, "a stub of spec {} cannot carry a token; convert it first: strake stub convert",
                 ignition::to_string(before.version));
  }
  STRAKE_TRY(const std::string text, ignition::decode_config_bytes(bytes));
  STRAKE_TRY(json::Value config, json::parse(text));
  std::size_t placed = 0;
  const auto place = [&](json::Value& reference) {
    if (!reference.is_object() || pointer_of(reference).pool != pool) return;
    put_token(reference.get_object(), token);
    ++placed;
  };
  if (json::Value* merge = json::find(config, {"ignition", "config", "merge"}); merge != nullptr && merge->is_array()) {
    for (json::Value& reference : merge->get_array()) place(reference);
  }
  if (json::Value* replace = json::find(config, {"ignition", "config", "replace"}); replace != nullptr) place(*replace);
  if (pool.empty() || placed == 0) {
    return error(Code::kInvalidArgument, "the stub does not point to the config of pool '{}'", pool);
  }
  std::string result = json::write(config);
  // What Ignition would make of it, not what we meant to write.
  STRAKE_TRY_CONTEXT(const Stub after, read_stub(result), "the stub with its token");
  const auto shows = [&](const Pointer& pointer) { return pointer.token_sha256 == token_sha256(token); };
  if (after.pointers.size() != before.pointers.size() ||
      static_cast<std::size_t>(std::ranges::count_if(after.pointers, shows)) < placed) {
    return error(Code::kInternal, "the stub would not show the token it was given; nothing was changed");
  }
  return result;
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
