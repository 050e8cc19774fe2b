#include "ignition/unit_syntax/unit_values.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>

#include "base/text.h"

namespace strake::ignition {

namespace {

constexpr std::string_view kBlanks = " \t\n\r";

bool is_one_of(std::string_view value, std::initializer_list<std::string_view> words) {
  return std::ranges::find(words, value) != words.end();
}

std::string_view skip_blanks(std::string_view text) {
  const std::size_t start = text.find_first_not_of(kBlanks);
  return start == std::string_view::npos ? std::string_view() : text.substr(start);
}

/// A path whose start is only known when the unit is loaded cannot be judged.
bool is_absolute(std::string_view path) { return path.starts_with('/') || path.starts_with('%'); }

template <typename Number>
std::optional<Number> whole_number(std::string_view text, int base) {
  Number number{};
  const char* begin = text.data();
  const char* end = begin + text.size();
  const auto [stop, failure] = std::from_chars(begin, end, number, base);
  if (text.empty() || failure != std::errc() || stop != end) return std::nullopt;
  return number;
}

/// As C reads a number of any base.
std::optional<long long> c_number(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative || text.starts_with('+')) text.remove_prefix(1);
  int base = 10;
  if (text.size() > 1 && text[0] == '0') {
    const char kind = lower_case(text[1]);
    base = kind == 'x' ? 16 : kind == 'b' ? 2 : 8;
    text.remove_prefix(kind == 'x' || kind == 'b' || kind == 'o' ? 2 : 1);
  }
  const auto number = whole_number<unsigned long long>(text, base);
  if (!number || *number > static_cast<unsigned long long>(INT64_MAX)) return std::nullopt;
  return is_negative ? -static_cast<long long>(*number) : static_cast<long long>(*number);
}

bool is_signal(std::string_view value) {
  constexpr std::array<std::string_view, 34> kNames{
      "HUP",  "INT",    "QUIT", "ILL",    "TRAP", "ABRT", "BUS",  "FPE",   "KILL",  "USR1", "SEGV", "USR2",
      "PIPE", "ALRM",   "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP",  "TTIN",  "TTOU", "URG",  "XCPU",
      "XFSZ", "VTALRM", "PROF", "WINCH",  "IO",   "PWR",  "SYS",  "RTMIN", "RTMAX", "IOT"};
  constexpr int kLastSignal = 64;
  if (const auto number = whole_number<int>(value, 10); number) return *number > 0 && *number <= kLastSignal;
  if (value.starts_with("SIG")) value.remove_prefix(3);
  if (std::ranges::find(kNames, value) != kNames.end()) return value != "IOT";
  if (!value.starts_with("RTMIN+") && !value.starts_with("RTMAX-")) return false;
  const auto distance = whole_number<int>(value.substr(6), 10);
  return distance && *distance >= 0 && *distance <= 30;
}

bool is_documentation_url(std::string_view url) {
  constexpr std::array<std::string_view, 5> kSchemes{"http://", "https://", "file:/", "info:", "man:"};
  return std::ranges::any_of(
      kSchemes, [&](std::string_view scheme) { return url.starts_with(scheme) && url.size() > scheme.size(); });
}

bool is_assignment(std::string_view word) {
  const std::size_t equals = word.find('=');
  if (equals == std::string_view::npos || equals == 0 || is_digit(word[0])) return false;
  return std::ranges::all_of(word.substr(0, equals), [](char c) { return is_alphanumeric(c) || c == '_'; });
}

/// The longest name of a unit of time at the start of the text; 0 when there is none.
std::size_t time_unit_length(std::string_view text) {
  constexpr std::array<std::string_view, 29> kUnits{
      "seconds", "second", "sec", "s",     "minutes", "minute", "min",  "months", "month",    "M",
      "msec",    "ms",     "m",   "hours", "hour",    "hr",     "h",    "days",   "day",      "d",
      "weeks",   "week",   "w",   "years", "year",    "y",      "usec", "us",     "\xC2\xB5s"};
  std::size_t longest = 0;
  for (const std::string_view unit : kUnits) {
    if (text.starts_with(unit)) longest = std::max(longest, unit.size());
  }
  return longest;
}

std::optional<ValueProblem> ignored(bool is_wrong, std::string_view what) {
  return is_wrong ? std::optional(ValueProblem{false, what}) : std::nullopt;
}

std::optional<ValueProblem> folder_problem(std::string_view value) {
  const bool may_be_missing = value.starts_with('-');
  if (may_be_missing) value.remove_prefix(1);
  if (value.empty() || value == "~" || is_absolute(value)) return std::nullopt;
  return ValueProblem{!may_be_missing, "not an absolute path"};
}

std::optional<ValueProblem> condition_problem(std::string_view value) {
  if (value.empty()) return std::nullopt;
  if (value.starts_with('|')) value = skip_blanks(value.substr(1));
  if (value.starts_with('!')) value = skip_blanks(value.substr(1));
  return ignored(!is_absolute(value), "not an absolute path");
}

std::optional<ValueProblem> words_problem(UnitValue type, std::string_view value) {
  const auto words = split_unit_words(value);
  if (!words) return ValueProblem{false, "a quote is not closed"};
  for (const std::string& word : *words) {
    if (word.find('%') != std::string::npos) continue;  // only known when the unit is loaded
    if (type == UnitValue::kEnvironment && !is_assignment(word)) return ValueProblem{false, "not NAME=VALUE"};
    if (type == UnitValue::kPathList && !is_absolute(word)) return ValueProblem{false, "not an absolute path"};
    if (type == UnitValue::kUrlList && !is_documentation_url(word)) {
      return ValueProblem{false, "not a URL of http, https, file, info or man"};
    }
  }
  return std::nullopt;
}

/// What precedes the path of a program: each mark once, '!' twice at most.
std::string_view without_marks(std::string_view word, bool& may_fail) {
  bool has_at = false, has_colon = false, has_privilege = false;
  while (!word.empty()) {
    if (word[0] == '-' && !may_fail) {
      may_fail = true;
    } else if (word[0] == '@' && !has_at) {
      has_at = true;
    } else if (word[0] == ':' && !has_colon) {
      has_colon = true;
    } else if (word[0] == '+' && !has_privilege) {
      has_privilege = true;
    } else if (word[0] == '!' && !has_privilege) {
      has_privilege = true;
      if (word.starts_with("!!")) word.remove_prefix(1);
    } else {
      break;
    }
    word.remove_prefix(1);
  }
  return word;
}

std::optional<ValueProblem> program_problem(std::string_view word) {
  bool may_fail = false;
  const std::string_view path = without_marks(word, may_fail);
  const auto wrong = [&](std::string_view what) { return ValueProblem{!may_fail, what}; };
  if (path.empty()) return wrong("the path of the program is empty");
  if (std::ranges::any_of(path, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; })) {
    return wrong("the path of the program holds control characters");
  }
  if (!is_absolute(path) && path.find('/') != std::string_view::npos) {
    return wrong("the program is neither an absolute path nor a name without slashes");
  }
  if (path.ends_with('/')) return wrong("the path of the program is that of a folder");
  return std::nullopt;
}

}  // namespace

