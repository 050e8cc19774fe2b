// Butane configs where verbs read MachineConfigs or Ignition configs.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "cmd/cli/command.h"
#include "cmd/input/local_files.h"
#include "codec/yaml_node.h"
#include "ignition/butane/butane.h"
#include "kube/object.h"

namespace strake::cmd {

inline constexpr OptionSpec kFilesDirOption{
    "d,files-dir", "DIR", "where Butane configs find what they name as local: files, units, trees", "", kFileValue};

/// Translates the documents of one text; the folder of local files is opened when the first Butane config is found.
class ButaneReader {
 public:
  /// `files_dir` is empty when none was given.
  explicit ButaneReader(std::string files_dir) : files_dir_(std::move(files_dir)) {}

  /// The document at `index` of those yaml::parse_stream() gives for `text`.
  Result<ignition::ButaneResult> translate(std::string_view text, std::size_t index);

 private:
  std::string files_dir_;
  std::optional<LocalFolder> folder_;
  std::optional<std::vector<yaml::Node>> nodes_;  ///< of the last text
  std::string_view text_;
};

/// The MachineConfig of variant `openshift`.
kube::Object machine_config_of(const ignition::ButaneResult& butane);

/// "site.bu:7: storage.files[0].mode: ..."
std::string butane_note(std::string_view file, const ignition::Finding& finding);

/// The errors of a report as one error, the first in full.
Error butane_error(std::string_view file, const ignition::Report& report);

}  // namespace strake::cmd
