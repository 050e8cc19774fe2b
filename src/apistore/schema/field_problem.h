// One field of an object that is wrong, in the words and forms kube-apiserver uses.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "kube/api_error.h"

namespace strake::apistore {

struct FieldProblem {
  static constexpr std::string_view kObjectItself = "<nil>";

  std::string field;   ///< "spec.units[0].name"; kObjectItself when it is no field
  std::string reason;  ///< "FieldValueInvalid", ...: the reason of a Status cause
  std::string text;    ///< `Invalid value: "x": must be ...`

  static FieldProblem required(std::string field, std::string_view detail = "");
  static FieldProblem invalid(std::string field, const json::Value& value, std::string_view detail);
  /// The value has the wrong type; the message shows the name of the type it has.
  static FieldProblem wrong_type(std::string field, std::string_view actual, std::string_view detail);
  static FieldProblem not_supported(std::string field, const json::Value& value,
                                    std::span<const std::string> supported);
  static FieldProblem duplicate(std::string field, const json::Value& value);
  static FieldProblem forbidden(std::string field, std::string_view detail);
  static FieldProblem too_long(std::string field, std::int64_t limit);
  static FieldProblem too_many(std::string field, std::int64_t actual, std::int64_t limit);

  std::string to_string() const { return fmt::format("{}: {}", field, text); }
};

/// Which object an error is about; becomes StatusDetails.
struct ErrorSubject {
  std::string group;
  std::string kind;
  std::string plural;
  std::string name;

  /// "nodes", "machineconfigs.machineconfiguration.openshift.io".
  std::string resource() const { return group.empty() ? plural : plural + "." + group; }
};

/// 422: `Node "x" is invalid: spec.y: Required value`. The causes go to `details`.
Error invalid_object(const ErrorSubject& subject, const std::vector<FieldProblem>& problems,
                     kube::StatusDetails& details);

/// A value as Go's %q or %v would show it in such a message.
std::string shown_value(const json::Value& value);

}  // namespace strake::apistore
