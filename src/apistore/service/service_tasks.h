// The tasks behind the API server. Each starts afresh after a failure; none of them is needed for a single call to be
// right.
#pragma once

#include <functional>
#include <stop_token>
#include <string>
#include <vector>

#include "apistore/service/service.h"
#include "base/runtime.h"

namespace strake::apistore {

class ServiceTasks {
 public:
  /// Starts them. Destruction stops and joins them.
  explicit ServiceTasks(Service& service);
  ~ServiceTasks();

 private:
  void spawn(const std::string& name, std::function<Status(std::stop_token)> body);
  Status sweep(std::stop_token stop);
  Status check(const std::stop_token& stop);
  Status check_objects(const std::stop_token& stop);

  Service& service_;
  runtime::TimePoint next_check_;  ///< of the whole file; used by its task only
  std::vector<runtime::Task> tasks_;
};

/// Removes Events that were last seen longer ago than their lifetime.
Status expire_events(Service& service);

}  // namespace strake::apistore
