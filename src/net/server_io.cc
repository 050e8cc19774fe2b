#include "net/server_io.h"

#include <sys/resource.h>

#include <atomic>
#include <condition_variable>
#include <list>
#include <thread>
#include <unordered_map>

#include <openssl/ssl.h>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>

namespace strake::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using IoError = boost::system::error_code;

/// What the rest of the process needs: the database, files, other programs.
constexpr std::size_t kReservedDescriptors = 128;
constexpr std::size_t kFewestConnections = 16;
/// One in so many places is for privileged clients alone, once all others are taken by clients that are busy.
constexpr std::size_t kReservedPart = 16;

/// An io_context with one thread: what runs there needs no strand, and no thread wakes another to share its work.
struct IoLoop {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::thread thread;
};

/// How many connections there are descriptors for.
std::size_t connections_within_limits(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  const auto descriptors = static_cast<std::size_t>(limit.rlim_cur);
  const std::size_t left = descriptors > kReservedDescriptors ? descriptors - kReservedDescriptors : 0;
  return std::min(wanted, std::max(left, kFewestConnections));
}

}  // namespace

struct ServerIo::Impl {
  /// A client that has said nothing yet: a socket and no more. TLS begins with its first byte.
  struct Arrival {
    Arrival(tcp::socket given, IoLoop& on) : socket(std::move(given)), loop(on), deadline(socket.get_executor()) {}
    tcp::socket socket;
    IoLoop& loop;
    asio::steady_timer deadline;
  };
  using Arrivals = std::list<std::shared_ptr<Arrival>>;

  explicit Impl(IoOptions given)
      : options(std::move(given)),
        capacity(connections_within_limits(options.max_connections)),
        loops(std::max(options.threads, 1U)) {
    host.conversation = options.conversation;
    host.write_timeout = options.write_timeout;
    host.admit = [this](const PeerIdentity& identity) { return admit(identity); };
    host.closed = [this](const ServerConnection* connection) { remove(connection); };
  }

  Status listen();
  void run_threads();
  void accept();
  void on_accept(const IoError& problem, tcp::socket socket, IoLoop& loop);
  void wait_for_first_byte(const std::shared_ptr<Arrival>& arrival);
  void on_first_byte(const std::shared_ptr<Arrival>& arrival, const IoError& problem);
  /// False when nobody can be sent away.
  bool make_room_locked();
  bool evict_oldest_locked(std::int64_t (ServerConnection::*since)() const);
  bool admit(const PeerIdentity& identity);
  std::shared_ptr<ServerConnection> connection_of(Arrival& arrival);
  static void close(const std::shared_ptr<Arrival>& arrival);
  void remove(const ServerConnection* connection);
  std::vector<std::shared_ptr<ServerConnection>> snapshot();
  void stop(std::chrono::milliseconds grace);

  const IoOptions options;
  const std::size_t capacity;
  ConnectionHost host;        ///< before the loops: what they still hold when they go, uses it
  std::vector<IoLoop> loops;  ///< a connection stays with the one it was given at first
  std::size_t next_loop = 0;  ///< of the acceptor
  tcp::acceptor acceptor{loops.front().io};
  asio::steady_timer accept_retry{acceptor.get_executor()};
  std::uint16_t port = 0;
  bool running = false;

  mutable std::mutex mutex;
  std::condition_variable all_closed;
  Arrivals arrivals;  ///< the oldest first
  std::unordered_map<const ServerConnection*, std::weak_ptr<ServerConnection>> connections;
  bool stopping = false;
  std::shared_ptr<const ServerTls> tls;
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> evicted = 0;
};

Status ServerIo::Impl::listen() {
  IoError problem;
  const auto address = asio::ip::make_address(options.address, problem);
  if (problem) {
    return error(Code::kInvalidArgument,
                 "'{}' is not an IP address to listen on: use one such as 127.0.0.1 or ::", options.address);
  }
  if (tls->plain && !address.is_loopback()) {
    return error(Code::kInvalidArgument, "{} can be reached from other machines: without TLS use 127.0.0.1 or ::1",
                 options.address);
  }
  const tcp::endpoint endpoint(address, options.port);
  (void)acceptor.open(endpoint.protocol(), problem);
  if (!problem) (void)acceptor.set_option(tcp::acceptor::reuse_address(true), problem);
  if (!problem) (void)acceptor.bind(endpoint, problem);
  if (!problem) (void)acceptor.listen(asio::socket_base::max_listen_connections, problem);
  if (problem) {
    const Code code = problem == asio::error::access_denied ? Code::kDenied : Code::kUnavailable;
    return error(code, "cannot listen on {} port {}: {}; choose another address or port", options.address, options.port,
                 problem.message());
  }
  port = acceptor.local_endpoint(problem).port();
  return {};
}

