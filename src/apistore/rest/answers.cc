#include "apistore/rest/answers.h"

#include <chrono>

#include <fmt/format.h>

#include "codec/json.h"

namespace strake::apistore::rest {

namespace {

// Proxies and clients drop responses whose header is too long; what does not fit is left out.
constexpr std::size_t kMaxWarningBytes = 256;
constexpr std::size_t kMaxAllWarningsBytes = 4096;

/// The quoted text of a warning. Control characters would end the header line.
std::string quoted_warning(std::string_view text) {
  std::string quoted = "\"";
  for (const char c : text.substr(0, kMaxWarningBytes)) {
    if (static_cast<unsigned char>(c) < ' ' || c == 0x7f) continue;
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return quoted + "\"";
}

std::string_view reason_for(int status) {
  switch (status) {
    case 401: return "Unauthorized";
    case 403: return "Forbidden";
    case 404: return "NotFound";
    case 405: return "MethodNotAllowed";
    case 408: return "Timeout";
    case 413: return "RequestEntityTooLarge";
    case 429: return "TooManyRequests";
    case 503: return "ServiceUnavailable";
    default: return status < 500 ? "BadRequest" : "InternalError";
  }
}

}  // namespace

net::Response json_response(int status, std::string body) {
  return {status, {{"Content-Type", "application/json"}, {"Cache-Control", "no-cache, private"}}, std::move(body)};
}

net::Response text_response(int status, std::string body, std::string_view content_type) {
  return {status,
          {{"Content-Type", std::string(content_type)},
           {"Cache-Control", "no-cache, private"},
           {"X-Content-Type-Options", "nosniff"}},
          std::move(body)};
}

net::Response error_response(const Error& error, const kube::StatusDetails& details) {
  const kube::ApiStatus status = kube::status_from_error(error, details);
  net::Response response = json_response(status.http_code, json::write(status.body) + "\n");
  if (const auto delay = error.retry_after()) {
    response.headers.set("Retry-After", std::to_string(std::chrono::ceil<std::chrono::seconds>(*delay).count()));
  }
  return response;
}

net::Response plain_status_response(int status, std::string_view message) {
  const json::Object body{{"kind", "Status"},    {"apiVersion", "v1"}, {"metadata", json::Object{}},
                          {"status", "Failure"}, {"message", message}, {"reason", reason_for(status)},
                          {"code", status}};
  net::Response response = json_response(status, json::write(body) + "\n");
  if (status == 429) response.headers.set("Retry-After", "1");
  return response;
}

std::string success_status(const kube::StatusDetails& details) {
  json::Object about;
  if (!details.name.empty()) about["name"] = details.name;
  if (!details.group.empty()) about["group"] = details.group;
  if (!details.kind.empty()) about["kind"] = details.kind;
  if (!details.uid.empty()) about["uid"] = details.uid;
  json::Object body{{"kind", "Status"}, {"apiVersion", "v1"}, {"metadata", json::Object{}}, {"status", "Success"}};
  if (!about.empty()) body["details"] = std::move(about);
  return json::write(body) + "\n";
}

void add_warnings(net::Headers& headers, const std::vector<std::string>& warnings) {
  std::size_t total = 0;
  for (const std::string& warning : warnings) {
    std::string value = fmt::format("299 - {}", quoted_warning(warning));
    total += value.size();
    if (total > kMaxAllWarningsBytes) return;
    headers.add("Warning", std::move(value));
  }
}

}  // namespace strake::apistore::rest
