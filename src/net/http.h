// HTTP messages as plain data, shared by the client and the server.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::net {

struct Header {
  std::string name;
  std::string value;
  bool operator==(const Header&) const = default;
};

/// Header fields in the order they were sent; names compare without regard to case.
class Headers {
 public:
  Headers() = default;
  Headers(std::initializer_list<Header> fields) : fields_(fields) {}

  /// The first value, when the field is present.
  std::optional<std::string_view> get(std::string_view name) const;
  std::vector<std::string_view> all(std::string_view name) const;
  bool has(std::string_view name) const { return get(name).has_value(); }

  /// Whether a comma-separated field ("Connection: keep-alive, upgrade") lists the token, on any of its lines.
  bool has_token(std::string_view name, std::string_view token) const;

  void add(std::string name, std::string value) { fields_.push_back({std::move(name), std::move(value)}); }
  /// Replaces every field of that name.
  void set(std::string name, std::string value);
  void remove(std::string_view name);

  auto begin() const { return fields_.begin(); }
  auto end() const { return fields_.end(); }
  std::size_t size() const { return fields_.size(); }
  bool empty() const { return fields_.empty(); }
  bool operator==(const Headers&) const = default;

 private:
  std::vector<Header> fields_;
};

struct Request {
  std::string method = "GET";
  std::string url;  ///< absolute, http or https
  Headers headers;
  std::string body;
};

/// What is known of a response before its body.
struct ResponseHead {
  int status = 200;
  Headers headers;
};

struct Response {
  int status = 200;
  Headers headers;
  std::string body;
};

/// RFC 9110 section 5.6.2: the characters of a method or of a field name.
bool is_http_token(std::string_view text);

/// Refuses what would end the line early and let data become further header fields.
Status validate(const Header& header);

/// "Not Found" for 404; "Unknown" for a status this program does not know.
std::string_view reason_phrase(int status);

/// The class of failure a status of 400 or more stands for.
Code code_for_status(int status);

}  // namespace strake::net
