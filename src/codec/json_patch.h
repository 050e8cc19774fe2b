// Changing JSON by patch: RFC 6902 (a list of operations) and RFC 7386 (a partial document).
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::json {

/// Limits of kube-apiserver, kept so that a patch refused there is refused here.
inline constexpr std::size_t kMaxPatchOperations = 10'000;
inline constexpr std::size_t kMaxPatchCopyBytes = 3u << 20;  ///< all `copy` operations of one patch together
/// What all operations of one patch may shift and walk, in elements: about 50 ms. Inserting before a million elements
/// ten thousand times is small as a text and takes a minute.
inline constexpr std::size_t kMaxPatchWork = 8'000'000;

/// Deep equality with numbers equal by value: 1, 1.0 and 1e0 are the same. Member order does not count.
bool same_value(const Value& left, const Value& right);

/// RFC 6902. All operations or none: on error the document is as if never touched. Errors name the operation's index
/// and its path; a failed `test` has code kConflict.
Result<Value> apply_json_patch(Value document, const Value& patch);

/// Takes these members away in one pass, however many there are; the others keep their order.
void erase_members(Object& object, const std::vector<std::string_view>& keys);

/// RFC 7386. Cannot fail: every JSON value is a merge patch.
Value apply_merge_patch(Value target, const Value& patch);

/// The smallest merge patch that turns `from` into `to`. A null inside `to` has no merge patch: it reads as "absent".
Value create_merge_patch(const Value& from, const Value& to);

}  // namespace strake::json
