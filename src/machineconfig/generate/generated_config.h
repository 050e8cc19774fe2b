// MachineConfigs that are made of other objects: their names, their files, and the base files they build on.
//
// The platform's names are kept: "99-<pool>-generated-registries", "99-<pool>-generated-kubelet", and with a number for
// the second and later configs of a pool, "99-<pool>-generated-kubelet-1".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/object.h"

namespace strake::machineconfig {

enum class GeneratedKind { kRegistries, kContainerRuntime, kKubelet };
/// As in the names: "registries", "containerruntime", "kubelet".
std::string_view to_string(GeneratedKind kind);

/// A pool takes at most this many configs of a kind: no suffix, then 1 to 9.
inline constexpr int kMaxGeneratedSuffix = 9;

/// `suffix`: "" or "1" to "9".
std::string generated_name(std::string_view pool, GeneratedKind kind, std::string_view suffix = "");
/// What generated_name made, taken apart; nullopt of any other name.
struct GeneratedName {
  std::string pool;
  GeneratedKind kind;
  std::string suffix;
  bool operator==(const GeneratedName&) const = default;
};
std::optional<GeneratedName> parse_generated_name(std::string_view name);

struct GeneratedFile {
  std::string path;
  std::string contents;
};

/// A MachineConfig for the role of this name with these files, each replacing what the OS image has there.
kube::Object generated_config(const std::string& name, const std::string& role, const std::vector<GeneratedFile>& files,
                              const std::string& version);

/// The files of a MachineConfig whose contents are in it and can be read, in its order.
std::vector<GeneratedFile> files_in(const kube::Object& config);

/// By its name: 00-* or 01-*.
bool is_base_config(std::string_view name);

/// The contents of a file as the base configs of a pool (names that start with 00- or 01-) have it; the last in merge
/// order wins. `selected`: the pool's MachineConfigs in merge order. nullopt when none has it or it cannot be read.
std::optional<std::string> base_file(const std::vector<kube::ObjectPtr>& selected, std::string_view path);

}  // namespace strake::machineconfig
