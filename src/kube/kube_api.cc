#include "kube/kube_api.h"

namespace strake::kube {

std::string_view to_string(WatchType type) {
  switch (type) {
    case WatchType::kAdded: return "ADDED";
    case WatchType::kModified: return "MODIFIED";
    case WatchType::kDeleted: return "DELETED";
    case WatchType::kBookmark: return "BOOKMARK";
  }
  return "UNKNOWN";
}

Result<WatchType> parse_watch_type(std::string_view text) {
  for (const WatchType type : {WatchType::kAdded, WatchType::kModified, WatchType::kDeleted, WatchType::kBookmark}) {
    if (text == to_string(type)) return type;
  }
  return error(Code::kCorrupt, "\"{}\" is not a type of watch event", text);
}

std::string_view content_type(PatchType type) {
  switch (type) {
    case PatchType::kJson: return "application/json-patch+json";
    case PatchType::kMerge: return "application/merge-patch+json";
    case PatchType::kStrategic: return "application/strategic-merge-patch+json";
    case PatchType::kApply: return "application/apply-patch+yaml";
  }
  return "application/json";
}

}  // namespace strake::kube
