// The operating system of a sandboxed node: a small record in the node's file tree instead of real deployments.
//
// It keeps what a real machine keeps (booted, staged, how often it booted) and forgets nothing on a crash, so the agent
// runs the same code as on a real node. `boot()` is the machine's side: power on, or the end of a reboot.
#pragma once

#include <cstdint>

#include "base/file_tree.h"
#include "osbackend/os_backend.h"

namespace strake::osbackend {

class SandboxBackend final : public OsBackend {
 public:
  explicit SandboxBackend(FileTree& tree) : tree_(tree) {}

  Result<OsStatus> status() override;
  Status stage(const Deployment& deployment) override;
  Status reboot(const std::string& reason) override;

  /// The machine starts: what is staged becomes what is booted. Every call is one boot.
  Status boot();
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
