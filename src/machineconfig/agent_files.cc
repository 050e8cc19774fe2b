#include "machineconfig/agent_files.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "codec/digest.h"

namespace strake::machineconfig {

namespace {

/// Theirs with everything below.
constexpr std::array<std::string_view, 7> kOwnPaths = {
    "/var/lib/strake",
    "/run/strake",
    "/etc/strake/agent",
    "/etc/strake/kubeconfig",
    "/usr/bin/strake",
    "/usr/local/bin/strake",
    "/etc/machine-config-daemon/currentconfig",
};

constexpr std::array<std::string_view, 4> kUnitFolders = {"/etc/systemd/system/", "/run/systemd/system/",
                                                          "/usr/lib/systemd/system/", "/usr/local/lib/systemd/system/"};

/// Links every image-based system has: what lies below the one lies below the other.
struct FolderAlias {
  std::string_view alias;
  std::string_view folder;
};
constexpr std::array<FolderAlias, 8> kFolderAliases = {{{"/bin", "/usr/bin"},
                                                        {"/sbin", "/usr/bin"},
                                                        {"/usr/sbin", "/usr/bin"},
                                                        {"/lib", "/usr/lib"},
                                                        {"/lib64", "/usr/lib64"},
                                                        {"/var/run", "/run"},
                                                        {"/var/usrlocal", "/usr/local"},
                                                        {"/ostree", "/sysroot/ostree"}}};
constexpr std::string_view kConfiguredUnits = kUnitFolders.front();

/// Parts of a path that are about the unit: itself, links that enable it, drop-ins, those for its prefix as well.
constexpr std::array<std::string_view, 3> kUnitParts = {kAgentUnit, "strake-agent.service.d", "strake-.service.d"};

bool is_at_or_below(std::string_view path, std::string_view folder) {
  return path.starts_with(folder) && (path.size() == folder.size() || path[folder.size()] == '/');
}

/// What is left of a path behind `count` parts; nullopt when it has no more.
std::optional<std::string_view> behind_parts(std::string_view path, int count) {
  for (; count > 0; --count) {
    const std::size_t slash = path.find('/', 1);
    if (slash == std::string_view::npos) return std::nullopt;
    path.remove_prefix(slash);
  }
  return path;
}

/// The system seen from elsewhere: /proc/<process>/root, and the deployment that is booted, which may be any.
std::optional<std::string> seen_from_root(std::string_view path) {
  if (path.starts_with("/proc/")) {
    const auto below = behind_parts(path, 2);  // /root/...
    if (below && below->starts_with("/root/")) return std::string(below->substr(5));
  }
  if (path.starts_with("/sysroot/ostree/deploy/")) {
    const auto below = behind_parts(path, 4);  // /var/... or /deploy/<checksum>/...
    if (below && is_at_or_below(*below, "/var")) return std::string(*below);
    if (below && below->starts_with("/deploy/")) {
      if (const auto deployed = behind_parts(*below, 2)) return std::string(*deployed);
    }
  }
  return std::nullopt;
}

/// The one name of a place that has several.
std::string without_aliases(std::string path) {
  constexpr int kMostAliases = 8;  // more than can follow each other; each makes the path another
  for (int i = 0; i < kMostAliases; ++i) {
    if (auto seen = seen_from_root(path)) {
      path = *std::move(seen);
      continue;
    }
    const auto known = std::find_if(kFolderAliases.begin(), kFolderAliases.end(),
                                    [&](const FolderAlias& one) { return is_at_or_below(path, one.alias); });
    if (known == kFolderAliases.end()) break;
    path = std::string(known->folder) + path.substr(known->alias.size());
  }
  return path;
}

std::string clean(std::string_view path) {
  std::string text = std::filesystem::path(path).lexically_normal().string();
  // Two slashes at the beginning may mean something else to POSIX, and mean one here.
  while (text.starts_with("//")) text.erase(0, 1);
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return without_aliases(std::move(text));
}

bool is_about_unit(std::string_view path) {
  const auto folder = std::find_if(kUnitFolders.begin(), kUnitFolders.end(),
                                   [&](std::string_view one) { return path.starts_with(one); });
  if (folder == kUnitFolders.end()) return false;
  const std::filesystem::path below(path.substr(folder->size()));
  return std::any_of(below.begin(), below.end(), [](const std::filesystem::path& part) {
    return std::find(kUnitParts.begin(), kUnitParts.end(), part.string()) != kUnitParts.end();
  });
}

/// What is no folder stands where one of theirs must be.
bool is_in_the_way(std::string_view path) {
  const std::string place = clean(path);
  return std::any_of(kOwnPaths.begin(), kOwnPaths.end(),
                     [&](std::string_view own) { return is_at_or_below(own, place); }) ||
         std::any_of(kUnitFolders.begin(), kUnitFolders.end(),
                     [&](std::string_view folder) { return is_at_or_below(folder, place); });
}

std::string text_of(const json::Value& entry, std::string_view member) {
  return json::find_string(entry, {member}).value_or("");
}

class ClaimFinder {
 public:
  explicit ClaimFinder(const json::Value& ignition) : ignition_(ignition) {}

