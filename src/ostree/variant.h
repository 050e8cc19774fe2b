// Variant: GVariant serialisation, the form of every ostree metadata object.
//
// Only normal form is read: what was decoded, encoded again, must give the same bytes. Two readers can then never see
// two different objects behind one checksum. Numbers are little-endian here, as GVariant says; ostree stores most of
// its own the other way round and swaps them itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::ostree {

struct VariantLimits {
  std::size_t max_depth = 32;  ///< containers inside each other
  std::size_t max_nodes = 1'000'000;
};

struct Variant {
  std::string type;              ///< "s", "a(ayay)", ...
  std::uint64_t number = 0;      ///< of b, y, n, q, i, u, h, x, t and d: its bits
  std::string text{};            ///< of s, o and g; of ay: the bytes
  std::vector<Variant> items{};  ///< of tuples, entries and arrays; of v: the value; of m: nothing or the value

  bool operator==(const Variant&) const = default;

  static Variant u32(std::uint32_t value) { return {"u", value}; }
  static Variant u64(std::uint64_t value) { return {"t", value}; }
  static Variant boolean(bool value) { return {"b", value ? 1u : 0u}; }
  static Variant string(std::string_view value) { return {"s", 0, std::string(value)}; }
  static Variant bytes(std::string_view value) { return {"ay", 0, std::string(value)}; }
  static Variant tuple(std::vector<Variant> items);
  /// `element_type` says what an empty array is one of.
  static Variant array(std::string_view element_type, std::vector<Variant> items);
  static Variant boxed(Variant value) { return {"v", 0, {}, {std::move(value)}}; }
};

/// `type` is one of ours; kCorrupt when the bytes are not a value of it in normal form, kExhausted at the limits.
Result<Variant> decode_variant(std::string_view type, std::string_view bytes, const VariantLimits& limits = {});

/// Normal form. The value must be well-typed.
std::string encode_variant(const Variant& value);

/// The value of a key in an "a{sv}", its box removed; nullptr when there is none.
const Variant* find_entry(const Variant& dictionary, std::string_view key);

}  // namespace strake::ostree
