// The URLs of an Ignition config, judged as Ignition judges them: by Go's rules of what a URL is.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ignition/version.h"

namespace strake::ignition {

/// What Ignition looks at in a URL.
struct UrlParts {
  std::string scheme;       ///< in lower case; empty when the URL has none
  std::string_view opaque;  ///< what follows the scheme when that is not a slash
  std::string_view query;   ///< without the question mark
};

/// nullopt where Go's url.Parse fails.
std::optional<UrlParts> parse_url(std::string_view url);

/// What is wrong with a source a machine would fetch, in Ignition's words; nullopt when nothing is.
std::optional<std::string> source_problem(std::string_view source, SpecVersion version);

}  // namespace strake::ignition
