#include "net/request_parser.h"

#include <optional>

#include <boost/asio/buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "base/text.h"

namespace strake::net {
namespace {

namespace beast_http = boost::beast::http;

ParseFailure failure_for(const boost::system::error_code& problem, const ParserLimits& limits) {
  if (problem == beast_http::error::header_limit) {
    return {431, fmt::format("the request header is longer than {} bytes", limits.header_bytes)};
  }
  if (problem == beast_http::error::body_limit) {
    return {413, fmt::format("the request body is longer than {} bytes", limits.body_bytes)};
  }
  if (problem == beast_http::error::bad_version) return {505, "only HTTP/1.0 and HTTP/1.1 are spoken here"};
  return {400, fmt::format("the request is not valid HTTP/1.1: {}", problem.message())};
}

}  // namespace

struct RequestParser::Impl {
  Impl(const ParserLimits& given, BodyGate given_gate) : limits(given), gate(std::move(given_gate)) {
    parser.header_limit(static_cast<std::uint32_t>(limits.header_bytes));
    parser.body_limit(limits.body_bytes);
  }

  bool fail(ParseFailure reason) {
    state = State::kFailed;
    failure = std::move(reason);
    return false;
  }

  bool accept_head();

  /// Whether the body may come.
  bool pass_gate() {
    if (!gate || parser.is_done()) return true;
    std::optional<std::uint64_t> announced;
    if (const auto length = parser.content_length()) announced = *length;
    auto refusal = gate(request, announced);
    return !refusal || fail(*std::move(refusal));
  }

  ParserLimits limits;
  BodyGate gate;
  beast_http::request_parser<beast_http::string_body> parser;
  State state = State::kHead;
  ParsedRequest request;
  bool expects_continue = false;
  ParseFailure failure;
};

/// What HTTP allows and this server does not, and what Beast leaves to its user.
bool RequestParser::Impl::accept_head() {
  const auto& message = parser.get();
  request.http_1_0 = message.version() == 10;
  request.keep_alive = message.keep_alive();
  request.method = std::string(message.method_string());
  request.raw_target = std::string(message.target());
  for (const auto& field : message) request.headers.add(std::string(field.name_string()), std::string(field.value()));

  // RFC 9112 section 3.2: two Host fields, or none, may be seen differently by somebody between the client and us.
  const std::size_t hosts = request.headers.all("Host").size();
  if (hosts > 1 || (hosts == 0 && !request.http_1_0)) {
    return fail({400, "the request must have exactly one Host field"});
  }
  const auto codings = request.headers.all("Transfer-Encoding");
  if (codings.size() > 1 || (codings.size() == 1 && !equal_ignoring_case(codings.front(), "chunked"))) {
    return fail({501, "the only transfer coding understood here is chunked"});
  }
  if (!codings.empty() && (request.http_1_0 || request.headers.has("Content-Length"))) {
    return fail({400, "a chunked request must be HTTP/1.1 and have no Content-Length"});
  }
  if (const auto expectation = request.headers.get("Expect")) {
    if (!equal_ignoring_case(*expectation, "100-continue")) {
      return fail({417, "the only expectation met here is 100-continue"});
    }
    expects_continue = !request.http_1_0;
  }
  auto target = parse_target(request.raw_target);
  if (!target) {
    const int status = request.raw_target.size() > kMaxUrlBytes ? 414 : 400;
    return fail({status, target.error().to_string()});
  }
  request.target = *std::move(target);
  return true;
}

RequestParser::RequestParser(const ParserLimits& limits, BodyGate gate)
    : impl_(std::make_unique<Impl>(limits, std::move(gate))) {}
RequestParser::~RequestParser() = default;

RequestParser::State RequestParser::state() const { return impl_->state; }
bool RequestParser::expects_continue() const { return impl_->expects_continue; }
const ParseFailure& RequestParser::failure() const { return impl_->failure; }

std::size_t RequestParser::feed(std::string_view bytes) {
  Impl& impl = *impl_;
  std::size_t used = 0;
  try {
    while (impl.state == State::kHead || impl.state == State::kBody) {
      // Every place in a chunked body is at least "0\r\n\r\n" away from its end; Beast asserts that it is given as
      // much.
      if (impl.state == State::kBody && impl.parser.chunked() && bytes.size() - used < 5) break;
      boost::system::error_code problem;
      const std::size_t step =
          used < bytes.size() ? impl.parser.put(boost::asio::buffer(bytes.data() + used, bytes.size() - used), problem)
                              : 0;
      used += step;
      if (problem && problem != beast_http::error::need_more) {
        impl.fail(failure_for(problem, impl.limits));
        break;
      }
      if (impl.state == State::kHead && impl.parser.is_header_done()) {
        if (!impl.accept_head() || !impl.pass_gate()) break;
        impl.state = State::kBody;
      }
      if (impl.state == State::kBody && impl.parser.is_done()) {
        impl.request.body = std::move(impl.parser.get().body());
        impl.state = State::kDone;
        break;
      }
      if (problem || step == 0) break;
    }
  } catch (const std::exception& problem) {
    impl.fail({500, fmt::format("while reading the request: {}", problem.what())});
  }
  return used;
}

ParsedRequest RequestParser::take() {
  STRAKE_INVARIANT(impl_->state == State::kDone);
  return std::move(impl_->request);
}

}  // namespace strake::net