void ServerIo::Impl::run_threads() {
  running = true;
  for (IoLoop& loop : loops) {
    loop.thread = std::thread([&loop] {
      for (;;) {
        try {
          loop.io.run();
          return;
        } catch (const std::exception&) {
          continue;  // out of memory in one connection's step: it is lost to its timeouts, the others go on
        }
      }
    });
  }
}

void ServerIo::Impl::accept() {
  IoLoop& home = loops[next_loop];
  next_loop = (next_loop + 1) % loops.size();
  acceptor.async_accept(home.io, [this, &home](const IoError& problem, tcp::socket socket) {
    on_accept(problem, std::move(socket), home);
  });
}

void ServerIo::Impl::on_accept(const IoError& problem, tcp::socket socket, IoLoop& loop) {
  if (!acceptor.is_open()) return;
  if (problem) {
    // Mostly "too many open files": trying again at once would only burn the processor.
    accept_retry.expires_after(std::chrono::milliseconds(100));
    accept_retry.async_wait([this](const IoError& cancelled) {
      if (!cancelled && acceptor.is_open()) accept();
    });
    return;
  }
  ++accepted;
  std::shared_ptr<Arrival> arrival;
  {
    const std::scoped_lock lock(mutex);
    if (stopping) return;
    if (arrivals.size() + connections.size() >= capacity && !make_room_locked()) {
      ++refused;
    } else {
      arrival = arrivals.emplace_back(std::make_shared<Arrival>(std::move(socket), loop));
    }
  }
  if (arrival) wait_for_first_byte(arrival);
  accept();
}

void ServerIo::Impl::wait_for_first_byte(const std::shared_ptr<Arrival>& arrival) {
  asio::post(arrival->socket.get_executor(), [this, arrival] {
    arrival->deadline.expires_after(options.conversation.request_timeout);
    arrival->deadline.async_wait([this, arrival](const IoError& cancelled) {
      if (!cancelled) on_first_byte(arrival, asio::error::timed_out);
    });
    arrival->socket.async_wait(tcp::socket::wait_read,
                               [this, arrival](const IoError& problem) { on_first_byte(arrival, problem); });
  });
}

void ServerIo::Impl::on_first_byte(const std::shared_ptr<Arrival>& arrival, const IoError& problem) {
  std::shared_ptr<ServerConnection> connection;
  {
    const std::scoped_lock lock(mutex);
    const auto place = std::find(arrivals.begin(), arrivals.end(), arrival);
    if (place == arrivals.end()) return;  // it made room for somebody, or its time was up
    arrivals.erase(place);
    if (!problem && !stopping) {
      if (host.handshakes >= options.max_handshakes) evict_oldest_locked(&ServerConnection::handshaking_since);
      connection = connection_of(*arrival);
      if (connection) connections.emplace(connection.get(), connection);
    }
  }
  arrival->deadline.cancel();
  if (connection) return connection->start();
  IoError ignored;
  (void)arrival->socket.close(ignored);
}

std::shared_ptr<ServerConnection> ServerIo::Impl::connection_of(Arrival& arrival) {
  IoError failed;
  const bool ipv6 = arrival.socket.local_endpoint(failed).address().is_v6();
  SSL* const ssl = failed ? nullptr : SSL_new(tls->context.get());
  if (ssl == nullptr) return nullptr;
  const int socket = arrival.socket.release(failed);
  STRAKE_INVARIANT(!failed);
  return ServerConnection::make({arrival.loop.io, socket, ipv6, tls, ssl}, host);
}

bool ServerIo::Impl::admit(const PeerIdentity& identity) {
  const std::size_t for_all = capacity - capacity / kReservedPart;
  const std::scoped_lock lock(mutex);
  // Those that are still at their handshake make room when they come, not here: a newcomer does not drive out the next.
  const std::size_t established = connections.size() - std::min<std::size_t>(connections.size(), host.handshakes);
  if (established <= for_all) return true;
  if (identity.certificate && options.is_privileged && options.is_privileged(*identity.certificate)) return true;
  if (evict_oldest_locked(&ServerConnection::idle_since)) return true;
  ++refused;
  return false;
}

