// Writing only what is ours: patches of our own fields, so that what others wrote survives.
#pragma once

#include <concepts>
#include <optional>

#include "base/runtime.h"
#include "kube/kube_api.h"

namespace strake::kube {

/// The merge patch that gives `observed` the fields of `own`: every member `own` names gets its value, null removes,
/// everything it does not name is left alone. nullopt when nothing differs, so that a settled state costs no write.
std::optional<json::Value> own_fields_patch(const json::Value& observed, const json::Value& own);

enum class IfChanged {
  kRefuse,     ///< kConflict when the object is not as observed any more
  kOverwrite,  ///< the values do not depend on what was observed
};

/// Writes the fields of `own` that differ from `observed`; the object as it is then, or `observed` itself when nothing
/// differs.
Result<Object> merge_patch_own_fields(KubeApi& api, const Resource& resource, const Object& observed,
                                      const json::Value& own, IfChanged if_changed, const WriteOptions& options,
                                      const Call& call);

/// The same for the status subresource; `own_status` is the content of `status`.
Result<Object> apply_status_patch(KubeApi& api, const Resource& resource, const Object& observed,
                                  const json::Value& own_status, IfChanged if_changed, const Call& call);

inline constexpr int kConflictAttempts = 5;
/// Waits a moment before a further attempt; an error when the caller's time is over.
Status pause_after_conflict(runtime::Runtime& runtime, const Call& call);

/// Calls `attempt` (read, change, write) again while it answers kConflict, a few times. The last answer is returned.
template <std::invocable Attempt>
auto retry_on_conflict(runtime::Runtime& runtime, const Call& call, Attempt attempt) -> decltype(attempt()) {
  for (int tried = 1;; ++tried) {
    auto result = attempt();
    if (result.ok() || result.error().code() != Code::kConflict || tried == kConflictAttempts) return result;
    if (const Status paused = pause_after_conflict(runtime, call); !paused.ok()) return result;
  }
}

}  // namespace strake::kube
