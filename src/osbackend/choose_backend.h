// Which program manages the OS of this machine: by what started it, what is installed, and what is wished.
#pragma once

#include <string>
#include <string_view>

#include "base/file_tree.h"
#include "base/program_runner.h"

namespace strake::osbackend {

enum class BackendKind { kNone, kRpmOstree, kBootc };
std::string_view to_string(BackendKind kind);

/// What the machine is like.
struct HostFacts {
  bool started_by_ostree = false;
  bool has_rpm_ostree = false;
  bool has_bootc = false;
  bool bootc_can_go_on = false;    ///< bootc takes the machine for one of its own, and nobody changed it
  std::string why_bootc_cannot{};  ///< where it is installed and cannot

  bool operator==(const HostFacts&) const = default;
};

struct BackendChoice {
  BackendKind kind = BackendKind::kNone;
  /// For people, where it is not the one wished for, and always where there is none.
  std::string reason{};

  bool operator==(const BackendChoice&) const = default;
};

/// `prefer_bootc` where the cluster's feature gate BootcNodeManagement is on.
BackendChoice choose_backend(const HostFacts& host, bool prefer_bootc);

/// `root` is the machine's root. A program that is not there, or does not answer as it should, is a fact and no error.
Result<HostFacts> look_at_host(FileTree& root, ProgramRunner& programs, const runtime::Call& call);

}  // namespace strake::osbackend
