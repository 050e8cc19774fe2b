#include "net/http_server.h"

#include <atomic>
#include <mutex>

#include "net/exchange.h"
#include "net/handler_pool.h"
#include "net/response_head.h"
#include "net/server_io.h"

namespace strake::net {
namespace {

using ErrorResponse = std::function<Response(int status, std::string_view message)>;

Response plain_error_response(int status, std::string_view message) {
  return {status, {{"Content-Type", "text/plain; charset=utf-8"}}, std::string(message) + "\n"};
}

}  // namespace

struct Responder::Impl {
  Impl(std::shared_ptr<Exchange> given, std::size_t gzip_above, std::shared_ptr<const ErrorResponse> on_error)
      : exchange(std::move(given)), gzip_above_bytes(gzip_above), error_response(std::move(on_error)) {}
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    // The client must not wait for an answer nobody can give any more.
    if (exchange->answered()) return;
    exchange->respond_unless_answered((*error_response)(500, "the server gave no answer to this request"));
  }

  std::shared_ptr<Exchange> exchange;
  std::size_t gzip_above_bytes;  ///< 0: this client does not accept it
  std::shared_ptr<const ErrorResponse> error_response;
};

void Responder::send(Response response) const {
  compress_if_useful(response, impl_->gzip_above_bytes);
  if (!impl_->exchange->reserve_answer(response.body.size())) {
    response = (*impl_->error_response)(
        429, "more answers wait for their readers than the server has room for: try again in a moment");
  }
  impl_->exchange->respond(std::move(response));
}

void Responder::send(ResponseHead head, std::shared_ptr<const std::string> body) const {
  Response response;
  response.status = head.status;
  response.headers = std::move(head.headers);
  impl_->exchange->respond(std::move(response), std::move(body));
}

std::shared_ptr<StreamSink> Responder::stream(ResponseHead head, StreamOptions options) const {
  impl_->exchange->begin_stream(std::move(head), options);
  return impl_->exchange;
}

void Responder::count_queue_in(const std::shared_ptr<ByteBudget>& share) const {
  impl_->exchange->count_queue_in(share);
}

void Responder::end_connection() const { impl_->exchange->end_connection(); }

struct HttpsServer::Impl {
  Handler handler;
  std::size_t gzip_above_bytes = 0;
  std::shared_ptr<const ErrorResponse> error_response;
  std::atomic<std::uint64_t> requests = 0;

  std::mutex tls_mutex;
  ServerIdentity identity;
  TlsPolicy tls_policy;

  std::function<bool(const ServerRequest&)> is_urgent;
  std::shared_ptr<ByteBudget> bodies;
  std::shared_ptr<ByteBudget> queue;
  std::unique_ptr<HandlerPool> pool;
  std::unique_ptr<HandlerPool> urgent_pool;  ///< when there are urgent requests
  std::function<bool(const PeerCertificate&)> is_privileged;
  std::unique_ptr<HandlerPool> spare_pool;  ///< when there are privileged clients
  std::unique_ptr<ServerIo> io;             // after the pool: its threads submit to it, so they must end first

  void handle(ServerRequest request, std::shared_ptr<Exchange> exchange) {
    ++requests;
    const bool gzip = gzip_above_bytes > 0 && accepts_gzip(request.headers);
    Responder responder(
        std::make_shared<Responder::Impl>(std::move(exchange), gzip ? gzip_above_bytes : 0, error_response));
    // std::function wants to be copyable; the request is not copied this way.
    auto shared_request = std::make_shared<const ServerRequest>(std::move(request));
    pool_for(*shared_request).submit([this, shared_request, responder] {
      try {
        handler(*shared_request, responder);
      } catch (...) {
        // The last Responder answers 500. Nothing is told to the client: what was thrown may name inner things.
      }
    });
  }

  HandlerPool& pool_for(const ServerRequest& request) {
    if (urgent_pool && is_urgent(request)) return *urgent_pool;
    const bool privileged = spare_pool && request.client_certificate && is_privileged(*request.client_certificate);
    return privileged && pool->is_busy() && !spare_pool->is_busy() ? *spare_pool : *pool;
  }

  Status change_identity(ServerIdentity changed);

