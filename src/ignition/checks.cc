#include "ignition/checks.h"

#include <unordered_set>

#include "ignition/source_url.h"

namespace strake::ignition {

std::optional<std::string_view> CheckedObject::text(std::string_view name) const {
  const json::Value* value = object_.if_contains(name);
  if (value == nullptr || !value->is_string()) return std::nullopt;
  return json::as_view(value->get_string());
}

std::optional<std::int64_t> CheckedObject::integer(std::string_view name) const {
  const json::Value* value = object_.if_contains(name);
  return value == nullptr ? std::nullopt : json::find_int(*value, {});
}

std::optional<bool> CheckedObject::boolean(std::string_view name) const {
  const json::Value* value = object_.if_contains(name);
  return value == nullptr ? std::nullopt : json::find_bool(*value, {});
}

const json::Array& CheckedObject::list(std::string_view name) const {
  static const json::Array none;
  const json::Value* value = object_.if_contains(name);
  return value == nullptr ? none : value->get_array();
}

CheckedObject CheckedObject::inside(std::string_view name, const Path& path) const {
  static const json::Object none;
  const json::Value* value = object_.if_contains(name);
  return {value == nullptr ? none : value->get_object(), path, version_, report_};
}

CheckedObject CheckedObject::item(std::string_view name, std::size_t index, const Path& path) const {
  return {list(name)[index].get_object(), path, version_, report_};
}

void CheckedObject::error(std::string_view member, std::string message, std::string_view found) const {
  report_.error(path_.member(member), std::move(message), found);
}

void CheckedObject::warn(std::string_view member, std::string message, std::string_view found) const {
  report_.warn(path_.member(member), std::move(message), found);
}

namespace {

constexpr SpecVersion kRequiresSources{3, 1};

void check_source(const CheckedObject& resource) {
  const std::string_view source = resource.text_or_empty("source");
  if (source.empty()) return;
  // The source itself is not shown: it may be the whole of a file, or hold a password.
  if (auto problem = source_problem(source, resource.version())) resource.error("source", *std::move(problem));
}

/// Every item of the list must say where it is fetched from.
void require_sources(const CheckedObject& owner, std::string_view list) {
  if (owner.version() < kRequiresSources) return;
  const Path around = owner.path().member(list);
  for (std::size_t i = 0; i < owner.list(list).size(); ++i) {
    const Path path = around.item(i);
    const std::string_view source = owner.item(list, i, path).text_or_empty("source");
    if (source.empty()) {
      owner.report().error(path, "source is required");
    } else if (auto problem = source_problem(source, owner.version())) {
      owner.report().error(path, *std::move(problem));
    }
  }
}

}  // namespace

void check_config(const CheckedObject& config) {
  const Path systemd_path = config.path().member("systemd");
  const CheckedObject systemd = config.inside("systemd", systemd_path);
  std::unordered_set<std::string> unit_paths;
  for (std::size_t i = 0; i < systemd.list("units").size(); ++i) {
    const CheckedObject unit = systemd.item("units", i, systemd_path);
    const std::string unit_path = fmt::format("/etc/systemd/system/{}", unit.text_or_empty("name"));
    if (!unit.text_or_empty("contents").empty()) unit_paths.insert(unit_path);
    for (std::size_t d = 0; d < unit.list("dropins").size(); ++d) {
      const CheckedObject dropin = unit.item("dropins", d, systemd_path);
      if (dropin.text_or_empty("contents").empty()) continue;
      unit_paths.insert(fmt::format("{}.d/{}", unit_path, dropin.text_or_empty("name")));
    }
  }
  if (unit_paths.empty()) return;
  const Path storage_path = config.path().member("storage");
  const CheckedObject storage = config.inside("storage", storage_path);
  for (const std::string_view list : {"files", "directories", "links"}) {
    const Path list_path = storage_path.member(list);
    for (std::size_t i = 0; i < storage.list(list).size(); ++i) {
      const Path path = list_path.item(i);
      const CheckedObject node = storage.item(list, i, path);
      const std::string_view node_path = node.text_or_empty("path");
      if (unit_paths.contains(std::string(node_path))) {
        node.error("path", "path conflicts with systemd unit or dropin", node_path);
      }
    }
  }
}

void check_ignition_config(const CheckedObject& config) { require_sources(config, "merge"); }

void check_tls(const CheckedObject& tls) { require_sources(tls, "certificateAuthorities"); }

void check_proxy(const CheckedObject& proxy) {
  for (const std::string_view member : {"httpProxy", "httpsProxy"}) {
    const auto text = proxy.text(member);
    if (!text) continue;
    const auto url = parse_url(*text);
    if (!url) {
      proxy.error(member, "unable to parse url");
    } else if (url->scheme != "https" && url->scheme != "http") {
      proxy.error(member, "proxies must be http(s)");
    } else if (url->scheme == "http" && member == "httpsProxy") {
      proxy.warn(member, "insecure plaintext HTTP proxy specified for HTTPS resources");
    }
  }
}

void check_resource(const CheckedObject& resource) {
  const std::string_view compression = resource.text_or_empty("compression");
  if (!compression.empty() && compression != "gzip") {
    resource.error("compression", "invalid compression method", compression);
  }
  const Path verification_path = resource.path().member("verification");
  const CheckedObject verification = resource.inside("verification", verification_path);
  if (verification.has("hash") && !resource.has("source")) {
    verification.error("hash", "source must be specified if verification is specified");
  }
  check_source(resource);
  if (resource.list("httpHeaders").empty()) return;
  const std::string_view source = resource.text_or_empty("source");
  const auto url = source.empty() ? std::nullopt : parse_url(source);
  if (!url) {
    resource.error("httpHeaders", "unable to parse url");
  } else if (url->scheme != "http" && url->scheme != "https") {
    resource.error("httpHeaders", "cannot use HTTP headers with this source scheme");
  }
}

void check_config_reference(const CheckedObject& reference) {
  if (reference.version() < kRequiresSources) {
    check_source(reference);
  } else {
    check_resource(reference);
  }
}

void check_certificate_authority(const CheckedObject& authority) {
  if (authority.version() >= kRequiresSources) {
    check_resource(authority);
    return;
  }
  const std::string_view source = authority.text_or_empty("source");
  if (auto problem = source_problem(source, authority.version())) authority.error("source", *std::move(problem));
}

void check_http_header(const CheckedObject& header) {
  if (header.text_or_empty("name").empty()) header.error("name", "HTTP header name can't be empty");
  if (header.text("value") == "") header.error("value", "unable to parse HTTP header");
}

void check_verification(const CheckedObject& verification) {
  const auto hash = verification.text("hash");
  if (!hash) return;
  const std::size_t dash = hash->find('-');
  if (dash == std::string_view::npos) {
    verification.error("hash", "malformed hash specifier", *hash);
    return;
  }
  const std::string_view function = hash->substr(0, dash);
  std::size_t digits = 0;
  if (function == "sha512") digits = 128;
  if (function == "sha256" && verification.version() >= SpecVersion{3, 1}) digits = 64;
  if (digits == 0) {
    verification.error("hash", "unrecognized hash function", function);
  } else if (hash->size() - dash - 1 != digits) {
    verification.error("hash", "incorrect size for hash sum", *hash);
  }
}

}  // namespace strake::ignition
