// YAML as it was written: scalars keep their text, and everything keeps its line. For readers that know which type they
// want where, so that `version: 1.0` can be the text "1.0" and `0644` a number or a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/yaml.h"

namespace strake::yaml {

/// Aliases are followed, and `<<` is taken apart as yaml.v3 does it: what is written wins over what is merged, and of
/// merged mappings the first one that has a key.
struct Node {
  enum class Kind : std::uint8_t { kNull, kScalar, kList, kMapping };

  Kind kind = Kind::kNull;
  bool is_plain = false;          ///< of a scalar: neither quoted nor tagged, so its text decides its type
  bool is_alias = false;          ///< written elsewhere and only named here
  bool is_merged = false;         ///< not written here at all: from a `<<`
  bool has_merge = false;         ///< of a mapping: it has a `<<`
  std::size_t line = 0;           ///< where the value starts, 1-based
  std::size_t key_line = 0;       ///< of a member of a mapping: where its name is
  std::string text;               ///< of a scalar
  std::vector<std::string> keys;  ///< of a mapping, in the order written
  std::vector<Node> children;     ///< items, or the values beside `keys`

  /// The member of a mapping; nullptr when there is none.
  const Node* find(std::string_view key) const;
};

/// Every document of a stream, empty ones left out; the same documents parse_stream() gives.
Result<std::vector<Node>> parse_nodes(std::string_view text, const ParseLimits& limits = {});

}  // namespace strake::yaml
