#include "ignition/unit_syntax/unit_syntax.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/text.h"
#include "base/unit_name.h"
#include "codec/utf8.h"
#include "ignition/unit_syntax/unit_keys.h"
#include "ignition/unit_syntax/unit_values.h"

namespace strake::ignition {

namespace {

constexpr std::size_t kMaxUnitProblems = 200;
constexpr std::size_t kMaxShownName = 60;

/// The section that only units of this kind have; nullopt when systemd loads no such unit from a file.
std::optional<std::string_view> own_section(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 10> kSectionOfSuffix{{{".service", "Service"},
                                                                                            {".socket", "Socket"},
                                                                                            {".timer", "Timer"},
                                                                                            {".mount", "Mount"},
                                                                                            {".automount", "Automount"},
                                                                                            {".path", "Path"},
                                                                                            {".swap", "Swap"},
                                                                                            {".slice", "Slice"},
                                                                                            {".target", "Target"},
                                                                                            {".device", "Device"}}};
  for (const auto& [suffix, section] : kSectionOfSuffix) {
    if (name.ends_with(suffix)) return section;
  }
  return std::nullopt;
}

class UnitReader {
 public:
  UnitReader(std::string_view name, std::string_view own, UnitPart part) : name_(name), own_(own), part_(part) {}

  std::vector<UnitProblem> read(std::string_view text) {
    if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
    std::string joined;
    bool continues = false;
    while (!text.empty() && !is_refused_) {
      ++line_;
      const std::string_view physical = take_line(text);
      const std::size_t start = physical.find_first_not_of(" \t\n\r");
      const std::string_view line = start == std::string_view::npos ? std::string_view() : physical.substr(start);
      if (line.starts_with('#') || line.starts_with(';')) continue;  // even between two parts of one line
      if (!continues) joined.clear();
      joined += line;
      continues = ends_in_escape(joined);
      if (continues) {
        joined.back() = ' ';
      } else {
        read_line(joined);
      }
    }
    ++line_;  // what continues behind the end is told of there
    if (continues && !is_refused_) read_line(joined);
    if (!is_refused_ && part_ == UnitPart::kWhole) check_whole();
    return std::move(problems_);
  }

 private:
  /// Line feeds and carriage returns, alone or together, and NUL end a line.
  static std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find_first_of(std::string_view("\n\r\0", 3)), text.size());
    const std::string_view line = text.substr(0, end);
    std::size_t next = std::min(end + 1, text.size());
    if (next < text.size() && text[end] != '\0' && text[next] != '\0' && text[next] != text[end] &&
        (text[next] == '\n' || text[next] == '\r')) {
      ++next;
    }
    text.remove_prefix(next);
    return line;
  }

  static bool ends_in_escape(std::string_view line) {
    const std::size_t last = line.find_last_not_of('\\');
    const std::size_t count = line.size() - (last == std::string_view::npos ? 0 : last + 1);
    return count % 2 == 1;
  }

  void add(Severity severity, std::size_t line, std::string message) {
    if (problems_.size() < kMaxUnitProblems) problems_.push_back({severity, line, std::move(message), false});
  }
  void ignore(std::string message) { add(Severity::kWarning, line_, std::move(message)); }
  void refuse(std::string message) {
    add(Severity::kError, line_, std::move(message));
    is_refused_ = true;
  }

  static std::string shown(std::string_view name) { return clip_utf8(name, kMaxShownName); }

