// Keeps the status of PodDisruptionBudgets as the Pods change. Evictions do not rely on it: they count for themselves.
#pragma once

#include <set>
#include <stop_token>
#include <string>

#include "apistore/service/service.h"

namespace strake::apistore {

class BudgetStatus {
 public:
  explicit BudgetStatus(Service& service) : service_(service) {}

  /// Runs until stopped, or until something fails that a fresh start may mend.
  Status run(std::stop_token stop);

 private:
  Status refresh(const std::string& ns);

  Service& service_;
  std::set<std::string> dirty_;  ///< namespaces in which something changed
};

}  // namespace strake::apistore
