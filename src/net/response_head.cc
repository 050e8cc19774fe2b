#include "net/response_head.h"

#include <algorithm>
#include <array>
#include <charconv>

#include <zlib.h>

#include "base/text.h"
#include "net/http_date.h"

namespace strake::net {
namespace {

constexpr std::array<std::string_view, 5> kServerOwnedFields = {"Connection", "Content-Length", "Date", "Keep-Alive",
                                                                "Transfer-Encoding"};

bool is_compressible(const Headers& headers) {
  const std::string_view type = headers.get("Content-Type").value_or("");
  return type.starts_with("text/") || type.starts_with("application/json") || type.starts_with("application/yaml") ||
         type.find("+json") != std::string_view::npos;
}

std::optional<std::string> gzip_text(const std::string& text) {
  z_stream stream{};
  constexpr int kGzipWindow = 15 + 16;  // zlib's way of saying: with a gzip header
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY) != Z_OK) return std::nullopt;
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));  // zlib does not write there
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int outcome = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (outcome != Z_STREAM_END) return std::nullopt;
  return out;
}

}  // namespace

bool status_has_body(int status) { return status >= 200 && status != 204 && status != 304; }

Result<std::string> format_response_head(int status, const Headers& headers, const ResponseFraming& framing,
                                         std::chrono::sys_seconds now) {
  if (status < 200 || status > 599) return error(Code::kInternal, "{} cannot be the status of an answer", status);
  std::string text = fmt::format("HTTP/1.1 {} {}\r\n", status, reason_phrase(status));
  for (const Header& header : headers) {
    STRAKE_CHECK_OK(validate(header));
    const bool owned = std::ranges::any_of(
        kServerOwnedFields, [&](std::string_view name) { return equal_ignoring_case(name, header.name); });
    if (!owned) text += fmt::format("{}: {}\r\n", header.name, header.value);
  }
  text += fmt::format("Date: {}\r\n", format_http_date(now));
  if (framing.chunked) text += "Transfer-Encoding: chunked\r\n";
  if (framing.content_length) text += fmt::format("Content-Length: {}\r\n", *framing.content_length);
  text += framing.keep_alive ? "Connection: keep-alive\r\n\r\n" : "Connection: close\r\n\r\n";
  return text;
}

std::string format_chunk(std::string_view bytes) {
  if (bytes.empty()) return {};
  std::string chunk = fmt::format("{:x}\r\n", bytes.size());
  chunk.reserve(chunk.size() + bytes.size() + 2);
  chunk += bytes;
  chunk += "\r\n";
  return chunk;
}

bool accepts_gzip(const Headers& request_headers) {
  for (std::string_view rest : request_headers.all("Accept-Encoding")) {
    while (!rest.empty()) {
      const std::size_t comma = rest.find(',');
      std::string item(rest.substr(0, comma));
      std::erase_if(item, [](char c) { return c == ' ' || c == '\t'; });
      const std::size_t semicolon = item.find(';');
      if (equal_ignoring_case(item.substr(0, semicolon), "gzip")) {
        // "q=0", "q=0.0" and so on refuse it.
        const std::string weight = semicolon == std::string::npos ? "" : item.substr(semicolon + 1);
        return !weight.starts_with("q=0") || weight.find_first_not_of("0.", 2) != std::string::npos;
      }
      if (comma == std::string_view::npos) break;
      rest.remove_prefix(comma + 1);
    }
  }
  return false;
}

void compress_if_useful(Response& response, std::size_t above_bytes) {
  constexpr std::size_t kLargestInput = 1U << 30U;  // zlib counts in 32 bits
  if (above_bytes == 0 || response.body.size() <= above_bytes || response.body.size() > kLargestInput ||
      response.headers.has("Content-Encoding") || !is_compressible(response.headers)) {
    return;
  }
  auto compressed = gzip_text(response.body);
  if (!compressed) return;  // out of memory: the plain body is an answer too
  response.body = *std::move(compressed);
  response.headers.set("Content-Encoding", "gzip");
  response.headers.add("Vary", "Accept-Encoding");
}

}  // namespace strake::net
