#include "net/conversation.h"

#include "net/response_head.h"

namespace strake::net {
namespace {

/// How much of pipelined requests is read ahead while one is being answered.
constexpr std::size_t kReadAheadBytes = 64 * 1024;

/// Below this, head and body leave together: one TLS record instead of two.
constexpr std::size_t kSmallBodyBytes = 16 * 1024;

}  // namespace

void Conversation::begin(std::string peer_address, PeerIdentity identity) {
  peer_address_ = std::move(peer_address);
  identity_ = std::move(identity);
  begin_request();
}

bool Conversation::wants_bytes() const {
  if (state_ == State::kOver || peer_ended_) return false;
  return state_ == State::kReading || inbox_.size() < kReadAheadBytes;
}

void Conversation::begin_request() {
  state_ = State::kReading;
  parser_.emplace(options_.limits, [this](const ParsedRequest& head, std::optional<std::uint64_t> announced) {
    return check_body(head, announced);
  });
  request_started_ = false;
  continue_sent_ = false;
  transport_.set_deadline(options_.idle_timeout);
  transport_.set_idle(true);
  parse();
}

void Conversation::on_bytes(std::string_view bytes) {
  inbox_.append(bytes);
  if (state_ == State::kReading) parse();
}

void Conversation::parse() {
  if (inbox_.empty()) return;
  if (!request_started_) {
    request_started_ = true;
    transport_.set_idle(false);
    transport_.set_deadline(options_.request_timeout);  // not moved on by further bytes: drips do not help
  }
  inbox_.erase(0, parser_->feed(inbox_));
  switch (parser_->state()) {
    case RequestParser::State::kHead: break;
    case RequestParser::State::kBody:
      if (parser_->expects_continue() && !continue_sent_) {
        continue_sent_ = true;
        transport_.send("HTTP/1.1 100 Continue\r\n\r\n");
      }
      break;
    case RequestParser::State::kDone: dispatch(); break;
    case RequestParser::State::kFailed: refuse(parser_->failure().status, parser_->failure().message); break;
  }
}

void Conversation::on_peer_end() {
  peer_ended_ = true;
  // A client may end its side after the request; an answer already on its way still reaches it.
  if (state_ == State::kWriting) {
    keep_alive_ = false;
  } else {
    close_now();
  }
}

void Conversation::on_deadline() {
  if (state_ == State::kReading && request_started_) {
    refuse(408, fmt::format("the request did not arrive within {} ms", options_.request_timeout.count()));
  } else {
    close_now();
  }
}

void Conversation::dispatch() {
  ParsedRequest parsed = parser_->take();
  parser_.reset();
  keep_alive_ = parsed.keep_alive;
  head_only_ = parsed.method == "HEAD";
  http_1_0_ = parsed.http_1_0;
  state_ = State::kHandling;
  transport_.clear_deadline();  // how long a handler takes is its own affair
  exchange_ = std::make_shared<Exchange>(transport_.output_signal(), options_.queue);
  ServerRequest request = server_request(std::move(parsed));
  request.stop = exchange_->stop_token();
  request.connection = transport_.handle();
  request.body_hold = std::make_shared<ByteBudget::Hold>(std::move(body_hold_));
  options_.on_request(std::move(request), exchange_);
}

std::optional<ParseFailure> Conversation::check_body(const ParsedRequest& head,
                                                     std::optional<std::uint64_t> announced) {
  if (options_.before_body) {
    if (auto refusal = options_.before_body(server_request(head)))
      return ParseFailure{refusal->status, refusal->message};
  }
  const std::uint64_t bytes =
      std::min<std::uint64_t>(announced.value_or(options_.limits.body_bytes), options_.limits.body_bytes);
  body_hold_ = ByteBudget::Hold(options_.bodies);
  if (body_hold_.grow(static_cast<std::size_t>(bytes))) return std::nullopt;
  return ParseFailure{429, "the server reads as many request bodies as it has room for: try again in a moment"};
}

ServerRequest Conversation::server_request(ParsedRequest parsed) {
  // Verified when the connection began; a connection may outlive the certificate.
  if (identity_.certificate && identity_.certificate->not_after < options_.now()) {
    identity_.problem = fmt::format("certificate '{}' has expired", identity_.certificate->common_name);
    identity_.certificate.reset();
  }
  ServerRequest request;
  request.method = std::move(parsed.method);
  request.raw_target = std::move(parsed.raw_target);
  request.target = std::move(parsed.target);
  request.headers = std::move(parsed.headers);
  request.body = std::move(parsed.body);
  request.peer_address = peer_address_;
  request.client_certificate = identity_.certificate;
  request.client_certificate_problem = identity_.problem;
  return request;
}

void Conversation::on_output() {
  if (state_ != State::kHandling && state_ != State::kStreaming) return;
  if (transport_.sending()) return;  // on_written() comes back here: a slow client fills the exchange, not the queue
  Exchange::Output output = exchange_->take();
  if (output.overrun) {
    close_now();
  } else if (output.response) {
    keep_alive_ = keep_alive_ && !output.last;
    send_response(*std::move(output.response), std::move(output.shared_body));
  } else {
    if (output.stream_head) send_stream_head(*output.stream_head);
    if (state_ == State::kStreaming) send_stream_bytes(output.bytes, output.end || draining_);
  }
}

void Conversation::on_written() {
  switch (state_) {
    case State::kReading:
    case State::kOver: break;
    case State::kHandling:
    case State::kStreaming: on_output(); break;
    case State::kWriting:
      if (exchange_) exchange_->finish();
      exchange_.reset();
      if (keep_alive_ && !draining_) {
        begin_request();
      } else {
        close_gracefully();
      }
      break;
  }
}

void Conversation::send_response(Response response, std::shared_ptr<const std::string> shared_body) {
  state_ = State::kWriting;
  keep_alive_ = keep_alive_ && !draining_;
  const auto format_head = [&](const Response& answer) {
    ResponseFraming framing{keep_alive_, false, std::nullopt};
    if (status_has_body(answer.status)) framing.content_length = (shared_body ? *shared_body : answer.body).size();
    return format_response_head(answer.status, answer.headers, framing, options_.now());
  };
  auto head = format_head(response);
  if (!head) {  // a header field no client may see: the handler is wrong
    shared_body.reset();
    response = options_.error_response(500, "the answer could not be sent: " + head.error().to_string());
    head = format_head(response);
  }
  if (!head) return close_now();
  if (head_only_ || !status_has_body(response.status)) {
    response.body.clear();
    shared_body.reset();
  }
  if (shared_body) {
    transport_.send(*std::move(head));
    transport_.send_shared(std::move(shared_body));
  } else if (response.body.size() <= kSmallBodyBytes) {
    transport_.send(*std::move(head) + response.body);
  } else {
    transport_.send(*std::move(head));
    transport_.send(std::move(response.body));
  }
}

void Conversation::send_stream_head(const ResponseHead& head) {
  const bool may_have_body = status_has_body(head.status);
  chunked_ = may_have_body && !http_1_0_;
  // Without chunks only the end of the connection ends the body.
  keep_alive_ = keep_alive_ && !draining_ && !(may_have_body && http_1_0_);
  auto text = format_response_head(head.status, head.headers, {keep_alive_, chunked_, std::nullopt}, options_.now());
  if (!text) {
    exchange_->detach();
    send_response(options_.error_response(500, "the answer could not be sent: " + text.error().to_string()));
    return;
  }
  transport_.send(*std::move(text));
  if (may_have_body && !head_only_) {
    state_ = State::kStreaming;
    if (draining_) exchange_->detach();
  } else {
    state_ = State::kWriting;
    exchange_->detach();
  }
}

void Conversation::send_stream_bytes(const std::string& bytes, bool end) {
  std::string framed = chunked_ ? format_chunk(bytes) : bytes;
  if (end) {
    if (chunked_) framed += kLastChunk;
    state_ = State::kWriting;
  }
  if (!framed.empty()) {
    transport_.send(std::move(framed));
  } else if (end && !transport_.sending()) {
    on_written();
  }
}

void Conversation::refuse(int status, std::string_view message) {
  state_ = State::kWriting;
  refused_ = true;
  keep_alive_ = false;
  transport_.clear_deadline();
  const Response answer = options_.error_response(status, message);
  auto head = format_response_head(answer.status, answer.headers, {false, false, answer.body.size()}, options_.now());
  if (!head) return close_now();
  transport_.send(*std::move(head) + answer.body);
}

void Conversation::on_drain() {
  draining_ = true;
  switch (state_) {
    case State::kReading:
      if (!request_started_) close_gracefully();
      break;
    case State::kStreaming:
      exchange_->detach();
      on_output();  // what is buffered, and a proper end
      break;
    case State::kHandling:
    case State::kWriting:
    case State::kOver: break;
  }
}

void Conversation::close_gracefully() {
  state_ = State::kOver;
  transport_.close_gracefully(refused_);
}

void Conversation::close_now() {
  state_ = State::kOver;
  transport_.close_now();
}

void Conversation::abandon() {
  state_ = State::kOver;
  if (exchange_) {
    exchange_->detach();
    (void)exchange_->take();  // nobody will: the handler's side may live on, what waits must not
    exchange_->finish();
  }
  exchange_.reset();
}

}  // namespace strake::net
