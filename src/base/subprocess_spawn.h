// Starting and ending one process, below subprocess.h: how a program is forked, executed and reaped. Only subprocess.cc
// uses it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/fd.h"
#include "base/result.h"
#include "base/subprocess.h"

namespace strake::process {

/// Everything a child needs, made before the fork, because after it next to nothing is allowed. Points into its
/// Command, which must outlive it.
struct SpawnPlan {
  std::string program;
  std::vector<char*> argv;
  std::vector<char*> envp;
  std::string cwd;
  Fd input, output, errors;  ///< from open_stream() or make_pipe(), to be filled in by the caller
  Fd report;
  int descriptor_limit = 0;
  pid_t parent = -1;
};

struct StartedProcess {
  pid_t pid = -1;
  Fd exit_event;  ///< a pidfd, readable once the program ended; invalid on kernels before 5.3
};

struct Pipe {
  Fd read_end, write_end;
};

// These two give numbers above 2, so that moving a descriptor to its place in the child never overwrites another.
Result<Pipe> make_pipe();
Result<Fd> open_stream(const std::filesystem::path& path, int flags);

/// All but the streams.
Result<SpawnPlan> plan_spawn(const Command& command);

/// Starts a program that dies with the calling thread, not only with the process: the thread must outlive it.
Result<StartedProcess> spawn(SpawnPlan plan);

/// The program has ended, but its process id, and so its group's, is still reserved for us.
bool has_ended(pid_t pid);

/// Kills what is left of the group and frees the process id; waits for the program if it has not ended.
ExitStatus end_group(pid_t pid);

}  // namespace strake::process