bool ServerIo::Impl::make_room_locked() {
  if (!arrivals.empty()) {
    close(arrivals.front());
    arrivals.pop_front();
    ++evicted;
    return true;
  }
  return evict_oldest_locked(&ServerConnection::handshaking_since) ||
         evict_oldest_locked(&ServerConnection::idle_since);
}

bool ServerIo::Impl::evict_oldest_locked(std::int64_t (ServerConnection::*since)() const) {
  std::shared_ptr<ServerConnection> oldest;
  std::int64_t oldest_since = 0;
  for (const auto& [key, weak] : connections) {
    auto connection = weak.lock();
    const std::int64_t at = connection ? ((*connection).*since)() : 0;
    if (at != 0 && (oldest_since == 0 || at < oldest_since)) {
      oldest_since = at;
      oldest = std::move(connection);
    }
  }
  if (!oldest) return false;
  ++evicted;
  oldest->evict();
  return true;
}

void ServerIo::Impl::close(const std::shared_ptr<Arrival>& arrival) {
  asio::post(arrival->socket.get_executor(), [arrival] {
    IoError ignored;
    (void)arrival->socket.close(ignored);
    arrival->deadline.cancel();
  });
}

void ServerIo::Impl::remove(const ServerConnection* connection) {
  const std::scoped_lock lock(mutex);
  connections.erase(connection);
  if (connections.empty()) all_closed.notify_all();
}

std::vector<std::shared_ptr<ServerConnection>> ServerIo::Impl::snapshot() {
  const std::scoped_lock lock(mutex);
  std::vector<std::shared_ptr<ServerConnection>> open;
  for (const auto& [key, weak] : connections) {
    if (auto connection = weak.lock()) open.push_back(std::move(connection));
  }
  return open;
}

void ServerIo::Impl::stop(std::chrono::milliseconds grace) {
  if (!std::exchange(running, false)) return;
  {
    const std::scoped_lock lock(mutex);
    stopping = true;
    for (const auto& arrival : arrivals) close(arrival);
    arrivals.clear();
  }
  asio::post(acceptor.get_executor(), [this] {
    IoError ignored;
    (void)acceptor.close(ignored);
    accept_retry.cancel();
  });
  for (const auto& connection : snapshot()) connection->drain();
  const auto none_left = [this] { return connections.empty(); };
  {
    std::unique_lock lock(mutex);
    all_closed.wait_for(lock, grace, none_left);
  }
  for (const auto& connection : snapshot()) connection->cut();
  {
    std::unique_lock lock(mutex);
    all_closed.wait(lock, none_left);
  }
  for (IoLoop& loop : loops) loop.work.reset();
  for (IoLoop& loop : loops) loop.thread.join();
}

ServerIo::ServerIo(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
ServerIo::~ServerIo() { stop(std::chrono::milliseconds(0)); }

Result<std::unique_ptr<ServerIo>> ServerIo::start(IoOptions options, std::shared_ptr<const ServerTls> tls) {
  try {
    auto impl = std::make_unique<Impl>(std::move(options));
    impl->tls = std::move(tls);
    STRAKE_CHECK_OK(impl->listen());
    impl->accept();
    impl->run_threads();
    return std::unique_ptr<ServerIo>(new ServerIo(std::move(impl)));
  } catch (const std::exception& problem) {
    return error(Code::kInternal, "starting the server: {}", problem.what());
  }
}

std::uint16_t ServerIo::port() const { return impl_->port; }

ServerStats ServerIo::stats() const {
  const std::scoped_lock lock(impl_->mutex);
  ServerStats stats;
  stats.open_connections = impl_->connections.size() + impl_->arrivals.size();
  stats.accepted_connections = impl_->accepted;
  stats.refused_connections = impl_->refused;
  stats.evicted_connections = impl_->evicted;
  stats.failed_handshakes = impl_->host.failed_handshakes;
  return stats;
}

void ServerIo::set_tls(std::shared_ptr<const ServerTls> tls) {
  const std::scoped_lock lock(impl_->mutex);
  impl_->tls = std::move(tls);
}

void ServerIo::stop(std::chrono::milliseconds grace) { impl_->stop(grace); }

}  // namespace strake::net
