#include "agent/steps.h"

#include <algorithm>

namespace strake::agent {

namespace {

bool is_folder(const std::optional<FileState>& state) { return state && state->kind == FileState::Kind::kDirectory; }

bool is_below(const std::string& path, const std::string& folder) {
  return path.size() > folder.size() && path.starts_with(folder) && path[folder.size()] == '/';
}

const std::optional<FileState>& state_at(const FileStates& states, const std::string& path) {
  static const std::optional<FileState> kNothing;
  const auto found = states.find(path);
  return found == states.end() ? kNothing : found->second;
}

Step writing_step(const std::string& path, const FileState& want) {
  if (want.kind == FileState::Kind::kLink) return WriteLink{path, want.contents};
  return WriteFile{path, want.contents, want.mode, want.owner};
}

/// What has to happen, sorted by kind; the order within a kind is the order of the paths.
struct FileChanges {
  std::set<std::string> remove_files;
  std::set<std::string> replace_folders;  ///< a file or link takes the folder's place
  std::set<std::string> make_folders;
  std::set<std::string> write;
  std::set<std::string> drop_folders;
};

Status add_folders_above(const FileStates& have, const FileStates& want, const std::string& path,
                         FileChanges& changes) {
  for (const std::string& folder : folders_above(path)) {
    const std::optional<FileState>& there = state_at(have, folder);
    const auto wanted = want.find(folder);
    if (wanted != want.end() && wanted->second && wanted->second->kind == FileState::Kind::kFile) {
      return error(Code::kInvalidArgument, "the config has a file {} and another one below it, {}; remove one of them",
                   folder, path);
    }
    // Behind a link may be a folder; whether it is, shows when the file is written.
    const bool is_link = (there && there->kind == FileState::Kind::kLink) || (wanted != want.end() && wanted->second);
    if (is_link || is_folder(there)) continue;
    if (there) {
      if (wanted == want.end()) {
        return error(Code::kExists, "{} cannot be written: {} is a file, and a folder is needed there; move it away",
                     path, folder);
      }
      changes.remove_files.insert(folder);
    }
    changes.make_folders.insert(folder);
  }
  return {};
}

/// The folders that hold nothing but what is removed, when a file is to stand where the outermost of them is.
void add_folders_within(const FileStates& have, FileChanges& changes) {
  std::set<std::string> within;
  for (const std::string& replaced : changes.replace_folders) {
    for (const std::string& removed : changes.remove_files) {
      if (!is_below(removed, replaced)) continue;
      for (const std::string& folder : folders_above(removed)) {
        if (is_below(folder, replaced) && is_folder(state_at(have, folder))) within.insert(folder);
      }
    }
  }
  changes.replace_folders.merge(within);
}

std::vector<Step> in_order(const FileStates& want, const FileChanges& changes) {
  std::vector<Step> steps;
  const auto in_the_way = [&](const std::string& path) {
    return changes.make_folders.contains(path) ||
           std::any_of(changes.replace_folders.begin(), changes.replace_folders.end(),
                       [&](const std::string& folder) { return is_below(path, folder); });
  };
  for (const std::string& path : changes.remove_files) {
    if (in_the_way(path)) steps.emplace_back(RemoveFile{path});
  }
  for (auto it = changes.replace_folders.rbegin(); it != changes.replace_folders.rend(); ++it)
    steps.emplace_back(RemoveFolder{*it});
  for (const std::string& path : changes.make_folders) steps.emplace_back(MakeFolder{path});
  for (const std::string& path : changes.write) steps.push_back(writing_step(path, *want.at(path)));
  for (const std::string& path : changes.remove_files) {
    if (!in_the_way(path)) steps.emplace_back(RemoveFile{path});
  }
  for (auto it = changes.drop_folders.rbegin(); it != changes.drop_folders.rend(); ++it)
    steps.emplace_back(RemoveFolder{*it, true});
  return steps;
}

}  // namespace

std::string_view to_string(TellService::What what) {
  switch (what) {
    case TellService::What::kReadUnits: return "read units anew";
    case TellService::What::kReload: return "reload";
    case TellService::What::kRestart: return "restart";
  }
  return "unknown";
}

Result<TellService::What> parse_tell_service(std::string_view text) {
  for (const auto what : {TellService::What::kReadUnits, TellService::What::kReload, TellService::What::kRestart}) {
    if (text == to_string(what)) return what;
  }
  return error(Code::kCorrupt, "'{}' is nothing a service is told", text);
}

std::string to_string(const Step& step) {
  struct Text {
    std::string operator()(const MakeFolder& step) const { return fmt::format("make folder {}", step.path); }
    std::string operator()(const WriteFile& step) const {
      return fmt::format("write {} ({:04o}, {} bytes)", step.path, step.mode, step.contents.size());
    }
    std::string operator()(const WriteLink& step) const { return fmt::format("link {} to {}", step.path, step.target); }
    std::string operator()(const RemoveFile& step) const { return fmt::format("remove {}", step.path); }
    std::string operator()(const RemoveFolder& step) const { return fmt::format("remove folder {}", step.path); }
    std::string operator()(const StageOs& step) const {
      return fmt::format("stage {} with kernel arguments [{}]",
                         step.target.image ? "OS image " + step.target.image->to_string() : "the OS image that runs",
                         fmt::join(step.target.kernel_arguments, " "));
    }
    std::string operator()(const TellService& step) const {
      return step.unit.empty() ? std::string(to_string(step.what))
                               : fmt::format("{} {}", to_string(step.what), step.unit);
    }
    std::string operator()(const Reboot& step) const { return fmt::format("reboot: {}", step.reason); }
  };
  return std::visit(Text{}, step);
}

std::vector<std::string> folders_above(const std::string& path) {
  std::vector<std::string> folders;
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1))
    folders.push_back(path.substr(0, slash));
  return folders;
}

bool same_entry(const std::optional<FileState>& have, const std::optional<FileState>& want) {
  if (!have || !want) return !have && !want;
  if (have->kind != want->kind) return false;
  switch (want->kind) {
    case FileState::Kind::kDirectory: return true;
    case FileState::Kind::kLink: return have->contents == want->contents;
    case FileState::Kind::kFile: return have->contents == want->contents && have->mode == want->mode;
  }
  return false;
}

Result<std::vector<Step>> file_steps(const FileStates& have, const FileStates& want) {
  FileChanges changes;
  for (const auto& [path, wanted] : want) {
    const std::optional<FileState>& there = state_at(have, path);
    if (wanted && !is_folder(wanted)) STRAKE_CHECK_OK(add_folders_above(have, want, path, changes));
    if (same_entry(there, wanted)) continue;
    if (!wanted) {
      (is_folder(there) ? changes.drop_folders : changes.remove_files).insert(path);
    } else if (is_folder(wanted)) {
      if (there) changes.remove_files.insert(path);
      changes.make_folders.insert(path);
    } else {
      if (is_folder(there)) changes.replace_folders.insert(path);
      changes.write.insert(path);
    }
  }
  for (const auto& [path, wanted] : want) {
    if (!wanted) continue;
    for (const std::string& folder : folders_above(path)) changes.drop_folders.erase(folder);
  }
  add_folders_within(have, changes);
  return in_order(want, changes);
}

std::set<std::string> changed_paths(const std::vector<Step>& steps) {
  std::set<std::string> paths;
  for (const Step& step : steps) {
    std::visit(
        [&](const auto& each) {
          if constexpr (requires { each.path; }) paths.insert(each.path);
        },
        step);
  }
  return paths;
}

}  // namespace strake::agent
