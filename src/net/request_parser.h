// RequestParser: bytes from a client become a checked request, or a status to refuse it with. No socket involved.
// Private to this module.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "net/http.h"
#include "net/url.h"

namespace strake::net {

struct ParserLimits {
  std::size_t header_bytes = 64 * 1024;
  std::size_t body_bytes = 3 * 1024 * 1024;
};

struct ParsedRequest {
  std::string method;
  std::string raw_target;
  Target target;
  Headers headers;
  std::string body;
  bool keep_alive = false;
  bool http_1_0 = false;
};

struct ParseFailure {
  int status = 400;
  std::string message;
};

class RequestParser {
 public:
  enum class State { kHead, kBody, kDone, kFailed };

  /// Looks at a request whose head is complete and whose body is still to come, before any room is made for that:
  /// nullopt lets it in. `body_bytes` is what the client announces; absent for a chunked body.
  using BodyGate =
      std::function<std::optional<ParseFailure>(const ParsedRequest& head, std::optional<std::uint64_t> body_bytes)>;

  explicit RequestParser(const ParserLimits& limits, BodyGate gate = nullptr);
  ~RequestParser();
  RequestParser(const RequestParser&) = delete;
  RequestParser& operator=(const RequestParser&) = delete;

  /// Takes what it can from the front and returns how much; the rest is offered again, with more behind it. Bytes
  /// behind a complete request are left alone: they are the next one.
  std::size_t feed(std::string_view bytes);

  State state() const;
  /// The client waits for "100 Continue" before it sends the body. Meaningful in kBody.
  bool expects_continue() const;
  const ParseFailure& failure() const;
  /// In kDone, once.
  ParsedRequest take();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::net
