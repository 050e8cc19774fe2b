#include "net/server_io.h"

#include <array>
#include <deque>
#include <mutex>

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

using TimePoint = std::chrono::steady_clock::time_point;
constexpr TimePoint kNever = TimePoint::max();

std::string address_text(const tcp::socket& socket) {
  IoError problem;
  const tcp::endpoint peer = socket.remote_endpoint(problem);
  if (problem) return "unknown";
  const std::string address = peer.address().to_string();
  return fmt::format("{}:{}", peer.address().is_v6() ? "[" + address + "]" : address, peer.port());
}

/// What handlers hold of a connection. The connection lets go of it before its loop ends, so a cut reaches a loop that
/// lives, or nobody.
class ConnectionLink final : public ConnectionHandle {
 public:
  explicit ConnectionLink(ServerConnection& connection) : connection_(&connection) {}

  std::int64_t idle_since() const override {
    const std::scoped_lock lock(mutex_);
    return connection_ != nullptr ? connection_->idle_since() : 0;
  }
  void cut() override {
    const std::scoped_lock lock(mutex_);
    if (connection_ != nullptr) connection_->evict();
  }
  void on_gone(std::function<void()> callback) override {
    {
      const std::scoped_lock lock(mutex_);
      if (connection_ != nullptr) {
        gone_ = std::move(callback);
        return;
      }
    }
    callback();
  }
  void let_go() {
    std::function<void()> callback;
    {
      const std::scoped_lock lock(mutex_);
      connection_ = nullptr;
      callback = std::exchange(gone_, nullptr);
    }
    if (callback) callback();
  }

 private:
  mutable std::mutex mutex_;
  ServerConnection* connection_;
  std::function<void()> gone_;
};

class TlsConnection final : public std::enable_shared_from_this<TlsConnection>,
                            public ServerConnection,
                            public ConversationTransport {
 public:
  TlsConnection(Accepted accepted, ConnectionHost& host)
      : host_(host),
        tls_(std::move(accepted.tls)),
        stream_(tcp::socket(accepted.loop, accepted.ipv6 ? tcp::v6() : tcp::v4(), accepted.socket), accepted.ssl),
        watchdog_(stream_.get_executor()),
        conversation_(host.conversation, *this) {
    IoError ignored;
    (void)stream_.next_layer().set_option(tcp::no_delay(true), ignored);
    (void)stream_.next_layer().set_option(asio::socket_base::keep_alive(true), ignored);
    ++host_.handshakes;
  }
  ~TlsConnection() override {
    end_handshake();
    link_->let_go();
  }

  void start() override;
  void drain() override;
  void cut() override;

  void send(std::string bytes) override { queue({std::move(bytes), nullptr}); }
  void send_shared(std::shared_ptr<const std::string> bytes) override { queue({{}, std::move(bytes)}); }
  bool sending() const override { return !outbox_.empty(); }
  void set_deadline(std::chrono::milliseconds time) override { set(read_deadline_, time); }
  void clear_deadline() override { read_deadline_ = kNever; }
  void set_idle(bool idle) override { idle_since_ = idle ? now_ticks() : 0; }
  void close_gracefully(bool client_may_be_sending) override;
  void close_now() override;
  std::function<void()> output_signal() override;
  std::shared_ptr<ConnectionHandle> handle() override { return link_; }

  std::int64_t handshaking_since() const override { return doomed_ ? 0 : handshaking_since_.load(); }
  std::int64_t idle_since() const override { return doomed_ ? 0 : idle_since_.load(); }
  void evict() override {
    doomed_ = true;
    cut();
  }

 private:
  enum class State { kHandshaking, kOpen, kClosing, kClosed };

  struct Outgoing {
    std::string own;
    std::shared_ptr<const std::string> shared;  ///< instead of it

    const std::string& bytes() const { return shared ? *shared : own; }
  };

  void queue(Outgoing outgoing);
  static std::int64_t now_ticks() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
  void end_handshake() {
    if (handshaking_since_.exchange(0) != 0) --host_.handshakes;
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

  ConnectionHost& host_;
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
  std::deque<Outgoing> outbox_;  ///< not empty: a write is under way
  std::size_t written_ = 0;      ///< of the front of the outbox
  std::string linger_buffer_;
  std::size_t lingered_ = 0;
  const std::shared_ptr<ConnectionLink> link_ = std::make_shared<ConnectionLink>(*this);
};

void TlsConnection::start() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    // The time for the handshake counts like that for a request.
    self->set(self->read_deadline_, self->host_.conversation.request_timeout);
    if (self->tls_->plain) return self->on_handshake({});
    self->stream_.async_handshake(asio::ssl::stream_base::server,
                                  [self](const IoError& problem) { self->on_handshake(problem); });
  });
}

