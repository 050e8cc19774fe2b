#include "cmd/verbs/daemon.h"

#include <unistd.h>

#include <charconv>

namespace strake::cmd {

namespace {

struct ListenAddress {
  std::string address;
  std::uint16_t port = 0;
};

Result<ListenAddress> parse_metrics_address(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  ListenAddress parsed;
  const char* const end = text.data() + text.size();
  const bool has_port = colon != std::string::npos && colon + 1 < text.size();
  const auto [last, failure] =
      has_port ? std::from_chars(text.data() + colon + 1, end, parsed.port) : std::from_chars_result{end, std::errc()};
  if (!has_port || failure != std::errc() || last != end) {
    return error(Code::kInvalidArgument, "--metrics-listen {}: expected ADDRESS:PORT such as 127.0.0.1:9100", text);
  }
  parsed.address = text.substr(0, colon);
  if (parsed.address.starts_with('[') && parsed.address.ends_with(']')) {
    parsed.address = parsed.address.substr(1, parsed.address.size() - 2);
  }
  return parsed;
}

}  // namespace

Daemon::Daemon(runtime::Runtime& runtime, log::LogOptions options)
    : log_(runtime, options, log::write_to(STDERR_FILENO)), signals_(runtime, log_) {}

Result<std::unique_ptr<Daemon>> Daemon::start(runtime::Runtime& runtime, const Invocation& invocation) {
  log::LogOptions options;
  STRAKE_TRY_CONTEXT(options.format, log::parse_format(invocation.value("log-format")), "--log-format");
  STRAKE_TRY_CONTEXT(options.level, log::parse_level(invocation.value("log-level")), "--log-level");
  auto daemon = std::unique_ptr<Daemon>(new Daemon(runtime, options));
  const auto listen = invocation.values.find("metrics-listen");
  if (listen == invocation.values.end() || listen->second.empty()) return daemon;
  STRAKE_TRY(const ListenAddress at, parse_metrics_address(listen->second));
  STRAKE_TRY_CONTEXT(daemon->metrics_, controlplane::MetricsServer::start(at.address, at.port, daemon->signals_),
                     "--metrics-listen {}", listen->second);
  daemon->log_.info("serving metrics",
                    {{"url", fmt::format("http://{}:{}/metrics", listen->second.substr(0, listen->second.rfind(':')),
                                         daemon->metrics_->port())}});
  return daemon;
}

}  // namespace strake::cmd
