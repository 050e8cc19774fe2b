#include "net/testing/raw_tls_server.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <thread>
#include <vector>

#include <openssl/pem.h>
#include <openssl/ssl.h>

namespace strake::net::testing {
namespace {

/// A client that neither reads nor writes must not hang the test.
constexpr int kServerPatienceSeconds = 60;

SSL_CTX* server_context(const TestIdentity& identity) {
  SSL_CTX* context = SSL_CTX_new(TLS_server_method());
  BIO* certificate_text =
      BIO_new_mem_buf(identity.certificate_pem.data(), static_cast<int>(identity.certificate_pem.size()));
  BIO* key_text = BIO_new_mem_buf(identity.key_pem.data(), static_cast<int>(identity.key_pem.size()));
  X509* certificate = PEM_read_bio_X509(certificate_text, nullptr, nullptr, nullptr);
  EVP_PKEY* key = PEM_read_bio_PrivateKey(key_text, nullptr, nullptr, nullptr);
  STRAKE_INVARIANT(SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1);
  X509_free(certificate);
  EVP_PKEY_free(key);
  BIO_free(certificate_text);
  BIO_free(key_text);
  return context;
}

}  // namespace

struct RawTlsServer::Impl {
  TestAuthority authority;
  Script script;
  SSL_CTX* context = nullptr;
  int listener = -1;
  int stop_event = -1;
  std::uint16_t port = 0;
  std::vector<std::thread> connections;  ///< only the accepting thread adds
  std::thread acceptor;

  class Live final : public Connection {
   public:
    Live(SSL* ssl, int stop_event) : ssl_(ssl), stop_event_(stop_event) {}
    bool send(std::string_view bytes) override {
      if (!pause(std::chrono::milliseconds(0))) return false;
      return bytes.empty() || SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())) > 0;
    }
    bool pause(std::chrono::milliseconds time) override {
      pollfd waiting{stop_event_, POLLIN, 0};
      return ::poll(&waiting, 1, static_cast<int>(time.count())) == 0;
    }

   private:
    SSL* ssl_;
    int stop_event_;
  };

  void serve(int fd) {
    const timeval patience{kServerPatienceSeconds, 0};
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    SSL* ssl = SSL_new(context);
    SSL_set_fd(ssl, fd);
    if (SSL_accept(ssl) == 1) {
      std::string head;
      std::array<char, 4096> buffer{};
      while (head.find("\r\n\r\n") == std::string::npos) {
        const int got = SSL_read(ssl, buffer.data(), static_cast<int>(buffer.size()));
        if (got <= 0) break;
        head.append(buffer.data(), static_cast<std::size_t>(got));
      }
      Live connection(ssl, stop_event);
      if (!head.empty()) script(head, connection);
      SSL_shutdown(ssl);
    }
    SSL_free(ssl);
    ::close(fd);
  }

  void accept_all() {
    for (;;) {
      std::array<pollfd, 2> waiting{pollfd{stop_event, POLLIN, 0}, pollfd{listener, POLLIN, 0}};
      ::poll(waiting.data(), waiting.size(), -1);
      if (waiting[0].revents != 0) return;
      const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (client >= 0) connections.emplace_back([this, client] { serve(client); });
    }
  }
};

RawTlsServer::RawTlsServer(Script script) : impl_(std::make_unique<Impl>()) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes to sockets whose reader is gone
  impl_->script = std::move(script);
  impl_->context = server_context(impl_->authority.server());
  impl_->stop_event = eventfd(0, EFD_CLOEXEC);
  impl_->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  STRAKE_INVARIANT(bind(impl_->listener, reinterpret_cast<const sockaddr*>(&address), length) == 0);
  STRAKE_INVARIANT(listen(impl_->listener, 64) == 0);
  STRAKE_INVARIANT(getsockname(impl_->listener, reinterpret_cast<sockaddr*>(&address), &length) == 0);
  impl_->port = ntohs(address.sin_port);
  impl_->acceptor = std::thread([impl = impl_.get()] { impl->accept_all(); });
}

RawTlsServer::~RawTlsServer() {
  const std::uint64_t one = 1;
  STRAKE_INVARIANT(::write(impl_->stop_event, &one, sizeof(one)) == sizeof(one));
  impl_->acceptor.join();
  for (std::thread& connection : impl_->connections) connection.join();
  ::close(impl_->listener);
  ::close(impl_->stop_event);
  SSL_CTX_free(impl_->context);
}

std::uint16_t RawTlsServer::port() const { return impl_->port; }
std::string RawTlsServer::ca_pem() const { return impl_->authority.pem(); }

}  // namespace strake::net::testing
