// Which rendered config, and which image, a new machine of a pool is to start with.
#pragma once

#include <span>
#include <string>

#include "base/result.h"
#include "kube/object.h"

namespace strake::configserver {

/// Half-way through a rollout: the new one, as soon as one machine runs it; before that the one all machines run.
/// kNotFound when the pool has none yet.
Result<std::string> served_config(const kube::Object& pool);

/// The layered image of that config, "" for the config's own. It must be built, pushed where a machine that has not
/// joined can reach it, and proven by one machine of the pool that runs it.
std::string layered_image(const kube::Object& pool, std::string_view config,
                          std::span<const kube::ObjectPtr> os_configs, std::span<const kube::ObjectPtr> os_builds);

}  // namespace strake::configserver
