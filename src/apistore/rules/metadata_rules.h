// The rules of metadata: shape, names, labels, owners. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apistore/schema/field_problem.h"
#include "apistore/schema/registry.h"
#include "base/result.h"
#include "codec/json.h"

namespace strake::apistore {

/// Makes metadata an object of known fields with the right types. Unknown fields are removed and reported; a field of a
/// wrong type is a 400, as the typed decoder of a real server gives.
Result<std::vector<std::string>> shape_metadata(json::Value& object);

/// Names, labels, annotations, owners and finalizers.
void check_metadata(const Kind& kind, const json::Value& object, std::vector<FieldProblem>& problems);

}  // namespace strake::apistore
