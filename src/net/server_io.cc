#include "net/server_io.h"

#include <sys/resource.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <thread>
#include <unordered_map>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

namespace strake::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using IoError = boost::system::error_code;

constexpr std::size_t kReadBytes = 8 * 1024;  // every connection has so much, busy or not
constexpr std::size_t kWritePieceBytes = 64 * 1024;
/// A client whose request was refused may still be sending it. Closing at once would reset the connection and could
/// destroy the answer in flight, so this much more is read and dropped, for this long.
constexpr std::size_t kLingerBytes = 16 * 1024 * 1024;
constexpr std::chrono::seconds kLingerTime{2};

/// What the rest of the process needs: the database, files, other programs.
constexpr std::size_t kReservedDescriptors = 128;
constexpr std::size_t kFewestConnections = 16;

using TimePoint = std::chrono::steady_clock::time_point;
constexpr TimePoint kNever = TimePoint::max();

/// An io_context with one thread: what runs there needs no strand, and no thread wakes another to share its work.
struct IoLoop {
  asio::io_context io{1};
  asio::executor_work_guard<asio::io_context::executor_type> work{io.get_executor()};
  std::thread thread;
};

std::string address_text(const tcp::socket& socket) {
  IoError problem;
  const tcp::endpoint peer = socket.remote_endpoint(problem);
  if (problem) return "unknown";
  const std::string address = peer.address().to_string();
  return fmt::format("{}:{}", peer.address().is_v6() ? "[" + address + "]" : address, peer.port());
}

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
  class Connection;

  /// A client that has said nothing yet: a socket and no more. TLS begins with its first byte.
  struct Arrival {
    explicit Arrival(tcp::socket given) : socket(std::move(given)), deadline(socket.get_executor()) {}
    tcp::socket socket;
    asio::steady_timer deadline;
  };
  using Arrivals = std::list<std::shared_ptr<Arrival>>;

  explicit Impl(IoOptions given)
      : options(std::move(given)),
        capacity(connections_within_limits(options.max_connections)),
        loops(std::max(options.threads, 1U)) {}

  Status listen();
  void run_threads();
  void accept();
  void on_accept(const IoError& problem, tcp::socket socket);
  void wait_for_first_byte(const std::shared_ptr<Arrival>& arrival);
  void on_first_byte(const std::shared_ptr<Arrival>& arrival, const IoError& problem);
  /// False when nobody can be sent away.
  bool make_room_locked();
  bool evict_oldest_locked(std::int64_t (Connection::*since)() const);
  static void close(const std::shared_ptr<Arrival>& arrival);
  void remove(const Connection* connection);
  std::vector<std::shared_ptr<Connection>> snapshot();
  void stop(std::chrono::milliseconds grace);

  const IoOptions options;
  const std::size_t capacity;
  std::vector<IoLoop> loops;  ///< a connection stays with the one it was given at first
  std::size_t next_loop = 0;  ///< of the acceptor
  tcp::acceptor acceptor{loops.front().io};
  asio::steady_timer accept_retry{acceptor.get_executor()};
  std::uint16_t port = 0;
  bool running = false;

  mutable std::mutex mutex;
  std::condition_variable all_closed;
  Arrivals arrivals;  ///< the oldest first
  std::unordered_map<const Connection*, std::weak_ptr<Connection>> connections;
  bool stopping = false;
  std::shared_ptr<const ServerTls> tls;
  std::atomic<std::uint64_t> accepted = 0;
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> evicted = 0;
  std::atomic<std::uint64_t> failed_handshakes = 0;
  std::atomic<std::size_t> handshakes = 0;
};

