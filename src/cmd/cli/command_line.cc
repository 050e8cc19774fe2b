#include "cmd/cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <set>

#include "base/suggest.h"
#include "cmd/cli/help.h"
#include "cmd/version.h"
#include "net/url.h"

namespace strake::cmd {

namespace {

using namespace std::chrono_literals;

/// What is left of the second a command may take to end once a signal came: for those that stop by themselves.
constexpr auto kEndsWithin = 600ms;

Error usage_error(std::string_view text, std::string_view see) {
  return error(Code::kInvalidArgument, "{}; see `strake {}--help`", text, see);
}

/// What is said about a word nobody knows: the one that was meant, else where to look.
Error unknown_word_error(std::string_view text, std::string_view suggestion, std::string_view see) {
  if (suggestion.empty()) return usage_error(text, see);
  return error(Code::kInvalidArgument, "{}{}", text, suggestion);
}

/// The words that may follow `path` ("" or "release").
std::vector<std::string_view> words_below(const CommandTable& table, std::string_view path) {
  std::vector<std::string_view> words;
  for (const CommandSpec* spec : table.commands) {
    std::string_view rest = spec->path;
    if (!path.empty()) {
      if (!rest.starts_with(path) || rest.size() <= path.size() || rest[path.size()] != ' ') continue;
      rest.remove_prefix(path.size() + 1);
    }
    const std::string_view word = rest.substr(0, rest.find(' '));
    if (std::ranges::find(words, word) == words.end()) words.push_back(word);
  }
  return words;
}

bool asks_for_help(std::string_view word) { return word == "-h" || word == "--help"; }

/// What the first words mean: a verb and the arguments behind it, or something to print.
struct Chosen {
  const CommandSpec* spec = nullptr;
  std::vector<std::string> arguments{};
  std::string print{};
};

Result<Chosen> choose_command(const CommandTable& table, std::span<const char* const> arguments) {
  std::string path;
  for (std::size_t i = 1; i <= arguments.size(); ++i) {
    const bool at_end = i == arguments.size();
    const std::string_view word = at_end ? "" : arguments[i];
    const std::vector<std::string_view> known = words_below(table, path);
    if (at_end || asks_for_help(word)) {
      Chosen chosen;
      chosen.print =
          path.empty() ? program_help(table.commands, table.groups) : group_help(path, table.commands, table.groups);
      if (!at_end) return chosen;
      return error(Code::kInvalidArgument, "{} is missing; there are {}",
                   path.empty() ? "a verb" : fmt::format("the verb behind '{}'", path),
                   fmt::format("{}; see `strake {}--help`", fmt::join(known, ", "), path.empty() ? "" : path + " "));
    }
    if (path.empty() && word == "--version") return Chosen{nullptr, {}, fmt::format("strake {}\n", kVersion)};
    if (std::ranges::find(known, word) == known.end()) {
      const std::string_view what = word.starts_with('-') ? "option" : "verb";
      const std::string full = path.empty() ? std::string(word) : fmt::format("{} {}", path, word);
      return unknown_word_error(fmt::format("there is no {} '{}'", what, full), did_you_mean(word, known),
                                path.empty() ? "" : path + " ");
    }
    path += path.empty() ? word : fmt::format(" {}", word);
    // A verb may be a group as well (`agent` and `agent join`): the longer one is meant where its word follows.
    const std::vector<std::string_view> below = words_below(table, path);
    if (i + 1 < arguments.size() && std::ranges::find(below, std::string_view(arguments[i + 1])) != below.end())
      continue;
    for (const CommandSpec* spec : table.commands) {
      if (spec->path == path)
        return Chosen{spec, {arguments.begin() + static_cast<std::ptrdiff_t>(i) + 1, arguments.end()}, {}};
    }
  }
  return error(Code::kInternal, "no verb was found");
}

std::string flag_names(const OptionSpec& option) {
  if (short_name(option).empty()) return fmt::format("--{}", long_name(option));
  return fmt::format("-{},--{}", short_name(option), long_name(option));
}

/// The parser of one verb. What CLI11 writes into has to stay where it is.
class VerbParser {
 public:
  explicit VerbParser(const CommandSpec& spec) : spec_(spec) {
    app_.set_help_flag("-h,--help", "");
    if (shares_words(spec)) app_.add_option("WORDS", words_);
    for (const ArgumentSpec& argument : spec.arguments) {
      if (shares_words(spec)) break;
      CLI::Option* added = argument.many ? app_.add_option(std::string(argument.name), lists_[argument.name])
                                         : app_.add_option(std::string(argument.name), texts_[argument.name]);
      added->required(argument.required);
    }
    for (const OptionSpec& option : spec.options) add(option);
    for (const OptionSpec& option : common_options()) add(option);
  }

