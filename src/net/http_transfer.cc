#include "net/http_transfer.h"

#include <charconv>

namespace strake::net {
namespace {

bool is_redirect(int status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

}  // namespace

bool HttpTransfer::fail(Error problem) {
  if (!failure) failure = std::move(problem);
  return false;
}

bool HttpTransfer::take_header_line(std::string_view line) {
  if (head_complete) return true;  // trailers after the body: nobody here reads them
  header_bytes += line.size();
  if (header_bytes > max_header_bytes) {
    return fail(error(Code::kExhausted, "the response header is longer than {} bytes", max_header_bytes));
  }
  while (!line.empty() && (line.back() == '\n' || line.back() == '\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {  // also after an interim 1xx answer, which is thereby dropped
    head = {0, {}};
    if (const std::size_t space = line.find(' '); space != std::string_view::npos) {
      std::from_chars(line.data() + space + 1, line.data() + line.size(), head.status);
    }
    return true;
  }
  if (line.empty()) {
    if (head.status < 200) return true;
    head_complete = true;
    redirecting = follow_redirects && is_redirect(head.status) && head.headers.has("Location");
    return true;
  }
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos) return true;
  std::string_view value = line.substr(colon + 1);
  while (!value.empty() && (value.front() == ' ' || value.front() == '\t')) value.remove_prefix(1);
  while (!value.empty() && (value.back() == ' ' || value.back() == '\t')) value.remove_suffix(1);
  head.headers.add(std::string(line.substr(0, colon)), std::string(value));
  return true;
}

bool HttpTransfer::deliver_head() {
  if (delivered_head || redirecting) return true;
  delivered_head = true;
  if (!*on_head) return true;
  if (Status status = (*on_head)(head); !status) return fail(std::move(status).error());
  return true;
}

bool HttpTransfer::take_data(std::string_view data) {
  if (!deliver_head()) return false;
  if (redirecting) return true;
  if (Status status = (*on_data)(data); !status) return fail(std::move(status).error());
  return true;
}

}  // namespace strake::net