/// Lives on its loop. Every operation under way holds a reference, so it goes when it is closed and the last one has
/// returned.
class ServerIo::Impl::Connection final : public std::enable_shared_from_this<Connection>, public ConversationTransport {
 public:
  Connection(tcp::socket socket, Impl& server, std::shared_ptr<const ServerTls> tls, SSL* ssl)
      : server_(server),
        tls_(std::move(tls)),
        stream_(std::move(socket), ssl),
        watchdog_(stream_.get_executor()),
        conversation_(server.options.conversation, *this) {
    IoError ignored;
    stream_.next_layer().set_option(tcp::no_delay(true), ignored);
    stream_.next_layer().set_option(asio::socket_base::keep_alive(true), ignored);
    ++server_.handshakes;
  }
  ~Connection() { end_handshake(); }

  void start();
  void drain();
  void cut();

  void send(std::string bytes) override;
  bool sending() const override { return !outbox_.empty(); }
  void set_deadline(std::chrono::milliseconds time) override { set(read_deadline_, time); }
  void clear_deadline() override { read_deadline_ = kNever; }
  void set_idle(bool idle) override { idle_since_ = idle ? now_ticks() : 0; }
  void close_gracefully(bool client_may_be_sending) override;
  void close_now() override;
  std::function<void()> output_signal() override;

  // For whoever looks for room, from any thread: since when it does nothing; 0 when it does something, or goes already.
  std::int64_t handshaking_since() const { return doomed_ ? 0 : handshaking_since_.load(); }
  std::int64_t idle_since() const { return doomed_ ? 0 : idle_since_.load(); }
  void evict() {
    doomed_ = true;
    cut();
  }

 private:
  enum class State { kHandshaking, kOpen, kClosing, kClosed };

  static std::int64_t now_ticks() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  void end_handshake() {
    if (handshaking_since_.exchange(0) != 0) --server_.handshakes;
  }
  void set(TimePoint& deadline, std::chrono::milliseconds time);
  void watch_deadlines();
  void on_watchdog();
  void on_handshake(const IoError& problem);
  void read_if_wanted();
  void on_read(const IoError& problem, std::size_t size);
  void write_next();
  void on_write(const IoError& problem, std::size_t size);
  void linger();

  Impl& server_;
  const std::shared_ptr<const ServerTls> tls_;
  asio::ssl::stream<tcp::socket> stream_;
  // The deadlines move with every request, the timer behind both hardly ever: it is set anew only when it would come
  // too late, and when it comes too early it looks and is set again.
  TimePoint read_deadline_ = kNever;
  TimePoint write_deadline_ = kNever;
  asio::steady_timer watchdog_;
  TimePoint watchdog_at_ = kNever;
  Conversation conversation_;
  State state_ = State::kHandshaking;
  std::atomic<std::int64_t> handshaking_since_ = now_ticks();
  std::atomic<std::int64_t> idle_since_ = 0;
  std::atomic<bool> doomed_ = false;
  bool reading_ = false;
  std::array<char, kReadBytes> read_buffer_;
  std::deque<std::string> outbox_;  ///< not empty: a write is under way
  std::size_t written_ = 0;         ///< of the front of the outbox
  std::string linger_buffer_;
  std::size_t lingered_ = 0;
};

using ServerConnection = ServerIo::Impl::Connection;

void ServerConnection::start() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    // The time for the handshake counts like that for a request.
    self->set(self->read_deadline_, self->server_.options.conversation.request_timeout);
    if (self->tls_->plain) return self->on_handshake({});
    self->stream_.async_handshake(asio::ssl::stream_base::server,
                                  [self](const IoError& problem) { self->on_handshake(problem); });
  });
}

void ServerConnection::on_handshake(const IoError& problem) {
  end_handshake();
  if (state_ == State::kClosed) return;
  if (problem) {
    ++server_.failed_handshakes;
    close_now();
    return;
  }
  state_ = State::kOpen;
  const auto now = server_.options.conversation.now();
  conversation_.begin(address_text(stream_.next_layer()), identify_peer(*tls_, stream_.native_handle(), now));
  read_if_wanted();
}

void ServerConnection::set(TimePoint& deadline, std::chrono::milliseconds time) {
  deadline = std::chrono::steady_clock::now() + time;
  watch_deadlines();
}

