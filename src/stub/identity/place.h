// Where new machines ask for their config, and every name the server's certificate must bear for that.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace strake::stub {

struct ConfigServerPlace {
  std::string url;                 ///< "https://api-int.example:22623", as stubs name it
  std::vector<std::string> hosts;  ///< names and addresses, sorted, each once, the URL's own among them

  bool operator==(const ConfigServerPlace&) const = default;
};

inline constexpr std::uint16_t kConfigServerPort = 22623;

/// An address of either family; such a name of a host goes into another kind of alternative name.
bool is_ip_address(const std::string& text);

/// `url` is "https://HOST:PORT"; names are names, IPv4 or IPv6 addresses. The error names what cannot be one.
Result<ConfigServerPlace> make_place(std::string_view url, const std::vector<std::string>& names);

/// What StrakeConfig spec.configServer says, else what the Infrastructure object does; either may be nullptr. nullopt:
/// neither says anything.
Result<std::optional<ConfigServerPlace>> place_of(const kube::Object* strake_config,
                                                  const kube::Object* infrastructure);

/// Where the managed stubs of the cluster send machines already, with the names the server's certificate bears: for
/// somebody who was not told more, beside a process that was (`strake up`). nullopt: there is none to read it from.
std::optional<ConfigServerPlace> place_in_use(std::span<const kube::ObjectPtr> stub_secrets,
                                              const kube::Object* serving);

}  // namespace strake::stub
