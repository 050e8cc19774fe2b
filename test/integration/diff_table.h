// The table of input pairs in diff_table.txt, which says what its lines mean, and what `strake diff` says about a pair
// in the table's own words.
#pragma once

#include <string>
#include <vector>

#include "support/strake_in_process.h"

namespace strake::test {

struct DiffCase {
  std::string title;
  std::string verdict;  ///< "same", "differs" or "refused"
  bool files_only = false;
  std::string before;  ///< YAML; empty: a side without anything
  std::string after;
  std::vector<std::string> expected;
  std::size_t line = 0;  ///< of the table
};

/// A failed expectation names a line that cannot be read.
std::vector<DiffCase> read_diff_table();

/// Where the sides were read from, as messages name them.
struct SidePlaces {
  std::string before;
  std::string after;
};

/// The exit code as a word of the table.
std::string verdict_of(const InProcessOutput& output);

/// What `-o json` and standard error say, a line each. Warnings begin with "warns".
std::vector<std::string> summary_of(const InProcessOutput& output, const SidePlaces& places);

/// Writes these summaries, in the order of the table, where the expected lines stand.
void accept_diff_table(const std::vector<std::vector<std::string>>& summaries);

}  // namespace strake::test