void ServerConnection::watch_deadlines() {
  const TimePoint next = std::min(read_deadline_, write_deadline_);
  if (next >= watchdog_at_ || state_ == State::kClosed) return;
  watchdog_at_ = next;
  watchdog_.expires_at(next);
  watchdog_.async_wait([self = shared_from_this()](const IoError& moved) {
    if (!moved) self->on_watchdog();
  });
}

void ServerConnection::on_watchdog() {
  watchdog_at_ = kNever;
  const TimePoint now = std::chrono::steady_clock::now();
  if (write_deadline_ <= now) return close_now();
  if (read_deadline_ <= now) {
    read_deadline_ = kNever;
    if (state_ != State::kOpen) return close_now();
    conversation_.on_deadline();
  }
  watch_deadlines();
}

void ServerConnection::read_if_wanted() {
  if (reading_ || state_ != State::kOpen || !conversation_.wants_bytes()) return;
  reading_ = true;
  auto on_bytes = [self = shared_from_this()](const IoError& problem, std::size_t size) {
    self->on_read(problem, size);
  };
  const auto buffer = asio::buffer(read_buffer_);
  if (tls_->plain) {
    stream_.next_layer().async_read_some(buffer, std::move(on_bytes));
  } else {
    stream_.async_read_some(buffer, std::move(on_bytes));
  }
}

void ServerConnection::on_read(const IoError& problem, std::size_t size) {
  reading_ = false;
  if (state_ != State::kOpen) return;
  if (problem) {
    conversation_.on_peer_end();
  } else {
    conversation_.on_bytes({read_buffer_.data(), size});
  }
  read_if_wanted();
}

void ServerConnection::send(std::string bytes) {
  if (bytes.empty() || state_ != State::kOpen) return;
  const bool idle = outbox_.empty();
  outbox_.push_back(std::move(bytes));
  if (idle) write_next();
}

void ServerConnection::write_next() {
  set(write_deadline_, server_.options.write_timeout);
  const std::string& front = outbox_.front();
  const std::size_t piece = std::min(front.size() - written_, kWritePieceBytes);
  auto on_sent = [self = shared_from_this()](const IoError& problem, std::size_t size) {
    self->on_write(problem, size);
  };
  const auto buffer = asio::buffer(front.data() + written_, piece);
  if (tls_->plain) {
    asio::async_write(stream_.next_layer(), buffer, std::move(on_sent));
  } else {
    asio::async_write(stream_, buffer, std::move(on_sent));
  }
}

void ServerConnection::on_write(const IoError& problem, std::size_t size) {
  if (state_ != State::kOpen) return;
  if (problem) return close_now();
  written_ += size;
  if (written_ == outbox_.front().size()) {
    outbox_.pop_front();
    written_ = 0;
  }
  if (!outbox_.empty()) return write_next();
  write_deadline_ = kNever;
  conversation_.on_written();
  read_if_wanted();
}

std::function<void()> ServerConnection::output_signal() {
  return [executor = stream_.get_executor(), weak = weak_from_this()] {
    asio::post(executor, [weak] {
      const auto self = weak.lock();
      if (self && self->state_ == State::kOpen) self->conversation_.on_output();
      if (self) self->read_if_wanted();
    });
  };
}

void ServerConnection::drain() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    if (self->state_ == State::kHandshaking) self->close_now();
    if (self->state_ == State::kOpen) self->conversation_.on_drain();
  });
}

void ServerConnection::cut() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] { self->close_now(); });
}

void ServerConnection::close_gracefully(bool client_may_be_sending) {
  state_ = State::kClosing;
  set(read_deadline_, kLingerTime);
  // Ours is sent, theirs is not waited for: a client that keeps idle connections looks at this one only when it needs
  // it.
  auto on_sent = [self = shared_from_this(), client_may_be_sending](const IoError&) {
    if (self->state_ == State::kClosed) return;
    if (!client_may_be_sending) return self->close_now();
    IoError ignored;
    self->stream_.next_layer().shutdown(tcp::socket::shutdown_send, ignored);
    self->linger_buffer_.resize(kReadBytes);
    self->linger();
  };
  if (tls_->plain) return asio::post(stream_.get_executor(), [on_sent] { on_sent({}); });
  SSL_set_shutdown(stream_.native_handle(), SSL_RECEIVED_SHUTDOWN);
  stream_.async_shutdown(std::move(on_sent));
}

