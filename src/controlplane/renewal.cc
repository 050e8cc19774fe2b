#include "controlplane/renewal.h"

#include <algorithm>

namespace strake::controlplane {

namespace {

constexpr runtime::Duration kRenewalCallTimeout = std::chrono::seconds(30);

}  // namespace

void keep_renewed(runtime::Runtime& runtime, const RenewalOptions& options, std::stop_token stop) {
  unsigned failures = 0;
  runtime::Duration retry = options.first_retry;
  while (!stop.stop_requested()) {
    const auto looked = renew_kubeconfig(runtime, options.kubeconfig, runtime.call_within(kRenewalCallTimeout, stop));
    runtime::Duration pause = options.check;
    if (looked.ok()) {
      if (!looked->has_value()) return;  // no certificate, nothing to renew
      failures = 0;
      retry = options.first_retry;
      if (options.on_looked) options.on_looked(**looked);
    } else if (!stop.stop_requested()) {
      pause = std::min(retry, options.check);
      retry *= 2;
      if (options.on_failure) options.on_failure(looked.error(), ++failures, pause);
    }
    if (!runtime.sleep(pause, stop).ok()) return;
  }
}

}  // namespace strake::controlplane
