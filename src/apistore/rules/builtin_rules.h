// Where built-in kinds differ from custom resources. Pure.
#pragma once

#include <string_view>

#include "apistore/schema/registry.h"
#include "codec/json.h"

namespace strake::apistore {

bool is_core_kind(const Kind& kind, std::string_view name);

/// Nodes, ConfigMaps, Leases, ... have no metadata.generation.
bool has_generation(const Kind& kind);
/// Whether a replacement without resourceVersion is accepted.
bool allows_unconditional_update(const Kind& kind);

/// What the kind's own type sets on creation and update (a Pod is Pending, a Secret's stringData becomes data, ...).
void fill_builtin_on_create(const Kind& kind, json::Value& object);
void fill_builtin_on_update(const Kind& kind, json::Value& object);

}  // namespace strake::apistore
