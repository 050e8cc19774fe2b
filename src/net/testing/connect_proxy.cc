#include "net/testing/connect_proxy.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <mutex>
#include <thread>

#include "base/result.h"

namespace strake::net::testing {
namespace {

bool send_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(fd, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

/// The tests name every host by its loopback address, so only the port of "host:port" counts.
int connect_to_target(const std::string& head) {
  const std::size_t end = head.find(' ', 8);
  const std::size_t colon = head.rfind(':', end);
  std::uint16_t port = 0;
  std::from_chars(head.data() + colon + 1, head.data() + end, port);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) return fd;
  ::close(fd);
  return -1;
}

}  // namespace

struct ConnectProxy::Impl {
  std::string required_authorization;
  int listener = -1;
  int stop_event = -1;
  std::uint16_t port = 0;
  std::mutex mutex;
  std::vector<std::string> heads;
  std::vector<std::thread> tunnels;  ///< only the accepting thread adds
  std::thread acceptor;

  /// False when the proxy stops.
  bool wait_for(int a, int b, bool& a_ready, bool& b_ready) const {
    std::array<pollfd, 3> waiting{pollfd{stop_event, POLLIN, 0}, pollfd{a, POLLIN, 0}, pollfd{b, POLLIN, 0}};
    ::poll(waiting.data(), b >= 0 ? 3 : 2, -1);
    a_ready = waiting[1].revents != 0;
    b_ready = b >= 0 && waiting[2].revents != 0;
    return waiting[0].revents == 0;
  }

  void accept_all() {
    bool ready = false;
    bool unused = false;
    while (wait_for(listener, -1, ready, unused)) {
      const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
      if (client >= 0) tunnels.emplace_back([this, client] { serve(client); });
    }
  }

  void serve(int client) {
    const int server = open_tunnel(client);
    if (server >= 0) relay(client, server);
    if (server >= 0) ::close(server);
    ::close(client);
  }

  int open_tunnel(int client) {
    std::string head;
    bool ready = false;
    bool unused = false;
    std::array<char, 4096> buffer{};
    while (head.find("\r\n\r\n") == std::string::npos) {
      if (!wait_for(client, -1, ready, unused)) return -1;
      const ssize_t size = ::recv(client, buffer.data(), buffer.size(), 0);
      if (size <= 0) return -1;
      head.append(buffer.data(), static_cast<std::size_t>(size));
    }
    {
      const std::scoped_lock lock(mutex);
      heads.push_back(head);
    }
    const std::string wanted = "Proxy-Authorization: " + required_authorization + "\r\n";
    if (!required_authorization.empty() && head.find(wanted) == std::string::npos) {
      send_all(client,
               "HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic realm=\"test\"\r\n"
               "Content-Length: 0\r\nConnection: close\r\n\r\n");
      return -1;
    }
    const int server = head.starts_with("CONNECT ") ? connect_to_target(head) : -1;
    send_all(client, server >= 0 ? "HTTP/1.1 200 Connection established\r\n\r\n"
                                 : "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\nConnection: close\r\n\r\n");
    return server;
  }

  void relay(int client, int server) const {
    std::array<char, 16 * 1024> buffer{};
    bool from_client = false;
    bool from_server = false;
    while (wait_for(client, server, from_client, from_server)) {
      const int source = from_client ? client : server;
      const ssize_t size = ::recv(source, buffer.data(), buffer.size(), 0);
      if (size <= 0) return;
      if (!send_all(from_client ? server : client, {buffer.data(), static_cast<std::size_t>(size)})) return;
    }
  }
};

ConnectProxy::ConnectProxy(std::string required_authorization) : impl_(std::make_unique<Impl>()) {
  impl_->required_authorization = std::move(required_authorization);
  impl_->stop_event = ::eventfd(0, EFD_CLOEXEC);
  impl_->listener = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  STRAKE_INVARIANT(::bind(impl_->listener, generic, size) == 0 && ::listen(impl_->listener, 16) == 0 &&
                   ::getsockname(impl_->listener, generic, &size) == 0);
  impl_->port = ntohs(address.sin_port);
  impl_->acceptor = std::thread([impl = impl_.get()] { impl->accept_all(); });
}

ConnectProxy::~ConnectProxy() {
  ::eventfd_write(impl_->stop_event, 1);
  impl_->acceptor.join();
  for (std::thread& tunnel : impl_->tunnels) tunnel.join();
  ::close(impl_->listener);
  ::close(impl_->stop_event);
}

std::uint16_t ConnectProxy::port() const { return impl_->port; }

std::vector<std::string> ConnectProxy::heads() const {
  const std::scoped_lock lock(impl_->mutex);
  return impl_->heads;
}

}  // namespace strake::net::testing
