#include "cmd/cli/completion.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/subprocess.h"
#include "cmd/cli/commands.h"
#include "cmd/cli/man_page.h"
#include "support/lines.h"
#include "support/temp_dir.h"

namespace strake::cmd::completion_test {
namespace {

/// What a real bash offers for the last of these words.
std::vector<std::string> offered(const std::vector<std::string>& words, const test::TempDir& folder) {
  std::ofstream(folder / "script") << completion_script(Shell::kBash, all_commands());
  Command command;
  command.argv = {
      "bash",
      "--norc",
      "-c",
      R"(source ./script; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _strake; ((${#COMPREPLY[@]} == 0)) || printf '%s\n' "${COMPREPLY[@]}")",
      "bash",
      "strake"};
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  command.cwd = folder.path();
  const auto output = run_checked(command);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  if (!output.ok()) return {};
  EXPECT_EQ(output->stderr_bytes, "");
  return test::lines_of(output->stdout_bytes);
}

TEST(Completion, BashOffersVerbsOptionsWordsAndFiles) {
  test::TempDir folder;
  std::ofstream(folder / "my release.tar") << "x";
  using Words = std::vector<std::string>;
  EXPECT_EQ(offered({"rel"}, folder), Words{"release"});
  EXPECT_EQ(offered({"release", "ver"}, folder), Words{"verify"});
  EXPECT_EQ(offered({"plan", "--po"}, folder), Words{"--pool"});
  EXPECT_EQ(offered({"plan", "-o", "j"}, folder), Words{"json"});
  EXPECT_EQ(offered({"plan", "--output", "=", "j"}, folder), Words{"json"});
  EXPECT_EQ(offered({"mode", "set", "rend"}, folder), Words{"render"});
  EXPECT_EQ(offered({"completion", ""}, folder), (Words{"bash", "zsh", "fish"}));
  EXPECT_EQ(offered({"release", "info", "my"}, folder), Words{"my release.tar"});
  EXPECT_EQ(offered({"plan", "--kubeconfig", "my"}, folder), Words{"my release.tar"});
  EXPECT_EQ(offered({"frobnicate", "x"}, folder), Words{});
  const Words all = offered({""}, folder);
  for (const CommandSpec* spec : all_commands()) {
    const std::string word(spec->path.substr(0, spec->path.find(' ')));
    EXPECT_NE(std::ranges::find(all, word), all.end()) << word;
  }
}

/// A shell that only reads the script and says what it finds wrong.
void expect_accepted(Shell shell, std::vector<std::string> reader) {
  test::TempDir folder;
  std::ofstream(folder / "script") << completion_script(shell, all_commands());
  Command command;
  command.argv = std::move(reader);
  command.argv.push_back((folder / "script").string());
  const auto output = run_checked(command);
  ASSERT_TRUE(output.ok()) << output.error().to_string();
  EXPECT_EQ(output->stderr_bytes, "");
}

TEST(Completion, EveryShellAcceptsItsScript) {
  expect_accepted(Shell::kBash, {"bash", "-n"});
  expect_accepted(Shell::kZsh, {"zsh", "-n"});
  expect_accepted(Shell::kFish, {"fish", "--no-config", "--no-execute"});
}

TEST(Completion, FishOffersWordsOfARealLine) {
  test::TempDir folder;
  std::ofstream(folder / "script") << completion_script(Shell::kFish, all_commands());
  const auto complete = [&](const std::string& line) {
    Command command;
    command.argv = {"fish", "--no-config", "-c", "source ./script; complete --do-complete $argv[1]", line};
    command.cwd = folder.path();
    const auto output = run_checked(command);
    EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
    return output.ok() ? output->stdout_bytes : "";
  };
  EXPECT_EQ(complete("strake rel"), "release\n");
  EXPECT_EQ(complete("strake plan -o js"), "json\ttext or json\n");
  EXPECT_NE(complete("strake plan --po").find("--pool\tonly this pool"), std::string::npos)
      << complete("strake plan --po");
}

TEST(ManPage, ManReadsEveryPageWithoutAWarning) {
  const auto judge = [](const std::string& name, const std::string& page) {
    Command command;
    command.argv = {"groff", "-man", "-Tascii", "-ww", "-rCHECKSTYLE=3", "-P-cbu"};
    command.stdin_bytes = page;
    const auto output = run_checked(command);
    ASSERT_TRUE(output.ok()) << name << ": " << output.error().to_string();
    EXPECT_EQ(output->stderr_bytes, "") << name << "\n" << page;
    EXPECT_NE(output->stdout_bytes.find("NAME"), std::string::npos) << name;
  };
  judge("strake.1", program_man_page(all_commands()));
  for (const CommandSpec* spec : all_commands()) {
    judge(man_page_name(*spec), man_page(*spec));
    EXPECT_NE(man_page(*spec).find(".SH EXIT STATUS\n"), std::string::npos) << spec->path;
  }
  EXPECT_EQ(man_page_name(kReleaseVerifyCommand), "strake-release-verify.1");
}

}  // namespace
}  // namespace strake::cmd::completion_test