std::optional<bool> parse_unit_boolean(std::string_view value) {
  const std::string lower = lower_case(value);
  if (is_one_of(lower, {"1", "yes", "y", "true", "t", "on"})) return true;
  if (is_one_of(lower, {"0", "no", "n", "false", "f", "off"})) return false;
  return std::nullopt;
}

bool is_time_span(std::string_view value) {
  std::string_view rest = skip_blanks(value);
  if (rest.starts_with("infinity")) return skip_blanks(rest.substr(8)).empty();
  bool has_number = false;
  for (rest = skip_blanks(rest); !rest.empty(); rest = skip_blanks(rest)) {
    if (rest.starts_with('+')) rest.remove_prefix(1);
    const std::size_t digits = std::min(rest.find_first_not_of("0123456789"), rest.size());
    rest.remove_prefix(digits);
    std::size_t fraction = 0;
    if (rest.starts_with('.')) {
      rest.remove_prefix(1);
      fraction = std::min(rest.find_first_not_of("0123456789"), rest.size());
      rest.remove_prefix(fraction);
      if (fraction == 0) return false;
    }
    if (digits + fraction == 0) return false;
    has_number = true;
    const std::string_view after_blanks = skip_blanks(rest);
    if (after_blanks.empty()) return true;
    const std::size_t unit = time_unit_length(after_blanks);
    if (unit != 0) {
      rest = after_blanks.substr(unit);
    } else if (after_blanks.size() == rest.size()) {
      return false;  // neither a unit nor a gap before what comes next
    }
  }
  return has_number;
}

