#include "kube/api_error.h"

#include <algorithm>
#include <array>

#include "base/text.h"

namespace strake::kube {

namespace {

constexpr std::size_t kMaxStatusMessageBytes = 16u << 10;
constexpr std::size_t kMaxBodyExcerptBytes = 200;
constexpr std::size_t kMaxCausesShown = 20;
constexpr std::int64_t kMaxRetryAfterSeconds = 24 * 60 * 60;

struct ReasonRow {
  std::string_view reason;
  int http_code;
  Code code;
};

/// The first row of a code is what status_from_error uses when an error brings no reason of its own.
constexpr std::array kReasons = {
    ReasonRow{"BadRequest", 400, Code::kInvalidArgument},
    ReasonRow{"Invalid", 422, Code::kInvalidArgument},
    ReasonRow{"Unauthorized", 401, Code::kUnauthenticated},
    ReasonRow{"Forbidden", 403, Code::kDenied},
    ReasonRow{"NotFound", 404, Code::kNotFound},
    ReasonRow{"AlreadyExists", 409, Code::kExists},
    ReasonRow{"Conflict", 409, Code::kConflict},
    ReasonRow{"Expired", 410, Code::kExpired},
    ReasonRow{"Gone", 410, Code::kExpired},
    ReasonRow{"TooManyRequests", 429, Code::kExhausted},
    ReasonRow{"RequestEntityTooLarge", 413, Code::kExhausted},
    ReasonRow{"StorageFull", 507, Code::kExhausted},
    ReasonRow{"MethodNotAllowed", 405, Code::kUnsupported},
    ReasonRow{"NotAcceptable", 406, Code::kUnsupported},
    ReasonRow{"UnsupportedMediaType", 415, Code::kUnsupported},
    ReasonRow{"Timeout", 504, Code::kTimeout},
    ReasonRow{"ServiceUnavailable", 503, Code::kUnavailable},
    ReasonRow{"ServerTimeout", 500, Code::kUnavailable},
    ReasonRow{"InternalError", 500, Code::kUnavailable},
};

const ReasonRow* find_reason(std::string_view reason) {
  const auto row =
      std::find_if(kReasons.begin(), kReasons.end(), [&](const ReasonRow& r) { return r.reason == reason; });
  return row == kReasons.end() ? nullptr : &*row;
}

const ReasonRow* usual_reason(Code code) {
  const auto row = std::find_if(kReasons.begin(), kReasons.end(), [&](const ReasonRow& r) { return r.code == code; });
  return row == kReasons.end() ? nullptr : &*row;
}

Code code_from_http(int http_code) {
  switch (http_code) {
    case 401: return Code::kUnauthenticated;
    case 403: return Code::kDenied;
    case 404: return Code::kNotFound;
    case 405:
    case 406:
    case 415:
    case 501: return Code::kUnsupported;
    case 408:
    case 504: return Code::kTimeout;
    case 409:
    case 412: return Code::kConflict;
    case 410: return Code::kExpired;
    case 413:
    case 429:
    case 507: return Code::kExhausted;
    default: break;
  }
  if (http_code >= 400 && http_code < 500) return Code::kInvalidArgument;
  if (http_code >= 500 && http_code < 600) return Code::kUnavailable;
  return Code::kInternal;  // not a failure a server of this protocol reports
}

std::string one_line(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool blank = static_cast<unsigned char>(c) <= ' ';
    if (blank && (line.empty() || line.back() == ' ')) continue;
    line += blank ? ' ' : c;
  }
  while (!line.empty() && line.back() == ' ') line.pop_back();
  return line;
}

/// Servers usually repeat the causes in the message; only those that are not there already are added.
std::string status_message(const json::Value& status) {
  std::string message = json::find_string(status, {"message"}).value_or("");
  std::string more;
  std::size_t shown = 0;
  for (const StatusCause& cause : causes_of_status(status)) {
    if (cause.message.empty() || message.find(cause.message) != std::string::npos) continue;
    if (shown++ == kMaxCausesShown) {
      more += "; ...";
      break;
    }
    more +=
        fmt::format("{}{}{}", more.empty() ? "" : "; ", cause.field.empty() ? "" : cause.field + ": ", cause.message);
  }
  if (more.empty()) return message;
  return message.empty() ? more : fmt::format("{} ({})", message, more);
}

/// Codes that never come off the wire, told to a client in the protocol's words.
ReasonRow reason_for_local_code(Code code) {
  switch (code) {
    case Code::kCancelled: return {"ServiceUnavailable", 503, code};
    case Code::kCorrupt:
    case Code::kIo:
    case Code::kInternal: return {"InternalError", 500, code};
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kExists:
    case Code::kConflict:
    case Code::kExpired:
    case Code::kUnauthenticated:
    case Code::kDenied:
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kUnsupported:
    case Code::kExhausted: break;  // have rows in kReasons
  }
  return *usual_reason(code);
}

}  // namespace

