// Planted mistake: nothing is written down before the reboot.
#include "agent/plan.h"

namespace strake::agent {

std::optional<Journal> journal_before_reboot(const UpdatePlan&, const std::string&) { return std::nullopt; }

}  // namespace strake::agent
