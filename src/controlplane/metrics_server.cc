#include "controlplane/metrics_server.h"

#include "net/http_server.h"

namespace strake::controlplane {

namespace {

net::Response plain_answer(int status, std::string body, std::string_view type = "text/plain; charset=utf-8") {
  return {status, {{"Content-Type", std::string(type)}}, std::move(body)};
}

net::Response answer_scrape(const net::ServerRequest& request, Signals& signals) {
  if (request.method != "GET" && request.method != "HEAD") return plain_answer(405, "only GET\n");
  const std::string path = request.target.segments.size() == 1 ? request.target.segments[0] : "";
  if (path == "metrics") return plain_answer(200, signals.metrics_text(), net::kMetricsContentType);
  if (path == "healthz" || path == "livez") return plain_answer(200, "ok\n");
  if (path != "readyz") return plain_answer(404, "there are /metrics, /healthz and /readyz\n");
  const std::string why_not = signals.not_ready_because();
  return why_not.empty() ? plain_answer(200, "ok\n") : plain_answer(503, why_not);
}

}  // namespace

struct MetricsServer::Impl {
  net::HttpsServer server;
};

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const std::string& address, std::uint16_t port,
                                                            Signals& signals) {
  net::ServerOptions options;
  options.address = address;
  options.port = port;
  options.plain_on_loopback = true;
  options.max_connections = 64;
  options.io_threads = 1;
  options.handler_threads = 1;
  STRAKE_TRY_CONTEXT(net::HttpsServer server,
                     net::HttpsServer::start(options,
                                             [&signals](const net::ServerRequest& request, const net::Responder& to) {
                                               to.send(answer_scrape(request, signals));
                                             }),
                     "serving metrics");
  return std::unique_ptr<MetricsServer>(new MetricsServer(std::make_unique<Impl>(Impl{std::move(server)})));
}

MetricsServer::MetricsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
MetricsServer::~MetricsServer() = default;

std::uint16_t MetricsServer::port() const { return impl_->server.port(); }

}  // namespace strake::controlplane