  void stop(std::chrono::milliseconds grace) {
    if (io) io->stop(grace);
    if (pool) pool->stop();
    if (spare_pool) spare_pool->stop();
    if (urgent_pool) urgent_pool->stop();
  }
};

HttpsServer::HttpsServer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
HttpsServer::HttpsServer(HttpsServer&&) noexcept = default;

HttpsServer& HttpsServer::operator=(HttpsServer&& other) noexcept {
  if (impl_) impl_->stop(std::chrono::milliseconds(0));
  impl_ = std::move(other.impl_);
  return *this;
}

HttpsServer::~HttpsServer() {
  if (impl_) impl_->stop(std::chrono::milliseconds(0));
}

Result<HttpsServer> HttpsServer::start(ServerOptions options, Handler handler) {
  STRAKE_TRY(auto tls,
             options.plain_on_loopback
                 ? make_plain()
                 : make_server_tls({options.certificate_pem, options.key_pem, options.client_ca_pem}, options.tls));
  auto impl = std::make_unique<Impl>();
  impl->handler = std::move(handler);
  impl->gzip_above_bytes = options.gzip_above_bytes;
  impl->error_response =
      std::make_shared<const ErrorResponse>(options.error_response ? options.error_response : plain_error_response);
  impl->identity = {options.certificate_pem, options.key_pem, options.client_ca_pem};
  impl->tls_policy = options.tls;
  impl->pool = std::make_unique<HandlerPool>(options.handler_threads);
  impl->is_urgent = std::move(options.is_urgent);
  if (impl->is_urgent) impl->urgent_pool = std::make_unique<HandlerPool>(1);
  impl->is_privileged = options.is_privileged;
  if (impl->is_privileged) impl->spare_pool = std::make_unique<HandlerPool>(options.spare_threads);
  impl->bodies = std::make_shared<ByteBudget>(options.max_total_body_bytes);
  impl->queue = std::make_shared<ByteBudget>(options.max_queued_bytes);

  IoOptions io;
  io.address = options.address;
  io.port = options.port;
  io.max_connections = options.max_connections;
  io.max_handshakes = options.max_handshakes;
  io.write_timeout = options.write_timeout;
  io.threads = options.io_threads;
  io.is_privileged = std::move(options.is_privileged);
  io.conversation.limits = {options.max_header_bytes, options.max_body_bytes};
  io.conversation.request_timeout = options.request_timeout;
  io.conversation.idle_timeout = options.idle_timeout;
  io.conversation.on_request = [server = impl.get()](ServerRequest request, std::shared_ptr<Exchange> exchange) {
    server->handle(std::move(request), std::move(exchange));
  };
  io.conversation.error_response = *impl->error_response;
  io.conversation.now = [] { return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now()); };
  io.conversation.before_body = std::move(options.before_body);
  io.conversation.bodies = impl->bodies;
  io.conversation.queue = impl->queue;
  STRAKE_TRY(impl->io, ServerIo::start(std::move(io), std::move(tls)));
  return HttpsServer(std::move(impl));
}

std::uint16_t HttpsServer::port() const { return impl_->io->port(); }

ServerStats HttpsServer::stats() const {
  ServerStats stats = impl_->io->stats();
  stats.requests = impl_->requests;
  stats.body_bytes = impl_->bodies->used();
  stats.queued_bytes = impl_->queue->used();
  return stats;
}

Status HttpsServer::Impl::change_identity(ServerIdentity changed) {
  STRAKE_TRY(auto tls, make_server_tls(changed, tls_policy));
  identity = std::move(changed);
  io->set_tls(std::move(tls));
  return {};
}

Status HttpsServer::set_certificate(const std::string& certificate_pem, const std::string& key_pem) {
  const std::scoped_lock lock(impl_->tls_mutex);
  return impl_->change_identity({certificate_pem, key_pem, impl_->identity.client_ca_pem});
}

Status HttpsServer::set_client_ca(const std::string& client_ca_pem) {
  const std::scoped_lock lock(impl_->tls_mutex);
  return impl_->change_identity({impl_->identity.certificate_pem, impl_->identity.key_pem, client_ca_pem});
}

void HttpsServer::stop(std::chrono::milliseconds grace) { impl_->stop(grace); }

}  // namespace strake::net
