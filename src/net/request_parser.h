// RequestParser: bytes from a client become a checked request, or a status to refuse it with. No socket involved.
// Private to this module.
#pragma once

#include <memory>
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

  explicit RequestParser(const ParserLimits& limits);
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
