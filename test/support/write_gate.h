// In front of an API server: lets so many writes through and keeps the answer to the last of them, so that a test can
// kill the process that wrote at exactly that point.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "kube/cluster_access.h"

namespace strake::test {

class WriteGate {
 public:
  /// Speaks to the server with this access, whoever asks here.
  explicit WriteGate(const kube::ClusterAccess& upstream);
  ~WriteGate();
  WriteGate(const WriteGate&) = delete;
  WriteGate& operator=(const WriteGate&) = delete;

  /// Leads here.
  const std::filesystem::path& kubeconfig() const;

  /// Runs `strake` with these arguments, and kills it (SIGKILL) when the server has done its n-th write from now on and
  /// before it hears of that. True when it was killed; false when it ended by itself, as `exit_code` says.
  bool run_and_kill(std::vector<std::string> arguments, std::uint64_t n);
  int exit_code() const;
  /// What the last run printed.
  std::string said() const;

  /// Every write the server accepted: "PUT /api/v1/namespaces/n/secrets/x".
  std::vector<std::string> writes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::test
