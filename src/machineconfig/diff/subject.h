// What a rendered config is made of, named one by one: a diff speaks of these subjects, and provenance says which
// MachineConfig each came from.
#pragma once

#include <compare>
#include <string>
#include <string_view>

namespace strake::machineconfig {

enum class SubjectKind {
  kOsImage,
  kExtensionsImage,
  kKernelType,
  kFips,
  kKernelArgument,   ///< one item of spec.kernelArguments, as written
  kExtension,        ///< one item of spec.extensions
  kFile,             ///< by path
  kDirectory,        ///< by path
  kLink,             ///< by path
  kUnit,             ///< by name
  kDropin,           ///< "a.service/10-limits.conf"
  kUser,             ///< by name; everything but its keys and password
  kSshKey,           ///< "core ssh-ed25519 AAAA..."
  kPassword,         ///< by user name
  kGroup,            ///< by name
  kIgnitionSection,  ///< what only a first boot applies: "storage.disks", "kernelArguments", "ignition.security"
};

/// "file", "unit", "kernel argument": as a sentence needs it.
std::string_view to_string(SubjectKind kind);

struct Subject {
  SubjectKind kind = SubjectKind::kFile;
  std::string name;  ///< empty where the kind has only one: OS image, kernel type, FIPS

  /// "file /etc/chrony.conf"; "OS image"
  std::string to_string() const;
  auto operator<=>(const Subject&) const = default;
};

}  // namespace strake::machineconfig
