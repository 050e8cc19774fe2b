// The command line as data: each verb is a table entry; cli.cc feeds the table to the argument parser and prints help
// from it.
#pragma once

#include <functional>
#include <map>
#include <span>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::cmd {

/// What the verbs promise to scripts.
enum ExitCode : int {
  kExitOk = 0,
  kExitError = 1,    ///< usage errors too
  kExitDiffers = 2,  ///< "behind" or "differs", where the verb's help says so
  kExitBlocked = 3,  ///< something stands in the way; the message says what to do
};

struct OptionSpec {
  std::string_view name;        ///< "state"; "o,output" has a short form
  std::string_view value_name;  ///< "" for a switch
  std::string_view help;
  std::string_view default_value = "";
};

struct ArgumentSpec {
  std::string_view name;
  std::string_view help;
  bool required = true;
  bool many = false;  ///< one or more of them; read with Invocation::list
};

/// What was given on the command line.
class Invocation {
 public:
  std::map<std::string, std::string, std::less<>> values;
  std::map<std::string, std::vector<std::string>, std::less<>> lists;
  std::map<std::string, bool, std::less<>> switches;
  std::stop_token stop;  ///< SIGINT or SIGTERM arrived

  const std::string& value(std::string_view name) const { return values.find(name)->second; }
  const std::vector<std::string>& list(std::string_view name) const { return lists.find(name)->second; }
  bool is_set(std::string_view name) const { return switches.find(name)->second; }
};

struct CommandSpec {
  std::string_view path;  ///< "release apply"
  std::string_view summary;
  std::string_view details;  ///< shown below the options: what it does, exit codes, an example
  std::span<const ArgumentSpec> arguments;
  std::span<const OptionSpec> options;
  Result<int> (*run)(const Invocation& invocation);
};

/// For what the user asked for and what is not there: exit code 3 (kExitBlocked), where what cannot be read is an
/// error.
template <typename T>
Result<T> blocked_when_absent(Result<T> found) {
  if (!found.ok() && found.error().code() == Code::kNotFound) return std::move(found).error().with_reason("Blocked");
  return found;
}

/// The exit code. Errors are printed to stderr once, as "strake: ...".
int run_command_line(std::span<const CommandSpec* const> commands, int argc, char** argv, std::stop_token stop);

}  // namespace strake::cmd
