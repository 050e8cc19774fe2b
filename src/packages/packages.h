// The packages installed in an OS image, from its package databases: bytes in, values out. Nothing here trusts the
// bytes.
//
//   rpm    one SQLite file (read by a reader of ours: sqlite_file.h) with one header a package (rpm_header.h)
//   dpkg   one text file, or a folder of them where packages were unpacked without dpkg
//
// The older databases of rpm (Berkeley DB, ndb) are recognised and refused with kUnsupported.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace strake::packages {

/// Decides how versions are ordered.
enum class PackageSystem { kRpm, kDpkg };

std::string_view to_string(PackageSystem system);  ///< "rpm", "dpkg"

struct Package {
  std::string name;
  std::string epoch = {};  ///< decimal; empty: none, which orders as 0
  std::string version = {};
  std::string release = {};       ///< what rpm calls release and dpkg the Debian revision; empty: none
  std::string architecture = {};  ///< empty: none, as for the keys rpm lists among its packages
  std::string source = {};        ///< rpm: file name of the source package; dpkg: name of the source, if it is another
  std::uint64_t installed_bytes = 0;
  std::optional<std::int64_t> installed_at = {};  ///< seconds since 1970; dpkg does not keep it

  bool operator==(const Package&) const = default;
};

/// "[EPOCH:]VERSION[-RELEASE]", without an epoch of 0 that was not written down.
std::string version_text(const Package& package);

/// As rpm and dpkg name it: "bash-5.2.26-3.el9.x86_64", "bash 5.2.15-2 amd64".
std::string identity_text(PackageSystem system, const Package& package);

// --- Where databases are ---------------------------------------------------------------------------------------------

enum class DatabaseForm {
  kRpmFile,        ///< read_rpm_database
  kDpkgFile,       ///< read_dpkg_status
  kDpkgDirectory,  ///< each regular file in it for which is_dpkg_member: read_dpkg_member
};

struct DatabaseLocation {
  std::string_view path;  ///< "usr/share/rpm/rpmdb.sqlite": relative to the root of the OS
  DatabaseForm form;
};

/// In the order in which they are looked for: of each package system the first that exists is the one in use.
std::span<const DatabaseLocation> database_locations();

// --- Reading ---------------------------------------------------------------------------------------------------------

inline constexpr std::uint64_t kMaxDatabaseBytes = 512u << 20;  ///< of a database a caller should load
inline constexpr std::size_t kMaxPackages = 200'000;

/// The packages of `rpmdb.sqlite` (or of a Berkeley or ndb file: kUnsupported), sorted by name, then version, then
/// architecture. Where a journal lies beside the file, what only the journal holds is not seen.
Result<std::vector<Package>> read_rpm_database(std::string_view bytes);

/// The packages of dpkg's `status` that are there, whole or in parts; sorted in the same way.
Result<std::vector<Package>> read_dpkg_status(std::string_view text);

/// A file of `status.d`: every package named in it is installed.
Result<std::vector<Package>> read_dpkg_member(std::string_view text);
bool is_dpkg_member(std::string_view file_name);

/// What the readers return; for callers that put several files of a folder together.
void sort_packages(PackageSystem system, std::vector<Package>& packages);

// --- Comparing -------------------------------------------------------------------------------------------------------

/// Epoch, version and release; less than 0: `left` is older.
int compare_versions(PackageSystem system, const Package& left, const Package& right);

struct PackageChange {
  Package before, after;

  bool operator==(const PackageChange&) const = default;
};

struct PackageDiff {
  std::vector<Package> added, removed;
  std::vector<PackageChange> upgraded;  ///< to a newer version, or to another spelling of the same
  std::vector<PackageChange> downgraded;

  bool empty() const { return added.empty() && removed.empty() && upgraded.empty() && downgraded.empty(); }
  bool operator==(const PackageDiff&) const = default;
};

/// Of a name and architecture that is there several times (kernels), what both sides have is set aside, then newest
/// goes with newest. A package that only changed its architecture is a change, not one added and one removed.
PackageDiff diff_packages(PackageSystem system, const std::vector<Package>& before, const std::vector<Package>& after);

}  // namespace strake::packages
