// HttpTransfer: what one hop of a client call collects, fed line by line and piece by piece. Private to this module.
#pragma once

#include <chrono>
#include <optional>
#include <string_view>

#include "net/http_client.h"

namespace strake::net {

struct HttpTransfer {
  const HttpClient::OnHead* on_head = nullptr;
  const HttpClient::OnData* on_data = nullptr;
  std::size_t max_header_bytes = 0;
  bool follow_redirects = false;

  ResponseHead head;
  std::size_t header_bytes = 0;
  bool head_complete = false;
  bool redirecting = false;  ///< the body of this answer is dropped, and its head is not for the caller
  bool delivered_head = false;
  std::optional<Error> failure;  ///< why a step stopped the transfer
  std::chrono::steady_clock::time_point last_activity;

  /// Each returns false when the transfer must stop; `failure` says why.
  bool take_header_line(std::string_view line);
  bool deliver_head();
  bool take_data(std::string_view data);

  /// Runs a step and returns `size`, or 0 when it failed. No exception may cross libcurl, which is C.
  template <typename Step>
  std::size_t guarded(std::size_t size, Step step) {
    try {
      return step() ? size : 0;
    } catch (const std::exception& problem) {
      fail(error(Code::kInternal, "while reading a response: {}", problem.what()));
    } catch (...) {
      fail(error(Code::kInternal, "while reading a response: unknown exception"));
    }
    return 0;
  }

 private:
  bool fail(Error problem);
};

}  // namespace strake::net
