// The command line of `strake` in this process: for tables of many questions, where starting the program would cost
// more than the answers.
#pragma once

#include <string>
#include <vector>

namespace strake::test {

struct InProcessOutput {
  int exit_code = 0;
  std::string out;
  std::string err;
};

/// What `strake ARGUMENTS` would print and end with. `stdin_bytes` is its standard input, which is this process's too.
InProcessOutput run_in_process(const std::vector<std::string>& arguments, const std::string& stdin_bytes = "");

}  // namespace strake::test
