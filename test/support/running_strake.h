// A `strake` that runs beside the test: waited for by what it says and where it stands, never by the clock.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "base/subprocess.h"

namespace strake::test {

class RunningStrake {
 public:
  /// `through`: words to put before the program, such as a shell that redirects something.
  RunningStrake(std::vector<std::string> arguments, std::filesystem::path log, std::vector<std::string> through = {});

  /// Everything it printed so far.
  std::string said() const;
  /// Waits until it printed this; a failed expectation when it ends without.
  bool wait_until_said(const std::string& text);
  /// Waits until it takes signals itself and has nothing to do but wait.
  bool wait_until_idle();
  /// What it ended with after this signal; a failed expectation when it does not end.
  ExitStatus end_by(int signal);

  pid_t pid() const { return child_.pid(); }

 private:
  bool wait_until(const std::string& what, bool (RunningStrake::*reached)(const std::string&), const std::string& text);
  bool has_said(const std::string& text);
  bool is_idle(const std::string&);

  std::filesystem::path log_;
  ChildProcess child_;
};

}  // namespace strake::test
