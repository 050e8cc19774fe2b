// Questions a caller asks about itself: who am I, may I do this, what may I do. Answered at once, stored nowhere. Pure.
//
//   authentication.k8s.io/v1 SelfSubjectReview         `kubectl auth whoami`
//   authorization.k8s.io/v1 SelfSubjectAccessReview    `kubectl auth can-i VERB RESOURCE`
//   authorization.k8s.io/v1 SelfSubjectRulesReview     `kubectl auth can-i --list`
//
// The answers come from the same function that guards the calls themselves (rules/authorization.h).
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apistore/rules/authorization.h"
#include "base/result.h"
#include "codec/json.h"
#include "kube/api_error.h"

namespace strake::apistore::rest {

struct ReviewKind {
  std::string_view group;
  std::string_view version;
  std::string_view plural;
  std::string_view singular;
  std::string_view kind;
};

std::span<const ReviewKind> review_kinds();
/// The one at /apis/GROUP/VERSION/PLURAL, or nullptr.
const ReviewKind* find_review(const std::vector<std::string>& segments);

/// Who asks, and which MachineConfigs the Node of an agent names (Evidence::named_configs).
struct Asking {
  const Caller& caller;
  std::vector<std::string> named_configs{};
};

/// The review with its status. `details` gets what a Status says about a question that makes no sense.
Result<json::Value> answer_review(const ReviewKind& review, json::Value body, const Asking& asking,
                                  kube::StatusDetails& details);

}  // namespace strake::apistore::rest
