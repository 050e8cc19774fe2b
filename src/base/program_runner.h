// Programs that do the work of the machine (systemctl, bootc, rpm-ostree), behind an interface: on a machine they run,
// in tests and simulation something with a state of its own answers in their place (testing/scripted_programs.h).
#pragma once

#include "base/runtime.h"
#include "base/subprocess.h"

namespace strake {

class ProgramRunner {
 public:
  virtual ~ProgramRunner() = default;

  /// To the program's end, whatever that is: look at `exit`. Errors as of `run` in base/subprocess.h; a deadline that
  /// passes ends the program and is kTimeout.
  virtual Result<ProcessOutput> run(const Command& command, const runtime::Call& call) = 0;

  /// Its output, where anything but exit status 0 is an error that carries the last of stderr.
  Result<std::string> output_of(const Command& command, const runtime::Call& call);
};

/// The programs of this machine.
class SystemPrograms final : public ProgramRunner {
 public:
  explicit SystemPrograms(runtime::Runtime& runtime) : runtime_(runtime) {}

  Result<ProcessOutput> run(const Command& command, const runtime::Call& call) override;

 private:
  runtime::Runtime& runtime_;
};

}  // namespace strake
