// Kubernetes strategic merge patch: a merge patch in which some lists are merged element by element.
//
// Which lists, and by which key, is a property of the kind (patchStrategy and patchMergeKey of the published Kubernetes
// types), given by the caller. Everything else is as in a JSON merge patch: objects merge, null deletes, other lists
// are replaced. Directives inside a patch:
//
//   $patch: replace | delete              in an object: use only this object, or empty it
//                                         in an element of a merged list: replace the list, or delete that element
//   $deleteFromPrimitiveList/FIELD: [..]  remove these values from the list FIELD
//   $setElementOrder/FIELD: [..]          the order the elements of FIELD shall have
//   $retainKeys: [..]                     the members the object keeps; all others are deleted
//
// As in kube-apiserver `$patch: merge` is refused: merging is what happens without a directive.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::json {

/// How a field that does not follow the default (objects merge, lists are replaced) is patched.
enum class MergeRule {
  kMergeByKey,     ///< a list of objects, elements told apart by `MergeField::key`
  kMergeValues,    ///< a list of plain values, kept as a set
  kReplaceObject,  ///< an object that is replaced as a whole
};

struct MergeField {
  std::string path;  ///< from the root of the object: "spec.containers[].env"
  MergeRule rule;
  std::string key = {};
};

struct MergeSchema {
  std::vector<MergeField> fields;
};

/// Applies the patch. Both must be objects. Errors name the field.
Result<Value> apply_strategic_merge(Value original, const Value& patch, const MergeSchema& schema);

}  // namespace strake::json
