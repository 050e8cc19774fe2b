#include "net/testing/raw_tls_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

namespace strake::net::testing {
namespace {

/// A broken server must fail the test, not hang it.
constexpr int kPatienceSeconds = 60;

int connect_loopback(std::uint16_t port, int receive_buffer_bytes) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  STRAKE_INVARIANT(fd >= 0);
  const timeval patience{kPatienceSeconds, 0};
  setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
  // As Go's and curl's sockets: else the request waits for the answer to the handshake's last flight.
  const int at_once = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &at_once, sizeof(at_once));
  if (receive_buffer_bytes > 0) {
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof(receive_buffer_bytes));
  }
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    ::close(fd);
    return -1;
  }
  return fd;
}

std::string last_tls_error() {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return text.data();
}

X509* certificate_from_pem(const std::string& pem) {
  BIO* bio = BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size()));
  X509* certificate = PEM_read_bio_X509(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  STRAKE_INVARIANT(certificate != nullptr);
  return certificate;
}

void use_identity(SSL_CTX* context, const TestIdentity& identity) {
  X509* certificate = certificate_from_pem(identity.certificate_pem);
  BIO* bio = BIO_new_mem_buf(identity.key_pem.data(), static_cast<int>(identity.key_pem.size()));
  EVP_PKEY* key = PEM_read_bio_PrivateKey(bio, nullptr, nullptr, nullptr);
  BIO_free(bio);
  STRAKE_INVARIANT(SSL_CTX_use_certificate(context, certificate) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1);
  X509_free(certificate);
  EVP_PKEY_free(key);
}

}  // namespace

struct RawTlsClient::Impl {
  Impl() = default;
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;
  ~Impl() {
    SSL_free(ssl);
    SSL_CTX_free(context);
    if (fd >= 0) ::close(fd);
  }
  SSL_CTX* context = nullptr;
  SSL* ssl = nullptr;
  int fd = -1;
};

RawTlsClient::RawTlsClient(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
RawTlsClient::RawTlsClient(RawTlsClient&&) noexcept = default;
RawTlsClient& RawTlsClient::operator=(RawTlsClient&&) noexcept = default;
RawTlsClient::~RawTlsClient() = default;

Result<RawTlsClient> RawTlsClient::connect(std::uint16_t port, const RawTlsOptions& options) {
  std::signal(SIGPIPE, SIG_IGN);  // OpenSSL writes with write(2)
  auto impl = std::make_unique<Impl>();
  impl->fd = connect_loopback(port, options.receive_buffer_bytes);
  if (impl->fd < 0) return error(Code::kUnavailable, "connecting to port {}: {}", port, std::strerror(errno));
  impl->context = SSL_CTX_new(TLS_client_method());
  SSL_CTX_set_verify(impl->context, SSL_VERIFY_PEER, nullptr);
  if (options.only_tls_1_1) {
    SSL_CTX_set_min_proto_version(impl->context, TLS1_1_VERSION);
    SSL_CTX_set_max_proto_version(impl->context, TLS1_1_VERSION);
    SSL_CTX_set_cipher_list(impl->context, "ALL:@SECLEVEL=0");
  }
  X509* root = certificate_from_pem(options.ca_pem);
  X509_STORE_add_cert(SSL_CTX_get_cert_store(impl->context), root);
  X509_free(root);
  if (!options.identity.certificate_pem.empty()) use_identity(impl->context, options.identity);
  constexpr std::array<unsigned char, 12> kOffer = {2, 'h', '2', 8, 'h', 't', 't', 'p', '/', '1', '.', '1'};
  SSL_CTX_set_alpn_protos(impl->context, kOffer.data(), kOffer.size());
  impl->ssl = SSL_new(impl->context);
  SSL_set_fd(impl->ssl, impl->fd);
  if (SSL_connect(impl->ssl) != 1) return error(Code::kDenied, "TLS handshake: {}", last_tls_error());
  return RawTlsClient(std::move(impl));
}

Status RawTlsClient::write(std::string_view bytes) {
  if (SSL_write(impl_->ssl, bytes.data(), static_cast<int>(bytes.size())) <= 0) {
    return error(Code::kUnavailable, "writing: {}", last_tls_error());
  }
  return {};
}

Result<std::string> RawTlsClient::read_some() {
  std::string bytes(16 * 1024, '\0');
  const int size = SSL_read(impl_->ssl, bytes.data(), static_cast<int>(bytes.size()));
  if (size <= 0) {
    const int reason = SSL_get_error(impl_->ssl, size);
    ERR_clear_error();
    if (reason == SSL_ERROR_WANT_READ)
      return error(Code::kTimeout, "the server said nothing for {} s", kPatienceSeconds);
    return std::string();
  }
  bytes.resize(static_cast<std::size_t>(size));
  return bytes;
}

Result<std::string> RawTlsClient::read_until(std::string_view marker) {
  std::string all;
  while (all.find(marker) == std::string::npos) {
    STRAKE_TRY(const std::string more, read_some());
    if (more.empty()) return error(Code::kUnavailable, "the server ended the connection after: {}", all);
    all += more;
  }
  return all;
}

std::string RawTlsClient::read_to_end() {
  std::string all;
  for (;;) {
    auto more = read_some();
    if (!more || more->empty()) return all;
    all += *more;
  }
}

bool RawTlsClient::readable_within(std::chrono::milliseconds time) {
  if (SSL_pending(impl_->ssl) > 0) return true;
  pollfd waiting{impl_->fd, POLLIN, 0};
  return poll(&waiting, 1, static_cast<int>(time.count())) > 0;
}

std::string RawTlsClient::alpn() const {
  const unsigned char* name = nullptr;
  unsigned int size = 0;
  SSL_get0_alpn_selected(impl_->ssl, &name, &size);
  return {reinterpret_cast<const char*>(name), size};
}

Status connect_and_wait_for_close(std::uint16_t port) {
  const int fd = connect_loopback(port, 0);
  if (fd < 0) return error(Code::kUnavailable, "connecting to port {}: {}", port, std::strerror(errno));
  char byte = 0;
  const ssize_t size = recv(fd, &byte, 1, 0);
  const int reason = errno;
  ::close(fd);
  if (size == 0 || (size < 0 && reason == ECONNRESET)) return {};
  return error(Code::kTimeout, "the server did not close the connection");
}

bool port_is_open(std::uint16_t port) {
  const int fd = connect_loopback(port, 0);
  if (fd >= 0) ::close(fd);
  return fd >= 0;
}

}  // namespace strake::net::testing
