#include "osbackend/kernel_command_line.h"

#include <algorithm>
#include <map>

#include "osbackend/os_backend.h"

namespace strake::osbackend {

namespace {

using Counts = std::map<std::string, std::size_t, std::less<>>;

Counts counts_of(const std::vector<std::string>& arguments) {
  Counts counts;
  for (const std::string& argument : arguments) ++counts[argument];
  return counts;
}

}  // namespace

std::vector<std::string> split_command_line(std::string_view line) {
  std::string blanks(line);
  // What the kernel takes for a blank, a line end of the file it stands in among it.
  std::replace_if(blanks.begin(), blanks.end(), [](char c) { return c == '\n' || c == '\t' || c == '\r'; }, ' ');
  return split_kernel_arguments({blanks});
}

DividedArguments divide_arguments(const std::vector<std::string>& line, const std::vector<std::string>& recorded) {
  Counts left = counts_of(recorded);
  DividedArguments divided;
  for (auto argument = line.rbegin(); argument != line.rend(); ++argument) {
    const auto counted = left.find(*argument);
    const bool is_ours = counted != left.end() && counted->second > 0;
    if (is_ours) --counted->second;
    (is_ours ? divided.ours : divided.machine).push_back(*argument);
  }
  std::reverse(divided.ours.begin(), divided.ours.end());
  std::reverse(divided.machine.begin(), divided.machine.end());
  return divided;
}

std::vector<std::string> either_of(const std::vector<std::string>& first, const std::vector<std::string>& second) {
  std::vector<std::string> both = first;
  Counts there = counts_of(first);
  for (const std::string& argument : second) {
    std::size_t& count = there[argument];
    if (count > 0) {
      --count;
    } else {
      both.push_back(argument);
    }
  }
  return both;
}

ArgumentChange change_arguments(const std::vector<std::string>& ours, const std::vector<std::string>& wanted) {
  ArgumentChange change;
  if (counts_of(ours) == counts_of(wanted)) return change;
  const auto [first_ours, first_wanted] = std::mismatch(ours.begin(), ours.end(), wanted.begin(), wanted.end());
  change.remove.assign(first_ours, ours.end());
  change.append.assign(first_wanted, wanted.end());
  return change;
}

}  // namespace strake::osbackend
