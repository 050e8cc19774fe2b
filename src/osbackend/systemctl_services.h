// The services of a real machine, through systemctl: argument lists, never a shell line.
#pragma once

#include "base/program_runner.h"
#include "osbackend/service_manager.h"

namespace strake::osbackend {

class SystemctlServices final : public ServiceManager {
 public:
  explicit SystemctlServices(ProgramRunner& programs) : programs_(programs) {}

  Status read_units(const runtime::Call& call) override;
  Status reload(const std::string& unit, const runtime::Call& call) override;
  Status restart(const std::string& unit, const runtime::Call& call) override;
  Result<ServiceState> state(const std::string& unit, const runtime::Call& call) override;

 private:
  Status act(const std::string& verb, const std::string& unit, const runtime::Call& call);

  ProgramRunner& programs_;
};

}  // namespace strake::osbackend
