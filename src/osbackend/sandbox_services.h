// The services of a sandboxed machine: a small record in its file tree of what was asked of which service, instead of
// processes.
//
// Every service anybody asks for exists and runs. One that is named in "failing" of the record does not come up again:
// by hand or by a test, that shows what a broken service does to a node.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "base/file_tree.h"
#include "osbackend/service_manager.h"

namespace strake::osbackend {

/// What was asked of the services of one machine since it was installed.
struct ServiceRecord {
  struct Unit {
    ServiceState state = ServiceState::kActive;
    std::uint64_t reloads = 0;
    std::uint64_t restarts = 0;

    bool operator==(const Unit&) const = default;
  };
  std::uint64_t units_read = 0;  ///< how often the manager read its units anew
  std::map<std::string, Unit> units;
  std::set<std::string> failing;

  bool operator==(const ServiceRecord&) const = default;
};

class SandboxServices final : public ServiceManager {
 public:
  static const std::string kRecordPath;

  explicit SandboxServices(FileTree& tree) : tree_(tree) {}

  Status read_units(const runtime::Call& call) override;
  Status reload(const std::string& unit, const runtime::Call& call) override;
  Status restart(const std::string& unit, const runtime::Call& call) override;
  Result<ServiceState> state(const std::string& unit, const runtime::Call& call) override;

  Result<ServiceRecord> record();
  /// From now on these services do not come up, nor take another configuration.
  Status set_failing(std::set<std::string> units);
  /// The machine starts, and with it every service that can.
  Status boot();

 private:
  Status save(const ServiceRecord& record);

  FileTree& tree_;
};

}  // namespace strake::osbackend