  /// kNotFound-free: every error names what is wrong on the command line. False when help was asked for.
  Result<bool> parse(std::vector<std::string> arguments) {
    try {
      std::ranges::reverse(arguments);  // what CLI11 takes from the back
      app_.parse(arguments);
    } catch (const CLI::CallForHelp&) {
      return false;
    } catch (const CLI::ExtrasError&) {
      return unknown_word();
    } catch (const CLI::ParseError& failure) {
      return usage_error(failure.what(), see());
    }
    if (shares_words(spec_)) STRAKE_CHECK_OK(share_words());
    return true;
  }

  /// The values, checked.
  Status fill(Invocation& invocation) {
    for (const ArgumentSpec& argument : spec_.arguments) {
      if (argument.many) {
        for (const std::string& text : lists_[argument.name]) {
          STRAKE_CHECK_OK(net::refuse_control_characters(text, fmt::format("an argument of {}", argument.name)));
        }
        invocation.set_value(argument.name, lists_[argument.name], "");
      } else if (shares_words(spec_) || app_.count(std::string(argument.name)) > 0) {
        STRAKE_CHECK_OK(set(invocation, argument.name, argument.type, argument.name));
      }
    }
    for (const OptionSpec& option : spec_.options) STRAKE_CHECK_OK(set_option(invocation, option));
    for (const OptionSpec& option : common_options()) STRAKE_CHECK_OK(set_option(invocation, option));
    return {};
  }

 private:
  /// Whether an argument that may be repeated is followed by others: then who gets what is decided here, at the end,
  /// because the parser would give the first of them everything.
  static bool shares_words(const CommandSpec& spec) {
    const auto many = std::ranges::find_if(spec.arguments, &ArgumentSpec::many);
    return many != spec.arguments.end() && many + 1 != spec.arguments.end();
  }

  Status share_words() {
    std::size_t left = spec_.arguments.size();
    std::size_t next = 0;
    for (const ArgumentSpec& argument : spec_.arguments) {
      STRAKE_INVARIANT(argument.required);
      --left;
      const std::size_t open = words_.size() - next;
      if (open == 0 || (argument.many && open <= left)) {
        // With too few, the first that lacks a word is not told from the others: name what the verb wants.
        return usage_error(fmt::format("{} are required", argument_names()), see());
      }
      if (!argument.many) {
        texts_[argument.name] = words_[next++];
        continue;
      }
      std::vector<std::string>& list = lists_[argument.name];
      while (words_.size() - next > left) list.push_back(words_[next++]);
    }
    return {};
  }

  std::string argument_names() const {
    std::string names;
    for (std::size_t i = 0; i < spec_.arguments.size(); ++i) {
      names += i == 0 ? "" : (i + 1 == spec_.arguments.size() ? " and " : ", ");
      names += spec_.arguments[i].name;
    }
    return names;
  }

  void add(const OptionSpec& option) {
    if (option.value_name.empty()) {
      app_.add_flag(flag_names(option), switches_[long_name(option)]);
      return;
    }
    texts_[long_name(option)] = option.default_value;
    CLI::Option* added = app_.add_option(flag_names(option), texts_[long_name(option)]);
    added->type_name(std::string(option.value_name));
    if (option.type.kind == ValueKind::kList) added->join(',');  // given twice it is one longer list
  }

  std::string see() const { return fmt::format("{} ", spec_.path); }

