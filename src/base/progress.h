// How far a long piece of work has come, told to whoever wants to know: the log of a daemon, a bar on a terminal.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace strake {

struct Progress {
  std::string doing;  ///< "pulling layers"
  std::uint64_t done = 0;
  std::uint64_t total = 0;  ///< 0: not known
};

/// May be empty: then nobody wants to know. Called by whoever works, which waits until it returns.
using ProgressSink = std::function<void(const Progress&)>;

}  // namespace strake
