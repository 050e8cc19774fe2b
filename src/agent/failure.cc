#include "agent/failure.h"

namespace strake::agent {

namespace {

constexpr unsigned kTriesForRights = 5;  // half a minute

}  // namespace

std::string_view to_string(Doing doing) {
  switch (doing) {
    case Doing::kReadingNode: return "reading-node";
    case Doing::kReadingConfig: return "reading-config";
    case Doing::kLookingAtMachine: return "looking-at-machine";
    case Doing::kPlanning: return "planning";
    case Doing::kApplying: return "applying";
    case Doing::kChecking: return "checking";
    case Doing::kReporting: return "reporting";
  }
  return "unknown";
}

bool is_api_trouble(Doing doing, Code code, unsigned in_a_row) {
  switch (doing) {
    case Doing::kReadingNode:
    case Doing::kReporting: return true;  // without the Node there is no place to complain
    case Doing::kReadingConfig: break;
    case Doing::kLookingAtMachine:
    case Doing::kPlanning:
    case Doing::kApplying:
    case Doing::kChecking: return false;
  }
  switch (code) {
    case Code::kConflict:
    case Code::kExpired:
    case Code::kUnavailable:
    case Code::kTimeout:
    case Code::kCancelled:
    case Code::kExhausted:
    case Code::kUnauthenticated: return true;
    case Code::kDenied: return in_a_row <= kTriesForRights;
    case Code::kNotFound:
    case Code::kInvalidArgument:
    case Code::kExists:
    case Code::kCorrupt:
    case Code::kUnsupported:
    case Code::kIo:
    case Code::kInternal: return false;
  }
  return false;
}

}  // namespace strake::agent
