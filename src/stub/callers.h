// Who asked the config servers for configs, as they tell it in one ConfigMap: a page each.
//
//   ConfigMap openshift-machine-config-operator/strake-config-server-callers
//     binaryData.SERVER   gzipped JSON: {"written", "callers": [...], "uses": {TOKEN: COUNT}}
//
// Addresses and names of pools come from strangers: they are kept short, and made visible by who shows them.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace strake::stub {

inline constexpr std::size_t kMaxCallers = 1000;
inline constexpr std::size_t kMaxCallerText = 120;
/// Of all pages, compressed: well below what an API server lets a config server write.
inline constexpr std::size_t kMaxCallerPagesBytes = std::size_t{180} << 10;

/// Requests that say the same: who, for which pool, with what result.
struct Caller {
  std::string address;  ///< without port
  std::string pool;
  bool known_pool = false;
  std::string reason;      ///< "served", or why not
  std::string standing;    ///< of what it showed: "good", "no-token", ...
  std::string credential;  ///< id of the token or name in the certificate; "" without
  std::string version;     ///< of Ignition configs it reads; "" when it does not say
  std::chrono::sys_seconds last;
  std::uint64_t times = 1;

  bool operator==(const Caller&) const = default;
};

/// What one config server tells.
struct CallerPage {
  std::chrono::sys_seconds written;
  std::vector<Caller> callers;                ///< newest first
  std::map<std::string, std::uint64_t> uses;  ///< of counted tokens, by id

  bool operator==(const CallerPage&) const = default;
};
using CallerPages = std::map<std::string, CallerPage>;  ///< by server

kube::ObjectKey callers_key();

std::string encode_page(const CallerPage& page);
/// kCorrupt for what is no page; more callers than kMaxCallers, and longer texts, are cut.
Result<CallerPage> decode_page(std::string_view bytes);
/// All pages that can be read.
CallerPages read_pages(const kube::Object& config_map);

/// The newest kMaxCallers of all servers.
std::vector<Caller> newest_callers(const CallerPages& pages);
/// Uses of each token, over all servers.
std::map<std::string, std::uint64_t> uses_of(const CallerPages& pages);

/// A patch of the ConfigMap that puts `own` under `server`, and takes out pages that are too many: the oldest, never
/// the own. What they counted goes into the own.
struct PagePatch {
  json::Value patch;
  CallerPage own;  ///< as it is written
};
PagePatch page_patch(const kube::Object& config_map, const std::string& server, CallerPage own);

/// A key of a ConfigMap made of what a machine calls itself.
std::string server_key(std::string_view name);

}  // namespace strake::stub
