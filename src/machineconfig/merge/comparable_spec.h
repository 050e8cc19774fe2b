// The spec of a rendered config, read so that two of them compare as the Machine Config Operator compares them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"

namespace strake::machineconfig {

struct ComparableSpec {
  std::string os_image;
  std::string extensions_image;
  std::string kernel_type;  ///< "default" when the spec says nothing
  bool fips = false;
  std::vector<std::string> kernel_arguments;  ///< absent and empty are the same, as for `extensions`
  std::vector<std::string> extensions;
  /// The Ignition config: members of the specification only, no nulls, no empty objects. Empty lists and empty strings
  /// stay, because they differ from absent ones.
  json::Value config;
};

/// A spec without `config` reads as one with an empty config. (The operator refuses to compare such a spec with
/// another; rendered configs always have one, and people also compare MachineConfigs they wrote.)
Result<ComparableSpec> comparable_spec(const json::Value& spec);

/// The same for a spec that was rendered here: its config is normalised already and becomes part of the result, not a
/// copy, because it may be large.
ComparableSpec comparable_rendered(json::Value spec);

/// The member at `path` is the same on both sides, or absent from both.
bool same_member(const ComparableSpec& before, const ComparableSpec& after,
                 std::initializer_list<std::string_view> path);

/// The items of the list at `path`; none when it is absent.
const json::Array& items_at(const json::Value& config, std::initializer_list<std::string_view> path);

}  // namespace strake::machineconfig
