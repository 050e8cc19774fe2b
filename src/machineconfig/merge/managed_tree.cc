#include "machineconfig/merge/managed_tree.h"

#include <string_view>
#include <vector>

#include "base/text.h"
#include "ignition/config.h"

namespace strake::machineconfig {

namespace {

constexpr std::string_view kUnitFolder = "/etc/systemd/system/";

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  while (true) {
    const std::size_t start = text.find_first_not_of(" \t");
    if (start == std::string_view::npos) return words;
    text.remove_prefix(start);
    const std::size_t end = text.find_first_of(" \t");
    words.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) return words;
    text.remove_prefix(end);
  }
}

/// Folders below /etc/systemd/system that link to the unit once it is enabled.
std::vector<std::string> enabling_folders(std::string_view contents) {
  std::vector<std::string> folders;
  bool in_install = false;
  while (!contents.empty()) {
    std::string_view line = take_until(contents, '\n');
    if (line.starts_with('[')) {
      in_install = line.starts_with("[Install]");
      continue;
    }
    if (!in_install) continue;
    for (const auto& [option, suffix] :
         {std::pair<std::string_view, std::string_view>{"WantedBy=", ".wants"}, {"RequiredBy=", ".requires"}}) {
      if (!line.starts_with(option)) continue;
      for (const std::string& target : words_of(line.substr(option.size())))
        folders.push_back(target + std::string(suffix));
    }
  }
  return folders;
}

}  // namespace

Result<ManagedTree> managed_tree(const json::Value& spec) {
  ManagedTree tree;
  const json::Value* config = json::find(spec, {"config"});
  if (config == nullptr || config->is_null()) return tree;
  STRAKE_TRY(const auto files, ignition::files_of(*config));
  for (const ignition::FileEntry& file : files) {
    if (!file.user_name.empty() || !file.group_name.empty()) {
      return error(Code::kUnsupported, "file {}: owners are given by id, not by name ('{}')", file.path,
                   file.user_name.empty() ? file.group_name : file.user_name);
    }
    tree[file.path] = {ManagedEntry::Kind::kFile, file.contents, file.mode, {file.user_id, file.group_id}};
  }
  for (const ignition::UnitEntry& unit : ignition::units_of(*config)) {
    const std::string path = std::string(kUnitFolder) + unit.name;
    for (const ignition::DropinEntry& dropin : unit.dropins) {
      if (!dropin.contents.empty())
        tree[path + ".d/" + dropin.name] = {ManagedEntry::Kind::kFile, dropin.contents, 0644, {}};
    }
    if (unit.mask.value_or(false)) {
      tree[path] = {ManagedEntry::Kind::kLink, "/dev/null", 0777, {}};
      continue;
    }
    if (!unit.contents || unit.contents->empty()) continue;
    tree[path] = {ManagedEntry::Kind::kFile, *unit.contents, 0644, {}};
    if (!unit.enabled.value_or(false)) continue;
    for (const std::string& folder : enabling_folders(*unit.contents)) {
      tree[fmt::format("{}{}/{}", kUnitFolder, folder, unit.name)] = {ManagedEntry::Kind::kLink, path, 0777, {}};
    }
  }
  return tree;
}

}  // namespace strake::machineconfig
