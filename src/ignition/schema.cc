#include "ignition/schema.h"

#include <array>

#include "base/text.h"
#include "ignition/checks.h"

namespace strake::ignition {

namespace {

using enum MemberType;
constexpr auto kByKey = ListMerge::kByKey;
constexpr auto kConcatenate = ListMerge::kConcatenate;

constexpr std::array kVerificationMembers{Member{"hash", kString}};
constexpr StructSchema kVerification{kVerificationMembers, "", check_verification};

constexpr std::array kHttpHeaderMembers{Member{"name", kString}, Member{"value", kString}};
constexpr StructSchema kHttpHeader{kHttpHeaderMembers, "name", check_http_header};

constexpr std::array kFileResourceMembers{
    Member{"compression", kString}, Member{"httpHeaders", kObjectList, 1, &kHttpHeader}, Member{"source", kString},
    Member{"verification", kObject, 0, &kVerification}};
constexpr StructSchema kResource{kFileResourceMembers, "source", check_resource};

// What configs and authorities are fetched from: until 3.1 without compression, and checked less.
constexpr std::array kReferenceMembers{Member{"compression", kString, 1},
                                       Member{"httpHeaders", kObjectList, 1, &kHttpHeader}, Member{"source", kString},
                                       Member{"verification", kObject, 0, &kVerification}};
constexpr StructSchema kConfigReference{kReferenceMembers, "source", check_config_reference};
constexpr StructSchema kAuthority{kReferenceMembers, "source", check_certificate_authority};

constexpr std::array kIgnitionConfigMembers{Member{"merge", kObjectList, 0, &kConfigReference},
                                            Member{"replace", kObject, 0, &kConfigReference}};
constexpr StructSchema kIgnitionConfig{kIgnitionConfigMembers, "", check_ignition_config};

constexpr std::array kProxyMembers{Member{"httpProxy", kString}, Member{"httpsProxy", kString},
                                   Member{"noProxy", kStringList}};
constexpr StructSchema kProxy{kProxyMembers, "", check_proxy};

constexpr std::array kTlsMembers{Member{"certificateAuthorities", kObjectList, 0, &kAuthority}};
constexpr StructSchema kTls{kTlsMembers, "", check_tls};
constexpr std::array kSecurityMembers{Member{"tls", kObject, 0, &kTls}};
constexpr StructSchema kSecurity{kSecurityMembers, ""};

constexpr std::array kTimeoutsMembers{Member{"httpResponseHeaders", kInteger}, Member{"httpTotal", kInteger}};
constexpr StructSchema kTimeouts{kTimeoutsMembers, ""};

constexpr std::array kIgnitionMembers{Member{"config", kObject, 0, &kIgnitionConfig},
                                      Member{"proxy", kObject, 1, &kProxy}, Member{"security", kObject, 0, &kSecurity},
                                      Member{"timeouts", kObject, 0, &kTimeouts}, Member{"version", kString}};
constexpr StructSchema kIgnition{kIgnitionMembers, ""};

constexpr std::array kKernelArgumentsMembers{Member{"shouldExist", kStringList, 0, nullptr, kByKey, "argument"},
                                             Member{"shouldNotExist", kStringList, 0, nullptr, kByKey, "argument"}};
constexpr StructSchema kKernelArguments{kKernelArgumentsMembers, ""};

constexpr std::array kGroupMembers{Member{"gid", kInteger}, Member{"name", kString}, Member{"passwordHash", kString},
                                   Member{"shouldExist", kBool, 2}, Member{"system", kBool}};
constexpr StructSchema kGroup{kGroupMembers, "name"};

constexpr std::array kUserMembers{
    Member{"gecos", kString},     Member{"groups", kStringList},   Member{"homeDir", kString},
    Member{"name", kString},      Member{"noCreateHome", kBool},   Member{"noLogInit", kBool},
    Member{"noUserGroup", kBool}, Member{"passwordHash", kString}, Member{"primaryGroup", kString},
    Member{"shell", kString},     Member{"shouldExist", kBool, 2}, Member{"sshAuthorizedKeys", kStringList},
    Member{"system", kBool},      Member{"uid", kInteger}};
constexpr StructSchema kUser{kUserMembers, "name"};

constexpr std::array kPasswdMembers{Member{"groups", kObjectList, 0, &kGroup}, Member{"users", kObjectList, 0, &kUser}};
constexpr StructSchema kPasswd{kPasswdMembers, ""};

constexpr std::array kOwnerMembers{Member{"id", kInteger}, Member{"name", kString}};
constexpr StructSchema kOwner{kOwnerMembers, "", check_owner};

constexpr std::array kDirectoryMembers{Member{"group", kObject, 0, &kOwner}, Member{"overwrite", kBool},
                                       Member{"path", kString}, Member{"user", kObject, 0, &kOwner},
                                       Member{"mode", kInteger}};
constexpr StructSchema kDirectory{kDirectoryMembers, "path", check_directory};

constexpr std::array kFileMembers{Member{"group", kObject, 0, &kOwner},
                                  Member{"overwrite", kBool},
                                  Member{"path", kString},
                                  Member{"user", kObject, 0, &kOwner},
                                  Member{"append", kObjectList, 0, &kResource, kConcatenate},
                                  Member{"contents", kObject, 0, &kResource},
                                  Member{"mode", kInteger}};
constexpr StructSchema kFile{kFileMembers, "path", check_file};

constexpr std::array kLinkMembers{
    Member{"group", kObject, 0, &kOwner}, Member{"overwrite", kBool}, Member{"path", kString},
    Member{"user", kObject, 0, &kOwner},  Member{"hard", kBool},      Member{"target", kString}};
constexpr StructSchema kLink{kLinkMembers, "path", check_node};

constexpr std::array kPartitionMembers{
    Member{"guid", kString},      Member{"label", kString},     Member{"number", kInteger},
    Member{"resize", kBool, 2},   Member{"shouldExist", kBool}, Member{"sizeMiB", kInteger},
    Member{"startMiB", kInteger}, Member{"typeGuid", kString},  Member{"wipePartitionEntry", kBool}};
constexpr StructSchema kPartition{kPartitionMembers, "number", check_partition};

constexpr std::array kDiskMembers{Member{"device", kString}, Member{"partitions", kObjectList, 0, &kPartition},
                                  Member{"wipeTable", kBool}};
constexpr StructSchema kDisk{kDiskMembers, "device", check_disk};

constexpr std::array kFilesystemMembers{Member{"device", kString},
                                        Member{"format", kString},
                                        Member{"label", kString},
                                        Member{"mountOptions", kStringList, 1, nullptr, kConcatenate},
                                        Member{"options", kStringList, 0, nullptr, kConcatenate},
                                        Member{"path", kString},
                                        Member{"uuid", kString},
                                        Member{"wipeFilesystem", kBool}};
constexpr StructSchema kFilesystem{kFilesystemMembers, "device", check_filesystem};

constexpr std::array kRaidMembers{Member{"devices", kStringList}, Member{"level", kString}, Member{"name", kString},
                                  Member{"options", kStringList, 0, nullptr, kConcatenate}, Member{"spares", kInteger}};
constexpr StructSchema kRaid{kRaidMembers, "name", check_raid};

constexpr std::array kTangMembers{Member{"advertisement", kString, 4}, Member{"thumbprint", kString},
                                  Member{"url", kString}};
constexpr StructSchema kTang{kTangMembers, "url", check_tang};
constexpr std::array kClevisCustomMembers{Member{"config", kString}, Member{"needsNetwork", kBool},
                                          Member{"pin", kString}};
constexpr StructSchema kClevisCustom{kClevisCustomMembers, "", check_clevis_custom};
constexpr std::array kClevisMembers{Member{"custom", kObject, 0, &kClevisCustom},
                                    Member{"tang", kObjectList, 0, &kTang}, Member{"threshold", kInteger},
                                    Member{"tpm2", kBool}};
constexpr StructSchema kClevis{kClevisMembers, ""};
constexpr std::array kCexMembers{Member{"enabled", kBool}};
constexpr StructSchema kCex{kCexMembers, ""};

constexpr std::array kLuksMembers{Member{"cex", kObject, 5, &kCex},
                                  Member{"clevis", kObject, 0, &kClevis},
                                  Member{"device", kString},
                                  Member{"discard", kBool, 4},
                                  Member{"keyFile", kObject, 0, &kResource},
                                  Member{"label", kString},
                                  Member{"name", kString},
                                  Member{"openOptions", kStringList, 4},
                                  Member{"options", kStringList, 0, nullptr, kConcatenate},
                                  Member{"uuid", kString},
                                  Member{"wipeVolume", kBool}};
constexpr StructSchema kLuks{kLuksMembers, "name", check_luks};

constexpr std::array kStorageMembers{Member{"directories", kObjectList, 0, &kDirectory, kByKey, "node"},
                                     Member{"disks", kObjectList, 0, &kDisk},
                                     Member{"files", kObjectList, 0, &kFile, kByKey, "node"},
                                     Member{"filesystems", kObjectList, 0, &kFilesystem},
                                     Member{"links", kObjectList, 0, &kLink, kByKey, "node"},
                                     Member{"luks", kObjectList, 2, &kLuks},
                                     Member{"raid", kObjectList, 0, &kRaid}};
constexpr StructSchema kStorage{kStorageMembers, "", check_storage};

constexpr std::array kDropinMembers{Member{"contents", kString}, Member{"name", kString}};
constexpr StructSchema kDropin{kDropinMembers, "name", check_dropin};
constexpr std::array kUnitMembers{Member{"contents", kString}, Member{"dropins", kObjectList, 0, &kDropin},
                                  Member{"enabled", kBool}, Member{"mask", kBool}, Member{"name", kString}};
constexpr StructSchema kUnit{kUnitMembers, "name", check_unit};
constexpr std::array kSystemdMembers{Member{"units", kObjectList, 0, &kUnit}};
constexpr StructSchema kSystemd{kSystemdMembers, "", check_systemd};

constexpr std::array kConfigMembers{Member{"ignition", kObject, 0, &kIgnition},
                                    Member{"kernelArguments", kObject, 3, &kKernelArguments},
                                    Member{"passwd", kObject, 0, &kPasswd}, Member{"storage", kObject, 0, &kStorage},
                                    Member{"systemd", kObject, 0, &kSystemd}};
constexpr StructSchema kConfig{kConfigMembers, "", check_config};

/// Go compares names by Unicode's simple folding; beyond ASCII it maps only the long s and the Kelvin sign to letters.
std::string fold_case(std::string_view name) {
  std::string folded;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (name.substr(i).starts_with("\xC5\xBF")) {
      folded += 's';
      i += 1;
    } else if (name.substr(i).starts_with("\xE2\x84\xAA")) {
      folded += 'k';
      i += 2;
    } else {
      folded += lower_case(name[i]);
    }
  }
  return folded;
}

}  // namespace

const Member* StructSchema::find(std::string_view name) const {
  for (const Member& member : members) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

const Member* StructSchema::find_any_case(std::string_view name) const {
  if (const Member* exact = find(name); exact != nullptr) return exact;
  const std::string folded = fold_case(name);
  for (const Member& member : members) {
    if (fold_case(member.name) == folded) return &member;
  }
  return nullptr;
}

std::string item_key(const json::Value& item, const StructSchema* element) {
  if (item.is_string()) return std::string(json::as_view(item.get_string()));
  STRAKE_INVARIANT(element != nullptr);
  if (element->key == "number") {
    const std::int64_t number = json::find_int(item, {"number"}).value_or(0);
    if (number != 0) return fmt::format("number:{}", number);
    const auto label = json::find_string(item, {"label"});
    return label ? "label:" + *label : "";
  }
  return json::find_string(item, {element->key}).value_or("");
}

const StructSchema& config_schema(SpecVersion version) { return version.major == 2 ? config2_schema() : kConfig; }

}  // namespace strake::ignition
