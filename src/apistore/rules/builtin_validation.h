// What Kubernetes' own kinds refuse beyond the types of their fields, in kube-apiserver's words. Pure.
#pragma once

#include <vector>

#include "apistore/schema/field_problem.h"
#include "apistore/schema/registry.h"
#include "codec/json.h"

namespace strake::apistore {

/// Nothing for kinds that are not built in. `old` is the present state on updates, null on creation; both have the
/// shape of their type (kubernetes_types.h).
void check_builtin(const Kind& kind, const json::Value& object, const json::Value* old,
                   std::vector<FieldProblem>& problems);

}  // namespace strake::apistore
