// The keyrings a cluster keeps: whose releases it takes. They are in StrakeConfig/cluster, which only administrators
// may write: neither agents nor viewers nor Strake's own controllers can add a key.
#pragma once

#include <vector>

#include "kube/kube_api.h"
#include "release/signature/openpgp_keyring.h"

namespace strake::release {

/// An object of the API holds them all.
inline constexpr std::size_t kMaxKeptKeyringBytes = 192u << 10;

/// By name. kInvalidArgument names one that cannot be read: a cluster does not go on with the others.
Result<std::vector<Keyring>> read_kept_keyrings(kube::KubeApi& api, const kube::Call& call);

/// Under keyring.name. kExists: that name is taken by another keyring, which has to be removed first.
Status keep_keyring(runtime::Runtime& runtime, kube::KubeApi& api, const Keyring& keyring, const kube::Call& call);

/// kNotFound names those there are.
Status forget_keyring(runtime::Runtime& runtime, kube::KubeApi& api, const std::string& name, const kube::Call& call);

}  // namespace strake::release