std::optional<std::vector<std::string>> split_unit_words(std::string_view value) {
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::size_t i = 0; i < value.size(); ++i) {
    const char c = value[i];
    if (c == '\\' && i + 1 < value.size()) {
      word += value[++i];
      in_word = true;
    } else if (quote != 0) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '"' || c == '\'') {
      quote = c;
      in_word = true;
    } else if (kBlanks.find(c) != std::string_view::npos) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0) return std::nullopt;
  if (in_word) words.push_back(std::move(word));
  return words;
}

std::optional<ValueProblem> value_problem(UnitValue type, std::string_view value) {
  switch (type) {
    case UnitValue::kAnything:
    case UnitValue::kCommand: return std::nullopt;
    case UnitValue::kBoolean: return ignored(!parse_unit_boolean(value), "neither yes nor no");
    case UnitValue::kTimeSpan: return ignored(!is_time_span(value), "not a time span");
    case UnitValue::kUnsigned: {
      const auto number = c_number(value);
      return ignored(!number || *number < 0 || *number > UINT32_MAX, "not a number from 0 on");
    }
    case UnitValue::kInteger: {
      const auto number = c_number(value);
      return ignored(!number || *number < INT32_MIN || *number > INT32_MAX, "not a number");
    }
    case UnitValue::kOctalMode: {
      const auto mode = whole_number<unsigned>(value, 8);
      return ignored(!mode || *mode > 07777, "not a mode in octal");
    }
    case UnitValue::kSignal: return ignored(!is_signal(value), "not a signal");
    case UnitValue::kAction:
      return ignored(!is_one_of(value, {"none", "reboot", "reboot-force", "reboot-immediate", "poweroff",
                                        "poweroff-force", "poweroff-immediate", "exit", "exit-force"}),
                     "not an action such as none, reboot or poweroff");
    case UnitValue::kJobMode:
      return ignored(!is_one_of(value, {"fail", "replace", "replace-irreversibly", "isolate", "flush",
                                        "ignore-dependencies", "ignore-requirements", "triggering"}),
                     "not a job mode such as fail or replace");
    case UnitValue::kServiceType:
      return ignored(!is_one_of(value, {"simple", "exec", "forking", "oneshot", "dbus", "notify", "idle"}),
                     "none of simple, exec, forking, oneshot, dbus, notify and idle");
    case UnitValue::kRestart:
      return ignored(
          !is_one_of(value, {"no", "on-success", "on-failure", "on-abnormal", "on-watchdog", "on-abort", "always"}),
          "none of no, on-success, on-failure, on-abnormal, on-watchdog, on-abort and always");
    case UnitValue::kKillMode:
      return ignored(!value.empty() && !is_one_of(value, {"control-group", "process", "mixed", "none"}),
                     "none of control-group, process, mixed and none");
    case UnitValue::kProtectSystem:
      return ignored(!is_one_of(value, {"strict", "full"}) && !parse_unit_boolean(value),
                     "none of yes, no, full and strict");
    case UnitValue::kProtectHome:
      return ignored(!is_one_of(value, {"read-only", "tmpfs"}) && !parse_unit_boolean(value),
                     "none of yes, no, read-only and tmpfs");
    case UnitValue::kCollectMode:
      return ignored(!is_one_of(value, {"inactive", "inactive-or-failed"}), "neither inactive nor inactive-or-failed");
    case UnitValue::kPath: return ignored(!value.empty() && !is_absolute(value), "not an absolute path");
    case UnitValue::kWorkingFolder: return folder_problem(value);
    case UnitValue::kConditionPath: return condition_problem(value);
    case UnitValue::kEnvironment:
    case UnitValue::kPathList:
    case UnitValue::kUrlList: return words_problem(type, value);
  }
  return std::nullopt;
}

std::optional<ValueProblem> command_problem(std::string_view value, std::size_t& commands) {
  commands = 0;
  const auto words = split_unit_words(value);
  if (!words) return ValueProblem{false, "a quote is not closed"};
  bool is_first = true;
  for (const std::string& word : *words) {
    if (word == ";" && !is_first) {
      is_first = true;
      continue;
    }
    if (is_first) {
      if (const auto problem = program_problem(word); problem) return problem;
      ++commands;
    }
    is_first = false;
  }
  return std::nullopt;
}

}  // namespace strake::ignition
