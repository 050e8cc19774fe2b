// Comments in a file that silence findings: `# strake:ignore RULE[,RULE] reason`.
//
// Such a comment stands at the end of the line a finding is about, alone on the lines before it, or in the comments at
// the head of its document, where it holds for the whole document. Read line by line, whatever the YAML around it: a
// comment inside the text of a file or unit counts for that text. JSON has no comments.
#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace strake::machineconfig {

struct LintComment {
  std::size_t line = 1;
  std::vector<std::string> rules;  ///< as written, whether or not there are such rules
  bool is_alone = false;           ///< nothing else stands on its line

  bool operator==(const LintComment&) const = default;
};

class LintComments {
 public:
  /// No file of manifests has reason for more.
  static constexpr std::size_t kMaxComments = 10'000;

  explicit LintComments(std::string_view text);

  const std::vector<LintComment>& comments() const { return comments_; }

  /// Whether a finding about `line`, in the document whose first value stands on `document_line`, is silenced.
  bool silence(std::string_view rule, std::size_t line, std::size_t document_line) const;

 private:
  bool names(std::size_t line, std::string_view rule, bool alone) const;

  std::vector<LintComment> comments_;
  std::map<std::size_t, std::size_t> by_line_;  ///< line -> index of its comment
  /// First line of each block of lines that are blank, comments or '---', by the line behind it.
  std::map<std::size_t, std::size_t> comment_blocks_;
};

}  // namespace strake::machineconfig