void TlsConnection::on_handshake(const IoError& problem) {
  end_handshake();
  if (state_ == State::kClosed) return;
  if (problem) {
    ++host_.failed_handshakes;
    close_now();
    return;
  }
  PeerIdentity identity = identify_peer(*tls_, stream_.native_handle(), host_.conversation.now());
  if (!host_.admit(identity)) return close_now();
  state_ = State::kOpen;
  conversation_.begin(address_text(stream_.next_layer()), std::move(identity));
  read_if_wanted();
}

void TlsConnection::set(TimePoint& deadline, std::chrono::milliseconds time) {
  deadline = std::chrono::steady_clock::now() + time;
  watch_deadlines();
}

void TlsConnection::watch_deadlines() {
  const TimePoint next = std::min(read_deadline_, write_deadline_);
  if (next >= watchdog_at_ || state_ == State::kClosed) return;
  watchdog_at_ = next;
  watchdog_.expires_at(next);
  watchdog_.async_wait([self = shared_from_this()](const IoError& moved) {
    if (!moved) self->on_watchdog();
  });
}

void TlsConnection::on_watchdog() {
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

void TlsConnection::read_if_wanted() {
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

void TlsConnection::on_read(const IoError& problem, std::size_t size) {
  reading_ = false;
  if (state_ != State::kOpen) return;
  if (problem) {
    conversation_.on_peer_end();
  } else {
    conversation_.on_bytes({read_buffer_.data(), size});
  }
  read_if_wanted();
}

void TlsConnection::queue(Outgoing outgoing) {
  if (outgoing.bytes().empty() || state_ != State::kOpen) return;
  const bool idle = outbox_.empty();
  outbox_.push_back(std::move(outgoing));
  if (idle) write_next();
}

void TlsConnection::write_next() {
  set(write_deadline_, host_.write_timeout);
  const std::string& front = outbox_.front().bytes();
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

void TlsConnection::on_write(const IoError& problem, std::size_t size) {
  if (state_ != State::kOpen) return;
  if (problem) return close_now();
  written_ += size;
  if (written_ == outbox_.front().bytes().size()) {
    outbox_.pop_front();
    written_ = 0;
  }
  if (!outbox_.empty()) return write_next();
  write_deadline_ = kNever;
  conversation_.on_written();
  read_if_wanted();
}

std::function<void()> TlsConnection::output_signal() {
  return [executor = stream_.get_executor(), weak = weak_from_this()] {
    asio::post(executor, [weak] {
      const auto self = weak.lock();
      if (self && self->state_ == State::kOpen) self->conversation_.on_output();
      if (self) self->read_if_wanted();
    });
  };
}

void TlsConnection::drain() {
  asio::post(stream_.get_executor(), [self = shared_from_this()] {
    if (self->state_ == State::kHandshaking) self->close_now();
    if (self->state_ == State::kOpen) self->conversation_.on_drain();
  });
}

void TlsConnection::cut() {
  if (auto self = weak_from_this().lock()) asio::post(stream_.get_executor(), [self] { self->close_now(); });
}

void TlsConnection::close_gracefully(bool client_may_be_sending) {
  state_ = State::kClosing;
  set(read_deadline_, kLingerTime);
  // Ours is sent, theirs is not waited for: a client that keeps idle connections looks at this one only when it needs
  // it.
  auto on_sent = [self = shared_from_this(), client_may_be_sending](const IoError&) {
    if (self->state_ == State::kClosed) return;
    if (!client_may_be_sending) return self->close_now();
    IoError ignored;
    (void)self->stream_.next_layer().shutdown(tcp::socket::shutdown_send, ignored);
    self->linger_buffer_.resize(kReadBytes);
    self->linger();
  };
  if (tls_->plain) return asio::post(stream_.get_executor(), [on_sent] { on_sent({}); });
  SSL_set_shutdown(stream_.native_handle(), SSL_RECEIVED_SHUTDOWN);
  stream_.async_shutdown(std::move(on_sent));
}

void TlsConnection::linger() {
  stream_.next_layer().async_read_some(asio::buffer(linger_buffer_),
                                       [self = shared_from_this()](const IoError& problem, std::size_t size) {
                                         if (self->state_ == State::kClosed) return;
                                         self->lingered_ += size;
                                         if (problem || self->lingered_ > kLingerBytes) return self->close_now();
                                         self->linger();
                                       });
}

void TlsConnection::close_now() {
  if (state_ == State::kClosed) return;
  state_ = State::kClosed;
  end_handshake();
  watchdog_.cancel();
  IoError ignored;
  (void)stream_.next_layer().close(ignored);
  conversation_.abandon();
  link_->let_go();
  host_.closed(this);
}

}  // namespace

std::shared_ptr<ServerConnection> ServerConnection::make(Accepted accepted, ConnectionHost& host) {
  return std::make_shared<TlsConnection>(std::move(accepted), host);
}

}  // namespace strake::net
