// Data URLs (RFC 2397), as Ignition configs carry file contents: `data:,a%20b` and `data:text/plain;base64,YSBi`.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace strake::codec {

struct DataUrl {
  std::string media_type;                                       ///< "text/plain"; empty when the URL names none
  std::vector<std::pair<std::string, std::string>> parameters;  ///< in order of appearance, decoded
  bool base64 = false;
  std::string data;
};

/// Accepts what Ignition accepts: lower-case `data:`, a registered or `x-` media type, no raw blanks, quotes, brackets
/// or non-ASCII in the data, whole `%XX` escapes, Go's escapes (`\n`, `\x41`) in quoted parameters; in base64 form the
/// standard alphabet, padding, and line feeds. Errors name the offset in the URL.
Result<DataUrl> parse_data_url(std::string_view url);

/// What parse_data_url would say, without the decoded data.
Status check_data_url(std::string_view url);

/// `data:,` with everything but letters, digits and `-_.!~*'()` percent-encoded, upper-case, byte by byte.
std::string encode_data_url(std::string_view data);

/// `data:<media_type>;base64,...`; `media_type` may be empty or carry parameters ("text/plain;charset=utf-8").
std::string encode_base64_data_url(std::string_view data, std::string_view media_type = {});

}  // namespace strake::codec
