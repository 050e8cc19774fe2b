// Lists of texts in the small JSON files and answers this module reads.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::osbackend {

/// None when the member is missing or null. kCorrupt, naming it, when it is no list of texts.
Result<std::vector<std::string>> texts_of(const json::Value& value, std::string_view name);
json::Array json_of_texts(const std::vector<std::string>& texts);

}  // namespace strake::osbackend
