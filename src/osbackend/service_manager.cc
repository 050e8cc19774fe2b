#include "osbackend/service_manager.h"

namespace strake::osbackend {

std::string_view to_string(ServiceState state) {
  switch (state) {
    case ServiceState::kActive: return "active";
    case ServiceState::kInactive: return "inactive";
    case ServiceState::kFailed: return "failed";
    case ServiceState::kChanging: return "changing";
  }
  return "unknown";
}

}  // namespace strake::osbackend
