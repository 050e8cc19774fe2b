// What every daemon verb has: a log on stderr, signals, and on request a port for metrics.
#pragma once

#include <memory>

#include "base/log.h"
#include "base/runtime.h"
#include "cmd/cli/command.h"
#include "controlplane/metrics_server.h"
#include "controlplane/signals.h"

namespace strake::cmd {

// In the order of log::Format and log::Level.
inline constexpr std::string_view kLogFormatWords[] = {"text", "json"};
inline constexpr std::string_view kLogLevelWords[] = {"debug", "info", "warning", "error"};

inline constexpr OptionSpec kLogFormatOption{"log-format", "FORMAT", "log lines on stderr as text or json", "text",
                                             one_of(kLogFormatWords)};
inline constexpr OptionSpec kLogLevelOption{
    "log-level", "LEVEL", "log from this level on: debug, info, warning or error", "info", one_of(kLogLevelWords)};
inline constexpr OptionSpec kMetricsListenOption{
    "metrics-listen", "ADDR:PORT",
    "serve /metrics, /healthz and /readyz here, without TLS: a loopback address such as 127.0.0.1:9100 (default: off)",
    "", kEndpointValue};

class Daemon {
 public:
  /// Reads the options above; a verb that has no --metrics-listen serves metrics in its own way.
  static Result<std::unique_ptr<Daemon>> start(runtime::Runtime& runtime, const Invocation& invocation);

  controlplane::Signals& signals() { return signals_; }
  log::Log& log() { return log_; }

 private:
  Daemon(runtime::Runtime& runtime, log::LogOptions options);

  log::Log log_;
  controlplane::Signals signals_;
  std::unique_ptr<controlplane::MetricsServer> metrics_;
};

}  // namespace strake::cmd
