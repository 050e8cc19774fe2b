#include "net/http_date.h"

#include <array>
#include <charconv>
#include <vector>

#include <fmt/format.h>

namespace strake::net {
namespace {

constexpr std::array<std::string_view, 7> kWeekdays = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
constexpr std::array<std::string_view, 12> kMonths = {"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                                                      "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};

std::optional<int> date_number(std::string_view digits) {
  int value = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || digits.front() == '-' || parsed.ec != std::errc{} ||
      parsed.ptr != digits.data() + digits.size()) {
    return std::nullopt;
  }
  return value;
}

std::optional<unsigned> month_number(std::string_view name) {
  for (unsigned i = 0; i < kMonths.size(); ++i) {
    if (kMonths[i] == name) return i + 1;
  }
  return std::nullopt;
}

std::vector<std::string_view> split_date(std::string_view text, std::string_view separators) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const std::size_t end = text.find_first_of(separators);
    if (end != 0) words.push_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return words;
}

std::optional<std::chrono::sys_seconds> assemble_date(std::string_view year, std::string_view month,
                                                      std::string_view day, std::string_view clock) {
  const auto y = date_number(year);
  const auto m = month_number(month);
  const auto d = date_number(day);
  const auto time = split_date(clock, ":");
  if (!y || !m || !d || time.size() != 3) return std::nullopt;
  const auto hour = date_number(time[0]);
  const auto minute = date_number(time[1]);
  const auto second = date_number(time[2]);
  // 60 is a leap second, which the grammar allows.
  if (!hour || !minute || !second || *hour > 23 || *minute > 59 || *second > 60) return std::nullopt;
  // RFC 850 has two digits. The sliding window of the RFC needs a clock; this fixed one is right until 2069.
  const int full_year = year.size() == 2 ? (*y < 70 ? 2000 + *y : 1900 + *y) : *y;
  if (full_year < 1970 || full_year > 9999) return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(full_year), std::chrono::month(*m),
                                         std::chrono::day(static_cast<unsigned>(*d))};
  if (!date.ok()) return std::nullopt;
  return std::chrono::sys_days(date) + std::chrono::hours(*hour) + std::chrono::minutes(*minute) +
         std::chrono::seconds(*second);
}

}  // namespace

std::string format_http_date(std::chrono::sys_seconds time) {
  const auto days = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(days);
  const std::chrono::hh_mm_ss clock(time - days);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT", kWeekdays[std::chrono::weekday(days).c_encoding()],
                     static_cast<unsigned>(date.day()), kMonths[static_cast<unsigned>(date.month()) - 1],
                     static_cast<int>(date.year()), clock.hours().count(), clock.minutes().count(),
                     clock.seconds().count());
}

std::optional<std::chrono::sys_seconds> parse_http_date(std::string_view text) {
  if (text.size() > 64) return std::nullopt;
  const auto words = split_date(text, " ,");
  if (words.size() == 6 && words[5] == "GMT") return assemble_date(words[3], words[2], words[1], words[4]);
  if (words.size() == 4 && words[3] == "GMT") {  // Sunday, 06-Nov-94 08:49:37 GMT
    const auto date = split_date(words[1], "-");
    if (date.size() == 3) return assemble_date(date[2], date[1], date[0], words[2]);
  }
  if (words.size() == 5) return assemble_date(words[4], words[1], words[2], words[3]);  // Sun Nov  6 08:49:37 1994
  return std::nullopt;
}

}  // namespace strake::net
