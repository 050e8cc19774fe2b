// registries.conf, policy.json and the search list from mirror sets, image policies and the Image config, as the
// platform makes them.
//
// Mirrors of one source are merged over all sets: no order that a set gives is turned round, and where the sets leave
// it open, what is named first comes first. Digest mirrors come before tag mirrors. A flag of a registry holds for
// everything below it, and so do its mirrors, because on a node only the longest prefix counts.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "kube/object.h"
#include "machineconfig/generate/generated_config.h"

namespace strake::machineconfig {

inline constexpr std::string_view kPolicyJsonPath = "/etc/containers/policy.json";
/// policy.json for the pods of one namespace: <namespace>.json.
inline constexpr std::string_view kNamespacePoliciesPath = "/etc/crio/policies/";
/// Where signatures are looked for.
inline constexpr std::string_view kSigstoreRegistriesPath = "/etc/containers/registries.d/sigstore-registries.yaml";
inline constexpr std::string_view kSearchRegistriesPath =
    "/etc/containers/registries.conf.d/01-image-searchRegistries.conf";

/// Of registries in registries.conf, and of names in a list of the Image config.
inline constexpr std::size_t kMaxGeneratedRegistries = 5'000;
inline constexpr std::size_t kMaxRegistryNames = 1'000;

/// Whether a registry, repository or "*.domain" lies within another (or is the same).
bool is_within_scope(std::string_view scope, std::string_view outer);

struct RegistriesInput {
  /// Mirror sets, image policies and Image configs, in the order that counts: by name.
  std::vector<kube::ObjectPtr> policies{};
  std::string release_image{};  ///< what nodes must go on pulling; "" when nobody knows
  std::string base_conf{};      ///< registries.conf of the base configs; "" for a small one
  std::string base_policy{};    ///< policy.json of the base configs; "" for a small one
};

/// The files, in the order they are in the MachineConfig; none when nobody asks for anything. Errors name the object
/// and the field.
Result<std::vector<GeneratedFile>> generate_registries(const RegistriesInput& input);

}  // namespace strake::machineconfig
