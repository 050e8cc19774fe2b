// The arguments on a kernel command line: whose they are, and the smallest change that makes ours what a config asks
// for. All of it is arithmetic; a backend brings the line and carries the change out.
//
// Arguments are counted, not looked up: `console=` and others may stand there several times, and one that is ours and
// the machine's own too is there twice.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace strake::osbackend {

/// As the kernel splits it: at blanks, but not inside double quotes, which stay in the argument.
std::vector<std::string> split_command_line(std::string_view line);

struct DividedArguments {
  std::vector<std::string> ours;     ///< in the order in which they stand on the line
  std::vector<std::string> machine;  ///< all others, in that order

  bool operator==(const DividedArguments&) const = default;
};

/// What of a line is `recorded` as ours. An argument that stands there more often than it is recorded is ours from the
/// end: what we add is added there. What is recorded and no longer there is nobody's.
DividedArguments divide_arguments(const std::vector<std::string>& line, const std::vector<std::string>& recorded);

/// Each argument as often as the list that has it more often: what may be ours when it is not known which of the two
/// lists was applied.
std::vector<std::string> either_of(const std::vector<std::string>& first, const std::vector<std::string>& second);

struct ArgumentChange {
  std::vector<std::string> remove;
  std::vector<std::string> append;

  bool empty() const { return remove.empty() && append.empty(); }
  bool operator==(const ArgumentChange&) const = default;
};

/// After it ours are `wanted`, in that order, and nothing else on the line has moved. None of it when they already are
/// (in whatever order: an order alone is not worth a reboot).
ArgumentChange change_arguments(const std::vector<std::string>& ours, const std::vector<std::string>& wanted);

}  // namespace strake::osbackend
