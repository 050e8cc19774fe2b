// Log: what a running program tells the people who look after it, one line a fact.
//
//   log.warning("the API server does not answer", {{"server", url}, {"error", error}, log::varying("failures", n)});
//
//   2026-01-02T03:04:05.678Z WARNING the API server does not answer server=https://... error="connection refused" ...
//
// Only programs log: `src/cmd` and the outermost loops of daemons in `src/controlplane` (the lint checks it); libraries
// return errors or call hooks. There is no global log, so that a test sees exactly what one daemon said.
//
// A line that says the same as one of the last minutes is not written but counted; the count comes with the next one
// that is. Fields made with `varying` (a count, a delay) do not make a line a different one. Control characters are
// made visible, long values cut, and what looks like a secret is hidden, whatever the caller passes.
#pragma once

#include <array>
#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/runtime.h"
#include "base/secret.h"

namespace strake::log {

enum class Level { kDebug, kInfo, kWarning, kError };
inline constexpr std::size_t kLevels = 4;
std::string_view to_string(Level level);
Result<Level> parse_level(std::string_view text);

enum class Format { kText, kJson };
std::string_view to_string(Format format);
Result<Format> parse_format(std::string_view text);

class Field {
 public:
  Field(std::string_view key, std::string_view value) : key_(key), value_(value) {}
  Field(std::string_view key, const char* value) : Field(key, std::string_view(value)) {}
  Field(std::string_view key, const std::string& value) : Field(key, std::string_view(value)) {}
  Field(std::string_view key, bool value) : Field(key, value ? "true" : "false") {}
  Field(std::string_view key, const Error& value) : Field(key, value.to_string()) {}
  /// As seconds: "1.5s".
  Field(std::string_view key, runtime::Duration value);
  Field(std::string_view key, const Secret&) = delete;  ///< no line shows one
  template <std::integral T>
    requires(!std::same_as<T, bool>)
  Field(std::string_view key, T value) : key_(key), value_(std::to_string(value)) {}

  const std::string& key() const { return key_; }
  const std::string& value() const { return value_; }
  bool is_varying() const { return varying_; }

 private:
  template <typename T>
  friend Field varying(std::string_view key, const T& value);

  std::string key_;
  std::string value_;
  bool varying_ = false;
};

/// A field in which lines that say the same may differ.
template <typename T>
Field varying(std::string_view key, const T& value) {
  Field field(key, value);
  field.varying_ = true;
  return field;
}

using Fields = std::vector<Field>;

struct LogOptions {
  Level level = Level::kInfo;
  Format format = Format::kText;
  runtime::Duration repeat_after = std::chrono::minutes(2);  ///< the same line is written again, with its count
  std::size_t remembered_lines = 512;                        ///< lines whose repeats are noticed
};

/// Lines of daemons; thread safe.
class Log {
 public:
  /// Takes one whole line with its line feed; false when it could not be written.
  using Write = std::function<bool(std::string_view line)>;
  struct Stats {
    std::array<std::uint64_t, kLevels> lines{};  ///< asked for, whether written, held back or below the level
    std::uint64_t held_back = 0;                 ///< repeats
    std::uint64_t failed_writes = 0;
  };

  Log(runtime::Runtime& runtime, LogOptions options, Write write);
  /// Writes what is still held back.
  ~Log();
  Log(const Log&) = delete;
  Log& operator=(const Log&) = delete;

  void debug(std::string_view message, const Fields& fields = {}) { say(Level::kDebug, message, fields); }
  void info(std::string_view message, const Fields& fields = {}) { say(Level::kInfo, message, fields); }
  void warning(std::string_view message, const Fields& fields = {}) { say(Level::kWarning, message, fields); }
  void error(std::string_view message, const Fields& fields = {}) { say(Level::kError, message, fields); }
  void say(Level level, std::string_view message, const Fields& fields);

  Stats stats() const;

 private:
  struct Remembered {
    Level level;
    std::string message;
    Fields fields;  ///< of the last time
    runtime::TimePoint written;
    std::uint64_t held_back = 0;
    std::uint64_t order = 0;
  };

  void write_locked(Level level, std::string_view message, const Fields& fields, std::uint64_t repeats);
  void forget_old_locked(runtime::TimePoint now);
  void forget_locked(std::map<std::string, Remembered>::iterator entry);

  runtime::Runtime& runtime_;
  const LogOptions options_;
  const Write write_;
  mutable std::mutex mutex_;
  std::map<std::string, Remembered> remembered_;  ///< by what makes lines the same
  std::map<std::uint64_t, std::string> by_order_;
  std::uint64_t next_order_ = 0;
  Stats stats_;
};

/// One write(2) a line to a descriptor, so that lines of several processes do not mix.
Log::Write write_to(int descriptor);

}  // namespace strake::log
