// A ProgramRunner whose programs are functions of the test: each answers from whatever state the test gives it, and
// every call is kept.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/program_runner.h"

namespace strake::testing {

class ScriptedPrograms final : public ProgramRunner {
 public:
  using Program = std::function<Result<ProcessOutput>(const Command&)>;

  /// `program` answers for argv[0] == name from now on.
  void install(const std::string& name, Program program) { programs_[name] = std::move(program); }

  /// Command lines in the order they were run: "systemctl daemon-reload".
  const std::vector<std::string>& lines() const { return lines_; }
  void forget_lines() { lines_.clear(); }

  Result<ProcessOutput> run(const Command& command, const runtime::Call& call) override {
    if (call.stop.stop_requested()) return error(Code::kCancelled, "running {} was stopped", command.argv.front());
    lines_.push_back(fmt::format("{}", fmt::join(command.argv, " ")));
    const auto program = programs_.find(command.argv.front());
    if (program == programs_.end()) return error(Code::kNotFound, "program {} is not installed", command.argv.front());
    return program->second(command);
  }

 private:
  std::map<std::string, Program> programs_;
  std::vector<std::string> lines_;
};

/// An answer: exit status, stdout, stderr.
inline ProcessOutput exits(int status, std::string stdout_bytes = "", std::string stderr_bytes = "") {
  return {{status, 0}, std::move(stdout_bytes), std::move(stderr_bytes), false};
}

}  // namespace strake::testing
