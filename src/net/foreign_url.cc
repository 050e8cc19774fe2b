#include "net/foreign_url.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <span>

#include "base/text.h"
#include "base/visible_text.h"
#include "net/url.h"

namespace strake::net {
namespace {

constexpr std::string_view kFileUrl = "file://";
constexpr std::string_view kThisMachine = "this machine", kThisLink = "this link",
                           kManyMachines = "many machines at once", kMetadata = "the metadata service of a cloud";

std::uint32_t big_endian_word(std::span<const unsigned char> bytes) {
  return (std::uint32_t{bytes[0]} << 24U) | (std::uint32_t{bytes[1]} << 16U) | (std::uint32_t{bytes[2]} << 8U) |
         bytes[3];
}

std::string_view forbidden_ipv4(std::uint32_t address) {
  if (address >> 24U == 127 || address >> 24U == 0) return kThisMachine;
  if (address >> 16U == 0xA9FE) return kThisLink;   // 169.254.0.0/16
  if (address >> 28U >= 0xE) return kManyMachines;  // multicast, reserved, broadcast
  return "";
}

/// Several forms carry an IPv4 address to which a gateway or the kernel sends them.
std::string_view forbidden_ipv6(std::span<const unsigned char, 16> a) {
  static constexpr unsigned char kZeros[15] = {};
  static constexpr unsigned char kMapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  static constexpr unsigned char kTranslated[12] = {0, 0x64, 0xFF, 0x9B};
  static constexpr unsigned char kEc2Metadata[16] = {0xFD, 0, 0x0E, 0xC2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54};
  if (std::memcmp(a.data(), kZeros, 15) == 0 && a[15] <= 1) return kThisMachine;
  if (std::memcmp(a.data(), kEc2Metadata, 16) == 0) return kMetadata;
  if (a[0] == 0xFE && (a[1] & 0x80) != 0) return kThisLink;  // fe80::/10, fec0::/10
  if (a[0] == 0xFF) return kManyMachines;
  if (std::memcmp(a.data(), kMapped, 12) == 0 || std::memcmp(a.data(), kTranslated, 12) == 0 ||
      std::memcmp(a.data(), kZeros, 12) == 0) {
    return forbidden_ipv4(big_endian_word(a.subspan(12)));
  }
  if (a[0] == 0x20 && a[1] == 0x02) return forbidden_ipv4(big_endian_word(a.subspan(2, 4)));  // 6to4
  return "";
}

/// Addresses and the names that stand for one without being looked up.
std::string_view forbidden_host(std::string host) {
  while (host.ends_with('.')) host.pop_back();
  if (host.empty()) return kThisMachine;
  for (const std::string_view name : {"localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback"}) {
    if (host == name) return kThisMachine;
  }
  if (host.ends_with(".localhost")) return kThisMachine;
  in6_addr six{};
  if (inet_pton(AF_INET6, host.substr(0, host.find('%')).c_str(), &six) == 1) {
    return forbidden_ipv6(std::span<const unsigned char, 16>(six.s6_addr));
  }
  in_addr four{};
  // Unlike inet_pton() it reads all the forms a resolver takes for an address.
  if (inet_aton(host.c_str(), &four) != 0) return forbidden_ipv4(ntohl(four.s_addr));
  return "";
}

/// What a URL names, for comparing with a prefix; nullopt when it must not be compared at all.
struct NamedPlace {
  std::string origin;
  std::vector<std::string> segments;
};
std::optional<NamedPlace> named_place(std::string_view url) {
  NamedPlace place;
  std::string path;
  if (url.starts_with(kFileUrl)) {
    place.origin = kFileUrl;
    path = url.substr(kFileUrl.size());
    if (!path.starts_with('/')) return std::nullopt;
  } else {
    const Result<Url> parsed = parse_url(url);
    if (!parsed.ok()) return std::nullopt;
    place.origin = parsed->origin();
    path = parsed->path;
  }
  for (const std::string_view part : split(path, '/')) {
    Result<std::string> segment = percent_decode(part);
    if (!segment.ok() || *segment == ".." || segment->find('/') != std::string::npos) return std::nullopt;
    if (!refuse_control_characters(*segment, "the path").ok()) return std::nullopt;
    if (!segment->empty() && *segment != ".") place.segments.push_back(*std::move(segment));
  }
  return place;
}

}  // namespace

Status check_location_prefix(std::string_view prefix) {
  STRAKE_CHECK_OK(refuse_control_characters(prefix, "the prefix"));
  if (named_place(prefix)) return {};
  return error(Code::kInvalidArgument, "'{}' is no http, https or file URL such as http://127.0.0.1:8080/images/",
               prefix);
}

bool is_allowed_location(std::string_view url, const ForeignUrlRules& rules) {
  if (!refuse_control_characters(url, "the URL").ok()) return false;
  const std::optional<NamedPlace> place = named_place(url);
  return place && std::ranges::any_of(rules.allowed_prefixes, [&](const std::string& text) {
           const std::optional<NamedPlace> prefix = named_place(text);
           return prefix && prefix->origin == place->origin && prefix->segments.size() <= place->segments.size() &&
                  std::equal(prefix->segments.begin(), prefix->segments.end(), place->segments.begin());
         });
}

Error foreign_url_refused(std::string_view url, std::string_view leads_to) {
  return error(Code::kDenied,
               "{} leads to {}: what others wrote is not followed there (--allow-location PREFIX allows it)",
               visible_line(url), leads_to)
      .with_verdict(Verdict::kBlocked);
}

Status check_foreign_url(std::string_view url, const ForeignUrlRules& rules) {
  STRAKE_CHECK_OK(refuse_control_characters(url, "the URL"));
  if (is_allowed_location(url, rules)) return {};
  if (equal_ignoring_case(url.substr(0, url.find(':')), "file"))
    return foreign_url_refused(url, "a file of this machine");
  STRAKE_TRY_CONTEXT(const Url parsed, parse_url(url), "'{}'", visible_line(url));
  const std::string_view where = forbidden_host(parsed.host);
  if (!where.empty()) return foreign_url_refused(parsed.redacted(), where);
  return {};
}

std::string_view forbidden_address(const sockaddr& address) {
  if (address.sa_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof four);
    return forbidden_ipv4(ntohl(four.sin_addr.s_addr));
  }
  if (address.sa_family == AF_INET6) {
    sockaddr_in6 six{};
    std::memcpy(&six, &address, sizeof six);
    return forbidden_ipv6(std::span<const unsigned char, 16>(six.sin6_addr.s6_addr));
  }
  return kThisMachine;  // a socket in the file system, or something nobody thought of
}

}  // namespace strake::net
