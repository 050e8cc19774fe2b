#include "base/error.h"

namespace strake {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::kInvalidArgument: return "invalid argument";
    case Code::kNotFound: return "not found";
    case Code::kExists: return "already exists";
    case Code::kConflict: return "conflict";
    case Code::kExpired: return "expired";
    case Code::kUnauthenticated: return "unauthenticated";
    case Code::kDenied: return "denied";
    case Code::kUnavailable: return "unavailable";
    case Code::kTimeout: return "timeout";
    case Code::kCancelled: return "cancelled";
    case Code::kCorrupt: return "corrupt";
    case Code::kUnsupported: return "unsupported";
    case Code::kExhausted: return "exhausted";
    case Code::kIo: return "input/output";
    case Code::kInternal: return "internal";
  }
  return "unknown";
}

std::string Error::to_string() const {
  std::string text;
  for (auto it = contexts_.rbegin(); it != contexts_.rend(); ++it) {
    text += *it;
    text += ": ";
  }
  return text + message_;
}

}  // namespace strake
