// Butane configs, the YAML people write, as Ignition configs and MachineConfigs: with the result Butane 0.23.0 gives.
//
// Taken are the variants `fcos` and `openshift` with the members that end on a node: files, directories, links, trees,
// units, users, groups, kernel arguments, extensions, and the section `ignition`. What lays out disks (boot_device,
// grub, disks, filesystems, raid, luks) is refused by name.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "codec/json.h"
#include "codec/yaml_node.h"
#include "ignition/report.h"
#include "ignition/version.h"

namespace strake::ignition {

/// One entry of a local tree; folders are only ways to entries.
struct LocalEntry {
  enum class Kind : std::uint8_t { kFile, kLink };

  std::string path;  ///< below the folder that was walked: "etc/motd"
  Kind kind = Kind::kFile;
  bool is_executable = false;  ///< for anybody
  std::string contents;        ///< of a file; the target of a link
};

/// The files that a config names with `local`, in the folder given for them. Paths are relative and clean.
class LocalFiles {
 public:
  virtual ~LocalFiles() = default;

  virtual Result<std::string> read(const std::string& path) = 0;

  /// Everything below a folder; of each folder in the order of its names.
  virtual Result<std::vector<LocalEntry>> walk(const std::string& path) = 0;
};

struct ButaneOptions {
  LocalFiles* files = nullptr;       ///< null when no folder was given; then whatever is local is refused
  std::string_view role_label = {};  ///< a MachineConfig without this label is refused
};

struct ButaneResult {
  std::string variant;
  std::string version;
  SpecVersion spec;        ///< of `config`
  json::Value config;      ///< the Ignition config; null when the report is fatal
  bool is_packed = false;  ///< contents were gzipped: their bytes differ from Butane's, what they unpack to does not
  Report report;           ///< positions are lines of the Butane config

  // What the variant `openshift` puts around the config; null otherwise.
  json::Value metadata;  ///< name and labels of the MachineConfig
  json::Value settings;  ///< what its spec has beside the config

  bool is_machine_config() const { return !metadata.is_null(); }
};

/// An object with a `variant`, and not of an API.
bool is_butane(const json::Value& document);

ButaneResult translate_butane(const yaml::Node& document, const ButaneOptions& options);

/// Where in a Butane config the field of its MachineConfig comes from: {"openshift", "kernel_arguments"} for
/// {"spec", "kernelArguments"}.
json::Steps butane_field(const json::Steps& field);

}  // namespace strake::ignition
