// Keeps the client certificate of a kubeconfig good for as long as the process runs.
#pragma once

#include <filesystem>
#include <functional>

#include "base/runtime.h"
#include "controlplane/enrolment.h"

namespace strake::controlplane {

struct RenewalOptions {
  std::filesystem::path kubeconfig;
  runtime::Duration check = std::chrono::minutes(10);
  runtime::Duration first_retry = std::chrono::minutes(1);
  std::function<void(const Renewal&)> on_looked;  ///< renewed or not
  std::function<void(const Error&, unsigned in_a_row, runtime::Duration next_try)> on_failure;
};

/// Looks at once and then now and then, until stopped. Whoever uses the kubeconfig reads it again by itself
/// (kube/credentials.h).
void keep_renewed(runtime::Runtime& runtime, const RenewalOptions& options, std::stop_token stop);

}  // namespace strake::controlplane
