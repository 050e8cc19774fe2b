// Reading the objects of the config server's identity, and carrying out what was planned for them.
#pragma once

#include "base/random.h"
#include "base/runtime.h"
#include "kube/kube_api.h"
#include "stub/identity/identity_plan.h"

namespace strake::stub {

/// Everything plan_identity looks at but the policy, as the server has it now: never from a copy that may be old,
/// because a second authority made by mistake would cut machines off. `fallback` is where machines ask when no object
/// says it.
Result<IdentityInput> read_identity(kube::KubeApi& api, const std::optional<ConfigServerPlace>& fallback,
                                    std::chrono::sys_seconds now, const kube::Call& call);

/// What a rotation looks at beside that: every stub of the cluster and who uses it, and machines under way.
Status read_rotation(kube::KubeApi& api, IdentityInput& input, const kube::Call& call);

/// Asks the config server with each list of authorities, as machines would. `connect` says where, "HOST:PORT"; "" asks
/// where the URL leads. kDenied: somebody would not accept it.
Status shake_hands(const Handshake& handshake, const std::string& connect, const kube::Call& call);

/// One action. kConflict or kExists: the object is not as planned any more; look and plan again.
Result<kube::Object> carry_out(kube::KubeApi& api, const IdentityAction& action, Random& random,
                               const kube::Call& call);

/// Everything of a cluster that has to do with stubs; kinds it does not have are empty lists.
Result<StubObjects> read_stub_objects(kube::KubeApi& api, const kube::Call& call);

/// All objects of a kind, page by page; none when the server does not know the kind.
Result<std::vector<kube::ObjectPtr>> list_where_there(kube::KubeApi& api, const kube::Resource& resource,
                                                      const std::string& ns, const kube::Call& call);

}  // namespace strake::stub
