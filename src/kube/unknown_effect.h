// Whether a write that failed may have been done all the same.
#pragma once

#include "base/error.h"

namespace strake::kube {

/// The request may have had its effect although the answer says otherwise, or did not come.
inline bool effect_is_unknown(Code code) {
  switch (code) {
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kCancelled:
    case Code::kInternal:
    case Code::kIo: return true;
    case Code::kInvalidArgument:
    case Code::kNotFound:
    case Code::kExists:
    case Code::kConflict:
    case Code::kExpired:
    case Code::kDenied:
    case Code::kUnauthenticated:
    case Code::kExhausted:
    case Code::kCorrupt:
    case Code::kUnsupported: return false;
  }
  return true;
}

}  // namespace strake::kube
