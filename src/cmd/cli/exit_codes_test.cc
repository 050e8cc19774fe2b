#include "cmd/cli/exit_codes.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/fd.h"
#include "cmd/cli/commands.h"
#include "support/places.h"

namespace strake::cmd::exit_codes_test {
namespace {

TEST(ExitCodes, FollowFromTheErrorAlone) {
  EXPECT_EQ(exit_code_of(error(Code::kInvalidArgument, "x")), 1);
  EXPECT_EQ(exit_code_of(error(Code::kDenied, "401 or 403")), 1);
  EXPECT_EQ(exit_code_of(error(Code::kUnavailable, "the server answered 503")), 1);
  EXPECT_EQ(exit_code_of(error(Code::kCorrupt, "not JSON")), 1);
  EXPECT_EQ(exit_code_of(error(Code::kCancelled, "x")), 130);
  EXPECT_EQ(exit_code_of(error(Code::kNotFound, "x").with_verdict(Verdict::kAbsent)), 3);
  EXPECT_EQ(exit_code_of(error(Code::kDenied, "x").with_verdict(Verdict::kBlocked)), 3);
  EXPECT_EQ(exit_code_of(error(Code::kUnavailable, "x").with_verdict(Verdict::kUnreachable)), 4);
  EXPECT_EQ(exit_code_of(not_genuine("x")), 6);
  EXPECT_EQ(exit_code_of(not_genuine("x").context("reading a layer")), 6) << "contexts keep the verdict";
  EXPECT_EQ(exit_code_of(error(Code::kDenied, "x").with_reason("strake/NotGenuine")), 1)
      << "a reason may come from a server, which decides nothing here";
}

/// "| release verify | 0 1 4 5 6 130 |"
std::string table_row(const CommandSpec& spec) {
  std::string codes;
  for (const ExitMeaning& exit : exit_codes_of(spec)) codes += fmt::format(" {}", static_cast<int>(exit.code));
  return fmt::format("| {} |{} |\n", spec.path, codes);
}

TEST(ExitCodes, TheTableInTheDocumentationIsThatOfTheProgram) {
  const std::string page = *read_file(test::source_folder() / "docs/exit-codes.md", 1 << 20);
  std::string expected;
  for (const CommandSpec* spec : all_commands()) expected += table_row(*spec);
  EXPECT_NE(page.find(expected), std::string::npos) << "docs/exit-codes.md has to hold these rows:\n" << expected;
}

TEST(ExitCodes, EveryVerbSaysWhatItsCodesMean) {
  for (const CommandSpec* spec : all_commands()) {
    const std::vector<ExitMeaning> codes = exit_codes_of(*spec);
    EXPECT_EQ(codes.front().code, kExitOk) << spec->path;
    for (std::size_t i = 0; i < codes.size(); ++i) {
      EXPECT_FALSE(codes[i].meaning.empty()) << spec->path;
      if (i > 0) {
        EXPECT_LT(codes[i - 1].code, codes[i].code) << spec->path << ": a code twice";
      }
    }
    const auto has = [&](ExitCode code) { return std::ranges::find(codes, code, &ExitMeaning::code) != codes.end(); };
    const auto takes = [&](std::string_view name) {
      return std::ranges::any_of(spec->options, [&](const OptionSpec& option) { return long_name(option) == name; });
    };
    if (spec->lifetime == Lifetime::kDaemon) continue;
    // Whoever talks to a server may find nobody there; whoever reads images may find them tampered with.
    EXPECT_EQ(has(kExitUnreachable), takes("kubeconfig") || takes("authfile") || takes("ca-hash")) << spec->path;
    EXPECT_EQ(has(kExitNotGenuine), takes("authfile")) << spec->path;
  }
}

}  // namespace
}  // namespace strake::cmd::exit_codes_test
