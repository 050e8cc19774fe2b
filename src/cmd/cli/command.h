// The command line as data: each verb is a table entry, from which parsing, help, completion and man pages are made.
#pragma once

#include <filesystem>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cmd/cli/exit_codes.h"
#include "cmd/cli/option_values.h"
#include "cmd/output/output.h"

namespace strake::cmd {

struct OptionSpec {
  std::string_view name;        ///< "state"; "o,output" has a short form
  std::string_view value_name;  ///< "" for a switch
  std::string_view help;
  std::string_view default_value = "";
  ValueType type = {};
};

struct ArgumentSpec {
  std::string_view name;
  std::string_view help;
  bool required = true;
  bool many = false;  ///< one or more of them; read with Invocation::list. Required ones may follow
  ValueType type = {};
};

/// What was given on the command line, checked against the table.
class Invocation {
 public:
  std::stop_token stop;            ///< SIGINT or SIGTERM arrived, or nobody reads what we print any more
  std::string program = "strake";  ///< what the user called, for commands we suggest

  Output& out() const { return *output_; }

  /// Whether the option is there: on the command line or by its default.
  bool has(std::string_view name) const { return values_.contains(name); }
  bool is_set(std::string_view name) const;

  /// The text of an option or argument; "" when it is not there.
  const std::string& value(std::string_view name) const;
  std::filesystem::path path(std::string_view name) const { return value(name); }
  /// The items of a list, or of an argument that may be repeated.
  const std::vector<std::string>& list(std::string_view name) const;

  // These ask for an option that has a default or was seen with has().
  std::int64_t integer(std::string_view name) const { return typed<std::int64_t>(name); }
  std::chrono::milliseconds duration(std::string_view name) const { return typed<std::chrono::milliseconds>(name); }
  const net::Endpoint& endpoint(std::string_view name) const { return typed<net::Endpoint>(name); }
  /// The words of the option stand in the order of the enumerators.
  template <typename Enum>
  Enum choice(std::string_view name) const {
    return static_cast<Enum>(typed<std::size_t>(name));
  }

  // For the command line itself, and for tests.
  explicit Invocation(Output& output) : output_(&output) {}
  void set_value(std::string_view name, OptionValue value, std::string text);
  void set_switch(std::string_view name, bool on) { switches_[std::string(name)] = on; }
  /// As if the option had not been given.
  void forget(std::string_view name);

 private:
  struct Given {
    OptionValue value;
    std::string text;
  };
  template <typename T>
  const T& typed(std::string_view name) const {
    const auto found = values_.find(name);
    STRAKE_INVARIANT(found != values_.end() && std::holds_alternative<T>(found->second.value));
    return std::get<T>(found->second.value);
  }

  Output* output_;
  std::map<std::string, Given, std::less<>> values_;
  std::map<std::string, bool, std::less<>> switches_;
};

/// How a verb ends when it is told to stop.
enum class Lifetime {
  kCommand,  ///< at once: within a second whatever it is doing, with exit code 130
  kDaemon,   ///< in good order, with its own exit code
};

struct CommandSpec {
  std::string_view path;  ///< "release apply"
  std::string_view summary;
  /// Paragraphs, wrapped where they are shown; lines that begin with two blanks stay as they are, and so do examples.
  std::string_view details;
  std::span<const ArgumentSpec> arguments;
  std::span<const OptionSpec> options;
  Result<int> (*run)(const Invocation& invocation);
  std::span<const ExitMeaning> exit_codes = {};  ///< besides 1 and 130, which every verb has
  Lifetime lifetime = Lifetime::kCommand;
};

/// The first word that several verbs share.
struct VerbGroup {
  std::string_view name;
  std::string_view summary;
};

/// For what the user asked for and what is not there: exit code 3, where what cannot be read is an error.
template <typename T>
Result<T> blocked_when_absent(Result<T> found) {
  if (!found.ok() && found.error().code() == Code::kNotFound) {
    return std::move(found).error().with_verdict(Verdict::kAbsent);
  }
  return found;
}

/// "o,output" -> "output"
std::string_view long_name(const OptionSpec& option);
/// "o,output" -> "o"; "" when there is none.
std::string_view short_name(const OptionSpec& option);
/// What every verb takes besides its own options.
std::span<const OptionSpec> common_options();
/// Its own list with 1 and 130 added, in order.
std::vector<ExitMeaning> exit_codes_of(const CommandSpec& spec);

}  // namespace strake::cmd
