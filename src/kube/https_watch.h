// A watch over HTTPS: a task reads the stream line by line, the caller takes events at its own pace.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "kube/https_transport.h"
#include "kube/kube_api.h"

namespace strake::kube {

/// Cuts a stream into lines, however its pieces fall. A line longer than the limit is kExhausted.
class LineSplitter {
 public:
  explicit LineSplitter(std::size_t max_line_bytes) : max_line_bytes_(max_line_bytes) {}

  Status feed(std::string_view piece, const std::function<Status(std::string_view line)>& on_line);
  /// Bytes after the last line end.
  bool inside_line() const { return !partial_.empty(); }

 private:
  std::size_t max_line_bytes_;
  std::string partial_;
};

/// One line of a watch. An ERROR event is the error it tells of (kExpired for 410).
Result<WatchEvent> parse_watch_line(std::string_view line);

/// Opens the stream; returns when the server has agreed to it.
Result<std::unique_ptr<WatchStream>> open_https_watch(std::shared_ptr<HttpsTransport> transport,
                                                      const ApiRequest& request, std::chrono::milliseconds idle_timeout,
                                                      const Call& call);

}  // namespace strake::kube
