#include "packages/packages.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace strake::packages {
namespace {

// rpm-ostree keeps the database below /usr/share, newer systems below /usr/lib/sysimage; /var/lib often only leads
// there. The SQLite file comes first: beside it an older one is a leftover.
constexpr DatabaseLocation kLocations[] = {
    {"usr/share/rpm/rpmdb.sqlite", DatabaseForm::kRpmFile},
    {"usr/lib/sysimage/rpm/rpmdb.sqlite", DatabaseForm::kRpmFile},
    {"var/lib/rpm/rpmdb.sqlite", DatabaseForm::kRpmFile},
    {"usr/share/rpm/Packages", DatabaseForm::kRpmFile},
    {"usr/share/rpm/Packages.db", DatabaseForm::kRpmFile},
    {"usr/lib/sysimage/rpm/Packages", DatabaseForm::kRpmFile},
    {"usr/lib/sysimage/rpm/Packages.db", DatabaseForm::kRpmFile},
    {"var/lib/rpm/Packages", DatabaseForm::kRpmFile},
    {"var/lib/rpm/Packages.db", DatabaseForm::kRpmFile},
    {"usr/lib/sysimage/dpkg/status", DatabaseForm::kDpkgFile},
    {"usr/share/dpkg/status", DatabaseForm::kDpkgFile},
    {"var/lib/dpkg/status", DatabaseForm::kDpkgFile},
    {"usr/lib/sysimage/dpkg/status.d", DatabaseForm::kDpkgDirectory},
    {"var/lib/dpkg/status.d", DatabaseForm::kDpkgDirectory},
};

bool same_version(const Package& left, const Package& right) {
  return left.epoch == right.epoch && left.version == right.version && left.release == right.release &&
         left.architecture == right.architecture;
}

struct Sides {
  std::vector<Package> before, after;
};

/// Of what was left of a name on both sides, newest with newest; the rest goes back to `left`.
void pair_newest(PackageSystem system, Sides sides, PackageDiff& diff, Sides& left) {
  sort_packages(system, sides.before);
  sort_packages(system, sides.after);
  while (!sides.before.empty() && !sides.after.empty()) {
    PackageChange change{std::move(sides.before.back()), std::move(sides.after.back())};
    sides.before.pop_back(), sides.after.pop_back();
    const bool older = compare_versions(system, change.after, change.before) < 0;
    (older ? diff.downgraded : diff.upgraded).push_back(std::move(change));
  }
  std::ranges::move(sides.before, std::back_inserter(left.before));
  std::ranges::move(sides.after, std::back_inserter(left.after));
}

/// Pairs what has the same key; returns what found no partner.
template <typename KeyOf>
Sides pair_by(KeyOf key_of, PackageSystem system, Sides sides, PackageDiff& diff) {
  std::map<std::string, Sides> groups;
  for (Package& package : sides.before) groups[key_of(package)].before.push_back(std::move(package));
  for (Package& package : sides.after) groups[key_of(package)].after.push_back(std::move(package));
  Sides left;
  for (auto& [key, group] : groups) pair_newest(system, std::move(group), diff, left);
  return left;
}

/// What `packages` has and `others` has not, counting those that are there several times.
std::vector<Package> without(const std::vector<Package>& packages, const std::vector<Package>& others) {
  std::multimap<std::string_view, const Package*> known;
  for (const Package& other : others) known.emplace(other.name, &other);
  std::vector<Package> rest;
  for (const Package& package : packages) {
    const auto [begin, end] = known.equal_range(package.name);
    const auto same = std::find_if(begin, end, [&](const auto& entry) { return same_version(*entry.second, package); });
    if (same == end) {
      rest.push_back(package);
    } else {
      known.erase(same);
    }
  }
  return rest;
}

}  // namespace

std::string_view to_string(PackageSystem system) {
  switch (system) {
    case PackageSystem::kRpm: return "rpm";
    case PackageSystem::kDpkg: return "dpkg";
  }
  return "unknown";
}

std::string version_text(const Package& package) {
  return fmt::format("{}{}{}{}{}", package.epoch, package.epoch.empty() ? "" : ":", package.version,
                     package.release.empty() ? "" : "-", package.release);
}

std::string identity_text(PackageSystem system, const Package& package) {
  const bool rpm = system == PackageSystem::kRpm;
  return fmt::format("{}{}{}{}{}", package.name, rpm ? '-' : ' ', version_text(package),
                     package.architecture.empty() ? "" : (rpm ? "." : " "), package.architecture);
}

std::span<const DatabaseLocation> database_locations() { return kLocations; }

void sort_packages(PackageSystem system, std::vector<Package>& packages) {
  std::ranges::stable_sort(packages, [system](const Package& left, const Package& right) {
    if (left.name != right.name) return left.name < right.name;
    if (const int order = compare_versions(system, left, right); order != 0) return order < 0;
    return std::tie(left.architecture, left.epoch, left.version, left.release) <
           std::tie(right.architecture, right.epoch, right.version, right.release);
  });
}

PackageDiff diff_packages(PackageSystem system, const std::vector<Package>& before, const std::vector<Package>& after) {
  PackageDiff diff;
  Sides left{.before = without(before, after), .after = without(after, before)};
  left = pair_by([](const Package& p) { return p.name + '\0' + p.architecture; }, system, std::move(left), diff);
  left = pair_by([](const Package& p) { return p.name; }, system, std::move(left), diff);
  diff.added = std::move(left.after);
  diff.removed = std::move(left.before);
  sort_packages(system, diff.added);
  sort_packages(system, diff.removed);
  for (auto* changes : {&diff.upgraded, &diff.downgraded}) {
    std::ranges::stable_sort(*changes, {},
                             [](const PackageChange& c) { return std::tie(c.before.name, c.after.architecture); });
  }
  return diff;
}

}  // namespace strake::packages
