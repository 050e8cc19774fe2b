#include "machineconfig/diff/subject.h"

namespace strake::machineconfig {

std::string_view to_string(SubjectKind kind) {
  switch (kind) {
    case SubjectKind::kOsImage: return "OS image";
    case SubjectKind::kExtensionsImage: return "extensions image";
    case SubjectKind::kKernelType: return "kernel type";
    case SubjectKind::kFips: return "FIPS mode";
    case SubjectKind::kKernelArgument: return "kernel argument";
    case SubjectKind::kExtension: return "extension";
    case SubjectKind::kFile: return "file";
    case SubjectKind::kDirectory: return "directory";
    case SubjectKind::kLink: return "link";
    case SubjectKind::kUnit: return "unit";
    case SubjectKind::kDropin: return "drop-in";
    case SubjectKind::kUser: return "user";
    case SubjectKind::kSshKey: return "SSH key";
    case SubjectKind::kPassword: return "password of";
    case SubjectKind::kGroup: return "group";
    case SubjectKind::kIgnitionSection: return "Ignition section";
  }
  return "unknown";
}

std::string Subject::to_string() const {
  std::string text(machineconfig::to_string(kind));
  if (!name.empty()) text += " " + name;
  return text;
}

}  // namespace strake::machineconfig
