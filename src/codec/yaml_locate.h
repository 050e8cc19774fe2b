// Where in a YAML or JSON text the fields of its documents stand, for findings about values of a text that parsed well.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json_locate.h"
#include "codec/yaml.h"

namespace strake::yaml {

struct WantedField {
  std::size_t document = 0;  ///< counted as parse_stream counts: from 0, empty ones left out
  json::Wanted field;
};

/// One position each, in the order asked. A path that leads nowhere is found at its deepest step that exists, and one
/// in a document that does not exist at the end of the text. Aliases and merges (`<<`) are followed: what an anchor
/// brings stands where it is written, the alias itself where its name stands. `text` must have been accepted by
/// parse_stream with the same limits; one pass over it answers all questions, and long values are not kept.
Result<std::vector<codec::TextPosition>> locate(std::string_view text, std::span<const WantedField> wanted,
                                                const ParseLimits& limits = {});

}  // namespace strake::yaml
