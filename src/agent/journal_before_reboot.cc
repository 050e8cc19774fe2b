#include "agent/plan.h"

namespace strake::agent {

// Alone in its file: the simulation links a version that forgets the entry and must notice.
std::optional<Journal> journal_before_reboot(const UpdatePlan& plan, const std::string& boot_id) {
  return Journal{Phase::kBooting, plan.config, plan.consequence.disruption, boot_id, plan.touched};
}

}  // namespace strake::agent
