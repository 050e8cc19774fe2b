#include "cmd/cli/help.h"

#include <algorithm>

namespace strake::cmd {

namespace {

constexpr std::size_t kHelpColumn = 30;

std::vector<std::string_view> lines_of_text(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    lines.push_back(text.substr(0, end));
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  }
  return lines;
}

/// Words of `text` in lines of at most `width`; a longer word stands alone.
std::vector<std::string> fill_lines(std::string_view text, std::size_t width) {
  std::vector<std::string> lines;
  std::string line;
  while (!text.empty()) {
    const std::size_t space = text.find(' ');
    const std::string_view word = text.substr(0, space);
    text.remove_prefix(space == std::string_view::npos ? text.size() : space + 1);
    if (word.empty()) continue;
    if (!line.empty() && line.size() + 1 + word.size() > width) lines.push_back(std::exchange(line, ""));
    if (!line.empty()) line += ' ';
    line += word;
  }
  if (!line.empty()) lines.push_back(std::move(line));
  return lines;
}

/// "  NAME       what it is", continued below where it is long.
std::string two_columns(std::string_view left, std::string_view right, std::size_t column) {
  std::string text = fmt::format("  {}", left);
  const std::vector<std::string> lines = fill_lines(right, kHelpWidth - column);
  bool first = true;
  for (const std::string& line : lines) {
    if (!first || text.size() + 2 > column) {
      text += "\n" + std::string(column, ' ');
    } else {
      text.resize(column, ' ');
    }
    text += line;
    first = false;
  }
  return text + "\n";
}

std::string_view group_of(std::string_view path) {
  const std::size_t space = path.find(' ');
  return space == std::string_view::npos ? "" : path.substr(0, space);
}

}  // namespace

std::string wrap_text(std::string_view text, std::size_t width) {
  std::string wrapped, paragraph;
  const auto end_paragraph = [&] {
    for (const std::string& line : fill_lines(paragraph, width)) wrapped += line + "\n";
    paragraph.clear();
  };
  for (const std::string_view line : lines_of_text(text)) {
    if (!line.empty() && !line.starts_with("  ")) {
      paragraph += fmt::format("{} ", line);
      continue;
    }
    end_paragraph();
    wrapped += fmt::format("{}\n", line);
  }
  end_paragraph();
  return wrapped;
}

std::string option_words(const OptionSpec& option) {
  const std::string short_form = short_name(option).empty() ? "    " : fmt::format("-{}, ", short_name(option));
  return fmt::format("{}--{}{}{}", short_form, long_name(option), option.value_name.empty() ? "" : " ",
                     option.value_name);
}

std::string option_help(const OptionSpec& option) {
  if (option.default_value.empty()) return std::string(option.help);
  return fmt::format("{} [{}]", option.help, option.default_value);
}

std::string usage_line(const CommandSpec& spec) {
  std::string line = fmt::format("strake {} [OPTIONS]", spec.path);
  for (const ArgumentSpec& argument : spec.arguments) {
    const std::string name = fmt::format("{}{}", argument.name, argument.many ? "..." : "");
    line += argument.required ? fmt::format(" {}", name) : fmt::format(" [{}]", name);
  }
  return line;
}

std::string command_help(const CommandSpec& spec) {
  std::string text = wrap_text(spec.summary, kHelpWidth);
  text += fmt::format("\nUsage: {}\n\n", usage_line(spec));
  if (!spec.arguments.empty()) text += "Arguments:\n";
  for (const ArgumentSpec& argument : spec.arguments) text += two_columns(argument.name, argument.help, kHelpColumn);
  if (!spec.arguments.empty()) text += "\n";
  text += "Options:\n";
  for (const OptionSpec& option : spec.options)
    text += two_columns(option_words(option), option_help(option), kHelpColumn);
  for (const OptionSpec& option : common_options()) {
    text += two_columns(option_words(option), option_help(option), kHelpColumn);
  }
  text += two_columns("-h, --help", "print this and exit", kHelpColumn);
  text += "\n" + wrap_text(spec.details, kHelpWidth) + "\nExit codes:\n";
  for (const ExitMeaning& exit : exit_codes_of(spec)) {
    text += two_columns(fmt::format("{:>3}", static_cast<int>(exit.code)), exit.meaning, 7);
  }
  return text;
}

std::string group_help(std::string_view group, std::span<const CommandSpec* const> commands,
                       std::span<const VerbGroup> groups) {
  const auto found = std::ranges::find(groups, group, &VerbGroup::name);
  std::string text = found == groups.end() ? "" : wrap_text(found->summary, kHelpWidth);
  text += fmt::format("\nUsage: strake {} VERB [OPTIONS]\n\nVerbs:\n", group);
  for (const CommandSpec* spec : commands) {
    if (spec->path.starts_with(fmt::format("{} ", group)))
      text += two_columns(spec->path.substr(group.size() + 1), spec->summary, kHelpColumn);
  }
  return text + fmt::format("\nEvery verb explains itself: strake {} VERB --help\n", group);
}

std::string program_help(std::span<const CommandSpec* const> commands, std::span<const VerbGroup> groups) {
  std::string text =
      wrap_text(
          "Strake manages the operating system of image-based clusters: the images machines boot from, the image each "
          "node runs, and the configuration layered on it, from one verified release to the next.",
          kHelpWidth) +
      "\nUsage: strake VERB [OPTIONS]\n\nVerbs:\n";
  std::string_view shown_group;
  for (const CommandSpec* spec : commands) {
    const std::string_view group = group_of(spec->path);
    // `agent join` stands beside `agent`, which is a verb and no group.
    const bool beside_verb = std::ranges::find(commands, group, &CommandSpec::path) != commands.end();
    if (group.empty() || beside_verb) {
      text += two_columns(spec->path, spec->summary, kHelpColumn);
    } else if (group != shown_group) {
      const auto found = std::ranges::find(groups, group, &VerbGroup::name);
      text += two_columns(group, found == groups.end() ? "" : found->summary, kHelpColumn);
    }
    shown_group = group;
  }
  text += "\nOptions:\n";
  text += two_columns("-h, --help", "print this and exit", kHelpColumn);
  text += two_columns("    --version", "print the version and exit", kHelpColumn);
  return text +
         "\nStart here:\n"
         "  strake up --nodes 6 --once    a small cluster on this machine, two releases through it\n\n"
         "Every verb explains itself: strake VERB --help. Exit codes: docs/exit-codes.md.\n";
}

}  // namespace strake::cmd
