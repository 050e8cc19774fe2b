// The bytes a stranger sends to the server: head, body framing and target. Whatever the cut of the bytes, the outcome
// must be the same, and what is accepted must obey the promises of ServerRequest.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "net/request_parser.h"
#include "net/response_head.h"

namespace {

using strake::net::ParsedRequest;
using strake::net::RequestParser;

constexpr strake::net::ParserLimits kLimits{4096, 1024};

void require(bool condition) {
  if (!condition) std::abort();
}

bool over(const RequestParser& parser) {
  return parser.state() == RequestParser::State::kDone || parser.state() == RequestParser::State::kFailed;
}

void check_accepted(const ParsedRequest& request) {
  require(strake::net::is_http_token(request.method));
  require(request.body.size() <= kLimits.body_bytes);
  require(request.target.path.starts_with('/'));
  require(request.target.segments.size() <= strake::net::kMaxPathSegments);
  for (const std::string& segment : request.target.segments) {
    require(!segment.empty() && segment != "." && segment != ".." && segment.find('\0') == std::string::npos);
  }
  require(request.target.query.size() <= strake::net::kMaxQueryParameters);
  require(*strake::net::parse_query(to_string(request.target.query)) == request.target.query);
  for (const auto& header : request.headers) require(strake::net::is_http_token(header.name));
  static_cast<void>(strake::net::accepts_gzip(request.headers));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);

  RequestParser whole(kLimits);
  std::size_t used = 0;
  while (!over(whole) && used < bytes.size()) {
    const std::size_t step = whole.feed(bytes.substr(used));
    used += step;
    if (step == 0) break;
  }

  RequestParser dripped(kLimits);
  std::string inbox;
  for (const char byte : bytes) {
    if (over(dripped)) break;
    inbox.push_back(byte);
    inbox.erase(0, dripped.feed(inbox));
  }

  // A drip may find a limit or an error earlier than the whole, never an acceptable request where the whole found none.
  if (dripped.state() == RequestParser::State::kDone) require(whole.state() == RequestParser::State::kDone);
  if (whole.state() == RequestParser::State::kFailed) require(whole.failure().status >= 400);
  if (whole.state() != RequestParser::State::kDone) return 0;
  const ParsedRequest request = whole.take();
  check_accepted(request);
  if (dripped.state() == RequestParser::State::kDone) {
    const ParsedRequest same = dripped.take();
    require(same.method == request.method && same.raw_target == request.raw_target && same.body == request.body &&
            same.headers == request.headers && same.keep_alive == request.keep_alive);
  }
  return 0;
}
