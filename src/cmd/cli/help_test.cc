#include "cmd/cli/help.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "cmd/cli/commands.h"
#include "support/lines.h"

namespace strake::cmd::help_test {
namespace {

/// Every help the program can print, by what it is about.
std::vector<std::pair<std::string, std::string>> all_help() {
  std::vector<std::pair<std::string, std::string>> helps{{"strake", program_help(all_commands(), verb_groups())}};
  for (const VerbGroup& group : verb_groups()) {
    helps.emplace_back(group.name, group_help(group.name, all_commands(), verb_groups()));
  }
  for (const CommandSpec* spec : all_commands()) helps.emplace_back(spec->path, command_help(*spec));
  return helps;
}

TEST(Help, NoLineIsTooWideAndNoneEndsInBlanks) {
  for (const auto& [about, text] : all_help()) {
    for (const std::string& line : test::lines_of(text)) {
      EXPECT_LE(line.size(), kHelpWidth) << about << ": " << line;
      EXPECT_FALSE(line.ends_with(' ')) << about << ": '" << line << "'";
    }
  }
}

TEST(Help, EveryVerbHasASummaryDetailsAnExampleAndExitCodes) {
  for (const CommandSpec* spec : all_commands()) {
    EXPECT_TRUE(spec->summary.ends_with('.')) << spec->path;
    EXPECT_GT(spec->details.size(), 80u) << spec->path;
    const std::string example = fmt::format("strake {}", spec->path);
    const auto lines = test::lines_of(spec->details);
    EXPECT_TRUE(std::ranges::any_of(
        lines,
        [&](const std::string& line) { return line.starts_with("  ") && line.find(example) != std::string::npos; }))
        << spec->path << ": no line of the details shows `" << example << "`";
    EXPECT_FALSE(spec->exit_codes.empty()) << spec->path;
    EXPECT_NE(command_help(*spec).find("Exit codes:\n    0  "), std::string::npos) << spec->path;
  }
}

TEST(Help, EveryOptionIsDescribedOnceAndItsDefaultIsAllowed) {
  for (const CommandSpec* spec : all_commands()) {
    std::vector<std::string_view> names;
    for (const OptionSpec& option : spec->options) {
      EXPECT_FALSE(option.help.empty()) << spec->path << " --" << option.name;
      EXPECT_EQ(std::ranges::find(names, long_name(option)), names.end()) << spec->path << " --" << option.name;
      names.push_back(long_name(option));
      if (option.default_value.empty()) continue;
      const auto value = parse_option_value(option.type, option.name, std::string(option.default_value));
      EXPECT_TRUE(value.ok()) << spec->path << ": " << (value.ok() ? "" : value.error().to_string());
    }
    for (const ArgumentSpec& argument : spec->arguments) EXPECT_FALSE(argument.help.empty()) << spec->path;
  }
}

TEST(Help, EveryGroupOfVerbsIsDescribedAndStandsTogether) {
  std::vector<std::string_view> seen;
  for (const CommandSpec* spec : all_commands()) {
    const std::size_t space = spec->path.find(' ');
    const std::string_view group = space == std::string_view::npos ? spec->path : spec->path.substr(0, space);
    const bool beside_verb = std::ranges::find(all_commands(), group, &CommandSpec::path) != all_commands().end();
    if (space != std::string_view::npos && !beside_verb) {
      EXPECT_NE(std::ranges::find(verb_groups(), group, &VerbGroup::name), verb_groups().end()) << group;
    }
    if (!seen.empty() && seen.back() == group) continue;
    EXPECT_EQ(std::ranges::find(seen, group), seen.end()) << group << " is listed in two places";
    seen.push_back(group);
  }
}

TEST(Help, ParagraphsAreFilledAndExamplesStay) {
  EXPECT_EQ(wrap_text("one two three\nfour\n\n  as    it is\nfive", 9),
            "one two\nthree\nfour\n\n  as    it is\nfive\n");
  EXPECT_EQ(wrap_text("averylongword x", 5), "averylongword\nx\n");
}

}  // namespace
}  // namespace strake::cmd::help_test
