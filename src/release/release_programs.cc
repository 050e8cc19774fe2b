#include "release/release_programs.h"

#include <algorithm>

namespace strake::release {

namespace {

constexpr std::string_view kImageMarker = "_RELEASE_IMAGE_LOCATION_";
constexpr std::string_view kVersionMarker = "_RELEASE_VERSION_LOCATION_";
constexpr std::string_view kArchitectureMarker = "_RELEASE_ARCHITECTURE_LOCATION_";
constexpr std::size_t kImageMarkerRoom = 300;
constexpr std::size_t kShortMarkerRoom = 64;

constexpr std::string_view kReleaseArch = "release";  ///< the architecture of the release itself
constexpr std::string_view kAnyLinuxArch = "any";     ///< the path names it: linux_ARCH

struct KnownProgram {
  std::string_view name;
  std::string_view os;
  std::string_view arch;
  std::string_view component;
  std::string_view path;  ///< {} stands for the architecture
  bool names_release = false;
};

// The first that fits counts: the release's own architecture comes from the small image.
constexpr KnownProgram kPrograms[] = {
    {"oc", "linux", kReleaseArch, "cli", "usr/bin/oc"},
    {"oc", "linux", kAnyLinuxArch, "cli-artifacts", "usr/share/openshift/linux_{}/oc"},
    {"oc", "mac", "amd64", "cli-artifacts", "usr/share/openshift/mac/oc"},
    {"oc", "mac", "arm64", "cli-artifacts", "usr/share/openshift/mac_arm64/oc"},
    {"oc", "windows", "amd64", "cli-artifacts", "usr/share/openshift/windows/oc.exe"},
    {"oc.rhel8", "linux", kAnyLinuxArch, "cli-artifacts", "usr/share/openshift/linux_{}/oc.rhel8"},
    {"oc.rhel9", "linux", kAnyLinuxArch, "cli-artifacts", "usr/share/openshift/linux_{}/oc.rhel9"},
    {"openshift-install", "linux", kReleaseArch, "installer", "usr/bin/openshift-install", true},
    {"openshift-install", "linux", kAnyLinuxArch, "installer-artifacts",
     "usr/share/openshift/linux_{}/openshift-install", true},
    {"openshift-install", "mac", "amd64", "installer-artifacts", "usr/share/openshift/mac/openshift-install", true},
    {"openshift-install", "mac", "arm64", "installer-artifacts", "usr/share/openshift/mac_arm64/openshift-install",
     true},
    {"openshift-install-fips", "linux", kReleaseArch, "baremetal-installer", "usr/bin/openshift-install", true},
    {"openshift-baremetal-install", "linux", kReleaseArch, "baremetal-installer", "usr/bin/openshift-install", true},
    {"ccoctl", "linux", kReleaseArch, "cloud-credential-operator", "usr/bin/ccoctl"},
    {"ccoctl.rhel8", "linux", kReleaseArch, "cloud-credential-operator", "usr/bin/ccoctl.rhel8"},
    {"ccoctl.rhel9", "linux", kReleaseArch, "cloud-credential-operator", "usr/bin/ccoctl.rhel9"},
};

std::string marker_of(std::string_view name, std::size_t room) {
  std::string marker(1, '\0');
  marker += name;
  marker += '\0';
  marker.append(room, 'X');
  marker += '\0';
  return marker;
}

bool fits_arch(const KnownProgram& program, std::string_view arch, std::string_view release_arch) {
  if (program.arch == kAnyLinuxArch) return true;
  return program.arch == kReleaseArch ? arch == release_arch : program.arch == arch;
}

}  // namespace

std::string program_names() {
  std::string names;
  std::string_view last;
  for (const KnownProgram& program : kPrograms) {
    if (program.name == last) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", program.name);
    last = program.name;
  }
  return names;
}

Result<ProgramPlace> find_program(std::string_view name, std::string_view os, std::string_view arch,
                                  std::string_view release_arch) {
  if (os == "darwin") os = "mac";
  std::string systems;
  for (const KnownProgram& program : kPrograms) {
    if (program.name != name) continue;
    systems += fmt::format("{}{}/{}", systems.empty() ? "" : ", ", program.os,
                           program.arch == kReleaseArch    ? release_arch
                           : program.arch == kAnyLinuxArch ? "ARCH"
                                                           : program.arch);
    if (program.os != os || !fits_arch(program, arch, release_arch)) continue;
    std::string path(program.path);
    if (const std::size_t at = path.find("{}"); at != std::string::npos) path.replace(at, 2, arch);
    return ProgramPlace{.component = std::string(program.component),
                        .path = std::move(path),
                        .file_name = fmt::format("{}{}", name, program.os == "windows" ? ".exe" : ""),
                        .names_release = program.names_release,
                        .needs_signing = program.os == "mac" && program.arch == "arm64"};
  }
  if (systems.empty()) return error(Code::kNotFound, "there is no program {}; there are {}", name, program_names());
  return error(Code::kNotFound, "{} is not there for {}/{}; it is for {}", name, os, arch, systems);
}

std::vector<ProgramStamp> stamps_for(const ReleasePayload& payload, const ProgramPlace& program,
                                     std::string_view release_arch) {
  std::vector<ProgramStamp> stamps{{marker_of(kVersionMarker, kShortMarkerRoom), payload.version}};
  if (program.names_release) {
    stamps.push_back({marker_of(kImageMarker, kImageMarkerRoom), payload.pull_spec});
    stamps.push_back({marker_of(kArchitectureMarker, kShortMarkerRoom), std::string(release_arch)});
  }
  return stamps;
}

StampingSink::StampingSink(codec::Sink& output, std::vector<ProgramStamp> stamps)
    : output_(output), stamps_(std::move(stamps)) {
  for (const ProgramStamp& stamp : stamps_) longest_ = std::max(longest_, stamp.marker.size());
}

Status StampingSink::set_stamps() {
  for (auto stamp = stamps_.begin(); stamp != stamps_.end();) {
    const std::size_t at = held_.find(stamp->marker);
    if (at == std::string::npos) {
      ++stamp;
      continue;
    }
    if (stamp->value.size() >= stamp->marker.size()) {
      return error(Code::kInvalidArgument, "'{}' is longer than the {} bytes the program has room for", stamp->value,
                   stamp->marker.size() - 1);
    }
    held_.replace(at, stamp->value.size(), stamp->value);
    held_[at + stamp->value.size()] = '\0';
    stamp = stamps_.erase(stamp);
  }
  return {};
}

Status StampingSink::write(std::span<const std::byte> bytes) {
  held_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  STRAKE_CHECK_OK(set_stamps());
  // A placeholder may have begun: as much as one takes stays until more has come.
  const std::size_t keep = stamps_.empty() ? 0 : longest_ - 1;
  if (held_.size() <= keep) return {};
  const std::size_t ready = held_.size() - keep;
  STRAKE_CHECK_OK(codec::write(output_, std::string_view(held_).substr(0, ready)));
  held_.erase(0, ready);
  return {};
}

Result<bool> StampingSink::finish() {
  STRAKE_CHECK_OK(codec::write(output_, held_));
  held_.clear();
  return stamps_.empty();
}

}  // namespace strake::release
