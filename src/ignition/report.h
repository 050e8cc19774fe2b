// What a check of an Ignition config found: errors and warnings, each with the member it is about.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "codec/json_locate.h"
#include "codec/text_position.h"

namespace strake::ignition {

enum class Severity { kError, kWarning };

std::string_view to_string(Severity severity);

struct Finding {
  Severity severity = Severity::kError;
  json::Steps steps;                            ///< {"storage", "files", "[2]", "path"}
  std::string message;                          ///< in the words of coreos/ignition's validator where it has any
  std::string found;                            ///< the offending value, where showing it helps
  bool at_key = false;                          ///< about the member's name, not its value
  std::optional<codec::TextPosition> position;  ///< when the config came as text

  /// "storage.files[2].path"; empty for the whole config.
  std::string path() const;

  /// "storage.files[2].path: path not absolute: 'etc/x'"
  std::string to_string() const;
};

/// A place in a config, linked to the place around it; lives on the stack of whoever walks the config.
class Path {
 public:
  Path() = default;
  Path member(std::string_view name) const { return Path(this, name, 0); }
  Path item(std::size_t index) const { return Path(this, {}, index); }
  json::Steps steps() const;

 private:
  Path(const Path* around, std::string_view name, std::size_t index) : around_(around), name_(name), index_(index) {}

  const Path* around_ = nullptr;
  std::string_view name_;  ///< empty for a list item
  std::size_t index_ = 0;
};

class Report {
 public:
  /// The first errors and the first warnings; of a config that consists of mistakes not every one is kept.
  static constexpr std::size_t kMaxFindings = 1000;
  std::vector<Finding> findings;

  bool is_fatal() const;

  /// No further error will be kept, so looking for more is idle.
  bool is_full() const { return errors_ > kMaxFindings; }
  void error(const Path& path, std::string message, std::string_view found = {});
  void warn(const Path& path, std::string message, std::string_view found = {});
  void warn_key(const Path& path, std::string message);

  /// Sets the position of every finding that has none yet.
  void locate(std::string_view text);

 private:
  void add(Severity severity, const Path& path, std::string message, std::string_view found, bool at_key);

  std::size_t errors_ = 0;
  std::size_t warnings_ = 0;
};

}  // namespace strake::ignition
