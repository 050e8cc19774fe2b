#include "base/verdict.h"

#include <algorithm>

namespace strake {

namespace {

struct VerdictReason {
  Verdict verdict;
  std::string_view reason;
};

// A slash keeps them apart from the reasons of API servers, which are single words.
constexpr VerdictReason kVerdictReasons[] = {{Verdict::kBlocked, "strake/Blocked"},
                                             {Verdict::kUnreachable, "strake/Unreachable"},
                                             {Verdict::kNotGenuine, "strake/NotGenuine"}};

}  // namespace

Error with_verdict(Error error, Verdict verdict) {
  const auto* found = std::ranges::find(kVerdictReasons, verdict, &VerdictReason::verdict);
  return std::move(error).with_reason(found == std::end(kVerdictReasons) ? "" : std::string(found->reason));
}

Verdict verdict_of(const Error& error) {
  const auto* found = std::ranges::find(kVerdictReasons, error.reason(), &VerdictReason::reason);
  return found == std::end(kVerdictReasons) ? Verdict::kNone : found->verdict;
}

}  // namespace strake
