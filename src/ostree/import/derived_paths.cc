#include "ostree/import/derived_paths.h"

#include "base/text.h"

namespace strake::ostree {

namespace {

constexpr std::string_view kMarkerPrefix = ".wh.";
constexpr std::string_view kOpaqueName = ".wh..wh..opq";
constexpr std::string_view kDriverPrefix = ".wh..wh.";

using Kind = DeployedEntry::Kind;

std::string_view first_part(std::string_view path) { return path.substr(0, path.find('/')); }

bool is_emptied_at_boot(std::string_view toplevel) {
  return toplevel == "run" || toplevel == "tmp" || toplevel == "proc" || toplevel == "sys" || toplevel == "dev";
}

}  // namespace

bool is_known_toplevel(std::string_view toplevel) {
  return toplevel == "usr" || toplevel == "etc" || toplevel == "var" || is_emptied_at_boot(toplevel);
}

DeployedEntry deploy_path(const std::string& path, bool any_toplevel) {
  const std::string_view top = first_part(path);
  if (top == "usr" || top == "var") return {Kind::kPlaced, path};
  if (top == "etc") return {Kind::kPlaced, "usr/" + path};
  if (is_emptied_at_boot(top)) {
    if (path == top) return {Kind::kPlaced, path};
    return {Kind::kDropped, std::string(first_part(std::string_view(path).substr(top.size() + 1)))};
  }
  if (any_toplevel && !path.starts_with("sysroot/ostree")) return {Kind::kPlaced, path};
  return {Kind::kDropped, std::string(top)};
}

DeployedEntry read_marker(std::string_view name) {
  if (!name.starts_with(kMarkerPrefix)) return {Kind::kPlaced, std::string(name)};
  if (name == kOpaqueName) return {Kind::kOpaque, {}};
  if (name.starts_with(kDriverPrefix) || name == kMarkerPrefix) return {Kind::kIgnored, {}};
  return {Kind::kRemoves, std::string(name.substr(kMarkerPrefix.size()))};
}

DeployedEntry deploy_entry(const std::string& path, bool is_folder, bool any_toplevel) {
  DeployedEntry entry = deploy_path(path, any_toplevel);
  if (entry.kind != Kind::kPlaced || is_folder) return entry;
  const std::size_t slash = entry.path.rfind('/');
  const std::size_t name = slash == std::string::npos ? 0 : slash + 1;
  DeployedEntry marker = read_marker(std::string_view(entry.path).substr(name));
  if (marker.kind == Kind::kPlaced) return entry;
  if (marker.kind == Kind::kOpaque) return {Kind::kOpaque, entry.path.substr(0, name == 0 ? 0 : slash)};
  return {marker.kind, entry.path.substr(0, name) + marker.path};
}

bool keeps_any_toplevel(std::string_view text) {
  std::string section;
  while (!text.empty()) {
    std::string line;
    for (const char c : take_until(text, '\n')) {
      if (c != ' ' && c != '\t' && c != '\r') line += c;
    }
    if (line.starts_with('[')) section = line;
    const std::string_view value = std::string_view(line).substr(line.find('=') + 1);
    const bool yes = value == "true" || value == "yes" || value == "1" || value == "signed" || value == "verity";
    if (yes && section == "[composefs]" && line.starts_with("enabled=")) return true;
    if (yes && section == "[root]" && line.starts_with("transient=")) return true;
  }
  return false;
}

}  // namespace strake::ostree
