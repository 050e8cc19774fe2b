// Reading and changing who may ask the config server, in a cluster's Secret.
#pragma once

#include <functional>

#include "base/runtime.h"
#include "kube/kube_api.h"
#include "stub/access_book.h"

namespace strake::stub {

/// An open book without tokens when there is no Secret.
Result<AccessBook> load_access(kube::KubeApi& api, const kube::Call& call);

/// Writes what `change` makes of the present book; again when somebody else was faster. The Secret is made where there
/// is none, and so is the ConfigMap the config server writes its callers into. Nothing is written for an equal book.
Result<AccessBook> change_access(runtime::Runtime& runtime, kube::KubeApi& api,
                                 const std::function<Result<AccessBook>(const AccessBook&)>& change,
                                 const kube::Call& call);

/// The ConfigMap a config server writes its callers into is there. A right to make ConfigMaps cannot be bound to a
/// name, so the config server itself has none.
Status ensure_callers(kube::KubeApi& api, const kube::Call& call);

/// A token was recorded and could not be put where it belongs: revoked when nobody can have it. Where the answer to the
/// write was lost it may be in the stub, and a machine may have been born with it: it stays good to its end.
void take_back_token(runtime::Runtime& runtime, kube::KubeApi& api, const TokenRecord& record, const Error& why,
                     const kube::Call& call);

}  // namespace strake::stub
