// Discovery: what this server serves, as clients ask for it at /api, /apis, /api/v1, /apis/GROUP/VERSION and /version.
//
// Only the old form, one document a group and version. A client that prefers the aggregated form sees from the content
// type that it did not get it and asks for the single documents.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "apistore/schema/registry.h"

namespace strake::apistore::rest {

/// The Kubernetes release whose API rules this server follows; clients compare their own version with it.
inline constexpr std::string_view kKubernetesVersion = "v1.34.4";

/// Texts made once; the registry does not change while a server runs.
class Discovery {
 public:
  /// `program_version` goes behind the plus sign: v1.34.4+strake-0.1.0.
  Discovery(const Registry& registry, std::string_view program_version);

  /// The JSON at a path of decoded segments ({"apis", "policy", "v1"}), or nullptr when it is not a discovery path.
  const std::string* document(const std::vector<std::string>& segments) const;

 private:
  std::map<std::string, std::string> documents_;  ///< by path: "apis/policy/v1"
};

/// "get", "list", ...: what may be done with objects of a kind, sorted.
std::vector<std::string_view> verbs_of(const Kind& kind);

/// The served versions of a group, the preferred one first.
std::vector<std::string> served_versions(const Registry& registry, std::string_view group);
std::vector<std::string> served_groups(const Registry& registry);

}  // namespace strake::apistore::rest
