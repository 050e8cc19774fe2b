// The members of an Ignition 2.x config. No list merges by key here: spec 2 lets entries repeat.
#include <array>

#include "ignition/checks.h"
#include "ignition/schema.h"

namespace strake::ignition {

namespace {

using enum MemberType;

constexpr Member list2(std::string_view name, const StructSchema* element, int since_minor = 0) {
  return {name, element == nullptr ? kStringList : kObjectList, since_minor, element, ListMerge::kConcatenate};
}

constexpr std::array kVerificationMembers2{Member{"hash", kString}};
constexpr StructSchema kVerification2{kVerificationMembers2, "", check_verification};

constexpr std::array kReferenceMembers2{Member{"source", kString}, Member{"verification", kObject, 0, &kVerification2}};
constexpr StructSchema kReference2{kReferenceMembers2, "source", check2_reference};

constexpr std::array kIgnitionConfigMembers2{list2("append", &kReference2),
                                             Member{"replace", kObject, 0, &kReference2}};
constexpr StructSchema kIgnitionConfig2{kIgnitionConfigMembers2, ""};
constexpr std::array kTlsMembers2{list2("certificateAuthorities", &kReference2)};
constexpr StructSchema kTls2{kTlsMembers2, ""};
constexpr std::array kSecurityMembers2{Member{"tls", kObject, 0, &kTls2}};
constexpr StructSchema kSecurity2{kSecurityMembers2, ""};
constexpr std::array kTimeoutsMembers2{Member{"httpResponseHeaders", kInteger}, Member{"httpTotal", kInteger}};
constexpr StructSchema kTimeouts2{kTimeoutsMembers2, ""};
constexpr std::array kIgnitionMembers2{Member{"config", kObject, 0, &kIgnitionConfig2},
                                       Member{"security", kObject, 2, &kSecurity2},
                                       Member{"timeouts", kObject, 1, &kTimeouts2}, Member{"version", kString}};
constexpr StructSchema kIgnition2{kIgnitionMembers2, ""};

constexpr std::array kNetworkDropinMembers2{Member{"contents", kString}, Member{"name", kString}};
constexpr StructSchema kNetworkDropin2{kNetworkDropinMembers2, "name", nullptr, check2_network_dropin};
constexpr std::array kNetworkUnitMembers2{Member{"contents", kString}, list2("dropins", &kNetworkDropin2, 2),
                                          Member{"name", kString}};
constexpr StructSchema kNetworkUnit2{kNetworkUnitMembers2, "name", check2_network_unit, check2_whole_network_unit};
constexpr std::array kNetworkdMembers2{list2("units", &kNetworkUnit2)};
constexpr StructSchema kNetworkd2{kNetworkdMembers2, ""};

constexpr std::array kGroupMembers2{Member{"gid", kInteger}, Member{"name", kString}, Member{"passwordHash", kString},
                                    Member{"system", kBool}};
constexpr StructSchema kGroup2{kGroupMembers2, "name", check2_group};
constexpr std::array kUserCreateMembers2{Member{"gecos", kString},        list2("groups", nullptr),
                                         Member{"homeDir", kString},      Member{"noCreateHome", kBool},
                                         Member{"noLogInit", kBool},      Member{"noUserGroup", kBool},
                                         Member{"primaryGroup", kString}, Member{"shell", kString},
                                         Member{"system", kBool},         Member{"uid", kInteger}};
constexpr StructSchema kUserCreate2{kUserCreateMembers2, "", check2_user_create};
constexpr std::array kUserMembers2{Member{"create", kObject, 0, &kUserCreate2},
                                   Member{"gecos", kString, 1},
                                   list2("groups", nullptr, 1),
                                   Member{"homeDir", kString, 1},
                                   Member{"name", kString},
                                   Member{"noCreateHome", kBool, 1},
                                   Member{"noLogInit", kBool, 1},
                                   Member{"noUserGroup", kBool, 1},
                                   Member{"passwordHash", kString},
                                   Member{"primaryGroup", kString, 1},
                                   list2("sshAuthorizedKeys", nullptr),
                                   Member{"shell", kString, 1},
                                   Member{"system", kBool, 1},
                                   Member{"uid", kInteger, 1}};
constexpr StructSchema kUser2{kUserMembers2, "name", nullptr, check2_user};
constexpr std::array kPasswdMembers2{list2("groups", &kGroup2), list2("users", &kUser2)};
constexpr StructSchema kPasswd2{kPasswdMembers2, ""};

constexpr std::array kOwnerMembers2{Member{"id", kInteger}, Member{"name", kString, 1}};
constexpr StructSchema kOwner2{kOwnerMembers2, "", nullptr, check_owner};

constexpr std::array kDirectoryMembers2{Member{"filesystem", kString},        Member{"group", kObject, 0, &kOwner2},
                                        Member{"overwrite", kBool, 2},        Member{"path", kString},
                                        Member{"user", kObject, 0, &kOwner2}, Member{"mode", kInteger}};
constexpr StructSchema kDirectory2{kDirectoryMembers2, "path", check2_directory};

constexpr std::array kContentsMembers2{Member{"compression", kString}, Member{"source", kString},
                                       Member{"verification", kObject, 0, &kVerification2}};
constexpr StructSchema kContents2{kContentsMembers2, "", check2_contents};
constexpr std::array kFileMembers2{Member{"filesystem", kString},
                                   Member{"group", kObject, 0, &kOwner2},
                                   Member{"overwrite", kBool, 2},
                                   Member{"path", kString},
                                   Member{"user", kObject, 0, &kOwner2},
                                   Member{"append", kBool, 2},
                                   Member{"contents", kObject, 0, &kContents2},
                                   Member{"mode", kInteger}};
constexpr StructSchema kFile2{kFileMembers2, "path", check2_file, check2_whole_file};

constexpr std::array kLinkMembers2{
    Member{"filesystem", kString}, Member{"group", kObject, 0, &kOwner2}, Member{"overwrite", kBool, 2},
    Member{"path", kString},       Member{"user", kObject, 0, &kOwner2},  Member{"hard", kBool},
    Member{"target", kString}};
constexpr StructSchema kLink2{kLinkMembers2, "path", check2_node};

constexpr std::array kPartitionMembers2{Member{"guid", kString, 1}, Member{"label", kString},
                                        Member{"number", kInteger}, Member{"size", kInteger},
                                        Member{"start", kInteger},  Member{"typeGuid", kString}};
constexpr StructSchema kPartition2{kPartitionMembers2, "", check2_partition};
constexpr std::array kDiskMembers2{Member{"device", kString}, list2("partitions", &kPartition2),
                                   Member{"wipeTable", kBool}};
constexpr StructSchema kDisk2{kDiskMembers2, "device", check2_disk, check2_whole_disk};

constexpr std::array kCreateMembers2{Member{"force", kBool}, list2("options", nullptr)};
constexpr StructSchema kCreate2{kCreateMembers2, ""};
constexpr std::array kMountMembers2{Member{"create", kObject, 0, &kCreate2},
                                    Member{"device", kString},
                                    Member{"format", kString},
                                    Member{"label", kString, 1},
                                    list2("options", nullptr, 1),
                                    Member{"uuid", kString, 1},
                                    Member{"wipeFilesystem", kBool, 1}};
constexpr StructSchema kMount2{kMountMembers2, "device", check2_mount, check2_whole_mount};
constexpr std::array kFilesystemMembers2{Member{"mount", kObject, 0, &kMount2}, Member{"name", kString},
                                         Member{"path", kString}};
constexpr StructSchema kFilesystem2{kFilesystemMembers2, "name", check2_filesystem, check2_whole_filesystem};

constexpr std::array kRaidMembers2{list2("devices", nullptr), Member{"level", kString}, Member{"name", kString},
                                   list2("options", nullptr, 2), Member{"spares", kInteger}};
constexpr StructSchema kRaid2{kRaidMembers2, "name", check2_raid, check2_whole_raid};

constexpr std::array kStorageMembers2{
    list2("directories", &kDirectory2, 1), list2("disks", &kDisk2),    list2("files", &kFile2),
    list2("filesystems", &kFilesystem2),   list2("links", &kLink2, 1), list2("raid", &kRaid2)};
constexpr StructSchema kStorage2{kStorageMembers2, ""};

constexpr std::array kDropinMembers2{Member{"contents", kString}, Member{"name", kString}};
constexpr StructSchema kDropin2{kDropinMembers2, "name", check2_dropin, check2_whole_dropin};
constexpr std::array kUnitMembers2{Member{"contents", kString}, list2("dropins", &kDropin2), Member{"enable", kBool},
                                   Member{"enabled", kBool, 1}, Member{"mask", kBool},       Member{"name", kString}};
constexpr StructSchema kUnit2{kUnitMembers2, "name", check2_unit, check2_whole_unit};
constexpr std::array kSystemdMembers2{list2("units", &kUnit2)};
constexpr StructSchema kSystemd2{kSystemdMembers2, ""};

constexpr std::array kConfigMembers2{Member{"ignition", kObject, 0, &kIgnition2},
                                     Member{"networkd", kObject, 0, &kNetworkd2},
                                     Member{"passwd", kObject, 0, &kPasswd2}, Member{"storage", kObject, 0, &kStorage2},
                                     Member{"systemd", kObject, 0, &kSystemd2}};
constexpr StructSchema kConfig2{kConfigMembers2, "", check2_config};

}  // namespace

const StructSchema& config2_schema() { return kConfig2; }

}  // namespace strake::ignition
