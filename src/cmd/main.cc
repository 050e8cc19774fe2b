// The `strake` program.
#include <malloc.h>

#include <cstdio>
#include <exception>

#include "base/runtime.h"
#include "cmd/cli/commands.h"

namespace {

using namespace strake::cmd;

// In the order `strake --help` lists them; one a line, so that a new verb is a new line.
constexpr const CommandSpec* kCommands[] = {
    &kUpCommand,
    &kReleaseApplyCommand,
    &kReleaseInfoCommand,
    &kReleaseImagesCommand,
    &kReleaseVerifyCommand,
    &kReleaseBootimagesCommand,
    &kReleaseMirrorCommand,
    &kPlanCommand,
    &kRenderCommand,
    &kDiffCommand,
    &kExplainCommand,
    &kConfigLintCommand,
    &kModeShowCommand,
    &kModeSetCommand,
    &kControllerCommand,
    &kAgentCommand,
    &kBootimageCheckCommand,
    &kStreamShowCommand,
    &kStreamGetCommand,
    &kOsInspectCommand,
    &kOsLsCommand,
    &kOsCatCommand,
    &kOsDiffCommand,
    &kOsExtractCommand,
    &kIgnitionValidateCommand,
    &kIgnitionShowCommand,
    &kIgnitionConvertCommand,
    &kIgnitionMergeCommand,
};

/// The control plane is to be small. As glibc is set up, every thread may keep an arena of freed memory, and one large
/// answer raises the size from which on freed memory goes straight back to the kernel: measured, a quarter of the
/// resident set was then memory nobody used. Fewer arenas than these and the handlers wait for each other.
void keep_memory_small() {
  constexpr int kArenas = 4;
  constexpr int kStraightBackBytes = 4 << 20;
  // Less than this at the end of an arena stays there: otherwise every request gives memory back and asks for it again.
  constexpr int kKeptBytes = 4 << 20;
  constexpr int kGrowthBytes = 1 << 20;
  mallopt(M_ARENA_MAX, kArenas);
  mallopt(M_MMAP_THRESHOLD, kStraightBackBytes);
  mallopt(M_TRIM_THRESHOLD, kKeptBytes);
  mallopt(M_TOP_PAD, kGrowthBytes);
}

}  // namespace

int main(int argc, char** argv) {
  keep_memory_small();
  try {
    strake::runtime::StopOnSignal signals;
    return run_command_line(kCommands, argc, argv, signals.token());
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "strake: internal error: %s\n", failure.what());
    return kExitError;
  }
}
