// Turning answers into bytes: the head of a response, chunks, and compression. Private to this module.
#pragma once

#include <chrono>
#include <string>
#include <string_view>

#include "net/http.h"

namespace strake::net {

struct ResponseFraming {
  bool keep_alive = true;
  bool chunked = false;
  std::optional<std::size_t> content_length;
};

/// Status line and header, with the empty line. Framing, Connection and Date are the server's; what the handler set
/// there is dropped. A field that would break the header makes it an error.
Result<std::string> format_response_head(int status, const Headers& headers, const ResponseFraming& framing,
                                         std::chrono::sys_seconds now);

/// 1xx, 204 and 304 never have a body.
bool status_has_body(int status);

/// One chunk of the chunked coding; nothing for no bytes, because an empty chunk would end the body.
std::string format_chunk(std::string_view bytes);
inline constexpr std::string_view kLastChunk = "0\r\n\r\n";

/// Whether an Accept-Encoding field admits gzip.
bool accepts_gzip(const Headers& request_headers);

/// Compresses a text body above the threshold and says so in the header; leaves everything else as it is.
void compress_if_useful(Response& response, std::size_t above_bytes);

}  // namespace strake::net
