// YAML in (as the Kubernetes ecosystem reads it) and out (byte for byte as gopkg.in/yaml.v2 writes it).
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::yaml {

struct ParseLimits {
  std::size_t max_bytes = 16u << 20;
  std::size_t max_depth = 100;
  std::size_t max_nodes = 2'000'000;  ///< counted after alias expansion, so that "billion laughs" stays small
  /// Told of each key that is there twice ("line 3, column 1: duplicate key ..."), of which the last then counts;
  /// unset: such a key is an error. Not of a second "<<", which is always one.
  std::function<void(std::string_view what)> on_duplicate_key = {};
};

struct Document {
  json::Value value;
  std::size_t line = 1;  ///< where the document starts in its file, 1-based
};

/// Every document of a stream, empty ones left out. Plain scalars resolve by YAML 1.1 (yaml_scalar.h); duplicate keys
/// are refused; errors name line and column.
Result<std::vector<Document>> parse_stream(std::string_view text, const ParseLimits& limits = {});

/// Exactly one non-empty document.
Result<json::Value> parse(std::string_view text, const ParseLimits& limits = {});

/// What gopkg.in/yaml.v2 2.4.0 writes for this value: rendered MachineConfig names are hashes of these bytes.
/// Refuses strings the Go round trip refuses (control characters U+007F, U+0080-U+009F, U+FFFE, U+FFFF).
Result<std::string> emit(const json::Value& value);

using TextSink = std::function<void(std::string_view part)>;

/// The same, part by part, so that a large text need never be whole in memory. After an error the sink has had some of
/// it.
Status emit_to(const json::Value& value, const TextSink& sink);

}  // namespace strake::yaml
