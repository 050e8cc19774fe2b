// The `strake` program.
#include <malloc.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <exception>

#include "base/signal_stop.h"
#include "cmd/cli/command_line.h"
#include "cmd/cli/commands.h"

namespace {

using namespace strake::cmd;

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

/// The memory of a process that holds keys and tokens must not end up in a file, nor be read by another process of the
/// same user.
void keep_memory_private() {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_CORE, &none);
  ::prctl(PR_SET_DUMPABLE, 0);
}

/// A server needs a descriptor for each client; the usual limit of 1,024 is one for programs that ask others.
void allow_many_descriptors() {
  constexpr rlim_t kEnough = 1u << 16;
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= kEnough) return;
  limit.rlim_cur = std::min(limit.rlim_max, kEnough);
  ::setrlimit(RLIMIT_NOFILE, &limit);
}

}  // namespace

int main(int argc, char** argv) {
  keep_memory_small();
  keep_memory_private();
  allow_many_descriptors();
  // A pipe nobody reads any more is an error like a full disk, told once and with exit code 1.
  ::signal(SIGPIPE, SIG_IGN);
  Output output(STDOUT_FILENO, STDERR_FILENO);
  try {
    strake::SignalStop signals;
    return run_command_line({all_commands(), verb_groups()}, {argv, static_cast<std::size_t>(argc)}, output, signals);
  } catch (const std::exception& failure) {
    output.fail(fmt::format("internal error: {}", failure.what()));
    return kExitError;
  }
}