void ServerConnection::linger() {
  stream_.next_layer().async_read_some(asio::buffer(linger_buffer_),
                                       [self = shared_from_this()](const IoError& problem, std::size_t size) {
                                         if (self->state_ == State::kClosed) return;
                                         self->lingered_ += size;
                                         if (problem || self->lingered_ > kLingerBytes) return self->close_now();
                                         self->linger();
                                       });
}

void ServerConnection::close_now() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  end_handshake();
  watchdog_.cancel();
  IoError ignored;
  stream_.next_layer().close(ignored);
  conversation_.abandon();
  server_.remove(this);
}

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
  acceptor.open(endpoint.protocol(), problem);
  if (!problem) acceptor.set_option(tcp::acceptor::reuse_address(true), problem);
  if (!problem) acceptor.bind(endpoint, problem);
  if (!problem) acceptor.listen(asio::socket_base::max_listen_connections, problem);
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
          // Out of memory in one connection's step: that connection is lost to its timeouts, the others go on.
        }
      }
    });
  }
}

void ServerIo::Impl::accept() {
  const asio::any_io_executor home = loops[next_loop].io.get_executor();
  next_loop = (next_loop + 1) % loops.size();
  acceptor.async_accept(home,
                        [this](const IoError& problem, tcp::socket socket) { on_accept(problem, std::move(socket)); });
}

void ServerIo::Impl::on_accept(const IoError& problem, tcp::socket socket) {
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
      arrival = arrivals.emplace_back(std::make_shared<Arrival>(std::move(socket)));
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
  std::shared_ptr<Connection> connection;
  {
    const std::scoped_lock lock(mutex);
    const auto place = std::find(arrivals.begin(), arrivals.end(), arrival);
    if (place == arrivals.end()) return;  // it made room for somebody, or its time was up
    arrivals.erase(place);
    if (!problem && !stopping) {
      if (handshakes >= options.max_handshakes) evict_oldest_locked(&Connection::handshaking_since);
      if (SSL* ssl = SSL_new(tls->context.get())) {
        connection = std::make_shared<Connection>(std::move(arrival->socket), *this, tls, ssl);
        connections.emplace(connection.get(), connection);
      }
    }
  }
  arrival->deadline.cancel();
  if (connection) return connection->start();
  IoError ignored;
  arrival->socket.close(ignored);
}

bool ServerIo::Impl::make_room_locked() {
  if (!arrivals.empty()) {
    close(arrivals.front());
    arrivals.pop_front();
    ++evicted;
    return true;
  }
  return evict_oldest_locked(&Connection::handshaking_since) || evict_oldest_locked(&Connection::idle_since);
}

bool ServerIo::Impl::evict_oldest_locked(std::int64_t (Connection::*since)() const) {
  std::shared_ptr<Connection> oldest;
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
    arrival->socket.close(ignored);
    arrival->deadline.cancel();
  });
}

void ServerIo::Impl::remove(const Connection* connection) {
  const std::scoped_lock lock(mutex);
  connections.erase(connection);
  if (connections.empty()) all_closed.notify_all();
}

std::vector<std::shared_ptr<ServerConnection>> ServerIo::Impl::snapshot() {
  const std::scoped_lock lock(mutex);
  std::vector<std::shared_ptr<Connection>> open;
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
    acceptor.close(ignored);
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
  stats.failed_handshakes = impl_->failed_handshakes;
  return stats;
}

void ServerIo::set_tls(std::shared_ptr<const ServerTls> tls) {
  const std::scoped_lock lock(impl_->mutex);
  impl_->tls = std::move(tls);
}

void ServerIo::stop(std::chrono::milliseconds grace) { impl_->stop(grace); }

}  // namespace strake::net
