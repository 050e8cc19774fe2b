// The `strake` program.
#include <array>
#include <cstdio>
#include <exception>

#include "base/runtime.h"
#include "cmd/commands.h"

int main(int argc, char** argv) {
  using namespace strake::cmd;
  try {
    strake::runtime::StopOnSignal signals;
    const std::array commands{&kUpCommand,         &kReleaseApplyCommand, &kPlanCommand,
                              &kControllerCommand, &kAgentCommand,        &kBootimageCheckCommand};
    return run_command_line(commands, argc, argv, signals.token());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "strake: internal error: %s\n", failure.what());
    return kExitError;
  }
}