  std::vector<AgentFileClaim> find() {
    each("storage", "files", [&](const json::Value& file, const std::string& member) {
      check(member + ".path", text_of(file, "path"), true);
    });
    each("storage", "directories", [&](const json::Value& folder, const std::string& member) {
      check(member + ".path", text_of(folder, "path"), false);
    });
    each("storage", "links", [&](const json::Value& link, const std::string& member) {
      const std::string path = text_of(link, "path");
      const std::string target = text_of(link, "target");
      check(member + ".path", path, true);
      const auto leads_to = std::filesystem::path(path).parent_path() / target;
      if (is_agent_path(leads_to.string())) claims_.push_back({member + ".target", target});
    });
    each("systemd", "units", [&](const json::Value& unit, const std::string& member) {
      const std::string name = text_of(unit, "name");
      const std::string place = std::string(kConfiguredUnits) + name;
      // Also a unit that is only enabled, disabled or masked.
      if (is_agent_path(place)) {
        const bool has_dropins = json::find(unit, {"dropins"}) != nullptr;
        return claims_.push_back({member + ".name", name, name == kAgentUnit && !has_dropins});
      }
      const json::Value* dropins = json::find(unit, {"dropins"});
      if (dropins == nullptr || !dropins->is_array()) return;
      for (std::size_t i = 0; i < dropins->get_array().size(); ++i) {
        const std::string dropin = text_of(dropins->get_array()[i], "name");
        if (is_agent_path(fmt::format("{}.d/{}", place, dropin)))
          claims_.push_back({fmt::format("{}.dropins[{}].name", member, i), dropin});
      }
    });
    return std::move(claims_);
  }

 private:
  void each(std::string_view section, std::string_view list, const auto& visit) {
    const json::Value* entries = json::find(ignition_, {section, list});
    if (entries == nullptr || !entries->is_array()) return;
    for (std::size_t i = 0; i < entries->get_array().size(); ++i) {
      visit(entries->get_array()[i], fmt::format("{}.{}[{}]", section, list, i));
    }
  }

  void check(std::string member, std::string path, bool replaces_folders) {
    if (path.empty()) return;
    if (is_agent_path(path) || (replaces_folders && is_in_the_way(path)))
      claims_.push_back({std::move(member), std::move(path)});
  }

  const json::Value& ignition_;
  std::vector<AgentFileClaim> claims_;
};

}  // namespace

bool is_agent_path(std::string_view path) {
  const std::string place = clean(path);
  return is_about_unit(place) || std::any_of(kOwnPaths.begin(), kOwnPaths.end(),
                                             [&](std::string_view own) { return is_at_or_below(place, own); });
}

std::string AgentFileClaim::to_string() const {
  return fmt::format("{}: {} belongs to the agent of the node; a MachineConfig may not name it", member, path);
}

std::optional<std::string> agent_unit_mark(const json::Value& ignition) {
  const json::Value* units = json::find(ignition, {"systemd", "units"});
  if (units == nullptr || !units->is_array()) return std::nullopt;
  for (const json::Value& unit : units->get_array()) {
    if (json::find_string(unit, {"name"}) == kAgentUnit) {
      return codec::Digest::sha256_of(text_of(unit, "contents")).to_string();
    }
  }
  return std::nullopt;
}

std::vector<AgentFileClaim> agent_files_named(const json::Value& ignition) { return ClaimFinder(ignition).find(); }

}  // namespace strake::machineconfig
