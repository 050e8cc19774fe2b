#include "cmd/input/butane_input.h"

#include <algorithm>

#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/node_annotations.h"
#include "cmd/input/text_input.h"

namespace strake::cmd {

namespace {

constexpr std::size_t kMaxButaneBytes = std::size_t{64} << 20;

}  // namespace

Result<ignition::ButaneResult> ButaneReader::translate(std::string_view text, std::size_t index) {
  if (!files_dir_.empty() && !folder_) {
    STRAKE_TRY(LocalFolder folder, LocalFolder::open(files_dir_));
    folder_.emplace(std::move(folder));
  }
  if (!nodes_ || text.data() != text_.data()) {
    yaml::ParseLimits limits;
    limits.max_bytes = kMaxButaneBytes;
    STRAKE_TRY(nodes_, yaml::parse_nodes(text, limits));
    text_ = text;
  }
  if (index >= nodes_->size()) return error(Code::kInvalidArgument, "the document cannot be read as a Butane config");
  return ignition::translate_butane((*nodes_)[index],
                                    {.files = folder_ ? &*folder_ : nullptr, .role_label = api::label::kRole});
}

kube::Object machine_config_of(const ignition::ButaneResult& butane) {
  json::Value object =
      json::Object{{"apiVersion", fmt::format("{}/{}", api::kMachineConfig.group, api::kMachineConfig.version)},
                   {"kind", api::kMachineConfig.kind},
                   {"metadata", butane.metadata},
                   {"spec", butane.settings}};
  api::MachineConfigEdit(object).set_config(butane.config);
  return kube::Object(std::move(object));
}

std::string butane_note(std::string_view file, const ignition::Finding& finding) {
  return fmt::format("{}:{}: {}", shown_path(file), finding.position ? finding.position->line : 1, finding.to_string());
}

Error butane_error(std::string_view file, const ignition::Report& report) {
  const auto is_error = [](const ignition::Finding& finding) { return finding.severity == ignition::Severity::kError; };
  const auto first = std::ranges::find_if(report.findings, is_error);
  const auto others = std::ranges::count_if(report.findings, is_error) - 1;
  return error(Code::kInvalidArgument, "{}{}", butane_note(file, *first),
               others > 0 ? fmt::format("; and {} more", others) : "");
}

}  // namespace strake::cmd
