// What the machine is, and what processes cost it.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/result.h"

namespace strake::bench {

/// Processor time, user and system, since the processes began.
Result<double> cpu_seconds(const std::vector<pid_t>& processes);
Result<double> resident_mebibytes(const std::vector<pid_t>& processes);

/// Cores, memory, file system and its time for a synced write, load: one line each.
Result<std::string> describe_machine(const std::filesystem::path& where_data_is);

}  // namespace strake::bench
