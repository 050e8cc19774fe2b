// Every pair of diff_table.txt on folders, and with one side on standard input.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "integration/diff_table.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

struct CaseFolders {
  std::filesystem::path before, after;

  CaseFolders(const TempDir& folder, const DiffCase& test) : before(folder / "before"), after(folder / "after") {
    for (const auto& [side, text] : {std::pair{before, test.before}, std::pair{after, test.after}}) {
      std::filesystem::remove_all(side);
      std::filesystem::create_directory(side);
      if (!text.empty()) std::ofstream(side / "all.yaml") << text;
    }
  }
  SidePlaces places() const { return {(before / "all.yaml").string(), (after / "all.yaml").string()}; }
};

TEST(DiffTable, HoldsForFoldersAndForStandardInput) {
  const TempDir folder;
  const std::vector<DiffCase> cases = read_diff_table();
  ASSERT_GE(cases.size(), 150u);
  const bool accept = std::getenv("STRAKE_TEST_ACCEPT") != nullptr;
  std::vector<std::vector<std::string>> summaries;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const DiffCase& test = cases[i];
    SCOPED_TRACE(fmt::format("diff_table.txt:{}: {}", test.line, test.title));
    const CaseFolders folders(folder, test);
    const InProcessOutput on_files = run_in_process({"diff", folders.before, folders.after, "-o", "json"});
    EXPECT_EQ(verdict_of(on_files), test.verdict) << on_files.out << on_files.err;
    summaries.push_back(summary_of(on_files, folders.places()));
    if (!accept) {
      EXPECT_EQ(summaries.back(), test.expected) << on_files.out << on_files.err;
    }

    SidePlaces places = folders.places();
    const bool reads_before = i % 2 == 0;
    (reads_before ? places.before : places.after) = "standard input";
    const InProcessOutput on_input = run_in_process({"diff", reads_before ? "-" : folders.before.string(),
                                                     reads_before ? folders.after.string() : "-", "-o", "json"},
                                                    reads_before ? test.before : test.after);
    EXPECT_EQ(verdict_of(on_input), test.verdict) << on_input.out << on_input.err;
    EXPECT_EQ(summary_of(on_input, places), summaries.back()) << on_input.out << on_input.err;
  }
  if (accept) accept_diff_table(summaries);
}

}  // namespace
}  // namespace strake::test
