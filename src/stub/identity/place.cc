#include "stub/identity/place.h"

#include <algorithm>
#include <array>

#include <arpa/inet.h>

#include "api/node_annotations.h"
#include "api/strake_config.h"
#include "base/text.h"
#include "base/visible_text.h"
#include "net/endpoint.h"
#include "net/url.h"
#include "stub/identity/identity_objects.h"
#include "stub/managed_stub.h"
#include "stub/references.h"
#include "stub/stub.h"

namespace strake::stub {

namespace {

constexpr std::size_t kMaxHostName = 253;

/// Platforms whose control plane has addresses of its own, and whether machines ask there instead of at the name.
struct PlatformAddresses {
  std::string_view member;
  bool asked_by_address;
};
constexpr PlatformAddresses kPlatforms[] = {
    {"baremetal", true}, {"openstack", true}, {"ovirt", true}, {"vsphere", true}, {"nutanix", false}};

/// One spelling for an address, so that two of them are one name.
std::optional<std::string> canonical_address(const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> out{};
  for (const int family : {AF_INET, AF_INET6}) {
    if (::inet_pton(family, text.c_str(), bytes.data()) != 1) continue;
    if (::inet_ntop(family, bytes.data(), out.data(), out.size()) != nullptr) return std::string(out.data());
  }
  return std::nullopt;
}

bool is_host_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxHostName) return false;
  return std::ranges::all_of(split(text, '.'), [](std::string_view label) {
    return !label.empty() && label.front() != '-' && label.back() != '-' &&
           std::ranges::all_of(label, [](char c) { return is_alphanumeric(c) || c == '-' || c == '_'; });
  });
}

/// "" when it is neither a name nor an address.
std::string canonical_host(const std::string& text) {
  if (const auto address = canonical_address(text)) return *address;
  return is_host_name(text) ? lower_case(text) : "";
}

std::vector<std::string> addresses_at(const json::Value& platform) {
  std::vector<std::string> addresses;
  if (const json::Value* list = json::find(platform, {"apiServerInternalIPs"}); list != nullptr && list->is_array()) {
    for (const json::Value& item : list->get_array()) {
      if (item.is_string()) addresses.emplace_back(item.get_string());
    }
  }
  // What older releases write: one address.
  if (const auto one = json::find_string(platform, {"apiServerInternalIP"});
      addresses.empty() && one && !one->empty()) {
    addresses.push_back(*one);
  }
  return addresses;
}

Result<std::optional<ConfigServerPlace>> place_of_platform(const kube::Object& infrastructure) {
  const std::string uri = infrastructure.text({"status", "apiServerInternalURI"});
  if (uri.empty()) return std::optional<ConfigServerPlace>{};
  STRAKE_TRY_CONTEXT(const net::Url internal, net::parse_url(uri),
                     "Infrastructure cluster, status.apiServerInternalURI");
  std::vector<std::string> names{internal.host};
  std::string asked = internal.host;
  for (const PlatformAddresses& platform : kPlatforms) {
    const json::Value* status = json::find(infrastructure.json(), {"status", "platformStatus", platform.member});
    if (status == nullptr) continue;
    const std::vector<std::string> addresses = addresses_at(*status);
    if (platform.asked_by_address && !addresses.empty()) asked = addresses.front();
    names.insert(names.end(), addresses.begin(), addresses.end());
  }
  const net::Endpoint server{asked, kConfigServerPort};
  STRAKE_TRY_CONTEXT(ConfigServerPlace place, make_place("https://" + server.to_string(), names),
                     "Infrastructure cluster");
  return std::optional(std::move(place));
}

}  // namespace

bool is_ip_address(const std::string& text) { return canonical_address(text).has_value(); }

Result<ConfigServerPlace> make_place(std::string_view url, const std::vector<std::string>& names) {
  STRAKE_TRY(const net::Url parsed, net::parse_url(url));
  const std::string host = canonical_host(parsed.host);
  if (parsed.scheme != "https" || !parsed.port || host.empty() || !parsed.user.empty() || !parsed.query.empty() ||
      (parsed.path != "/" && !parsed.path.empty())) {
    return error(Code::kInvalidArgument,
                 "'{}' does not say where machines ask: write https://HOST:PORT and nothing after it; the port is {} "
                 "unless you chose another",
                 visible_text(parsed.redacted()), kConfigServerPort);
  }
  ConfigServerPlace place;
  place.url = "https://" + net::Endpoint{host, *parsed.port}.to_string();
  place.hosts.push_back(host);
  for (const std::string& name : names) {
    std::string canonical = canonical_host(name);
    if (canonical.empty()) {
      return error(Code::kInvalidArgument,
                   "'{}' is neither the name of a host nor an address; an IPv6 address stands without brackets",
                   clip_utf8(visible_text(name), kMaxHostName));
    }
    place.hosts.push_back(std::move(canonical));
  }
  std::ranges::sort(place.hosts);
  place.hosts.erase(std::ranges::unique(place.hosts).begin(), place.hosts.end());
  return place;
}

Result<std::optional<ConfigServerPlace>> place_of(const kube::Object* strake_config,
                                                  const kube::Object* infrastructure) {
  if (strake_config != nullptr) {
    const api::StrakeConfigView view(strake_config->json());
    if (const std::string url = view.config_server_url(); !url.empty()) {
      STRAKE_TRY_CONTEXT(ConfigServerPlace place, make_place(url, view.config_server_names()),
                         "StrakeConfig cluster, spec.configServer");
      return std::optional(std::move(place));
    }
  }
  if (infrastructure != nullptr) return place_of_platform(*infrastructure);
  return std::optional<ConfigServerPlace>{};
}

std::optional<ConfigServerPlace> place_in_use(std::span<const kube::ObjectPtr> stub_secrets,
                                              const kube::Object* serving) {
  std::vector<std::string> names;
  if (serving != nullptr) {
    if (const auto pair = read_certified_key(*serving); pair.ok()) names = hosts_of(pair->certificate());
  }
  for (const kube::ObjectPtr& secret : stub_secrets) {
    if (pool_of_managed_stub(secret->name()).empty() || !secret->label(api::label::kManagedStub)) continue;
    const auto text = stub_text(*secret);
    const auto stub = text.ok() ? read_stub(*text) : Result<Stub>(text.error());
    if (!stub.ok() || stub->pointers.empty()) continue;
    const Pointer& pointer = stub->pointers.front();
    auto place = make_place("https://" + net::Endpoint{pointer.host, pointer.port}.to_string(), names);
    if (place.ok()) return *std::move(place);
  }
  return std::nullopt;
}

}  // namespace strake::stub
