// URLs: absolute ones as the client sends them, and the targets (path and query) a server receives.
//
// A path is kept as it travelled (percent-encoded); `segments` and query parameters are decoded. Segments are decoded
// one by one, so an encoded slash inside a name never becomes a separator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::net {

inline constexpr std::size_t kMaxUrlBytes = 16 * 1024;
inline constexpr std::size_t kMaxPathSegments = 64;
inline constexpr std::size_t kMaxQueryParameters = 256;

struct QueryParameter {
  std::string name;
  std::string value;
  bool operator==(const QueryParameter&) const = default;
};

/// Parameters in the order they were given; a name may occur more than once.
class Query {
 public:
  Query() = default;
  Query(std::initializer_list<QueryParameter> parameters) : parameters_(parameters) {}

  std::optional<std::string_view> get(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;
  void add(std::string name, std::string value) { parameters_.push_back({std::move(name), std::move(value)}); }

  auto begin() const { return parameters_.begin(); }
  auto end() const { return parameters_.end(); }
  std::size_t size() const { return parameters_.size(); }
  bool empty() const { return parameters_.empty(); }
  bool operator==(const Query&) const = default;

 private:
  std::vector<QueryParameter> parameters_;
};

/// The path and query of a request line.
struct Target {
  std::string path;                   ///< as sent, starting with a slash
  std::vector<std::string> segments;  ///< decoded; a trailing slash adds none
  Query query;
};

struct Url {
  std::string scheme;  ///< in lower case
  std::string user;    ///< decoded; credentials in a URL are accepted for proxies only
  std::string password;
  std::string host;  ///< in lower case; an IPv6 address without brackets
  std::optional<std::uint16_t> port;
  std::string path = "/";  ///< percent-encoded
  std::string query;       ///< as written, without the question mark: a signed URL must keep its spelling

  void add_query(std::string_view name, std::string_view value);

  std::uint16_t effective_port() const;
  /// scheme://host:port, the unit within which credentials may travel.
  std::string origin() const;
  /// For messages: no credentials and no query, which may be a signature.
  std::string redacted() const;
  std::string to_string() const;
};

/// NUL and other control characters have no place in a URL or path: kInvalidArgument says where one is. `what` begins
/// the message ("the URL").
Status refuse_control_characters(std::string_view text, std::string_view what);

/// Accepts http and https. Control characters are refused, in the path encoded ones too.
Result<Url> parse_url(std::string_view text);

/// What a reference such as a Location header means, seen from `base` (RFC 3986 section 5).
Result<Url> resolve(const Url& base, std::string_view reference);

/// Accepts the origin form ("/path?query") and the absolute form of RFC 9112. Refuses empty and dot segments and
/// control characters: no handler has to think about them again.
Result<Target> parse_target(std::string_view text);

/// Decodes application/x-www-form-urlencoded text, without a leading question mark.
Result<Query> parse_query(std::string_view text);
std::string to_string(const Query& query);

/// Keeps letters, digits and -._~ and encodes everything else: safe as a path segment or as a query value.
std::string percent_encode(std::string_view text);
Result<std::string> percent_decode(std::string_view text);

/// "/a/b%2Fc" from {"a", "b/c"}.
std::string encode_path(const std::vector<std::string>& segments);

}  // namespace strake::net
