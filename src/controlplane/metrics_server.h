// MetricsServer: /metrics, /healthz and /readyz of a daemon that serves nothing else, on a loopback address.
#pragma once

#include <memory>
#include <string>

#include "controlplane/signals.h"

namespace strake::controlplane {

class MetricsServer {
 public:
  /// The signals must outlive it. Port 0: any free one.
  static Result<std::unique_ptr<MetricsServer>> start(const std::string& address, std::uint16_t port, Signals& signals);
  ~MetricsServer();

  std::uint16_t port() const;

 private:
  struct Impl;
  explicit MetricsServer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::controlplane
