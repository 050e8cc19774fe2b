// The stubs Strake writes itself, one for each pool: Secret POOL-user-data-managed, in the namespace of machines.
//
// Of spec 3.1, the lowest that suffices: every image since 4.6 reads it, and its requests can carry header fields,
// which 3.0 cannot: a token goes there.
#pragma once

#include <optional>
#include <string>

#include "base/result.h"
#include "kube/object.h"

namespace strake::stub {

struct ManagedStub {
  std::string url;  ///< "https://HOST:PORT"
  std::string pool;
  std::string trusted_pem;  ///< whom the machine trusts for it
  /// Fields of the request, as they stand in the stub: [{name, value}]. A token is one (with_token puts it there); what
  /// the present stub has stays when it is written again.
  std::optional<json::Value> headers{};
};

std::string managed_stub_name(const std::string& pool);
/// "" for a name that is not that of a managed stub.
std::string pool_of_managed_stub(const std::string& secret);
std::string managed_stub_text(const ManagedStub& stub);

/// The Secret as it has to be. `present` is nullptr when there is none; what else it has stays. kExists: somebody
/// else's, it has not the platform's label.
Result<kube::Object> managed_stub_secret(const kube::Object& pool, const ManagedStub& stub,
                                         const kube::Object* present);

/// The header fields of the stub in a Secret; nullopt when it has none or cannot be read.
std::optional<json::Value> headers_of(const kube::Object& secret);

}  // namespace strake::stub
