// "5m30s", "3d4h": an age in two or three significant figures, as kubectl's users know it.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

namespace strake::apistore::rest {

/// Slightly negative ages (clocks differ) are "0s", others "<invalid>".
std::string human_duration(std::chrono::nanoseconds age);

/// The age of an RFC 3339 timestamp; "<unknown>" when there is none, "<invalid>" when it cannot be read.
std::string human_age(std::string_view timestamp, std::chrono::system_clock::time_point now);

}  // namespace strake::apistore::rest