std::vector<StatusCause> causes_of_status(const json::Value& status) {
  std::vector<StatusCause> causes;
  const json::Value* list = json::find(status, {"details", "causes"});
  if (list == nullptr || !list->is_array()) return causes;
  for (const json::Value& item : list->get_array()) {
    causes.push_back({json::find_string(item, {"reason"}).value_or(""),
                      json::find_string(item, {"message"}).value_or(""),
                      json::find_string(item, {"field"}).value_or("")});
  }
  return causes;
}

Error error_from_status(int http_code, const json::Value& status) {
  if (http_code == 0) http_code = static_cast<int>(json::find_int(status, {"code"}).value_or(500));
  const bool is_status = json::find_string(status, {"kind"}).value_or("") == "Status";
  const std::string reason = is_status ? json::find_string(status, {"reason"}).value_or("") : "";

  // 409 is two failures, and 404 behind a proxy may be none of the API's: the reason word is more precise when it fits
  // the number.
  Code code = code_from_http(http_code);
  if (const ReasonRow* row = find_reason(reason); row != nullptr && row->http_code == http_code) code = row->code;

  std::string message;
  if (is_status) message = status_message(status);
  if (message.empty() && status.is_string()) {
    message = clip_utf8(one_line(json::as_view(status.get_string())), kMaxBodyExcerptBytes);
    if (!message.empty()) message = fmt::format("the server answered HTTP {}: {}", http_code, message);
  }
  if (message.empty()) {
    message = fmt::format("the server answered HTTP {} without saying why", http_code);
    if (!reason.empty()) message += fmt::format(" ({})", reason);
  }

  Error error(code, clip_utf8(message, kMaxStatusMessageBytes));
  // In place: `error = std::move(error).with_...()` would move the error onto itself.
  if (!reason.empty()) (void)std::move(error).with_reason(reason);
  if (const auto seconds = json::find_int(status, {"details", "retryAfterSeconds"}); seconds && *seconds > 0) {
    (void)std::move(error).with_retry_after(std::chrono::seconds(std::min(*seconds, kMaxRetryAfterSeconds)));
  }
  return error;
}

ApiStatus status_from_error(const Error& error, const StatusDetails& details) {
  ReasonRow row = reason_for_local_code(error.code());
  std::string reason(row.reason);
  if (!error.reason().empty()) {
    reason = error.reason();
    // A reason that belongs to another code is kept as a word, but must not change the number clients branch on.
    if (const ReasonRow* known = find_reason(reason); known != nullptr && known->code == error.code()) row = *known;
  }

  json::Object details_json;
  if (!details.name.empty()) details_json["name"] = details.name;
  if (!details.group.empty()) details_json["group"] = details.group;
  if (!details.kind.empty()) details_json["kind"] = details.kind;
  if (!details.uid.empty()) details_json["uid"] = details.uid;
  if (!details.causes.empty()) {
    json::Array causes;
    for (const StatusCause& cause : details.causes) {
      json::Object item{{"message", cause.message}};
      if (!cause.reason.empty()) item["reason"] = cause.reason;
      if (!cause.field.empty()) item["field"] = cause.field;
      causes.push_back(std::move(item));
    }
    details_json["causes"] = std::move(causes);
  }
  if (const auto delay = error.retry_after()) {
    // Rounded up: a client that comes back early is refused again.
    details_json["retryAfterSeconds"] = std::chrono::ceil<std::chrono::seconds>(*delay).count();
  }

  json::Object body{{"kind", "Status"},
                    {"apiVersion", "v1"},
                    {"metadata", json::Object{}},
                    {"status", "Failure"},
                    {"message", clip_utf8(error.to_string(), kMaxStatusMessageBytes)},
                    {"reason", reason}};
  if (!details_json.empty()) body["details"] = std::move(details_json);
  body["code"] = row.http_code;
  return {row.http_code, std::move(body)};
}

}  // namespace strake::kube
