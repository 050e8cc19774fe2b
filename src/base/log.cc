#include "base/log.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>

#include <fmt/format.h>

#include "base/secrets.h"
#include "base/text.h"
#include "base/time.h"
#include "base/visible_text.h"

namespace strake::log {

namespace {

constexpr std::size_t kMaxValueBytes = 4096;
/// What a field holds whose key contains one of these is nobody's business.
constexpr std::string_view kSensitiveWords[] = {"token",  "password",    "passwd",     "secret",
                                                "cookie", "private_key", "credential", "authorization"};

constexpr std::string_view kLevelNames[kLevels] = {"debug", "info", "warning", "error"};
constexpr std::string_view kLevelLabels[kLevels] = {"DEBUG", "INFO", "WARNING", "ERROR"};
constexpr std::string_view kFormatNames[] = {"text", "json"};

bool is_sensitive(std::string_view key) {
  const std::string lower = lower_case(key);
  return std::ranges::any_of(kSensitiveWords, [&](std::string_view word) { return lower.find(word) != lower.npos; });
}

std::string clipped(std::string_view text) {
  if (text.size() <= kMaxValueBytes) return std::string(text);
  std::size_t end = kMaxValueBytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  return fmt::format("{}... ({} bytes)", text.substr(0, end), text.size());
}

std::string shown_value(const Field& field) {
  return is_sensitive(field.key()) ? std::string(kHiddenSecret) : without_secrets(clipped(field.value()));
}

/// Quoted where a reader could not tell where the value ends.
std::string text_value(const std::string& value) {
  std::string shown = visible_line(value);
  const bool plain = !shown.empty() && shown.find_first_of(" \"=\\") == std::string::npos;
  if (plain) return shown;
  std::string quoted = "\"";
  for (const char c : shown) {
    if (c == '"') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  while (!text.empty()) {
    const FirstCharacter c = first_character(text);
    if (!c.is_utf8) {
      out += "\\ufffd";
    } else if (c.code_point == '"' || c.code_point == '\\') {
      out += '\\';
      out += static_cast<char>(c.code_point);
    } else if (is_unsafe_to_show(c.code_point)) {
      append_escape(out, c.code_point);
    } else {
      out += text.substr(0, c.bytes);
    }
    text.remove_prefix(c.bytes);
  }
  out += '"';
}

std::string timestamp(runtime::WallTime time) {
  std::string micros = format_rfc3339_micros(time);
  return micros.substr(0, micros.size() - 4) + "Z";  // milliseconds are enough
}

std::string text_line(runtime::WallTime time, Level level, std::string_view message, const Fields& fields) {
  std::string line = fmt::format("{} {:<7} {}", timestamp(time), kLevelLabels[static_cast<std::size_t>(level)],
                                 visible_line(without_secrets(clipped(message))));
  for (const Field& field : fields) {
    line += fmt::format(" {}={}", visible_line(field.key()), text_value(shown_value(field)));
  }
  return line + "\n";
}

std::string json_line(runtime::WallTime time, Level level, std::string_view message, const Fields& fields) {
  std::string line = fmt::format(R"({{"time":"{}","level":"{}","message":)", timestamp(time), to_string(level));
  append_json_string(line, without_secrets(clipped(message)));
  for (const Field& field : fields) {
    line += ',';
    append_json_string(line, field.key());
    line += ':';
    append_json_string(line, shown_value(field));
  }
  return line + "}\n";
}

std::string sameness_of(Level level, std::string_view message, const Fields& fields) {
  std::string same(to_string(level));
  const auto append = [&](std::string_view part) { same += fmt::format("\n{}:{}", part.size(), part); };
  append(message);
  for (const Field& field : fields) {
    append(field.key());
    if (!field.is_varying()) append(field.value());
  }
  return same;
}

}  // namespace

std::string_view to_string(Level level) { return kLevelNames[static_cast<std::size_t>(level)]; }

Result<Level> parse_level(std::string_view text) {
  const auto* found = std::ranges::find(kLevelNames, text);
  if (found == std::end(kLevelNames)) {
    return strake::error(Code::kInvalidArgument, "'{}' is no log level: use debug, info, warning or error", text);
  }
  return static_cast<Level>(found - std::begin(kLevelNames));
}

std::string_view to_string(Format format) { return kFormatNames[static_cast<std::size_t>(format)]; }

Result<Format> parse_format(std::string_view text) {
  const auto* found = std::ranges::find(kFormatNames, text);
  if (found == std::end(kFormatNames)) {
    return strake::error(Code::kInvalidArgument, "'{}' is no log format: use text or json", text);
  }
  return static_cast<Format>(found - std::begin(kFormatNames));
}

Field::Field(std::string_view key, runtime::Duration value)
    : Field(key, fmt::format("{:.3g}s", std::chrono::duration<double>(value).count())) {}

Log::Log(runtime::Runtime& runtime, LogOptions options, Write write)
    : runtime_(runtime), options_(options), write_(std::move(write)) {}

Log::~Log() {
  std::lock_guard lock(mutex_);
  while (!remembered_.empty()) forget_locked(remembered_.begin());
}

Log::Stats Log::stats() const {
  std::lock_guard lock(mutex_);
  return stats_;
}

void Log::say(Level level, std::string_view message, const Fields& fields) {
  const runtime::TimePoint now = runtime_.now();
  std::lock_guard lock(mutex_);
  ++stats_.lines[static_cast<std::size_t>(level)];
  if (level < options_.level) return;
  std::string same = sameness_of(level, message, fields);
  std::uint64_t repeats = 0;
  if (const auto found = remembered_.find(same); found != remembered_.end()) {
    Remembered& line = found->second;
    if (now - line.written < options_.repeat_after) {
      line.fields = fields;
      ++line.held_back;
      ++stats_.held_back;
      return;
    }
    repeats = std::exchange(line.held_back, 0);
    forget_locked(found);
  }
  forget_old_locked(now);
  write_locked(level, message, fields, repeats);
  const std::uint64_t order = next_order_++;
  by_order_.emplace(order, same);
  remembered_.emplace(std::move(same), Remembered{level, std::string(message), fields, now, 0, order});
  if (remembered_.size() > options_.remembered_lines) forget_locked(remembered_.find(by_order_.begin()->second));
}

/// Lines are remembered in the order in which they were written, so the old ones come first.
void Log::forget_old_locked(runtime::TimePoint now) {
  while (!by_order_.empty()) {
    const auto oldest = remembered_.find(by_order_.begin()->second);
    if (now - oldest->second.written < options_.repeat_after) return;
    forget_locked(oldest);
  }
}

void Log::forget_locked(std::map<std::string, Remembered>::iterator entry) {
  const Remembered& line = entry->second;
  if (line.held_back > 0) write_locked(line.level, line.message, line.fields, line.held_back);
  by_order_.erase(line.order);
  remembered_.erase(entry);
}

void Log::write_locked(Level level, std::string_view message, const Fields& fields, std::uint64_t repeats) {
  Fields all = fields;
  if (repeats > 0) all.emplace_back("repeated", repeats);
  const runtime::WallTime time = runtime_.wall_now();
  const std::string line =
      options_.format == Format::kJson ? json_line(time, level, message, all) : text_line(time, level, message, all);
  if (!write_(line)) ++stats_.failed_writes;
}

Log::Write write_to(int descriptor) {
  return [descriptor](std::string_view line) {
    ssize_t written = 0;
    do {
      written = ::write(descriptor, line.data(), line.size());
    } while (written < 0 && errno == EINTR);
    return written == static_cast<ssize_t>(line.size());
  };
}

}  // namespace strake::log
