// Rendering a set of objects that may not be in a cluster: which pools there are, and which OS images they get.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "machineconfig/render/render.h"

namespace strake::machineconfig {

/// What a directory or a cluster holds that a render reads.
struct ConfigSet {
  std::vector<kube::ObjectPtr> configs{};
  std::vector<kube::ObjectPtr> pools{};
  kube::ObjectPtr controller_config{};
  kube::ObjectPtr os_image_stream{};
  kube::ObjectPtr machine_configuration{};  ///< the user's disruption policy and overrides
  std::vector<kube::ObjectPtr> generators{};
  std::vector<kube::ObjectPtr> mirror_policies{};  ///< mirror sets and the like, of which the platform makes files

  /// Takes an object out, one in a namespace by "ns/name"; the case of the kind does not matter. False when there is
  /// none.
  bool remove(std::string_view kind, std::string_view name);
  /// Objects of `over` take the place of those with the same name; others are added.
  void lay_over(const ConfigSet& over);
};

/// OS images for a set that does not name any.
struct ReleaseImages {
  std::string os_image{};
  std::string extensions_image{};
  std::string release_version{};
};

/// A pool for a role: the built-in ones select their own MachineConfigs, a custom one the workers' too.
kube::Object pool_of_role(std::string_view role);

/// The set's pools; when it has none, one for every role a MachineConfig names, in the order of their names.
std::vector<kube::ObjectPtr> pools_of(const ConfigSet& set);

/// The same set with a ControllerConfig that names these images, unless the set has one of its own.
ConfigSet with_images(ConfigSet set, const ReleaseImages& images);

/// True when nothing in the set says which OS image its pools run.
bool lacks_images(const ConfigSet& set);

RenderInput render_input(const ConfigSet& set, kube::ObjectPtr pool);

}  // namespace strake::machineconfig
