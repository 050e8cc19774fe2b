// RFC 3339 timestamps, as Kubernetes objects carry them.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "base/result.h"

namespace strake {

/// "2026-01-02T03:04:05Z": whole seconds, as metav1.Time.
std::string format_rfc3339(std::chrono::system_clock::time_point time);
/// "2026-01-02T03:04:05.678901Z": microseconds, as metav1.MicroTime (leases).
std::string format_rfc3339_micros(std::chrono::system_clock::time_point time);
/// Any RFC 3339 form: fraction of up to nine digits, Z or numeric offset. Years the clock cannot hold (before 1678,
/// after 2261; "9999-12-31" is somebody's "never") become the nearest time it can.
Result<std::chrono::system_clock::time_point> parse_rfc3339(std::string_view text);

}  // namespace strake
