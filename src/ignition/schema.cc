#include "ignition/schema.h"

#include <array>

namespace strake::ignition {

namespace {

using enum MemberType;
constexpr auto kConcatenate = ListMerge::kConcatenate;

constexpr std::array kVerificationMembers{Member{"hash", kString}};
constexpr StructSchema kVerification{kVerificationMembers, ""};

constexpr std::array kHttpHeaderMembers{Member{"name", kString}, Member{"value", kString}};
constexpr StructSchema kHttpHeader{kHttpHeaderMembers, "name"};

constexpr std::array kFileResourceMembers{
    Member{"compression", kString}, Member{"httpHeaders", kObjectList, 1, &kHttpHeader}, Member{"source", kString},
    Member{"verification", kObject, 0, &kVerification}};
constexpr StructSchema kResource{kFileResourceMembers, "source"};

constexpr std::array kIgnitionConfigMembers{Member{"merge", kObjectList, 0, &kResource},
                                            Member{"replace", kObject, 0, &kResource}};
constexpr StructSchema kIgnitionConfig{kIgnitionConfigMembers, ""};

constexpr std::array kProxyMembers{Member{"httpProxy", kString}, Member{"httpsProxy", kString},
                                   Member{"noProxy", kStringList}};
constexpr StructSchema kProxy{kProxyMembers, ""};

constexpr std::array kTlsMembers{Member{"certificateAuthorities", kObjectList, 0, &kResource}};
constexpr StructSchema kTls{kTlsMembers, ""};
constexpr std::array kSecurityMembers{Member{"tls", kObject, 0, &kTls}};
constexpr StructSchema kSecurity{kSecurityMembers, ""};

constexpr std::array kTimeoutsMembers{Member{"httpResponseHeaders", kInteger}, Member{"httpTotal", kInteger}};
constexpr StructSchema kTimeouts{kTimeoutsMembers, ""};

constexpr std::array kIgnitionMembers{Member{"config", kObject, 0, &kIgnitionConfig},
                                      Member{"proxy", kObject, 1, &kProxy}, Member{"security", kObject, 0, &kSecurity},
                                      Member{"timeouts", kObject, 0, &kTimeouts}, Member{"version", kString}};
constexpr StructSchema kIgnition{kIgnitionMembers, ""};

constexpr std::array kKernelArgumentsMembers{Member{"shouldExist", kStringList}, Member{"shouldNotExist", kStringList}};
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
constexpr StructSchema kOwner{kOwnerMembers, ""};

constexpr std::array kDirectoryMembers{Member{"group", kObject, 0, &kOwner}, Member{"overwrite", kBool},
                                       Member{"path", kString}, Member{"user", kObject, 0, &kOwner},
                                       Member{"mode", kInteger}};
constexpr StructSchema kDirectory{kDirectoryMembers, "path"};

constexpr std::array kFileMembers{Member{"group", kObject, 0, &kOwner},
                                  Member{"overwrite", kBool},
                                  Member{"path", kString},
                                  Member{"user", kObject, 0, &kOwner},
                                  Member{"append", kObjectList, 0, &kResource, kConcatenate},
                                  Member{"contents", kObject, 0, &kResource},
                                  Member{"mode", kInteger}};
constexpr StructSchema kFile{kFileMembers, "path"};

constexpr std::array kLinkMembers{
    Member{"group", kObject, 0, &kOwner}, Member{"overwrite", kBool}, Member{"path", kString},
    Member{"user", kObject, 0, &kOwner},  Member{"hard", kBool},      Member{"target", kString}};
constexpr StructSchema kLink{kLinkMembers, "path"};

constexpr std::array kPartitionMembers{
    Member{"guid", kString},      Member{"label", kString},     Member{"number", kInteger},
    Member{"resize", kBool, 2},   Member{"shouldExist", kBool}, Member{"sizeMiB", kInteger},
    Member{"startMiB", kInteger}, Member{"typeGuid", kString},  Member{"wipePartitionEntry", kBool}};
constexpr StructSchema kPartition{kPartitionMembers, "number"};

constexpr std::array kDiskMembers{Member{"device", kString}, Member{"partitions", kObjectList, 0, &kPartition},
                                  Member{"wipeTable", kBool}};
constexpr StructSchema kDisk{kDiskMembers, "device"};

constexpr std::array kFilesystemMembers{Member{"device", kString},
                                        Member{"format", kString},
                                        Member{"label", kString},
                                        Member{"mountOptions", kStringList, 1, nullptr, kConcatenate},
                                        Member{"options", kStringList, 0, nullptr, kConcatenate},
                                        Member{"path", kString},
                                        Member{"uuid", kString},
                                        Member{"wipeFilesystem", kBool}};
constexpr StructSchema kFilesystem{kFilesystemMembers, "device"};

constexpr std::array kRaidMembers{Member{"devices", kStringList}, Member{"level", kString}, Member{"name", kString},
                                  Member{"options", kStringList, 0, nullptr, kConcatenate}, Member{"spares", kInteger}};
constexpr StructSchema kRaid{kRaidMembers, "name"};

constexpr std::array kTangMembers{Member{"advertisement", kString, 4}, Member{"thumbprint", kString},
                                  Member{"url", kString}};
constexpr StructSchema kTang{kTangMembers, "url"};
constexpr std::array kClevisCustomMembers{Member{"config", kString}, Member{"needsNetwork", kBool},
                                          Member{"pin", kString}};
constexpr StructSchema kClevisCustom{kClevisCustomMembers, ""};
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
constexpr StructSchema kLuks{kLuksMembers, "name"};

constexpr std::array kStorageMembers{Member{"directories", kObjectList, 0, &kDirectory},
                                     Member{"disks", kObjectList, 0, &kDisk},
                                     Member{"files", kObjectList, 0, &kFile},
                                     Member{"filesystems", kObjectList, 0, &kFilesystem},
                                     Member{"links", kObjectList, 0, &kLink},
                                     Member{"luks", kObjectList, 2, &kLuks},
                                     Member{"raid", kObjectList, 0, &kRaid}};
constexpr StructSchema kStorage{kStorageMembers, ""};

constexpr std::array kDropinMembers{Member{"contents", kString}, Member{"name", kString}};
constexpr StructSchema kDropin{kDropinMembers, "name"};
constexpr std::array kUnitMembers{Member{"contents", kString}, Member{"dropins", kObjectList, 0, &kDropin},
                                  Member{"enabled", kBool}, Member{"mask", kBool}, Member{"name", kString}};
constexpr StructSchema kUnit{kUnitMembers, "name"};
constexpr std::array kSystemdMembers{Member{"units", kObjectList, 0, &kUnit}};
constexpr StructSchema kSystemd{kSystemdMembers, ""};

constexpr std::array kConfigMembers{Member{"ignition", kObject, 0, &kIgnition},
                                    Member{"kernelArguments", kObject, 3, &kKernelArguments},
                                    Member{"passwd", kObject, 0, &kPasswd}, Member{"storage", kObject, 0, &kStorage},
                                    Member{"systemd", kObject, 0, &kSystemd}};
constexpr StructSchema kConfig{kConfigMembers, ""};

}  // namespace

const Member* StructSchema::find(std::string_view name) const {
  for (const Member& member : members) {
    if (member.name == name) return &member;
  }
  return nullptr;
}

const StructSchema& config_schema() { return kConfig; }

}  // namespace strake::ignition
