// Which deployment of a sysroot runs, and how it is left: a real machine knows it from its kernel, a sandbox from a
// record that says what its last "boot" took.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/file_tree.h"
#include "base/program_runner.h"
#include "sysroot/sysroot.h"

namespace strake::osbackend {

class BootState {
 public:
  virtual ~BootState() = default;
  /// The id of the deployment that runs.
  virtual Result<std::string> booted(const std::vector<sysroot::Deployment>& deployments) = 0;
  virtual Result<std::string> boot_id() = 0;
  virtual Status restart(const std::string& reason, const runtime::Call& call) = 0;
};

class MachineBootState final : public BootState {
 public:
  MachineBootState(ProgramRunner& programs, FileTree& root) : programs_(programs), root_(root) {}

  Result<std::string> booted(const std::vector<sysroot::Deployment>& deployments) override;
  Result<std::string> boot_id() override;
  Status restart(const std::string& reason, const runtime::Call& call) override;

 private:
  ProgramRunner& programs_;
  FileTree& root_;
};

class SandboxBootState final : public BootState {
 public:
  static constexpr const char* kPath = "/var/lib/strake/sandbox-boot.json";

  explicit SandboxBootState(FileTree& tree) : tree_(tree) {}

  Result<std::string> booted(const std::vector<sysroot::Deployment>& deployments) override;
  Result<std::string> boot_id() override;
  /// The machine's side restarts it: boot().
  Status restart(const std::string&, const runtime::Call&) override { return {}; }

  /// The machine starts: what the boot loader offers first runs. Every call is one boot.
  Status boot(const std::vector<sysroot::Deployment>& deployments);

 private:
  struct Record {
    std::string booted;
    std::uint64_t boots = 0;
  };
  Result<Record> load();

  FileTree& tree_;
};

}  // namespace strake::osbackend
