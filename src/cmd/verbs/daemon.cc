#include "cmd/verbs/daemon.h"

#include <unistd.h>

namespace strake::cmd {

Daemon::Daemon(runtime::Runtime& runtime, log::LogOptions options)
    : log_(runtime, options, log::write_to(STDERR_FILENO)), signals_(runtime, log_) {}

Result<std::unique_ptr<Daemon>> Daemon::start(runtime::Runtime& runtime, const Invocation& invocation) {
  log::LogOptions options;
  options.format = invocation.choice<log::Format>("log-format");
  options.level = invocation.choice<log::Level>("log-level");
  auto daemon = std::unique_ptr<Daemon>(new Daemon(runtime, options));
  if (!invocation.has("metrics-listen")) return daemon;
  net::Endpoint listen = invocation.endpoint("metrics-listen");
  STRAKE_TRY_CONTEXT(daemon->metrics_,
                     controlplane::MetricsServer::start(listen.address, listen.port, daemon->signals_),
                     "--metrics-listen {}", listen.to_string());
  listen.port = daemon->metrics_->port();
  daemon->log_.info("serving metrics", {{"url", fmt::format("http://{}/metrics", listen.to_string())}});
  return daemon;
}

}  // namespace strake::cmd