  void read_line(std::string_view text) {
    text = trimmed(text);
    if (text.empty()) return;
    if (!codec::is_valid_utf8(text)) return refuse("the line is not UTF-8 text");
    if (text.starts_with('[')) return read_section(text);
    if (!section_) {
      if (!in_ignored_section_) ignore("an assignment before the first section");
      return;
    }
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos) return ignore("no '=' in the line");
    if (equals == 0) return ignore("no key before the '='");
    read_assignment(trimmed(text.substr(0, equals)), trimmed(text.substr(equals + 1)));
  }

  void read_section(std::string_view text) {
    if (!text.ends_with(']')) return refuse("the name of the section has no closing ']'");
    const std::string_view name = text.substr(1, text.size() - 2);
    const bool is_safe = std::ranges::none_of(name, [](char c) {
      return static_cast<unsigned char>(c) < 0x20 || c == 0x7F || c == '"' || c == '\\' || c == '\'';
    });
    if (!is_safe) return refuse("the name of the section holds characters it must not");
    const bool is_known = name == "Unit" || name == "Install" || name == own_;
    if (!is_known && !name.starts_with("X-")) ignore(fmt::format("section [{}] is not known here", shown(name)));
    in_ignored_section_ = !is_known;
    section_ = is_known ? std::optional<std::string>(name) : std::nullopt;
  }

  void read_assignment(std::string_view key, std::string_view value) {
    if (!is_unit_key(*section_, key)) {
      if (!key.starts_with("X-")) ignore(fmt::format("key {} is not known in section [{}]", shown(key), *section_));
      return;
    }
    const UnitValue type = unit_value_type(key);
    if (type == UnitValue::kCommand) return read_command(key, value);
    const bool is_of_service = type != UnitValue::kServiceType || *section_ == "Service";
    const bool is_of_socket = key != "Priority" || *section_ == "Socket";
    if (const auto problem = is_of_service && is_of_socket ? value_problem(type, value) : std::nullopt; problem) {
      return wrong_value(key, *problem);
    }
    if (*section_ != "Install") values_[std::string(key)] = value;
  }

  void wrong_value(std::string_view key, const ValueProblem& problem) {
    std::string message = fmt::format("{}=: {}", key, problem.what);
    if (problem.is_fatal) {
      refuse(std::move(message));
    } else {
      ignore(std::move(message));
    }
  }

  void read_command(std::string_view key, std::string_view value) {
    std::size_t& count = commands_[std::string(key)];
    if (value.empty()) {
      count = 0;
      return;
    }
    std::size_t more = 0;
    if (const auto problem = command_problem(value, more); problem) return wrong_value(key, *problem);
    count += more;
  }

  std::string value_of(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() ? "" : found->second;
  }
  bool has_value(const std::string& key) const { return !value_of(key).empty(); }
  std::size_t commands_of(const std::string& key) const {
    const auto found = commands_.find(key);
    return found == commands_.end() ? 0 : found->second;
  }
  void refuse_whole(std::string message) { add(Severity::kError, 0, std::move(message)); }

  void check_whole() {
    if (own_ == "Service") check_service();
    if (own_ == "Timer") {
      demand_one("a timer needs one of OnActiveSec=, OnBootSec=, OnCalendar= and their like",
                 {"OnActiveSec", "OnBootSec", "OnStartupSec", "OnUnitActiveSec", "OnUnitInactiveSec", "OnCalendar",
                  "OnClockChange", "OnTimezoneChange"});
    }
    if (own_ == "Path") {
      demand_one("a path unit needs one of PathExists=, PathChanged= and their like",
                 {"PathExists", "PathExistsGlob", "PathChanged", "PathModified", "DirectoryNotEmpty"});
    }
    if (own_ == "Socket") {
      demand_one("a socket needs one of ListenStream=, ListenDatagram= and their like",
                 {"ListenStream", "ListenDatagram", "ListenSequentialPacket", "ListenFIFO", "ListenNetlink",
                  "ListenSpecial", "ListenMessageQueue", "ListenUSBFunction"});
    }
    if (own_ == "Mount") {
      if (!has_value("What")) refuse_whole("a mount needs What=");
      check_name("Where");
    }
    if (own_ == "Automount") check_name("Where");
    if (own_ == "Swap") {
      if (!has_value("What")) refuse_whole("a swap needs What=");
      check_name("What");
    }
  }

  void demand_one(std::string message, std::initializer_list<std::string_view> keys) {
    if (std::ranges::none_of(keys, [&](std::string_view key) { return has_value(std::string(key)); })) {
      refuse_whole(std::move(message));
    }
  }

  /// Mounts, automounts and swaps are named after their paths.
  void check_name(const std::string& key) {
    const std::string path = value_of(key);
    if (!path.starts_with('/') || path.find('%') != std::string::npos) return;
    const std::string expected = escaped_unit_path(path) + std::string(name_.substr(name_.rfind('.')));
    if (expected == name_) return;
    refuse_whole(fmt::format("the unit's name does not match {}=, which calls for {}", key, shown(expected)));
    problems_.back().is_about_name = true;
  }

  void check_service() {
    const std::size_t starts = commands_of("ExecStart");
    const std::string given = value_of("Type");
    const std::string type = given.empty() && starts == 0 ? "oneshot" : given;
    const std::string success = value_of("SuccessAction");
    const bool acts = !success.empty() && success != "none";
    const bool remains = parse_unit_boolean(value_of("RemainAfterExit")).value_or(false);
    if (starts == 0 && commands_of("ExecStop") == 0 && !acts) {
      return refuse_whole("a service needs ExecStart=, ExecStop= or SuccessAction=");
    }
    if (starts == 0 && !remains && !acts) {
      return refuse_whole("a service without ExecStart= needs SuccessAction= or RemainAfterExit=yes");
    }
    if (type != "oneshot" && starts == 0 && !acts) {
      return refuse_whole("only a service of Type=oneshot may be without ExecStart=");
    }
    if (type != "oneshot" && starts > 1) {
      return refuse_whole("more than one ExecStart=, which only a service of Type=oneshot may have");
    }
    if (type == "dbus" && !has_value("BusName")) return refuse_whole("a service of Type=dbus needs BusName=");
    const std::string restart = value_of("Restart");
    if (type == "oneshot" && (restart == "always" || restart == "on-success")) {
      return refuse_whole("a service of Type=oneshot cannot have Restart=always or on-success");
    }
  }

  std::string_view name_;
  std::string_view own_;
  UnitPart part_;
  std::size_t line_ = 0;
  bool is_refused_ = false;
  bool in_ignored_section_ = false;
  std::optional<std::string> section_;
  std::map<std::string, std::string> values_;
  std::map<std::string, std::size_t> commands_;
  std::vector<UnitProblem> problems_;
};

}  // namespace

std::vector<UnitProblem> check_unit_syntax(std::string_view name, std::string_view text, UnitPart part) {
  const auto own = own_section(name);
  if (!own || !strake::is_unit_name(name)) {
    return {{Severity::kError, 0, "systemd loads no unit of this name from a file", true}};
  }
  if (text.empty()) return {};  // an empty file masks the unit, which is a way of saying something
  return UnitReader(name, *own, part).read(text);
}

}  // namespace strake::ignition
