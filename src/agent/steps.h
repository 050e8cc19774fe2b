// The steps an update is made of, as values: what is printed is what is run. Each can be run again after a crash
// without harm, and each can be undone from what the journal keeps.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/file_tree.h"
#include "base/result.h"
#include "osbackend/os_backend.h"

namespace strake::agent {

struct MakeFolder {
  std::string path;
};
struct WriteFile {
  std::string path;
  std::string contents;
  std::uint32_t mode = 0644;
  FileOwner owner;
};
struct WriteLink {
  std::string path;
  std::string target;
};
struct RemoveFile {
  std::string path;
};
struct RemoveFolder {
  std::string path;
  bool keep_if_used = false;  ///< what somebody else put there since is not ours to remove
};
struct StageOs {
  osbackend::OsTarget target;
};
/// A running service, or the manager of all of them, takes over what was written. Undone by doing it again once the old
/// files are back.
struct TellService {
  enum class What { kReadUnits, kReload, kRestart };
  What what = What::kReadUnits;
  std::string unit{};  ///< not of kReadUnits

  bool operator==(const TellService&) const = default;
};
std::string_view to_string(TellService::What what);
Result<TellService::What> parse_tell_service(std::string_view text);

struct Reboot {
  std::string reason;
};

using Step = std::variant<MakeFolder, WriteFile, WriteLink, RemoveFile, RemoveFolder, StageOs, TellService, Reboot>;

/// One line for people: "write /etc/motd (0644, 12 bytes)". Never the contents.
std::string to_string(const Step& step);

/// Paths and what is there; nullopt: nothing.
using FileStates = std::map<std::string, std::optional<FileState>>;

/// The folders above a path, outermost first, without the root.
std::vector<std::string> folders_above(const std::string& path);

/// Whether a file, link or folder needs no change to be as wanted. Owners are set when something is written, and not
/// compared: a sandbox cannot set them.
bool same_entry(const std::optional<FileState>& have, const std::optional<FileState>& want);

/// The steps from what is to what should be, in an order in which each can succeed: what stands in the way goes first,
/// what nothing needs any more goes last. `have` must hold every path of `want` and every folder above it. An error: a
/// file that `want` says nothing about stands where a folder is needed.
Result<std::vector<Step>> file_steps(const FileStates& have, const FileStates& want);

/// The paths a list of steps changes.
std::set<std::string> changed_paths(const std::vector<Step>& steps);

}  // namespace strake::agent
