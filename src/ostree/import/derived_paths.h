// Where the entries of a derived layer go: what a Containerfile puts on top of an OS is deployed differently from how a
// container runtime shows it. /etc becomes /usr/etc; what is not below /usr, /etc or /var is dropped unless the OS has
// a root of its own making; whiteouts and opaque markers speak about the layers below.
#pragma once

#include <string>
#include <string_view>

namespace strake::ostree {

struct DeployedEntry {
  enum class Kind {
    kPlaced,   ///< at `path`
    kDropped,  ///< counted under the name `path`
    kRemoves,  ///< what layers below have at `path`
    kOpaque,   ///< hides what layers below have in folder `path`
    kIgnored,  ///< a mark of a file system driver
  };
  Kind kind = Kind::kPlaced;
  std::string path{};
};

/// `path` is clean. `any_toplevel`: the OS keeps new folders at the top (composefs, transient root).
DeployedEntry deploy_entry(const std::string& path, bool is_folder, bool any_toplevel);

/// The same without looking for markers, which the commit of a layer keeps as files.
DeployedEntry deploy_path(const std::string& path, bool any_toplevel);

/// What a marker's name in a folder says; kPlaced: it is none. `path` is the name alone.
DeployedEntry read_marker(std::string_view name);

/// False when `any_toplevel` decides about an entry below this name.
bool is_known_toplevel(std::string_view toplevel);

/// Whether a prepare-root.conf asks for a root where any_toplevel holds.
bool keeps_any_toplevel(std::string_view prepare_root_conf);
inline constexpr std::string_view kPrepareRootConf = "usr/lib/ostree/prepare-root.conf";
inline constexpr std::size_t kMaxPrepareRootBytes = 64 * 1024;

/// What build tools leave empty in /etc of every image; removed when it is an empty file.
inline constexpr std::string_view kInjectedFiles[] = {"usr/etc/hostname", "usr/etc/resolv.conf"};

}  // namespace strake::ostree
