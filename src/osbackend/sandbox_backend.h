// The operating system of a sandboxed node: a small record in the node's file tree instead of real deployments.
//
// It keeps what a real machine keeps (booted, staged, rollback, how often it booted, a kernel command line of its own)
// and forgets nothing on a crash, so the agent runs the same code as on a real node. `boot()` is the machine's side:
// power on, or the end of a reboot.
#pragma once

#include <cstdint>

#include "base/file_tree.h"
#include "osbackend/os_backend.h"

namespace strake::osbackend {

enum class BootEnd {
  kAsStaged,
  kFellBack,  ///< what was staged did not come up, and the machine went back to what ran before
};

class SandboxBackend final : public OsBackend {
 public:
  explicit SandboxBackend(FileTree& tree) : tree_(tree) {}

  Result<OsStatus> status(const runtime::Call& call) override;
  /// There is nothing to take over: a sandbox begins with a command line of its own.
  Status adopt_kernel_arguments(const std::vector<std::string>&, const runtime::Call&) override { return {}; }
  Status stage(const OsTarget& target, const ProgressSink& progress, const runtime::Call& call) override;
  Status drop_staged(const runtime::Call& call) override;
  Status reboot(const std::string& reason, const runtime::Call& call) override;

  /// The machine starts: what is staged becomes what is booted. Every call is one boot.
  Status boot(BootEnd end = BootEnd::kAsStaged);
  Result<std::uint64_t> boot_count();

 private:
  struct Record {
    OsStatus os;
    std::uint64_t boots = 0;
  };
  Result<Record> load();
  Status save(const Record& record);

  FileTree& tree_;
};

}  // namespace strake::osbackend
