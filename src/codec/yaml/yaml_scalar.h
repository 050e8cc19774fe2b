// What an unquoted YAML 1.1 scalar means to the Kubernetes ecosystem: reader and writer share this one decision.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace strake::yaml {

struct Null {
  bool operator==(const Null&) const = default;
};
struct Timestamp {  ///< stays text when read, but must be quoted when a string looks like one
  bool operator==(const Timestamp&) const = default;
};
struct PlainString {
  bool operator==(const PlainString&) const = default;
};

using Scalar = std::variant<PlainString, Null, bool, std::int64_t, std::uint64_t, double, Timestamp>;

Scalar resolve_scalar(std::string_view text);

/// `12:30:45` and its kind: a string to the reader, but quoted by the writer.
bool looks_like_base60(std::string_view text);

}  // namespace strake::yaml
