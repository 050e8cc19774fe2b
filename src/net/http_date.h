// Dates in HTTP header fields (RFC 9110 section 5.6.7).
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace strake::net {

/// "Sun, 06 Nov 1994 08:49:37 GMT".
std::string format_http_date(std::chrono::sys_seconds time);

/// Reads the form above and the two obsolete ones a recipient must accept (RFC 850 and asctime).
std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text);

}  // namespace strake::net
