#include "apistore/rest/human_duration.h"

#include <fmt/format.h>

#include "base/time.h"

namespace strake::apistore::rest {

namespace {

/// "3d4h", or "3d" when nothing is left over.
std::string with_rest(std::int64_t whole, char unit, std::int64_t rest, char rest_unit) {
  return rest == 0 ? fmt::format("{}{}", whole, unit) : fmt::format("{}{}{}{}", whole, unit, rest, rest_unit);
}

}  // namespace

std::string human_duration(std::chrono::nanoseconds age) {
  const std::int64_t seconds = std::chrono::duration_cast<std::chrono::seconds>(age).count();
  if (seconds < -1) return "<invalid>";
  if (seconds < 0) return "0s";
  if (seconds < 120) return fmt::format("{}s", seconds);
  const std::int64_t minutes = seconds / 60;
  if (minutes < 10) return with_rest(minutes, 'm', seconds % 60, 's');
  if (minutes < 3 * 60) return fmt::format("{}m", minutes);
  const std::int64_t hours = minutes / 60;
  if (hours < 8) return with_rest(hours, 'h', minutes % 60, 'm');
  if (hours < 48) return fmt::format("{}h", hours);
  const std::int64_t days = hours / 24;
  if (days < 8) return with_rest(days, 'd', hours % 24, 'h');
  if (days < 2 * 365) return fmt::format("{}d", days);
  if (days < 8 * 365) return with_rest(days / 365, 'y', days % 365, 'd');
  return fmt::format("{}y", days / 365);
}

std::string human_age(std::string_view timestamp, std::chrono::system_clock::time_point now) {
  if (timestamp.empty()) return "<unknown>";
  const auto time = parse_rfc3339(timestamp);
  return time.ok() ? human_duration(now - *time) : "<invalid>";
}

}  // namespace strake::apistore::rest