  Error unknown_word() const {
    const std::vector<std::string> extras = app_.remaining();
    const std::string word = extras.empty() ? "" : extras.front();
    if (!word.starts_with('-')) {
      return usage_error(fmt::format("'{}' is one argument too many for `strake {}`", word, spec_.path), see());
    }
    std::vector<std::string> names{"--help"};
    for (const OptionSpec& option : spec_.options) names.push_back(fmt::format("--{}", long_name(option)));
    for (const OptionSpec& option : common_options()) names.push_back(fmt::format("--{}", long_name(option)));
    const std::vector<std::string_view> known(names.begin(), names.end());
    const std::string name = word.substr(0, word.find('='));
    return unknown_word_error(fmt::format("`strake {}` has no option '{}'", spec_.path, name),
                              did_you_mean(name, known), see());
  }

  Status set_option(Invocation& invocation, const OptionSpec& option) {
    const std::string_view name = long_name(option);
    if (option.value_name.empty()) {
      invocation.set_switch(name, switches_[name]);
      return {};
    }
    const bool given = app_.count(fmt::format("--{}", name)) > 0;
    if (!given && option.default_value.empty()) return {};
    return set(invocation, name, option.type,
               short_name(option).empty() ? fmt::format("--{}", name) : fmt::format("-{}", short_name(option)));
  }

  Status set(Invocation& invocation, std::string_view name, const ValueType& type, std::string_view shown) {
    const std::string& text = texts_[name];
    STRAKE_CHECK_OK(net::refuse_control_characters(text, fmt::format("the value of {}", shown)));
    STRAKE_TRY(OptionValue value, parse_option_value(type, shown, text));
    invocation.set_value(name, std::move(value), text);
    return {};
  }

  const CommandSpec& spec_;
  CLI::App app_;
  std::map<std::string_view, std::string> texts_;
  std::map<std::string_view, std::vector<std::string>> lists_;
  std::vector<std::string> words_;  ///< where arguments share them
  std::map<std::string_view, bool> switches_;
};

int report_failure(const Error& failure, Output& output) {
  (void)output.finish();
  output.fail(failure.to_string());
  return exit_code_of(failure);
}

/// A command is stopped by a signal, and by its output when nobody takes it any more.
int run_verb(const CommandSpec& spec, Invocation& invocation, Output& output, SignalStop& signals) {
  std::stop_source stop;
  const std::stop_callback by_signal(signals.token(), [&] { stop.request_stop(); });
  if (spec.lifetime == Lifetime::kCommand) {
    signals.end_within(kEndsWithin);
    output.on_failure([&] { stop.request_stop(); });
  }
  invocation.stop = stop.get_token();
  const Result<int> outcome = spec.run(invocation);
  output.on_failure(nullptr);
  const Status printed = output.finish();
  const bool told_to_stop =
      spec.lifetime == Lifetime::kCommand || (!outcome.ok() && outcome.error().code() == Code::kCancelled);
  if (!outcome.ok() && told_to_stop && signals.token().stop_requested()) {
    output.fail("interrupted");
    return kExitInterrupted;
  }
  // What could not be printed explains what was cut short because of it.
  if (!printed.ok()) return report_failure(printed.error(), output);
  if (!outcome.ok()) return report_failure(outcome.error(), output);
  return *outcome;
}

}  // namespace

int run_command_line(const CommandTable& table, std::span<const char* const> arguments, Output& output,
                     SignalStop& signals) {
  Result<Chosen> chosen = choose_command(table, arguments);
  if (!chosen.ok()) return report_failure(chosen.error(), output);
  if (chosen->spec != nullptr) {
    VerbParser parser(*chosen->spec);
    const Result<bool> parsed = parser.parse(std::move(chosen->arguments));
    if (!parsed.ok()) return report_failure(parsed.error(), output);
    if (*parsed) {
      Invocation invocation(output);
      if (!arguments.empty()) invocation.program = arguments.front();
      if (const Status filled = parser.fill(invocation); !filled.ok()) return report_failure(filled.error(), output);
      output.set_color(invocation.choice<ColorChoice>("color"));
      return run_verb(*chosen->spec, invocation, output, signals);
    }
    chosen->print = command_help(*chosen->spec);
  }
  output.text(chosen->print);
  const Status printed = output.finish();
  return printed.ok() ? kExitOk : report_failure(printed.error(), output);
}

}  // namespace strake::cmd
