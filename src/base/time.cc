#include "base/time.h"

#include <algorithm>
#include <charconv>

namespace strake {

using std::chrono::microseconds;
using std::chrono::seconds;
using std::chrono::system_clock;

namespace {

std::string format_to_seconds(system_clock::time_point time) {
  const auto whole = std::chrono::floor<seconds>(time);
  const auto day = std::chrono::floor<std::chrono::days>(whole);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(whole - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

/// Takes exactly `digits` decimal digits off the front of `text`.
bool take_number(std::string_view& text, std::size_t digits, int& value) {
  if (text.size() < digits) return false;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + digits, value);
  if (failure != std::errc() || end != text.data() + digits || text.front() == '-') return false;
  text.remove_prefix(digits);
  return true;
}

bool take_char(std::string_view& text, char wanted) {
  if (text.empty() || text.front() != wanted) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string format_rfc3339(system_clock::time_point time) { return format_to_seconds(time) + "Z"; }

std::string format_rfc3339_micros(system_clock::time_point time) {
  const auto fraction = std::chrono::floor<microseconds>(time) - std::chrono::floor<seconds>(time);
  return fmt::format("{}.{:06}Z", format_to_seconds(time), fraction.count());
}

Result<system_clock::time_point> parse_rfc3339(std::string_view text) {
  const auto invalid = [&] {
    return error(Code::kInvalidArgument, "'{}' is not an RFC 3339 time such as 2026-01-02T03:04:05Z", text);
  };
  std::string_view rest = text;
  int year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0;
  if (!take_number(rest, 4, year) || !take_char(rest, '-') || !take_number(rest, 2, month) || !take_char(rest, '-') ||
      !take_number(rest, 2, day) || !(take_char(rest, 'T') || take_char(rest, 't')) || !take_number(rest, 2, hour) ||
      !take_char(rest, ':') || !take_number(rest, 2, minute) || !take_char(rest, ':') ||
      !take_number(rest, 2, second)) {
    return invalid();
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return invalid();
  std::int64_t nanoseconds = 0;
  if (take_char(rest, '.')) {
    std::int64_t scale = 100'000'000;
    std::size_t digits = 0;
    while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9' && digits < 9) {
      nanoseconds += scale * (rest.front() - '0');
      scale /= 10;
      ++digits;
      rest.remove_prefix(1);
    }
    if (digits == 0) return invalid();
  }
  std::chrono::minutes offset{0};
  if (!take_char(rest, 'Z') && !take_char(rest, 'z')) {
    if (rest.empty() || (rest.front() != '+' && rest.front() != '-')) return invalid();
    const bool east = rest.front() == '+';
    rest.remove_prefix(1);
    int hours = 0, minutes = 0;
    if (!take_number(rest, 2, hours) || !take_char(rest, ':') || !take_number(rest, 2, minutes) || hours > 23 ||
        minutes > 59) {
      return invalid();
    }
    offset = std::chrono::hours(hours) + std::chrono::minutes(minutes);
    if (!east) offset = -offset;
  }
  if (!rest.empty()) return invalid();
  const std::chrono::sys_seconds time =
      std::chrono::sys_days(date) + std::chrono::hours(hour) + std::chrono::minutes(minute) + seconds(second) - offset;
  // Half a day from either end of the clock nothing below can overflow.
  constexpr auto kFirst = std::chrono::ceil<seconds>(system_clock::time_point::min()) + std::chrono::hours(12);
  constexpr auto kLast = std::chrono::floor<seconds>(system_clock::time_point::max()) - std::chrono::hours(12);
  if (time < kFirst || time > kLast) return system_clock::time_point(std::clamp(time, kFirst, kLast));
  return std::chrono::time_point_cast<system_clock::duration>(time + std::chrono::nanoseconds(nanoseconds));
}

}  // namespace strake
