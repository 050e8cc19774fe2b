#include "net/http.h"

#include <algorithm>

#include "base/text.h"

namespace strake::net {
std::optional<std::string_view> Headers::get(std::string_view name) const {
  for (const Header& field : fields_) {
    if (equal_ignoring_case(field.name, name)) return field.value;
  }
  return std::nullopt;
}

std::vector<std::string_view> Headers::all(std::string_view name) const {
  std::vector<std::string_view> values;
  for (const Header& field : fields_) {
    if (equal_ignoring_case(field.name, name)) values.emplace_back(field.value);
  }
  return values;
}

bool Headers::has_token(std::string_view name, std::string_view token) const {
  for (std::string_view rest : all(name)) {
    while (!rest.empty()) {
      if (equal_ignoring_case(trimmed(take_until(rest, ',')), token)) return true;
    }
  }
  return false;
}

void Headers::set(std::string name, std::string value) {
  remove(name);
  add(std::move(name), std::move(value));
}

void Headers::remove(std::string_view name) {
  std::erase_if(fields_, [&](const Header& field) { return equal_ignoring_case(field.name, name); });
}

bool is_http_token(std::string_view text) {
  constexpr std::string_view kPunctuation = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return is_alphanumeric(c) || kPunctuation.find(c) != std::string_view::npos;
  });
}

Status validate(const Header& header) {
  if (!is_http_token(header.name)) {
    return error(Code::kInvalidArgument, "a header name may hold only letters, digits and a few signs");
  }
  // The value may be a credential: it is not repeated in the message.
  const bool clean = std::ranges::none_of(
      header.value, [](char c) { return c == '\x7f' || (static_cast<unsigned char>(c) < 0x20 && c != '\t'); });
  if (!clean) return error(Code::kInvalidArgument, "the value of header {} holds a control character", header.name);
  return {};
}

std::string_view reason_phrase(int status) {
  switch (status) {
    case 100: return "Continue";
    case 101: return "Switching Protocols";
    case 200: return "OK";
    case 201: return "Created";
    case 202: return "Accepted";
    case 204: return "No Content";
    case 206: return "Partial Content";
    case 301: return "Moved Permanently";
    case 302: return "Found";
    case 303: return "See Other";
    case 304: return "Not Modified";
    case 307: return "Temporary Redirect";
    case 308: return "Permanent Redirect";
    case 400: return "Bad Request";
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "Not Found";
    case 405: return "Method Not Allowed";
    case 406: return "Not Acceptable";
    case 408: return "Request Timeout";
    case 409: return "Conflict";
    case 410: return "Gone";
    case 411: return "Length Required";
    case 412: return "Precondition Failed";
    case 413: return "Content Too Large";
    case 414: return "URI Too Long";
    case 415: return "Unsupported Media Type";
    case 416: return "Range Not Satisfiable";
    case 417: return "Expectation Failed";
    case 422: return "Unprocessable Content";
    case 429: return "Too Many Requests";
    case 431: return "Request Header Fields Too Large";
    case 500: return "Internal Server Error";
    case 501: return "Not Implemented";
    case 502: return "Bad Gateway";
    case 503: return "Service Unavailable";
    case 504: return "Gateway Timeout";
    case 505: return "HTTP Version Not Supported";
    default: return "Unknown";
  }
}

Code code_for_status(int status) {
  switch (status) {
    case 401:
    case 407: return Code::kUnauthenticated;
    case 403: return Code::kDenied;
    case 404: return Code::kNotFound;
    case 408:
    case 504: return Code::kTimeout;
    case 409:
    case 412: return Code::kConflict;
    case 410: return Code::kExpired;
    case 405:
    case 406:
    case 415:
    case 501:
    case 505: return Code::kUnsupported;
    case 413:
    case 429:
    case 431: return Code::kExhausted;
    default: break;
  }
  if (status >= 500) return Code::kUnavailable;
  if (status >= 400) return Code::kInvalidArgument;
  return Code::kInternal;  // not a failure status: the caller asked by mistake
}

}  // namespace strake::net
