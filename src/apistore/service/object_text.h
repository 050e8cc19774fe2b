// Objects as stored text: {"apiVersion":...,"kind":...,"metadata":{...,"resourceVersion":"N"},...}, in this order, so
// that lists and watches can hand out text without parsing it.
#pragma once

#include <string>
#include <string_view>

#include "apistore/store/store_types.h"
#include "base/result.h"
#include "codec/json.h"

namespace strake::apistore {

/// The object without its resourceVersion, cut where that belongs. `api_version` replaces the object's own.
RevisionedText encode_object(const json::Value& object, std::string_view api_version);

/// The same text for a client of another version of its kind (conversion between versions changes nothing else).
/// kCorrupt for text that cannot be a stored object.
Result<std::string> in_api_version(std::string text, std::string_view api_version);

/// Stored text was checked when it was written: failing to parse it is damage.
Result<json::Value> parse_stored(std::string_view text, const StoreKey& key);

}  // namespace strake::apistore
