// Which MachineConfigs the objects of a cluster ask for, as a pure function: what should be, what goes, and what is
// said to whom. The generator controller carries it out; `strake render` and its like apply it to files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "kube/object.h"
#include "machineconfig/generate/generated_config.h"

namespace strake::machineconfig {

struct GenerateInput {
  std::vector<kube::ObjectPtr> pools{};
  std::vector<kube::ObjectPtr> configs{};     ///< every MachineConfig
  std::vector<kube::ObjectPtr> generators{};  ///< every KubeletConfig and ContainerRuntimeConfig
  std::vector<kube::ObjectPtr> policies{};    ///< mirror sets, image policies and the Image config
  kube::ObjectPtr controller_config{};        ///< names the release image; may be absent
  std::string version{};                      ///< of this program; what is generated carries it
};

/// What becomes of one KubeletConfig or ContainerRuntimeConfig.
struct GeneratorVerdict {
  kube::ObjectPtr generator;
  std::optional<std::string> suffix{};  ///< of its MachineConfigs' names; unset when it gets none
  std::vector<std::string> configs{};   ///< names of its MachineConfigs
  std::optional<Error> refusal{};       ///< then its present MachineConfigs stay as they are

  /// Its finalizers when everything is done: foreign ones as they are, and the names of its MachineConfigs.
  std::vector<std::string> final_finalizers() const;
};

struct GeneratePlan {
  std::vector<kube::Object> configs{};   ///< as they should be, by name
  std::vector<kube::ObjectPtr> stale{};  ///< generated once, and asked for by nobody any more
  std::vector<GeneratorVerdict> generators{};
  std::optional<Error> registries_refusal{};  ///< then the present registries stay as they are
};

GeneratePlan plan_generated(const GenerateInput& input);

/// One of the platform's own pools: master, worker, arbiter, or what is labelled as one. Only they get registries.
bool is_built_in_pool(const kube::Object& pool);

/// Which mirror set, image policy or Image config a refusal of the registries is about; nullptr when it is several.
kube::ObjectPtr refused_policy(const std::vector<kube::ObjectPtr>& policies, const Error& refusal);

/// A KubeletConfig or ContainerRuntimeConfig for this pool. A selector that is absent or empty selects none.
Result<bool> generator_selects(const kube::Object& generator, const kube::Object& pool);

/// The value of the annotation kGeneratedFrom on MachineConfigs of this generator as it is now.
std::string generated_from(const kube::Object& generator);
/// The same on what is made of mirror sets, image policies and the Image config together.
inline constexpr std::string_view kFromRegistryPolicies = "registries";

}  // namespace strake::machineconfig
