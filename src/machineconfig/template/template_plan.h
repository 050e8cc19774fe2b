// Base configs of a cluster: 00-<role>, 01-<role>-container-runtime and 01-<role>-kubelet, as a pure function of the
// release, the ControllerConfig, the StrakeConfig and what is known of the OS images.
//
// A role the release has a base config for gets that one; every other role gets our templates. To both is added what
// the cluster itself has: pull secret, authorities to trust, proxy.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace strake::machineconfig {

struct TemplateInput {
  kube::ObjectPtr controller_config{};  ///< may be absent: then there is nothing to do
  kube::ObjectPtr release_contents{};   ///< ConfigMap strake-release (api/release_contents.h); may be absent
  kube::ObjectPtr strake_config{};      ///< may be absent
  kube::ObjectPtr pull_secret{};        ///< Secret openshift-config/pull-secret; may be absent
  std::vector<kube::ObjectPtr> pools{};
  std::vector<kube::ObjectPtr> configs{};  ///< every MachineConfig
  std::string version{};                   ///< of this program; what is generated carries it
};

struct TemplatePlan {
  enum class Outcome {
    kNothing,  ///< no release was applied by this version of Strake
    kWaiting,  ///< the release is being published
    kRefused,  ///< what there is stays
    kReady,
  };
  Outcome outcome = Outcome::kNothing;
  std::string reason{};                  ///< why it waits or is refused, and what to do
  std::vector<kube::Object> configs{};   ///< as they should be, by name
  std::vector<kube::ObjectPtr> stale{};  ///< base configs of a role that has none any more
};

TemplatePlan plan_templates(const TemplateInput& input);

/// A base config the template controller made. By what it carries, not by its name alone: a user's MachineConfig of
/// such a name is the user's, until the controller takes it over.
bool is_template_config(const kube::Object& config);

}  // namespace strake::machineconfig
