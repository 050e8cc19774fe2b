// How the parts of a config server watch a cluster and speak of it. For this folder's own use.
#pragma once

#include "kube/events.h"
#include "kube/informer.h"

namespace strake::configserver {

/// Of a kind, the one object of this name.
inline kube::InformerOptions watch_one(const kube::ObjectKey& key, const kube::Hooks& hooks) {
  kube::InformerOptions options;
  options.ns = key.ns;
  options.field_selector = fmt::format("metadata.name={}", key.name);
  options.hooks = hooks;
  return options;
}

inline kube::EventRecorderOptions server_events(const kube::Hooks& hooks) {
  kube::EventRecorderOptions options;
  options.component = "strake-config-server";
  options.hooks = hooks;
  return options;
}

}  // namespace strake::configserver
