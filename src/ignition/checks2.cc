// What validation looks at in spec 2.x. Spec 2.0 was written before its successors' validator and often judges the same
// thing as a whole, so that one error hides the next; where it matters the checks ask for the version.
#include <algorithm>
#include <set>
#include <tuple>
#include <unordered_set>

#include "ignition/checks.h"
#include "ignition/source_url.h"
#include "ignition/unit_text.h"

namespace strake::ignition {

namespace {

constexpr SpecVersion kFirst2{2, 0};
constexpr SpecVersion kLast2{2, 2};
constexpr std::string_view kRootFilesystem2 = "root";
constexpr std::int64_t kSectorsPerMiB = 2048;
constexpr std::size_t kMaxPartitionLabelBytes2 = 36;
constexpr std::int64_t kAllModeBits2 = 07777;

void require_absolute2(const CheckedObject& object, std::string_view member) {
  const std::string_view path = object.text_or_empty(member);
  if (!path.starts_with('/')) object.error(member, "path not absolute", path);
  if (path.size() > kMaxPathBytes) object.error(member, fmt::format("path is longer than {} bytes", kMaxPathBytes));
}

void check_source2(const CheckedObject& object) {
  const std::string_view source = object.text_or_empty("source");
  if (source.empty()) return;
  if (auto problem = source_problem(source, object.version())) object.error("source", *std::move(problem));
}

/// Spec 2.0 reads this member as an unsigned number.
void refuse_negative2(const CheckedObject& object, std::string_view member) {
  const std::int64_t number = object.integer(member).value_or(0);
  if (object.version() == kFirst2 && number < 0) {
    object.error(member, "expected an integer that is not negative", fmt::format("{}", number));
  }
}

/// Whether the text can be read; an error says where it cannot.
bool check_unit_contents2(const CheckedObject& unit) {
  const auto text = parse_unit_text(unit.text_or_empty("contents"));
  if (!text.ok()) unit.error("contents", text.error().message());
  return text.ok();
}

void check_install_section2(const CheckedObject& unit) {
  if (unit.boolean("enable") != true && unit.boolean("enabled") != true) return;
  const auto text = parse_unit_text(unit.text_or_empty("contents"));
  if (text.ok() && text->has_option && !text->has_install_option) {
    unit.warn("contents", fmt::format("unit \"{}\" is enabled, but has no install section so enable does nothing",
                                      unit.text_or_empty("name")));
  }
}

void check_mode2(const CheckedObject& node) {
  const auto mode = node.integer("mode");
  if (mode && (*mode & ~kAllModeBits2) != 0) node.error("mode", "illegal file mode", fmt::format("{}", *mode));
  if (!mode && node.version() == kLast2) node.warn("mode", "permissions unset, defaulting to 0000");
}

/// A partition with what the spec reads as absent filled in: equal ones are taken for one and the same.
using Partition2 =
    std::tuple<std::int64_t, std::int64_t, std::int64_t, std::string_view, std::string_view, std::string_view>;

/// Whether two partitions share a sector. A start of 0 is chosen by the partitioner, so it cannot be judged. `Sector`
/// is the type the spec version counts in: its overflow is part of the verdict.
template <typename Sector>
bool partitions_overlap2(const std::vector<Partition2>& partitions) {
  const auto start_of = [](const Partition2& partition) { return static_cast<Sector>(std::get<0>(partition)); };
  const auto end_of = [](const Partition2& partition) {
    const auto start = static_cast<std::uint64_t>(std::get<0>(partition));
    const auto size = static_cast<std::uint64_t>(std::get<1>(partition));
    return static_cast<Sector>(size == 0 ? start : start + size - 1);
  };
  for (const Partition2& one : partitions) {
    if (start_of(one) == 0) continue;
    for (const Partition2& other : partitions) {
      if (one == other || start_of(other) == 0) continue;
      const auto inside = [&](Sector point) { return point >= start_of(other) && point <= end_of(other); };
      if (inside(start_of(one)) || inside(end_of(one))) return true;
      if (start_of(one) < start_of(other) && end_of(one) > end_of(other)) return true;
    }
  }
  return false;
}

void check_partitions2(const CheckedObject& disk) {
  std::vector<Partition2> partitions;
  std::set<std::int64_t> numbers;
  bool numbers_collide = false;
  bool misaligned = false;
  for (std::size_t i = 0; i < disk.list("partitions").size(); ++i) {
    const CheckedObject partition = disk.item("partitions", i, disk.path());
    const std::int64_t number = partition.integer("number").value_or(0);
    const std::int64_t start = partition.integer("start").value_or(0);
    numbers_collide = (number != 0 && !numbers.insert(number).second) || numbers_collide;
    misaligned = misaligned || (start & (kSectorsPerMiB - 1)) != 0;
    partitions.emplace_back(start, partition.integer("size").value_or(0), number, partition.text_or_empty("label"),
                            partition.text_or_empty("guid"), partition.text_or_empty("typeGuid"));
  }
  if (partitions.size() > kMaxJudgedPartitions) {
    disk.error("partitions", too_many_partitions(partitions.size()));
    return;
  }
  const bool overlap = disk.version() == kFirst2 ? partitions_overlap2<std::uint64_t>(partitions)
                                                 : partitions_overlap2<std::int64_t>(partitions);
  if (numbers_collide) disk.error("partitions", "partition numbers collide");
  if (overlap) disk.error("partitions", "partitions overlap");
  if (misaligned) disk.error("partitions", "partitions misaligned");
}

void check_level2(const CheckedObject& raid) {
  const std::string_view level = raid.text_or_empty("level");
  switch (raid_level(level)) {
    case RaidLevel::kUnknown: raid.error("level", "unrecognized raid level", level); return;
    case RaidLevel::kWithSpares: return;
    case RaidLevel::kWithoutSpares: break;
  }
  if (raid.integer("spares").value_or(0) != 0) {
    raid.error("level", "spares unsupported for arrays with a level greater than 0", level);
  }
}

void check_network_name2(const CheckedObject& unit) {
  const std::string_view name = unit.text_or_empty("name");
  const std::string_view extension = file_extension(name);
  if (extension != ".link" && extension != ".netdev" && extension != ".network") {
    unit.error("name", "invalid networkd unit extension", name);
  }
}

void check_dropin_name2(const CheckedObject& dropin) {
  const std::string_view name = dropin.text_or_empty("name");
  if (!is_dropin_name(name)) dropin.error("name", "invalid systemd drop-in extension", name);
}

}  // namespace

void check2_config(const CheckedObject& config) {
  const Path storage_path = config.path().member("storage");
  const CheckedObject storage = config.inside("storage", storage_path);
  std::unordered_set<std::string_view> known{kRootFilesystem2};
  const Path filesystems_path = storage_path.member("filesystems");
  for (std::size_t i = 0; i < storage.list("filesystems").size(); ++i) {
    const Path path = filesystems_path.item(i);
    const CheckedObject filesystem = storage.item("filesystems", i, path);
    const std::string_view name = filesystem.text_or_empty("name");
    if (known.insert(name).second) continue;
    filesystem.warn("name", fmt::format("Filesystem \"{}\" shadows exising filesystem definition", name));
  }
  constexpr std::pair<std::string_view, std::string_view> kLists[] = {
      {"files", "File"}, {"links", "Link"}, {"directories", "Directory"}};
  for (const auto& [list, kind] : kLists) {
    const Path list_path = storage_path.member(list);
    for (std::size_t i = 0; i < storage.list(list).size(); ++i) {
      const Path path = list_path.item(i);
      const CheckedObject node = storage.item(list, i, path);
      const std::string_view filesystem = node.text_or_empty("filesystem");
      if (filesystem.empty() || known.contains(filesystem)) continue;
      node.warn("filesystem", fmt::format("{} \"{}\" references nonexistent filesystem \"{}\". (This is ok if it is "
                                          "defined in a referenced config)",
                                          kind, node.text_or_empty("path"), filesystem));
    }
  }
}

void check2_reference(const CheckedObject& reference) { check_source2(reference); }

void check2_group(const CheckedObject& group) { refuse_negative2(group, "gid"); }

void check2_user_create(const CheckedObject& create) { refuse_negative2(create, "uid"); }

void check2_user(const CheckedObject& user) {
  if (user.version() == kFirst2 || !user.has("create")) return;
  user.warn("create", "the create object has been deprecated in favor of user-level options");
  const auto refuse = [&](std::string_view member, bool used) {
    if (!used) return;
    user.error(member, fmt::format("cannot use both the create object and the user-level {} field", member));
  };
  for (const std::string_view member : {"gecos", "homeDir", "primaryGroup", "shell"}) {
    refuse(member, !user.text_or_empty(member).empty());
  }
  for (const std::string_view member : {"noCreateHome", "noLogInit", "noUserGroup", "system"}) {
    refuse(member, user.boolean(member) == true);
  }
  refuse("groups", !user.list("groups").empty());
  refuse("uid", user.has("uid"));
}

void check2_whole_disk(const CheckedObject& disk) {
  if (disk.version() != kFirst2) return;
  if (disk.text_or_empty("device").empty()) disk.error("device", "disk device is required");
  check_partitions2(disk);
}

void check2_disk(const CheckedObject& disk) {
  if (disk.version() != kFirst2) check_partitions2(disk);
  if (disk.text_or_empty("device").empty()) {
    disk.error("device", "disk device is required");
  } else {
    require_absolute2(disk, "device");
  }
}

void check2_partition(const CheckedObject& partition) {
  refuse_negative2(partition, "size");
  refuse_negative2(partition, "start");
  const std::string_view label = partition.text_or_empty("label");
  const bool too_long = label.size() > kMaxPartitionLabelBytes2;
  if (too_long) partition.error("label", "partition labels may not exceed 36 characters", label);
  if (label.find(':') != std::string_view::npos && !(too_long && partition.version() == kFirst2)) {
    partition.warn("label", "partition label will be truncated to text before the colon", label);
  }
  for (const std::string_view member : {"guid", "typeGuid"}) {
    if (const std::string_view guid = partition.text_or_empty(member); !is_guid(guid)) {
      partition.error(member, "doesn't match the form \"01234567-89AB-CDEF-EDCB-A98765432101\"", guid);
    }
  }
}

void check2_whole_filesystem(const CheckedObject& filesystem) {
  if (!filesystem.has("mount") && !filesystem.has("path")) {
    filesystem.report().error(filesystem.path(), "filesystem is missing mount or path");
  }
  if (!filesystem.has("mount")) return;
  if (filesystem.has("path")) filesystem.error("path", "filesystem has both mount and path defined");
  const Path mount_path = filesystem.path().member("mount");
  const CheckedObject mount = filesystem.inside("mount", mount_path);
  if (filesystem.version() == kFirst2 || !mount.has("create")) return;
  if (mount.boolean("wipeFilesystem") == true) {
    mount.error("wipeFilesystem", "cannot use both create object and wipeFilesystem field");
  }
  if (!mount.list("options").empty()) {
    mount.error("options", "cannot use both create object and mount-level options field");
  }
  mount.warn("create", "the create object has been deprecated in favor of mount-level options");
}

void check2_filesystem(const CheckedObject& filesystem) {
  if (filesystem.has("path")) require_absolute2(filesystem, "path");
}

void check2_whole_mount(const CheckedObject& mount) {
  if (mount.version() == kFirst2) return;
  const std::string_view format = mount.text_or_empty("format");
  if (!max_label_bytes(format)) mount.error("format", "invalid filesystem format", format);
}

void check2_mount(const CheckedObject& mount) {
  const std::string_view format = mount.text_or_empty("format");
  if (mount.version() == kFirst2 && format != "ext4" && format != "btrfs" && format != "xfs") {
    mount.error("format", "invalid filesystem format", format);
  }
  require_absolute2(mount, "device");
  const std::string_view label = mount.text_or_empty("label");
  const auto limit = max_label_bytes(format);
  if (limit && label.size() > *limit) {
    mount.error("label",
                fmt::format("filesystem labels cannot be longer than {} characters when using {}", *limit, format),
                label);
  }
}

void check2_whole_raid(const CheckedObject& raid) {
  if (raid.version() == kFirst2) check_level2(raid);
}

void check2_raid(const CheckedObject& raid) {
  if (raid.version() != kFirst2) check_level2(raid);
  const Path devices = raid.path().member("devices");
  for (std::size_t i = 0; i < raid.list("devices").size(); ++i) {
    const std::string_view device = json::as_view(raid.list("devices")[i].get_string());
    if (!device.starts_with('/')) raid.report().error(devices.item(i), "path not absolute", device);
  }
}

void check2_whole_file(const CheckedObject& file) {
  if (file.version() == kFirst2 && file.text_or_empty("filesystem").empty()) {
    file.error("filesystem", "no filesystem specified");
  }
  if (file.boolean("overwrite") == true && file.boolean("append") == true) {
    file.error("append", "cannot set both append and overwrite to true");
  }
}

void check2_file(const CheckedObject& file) {
  check2_node(file);
  check_mode2(file);
}

void check2_directory(const CheckedObject& directory) {
  check2_node(directory);
  check_mode2(directory);
}

void check2_node(const CheckedObject& node) {
  if (node.text_or_empty("filesystem").empty()) node.error("filesystem", "no filesystem specified");
  require_absolute2(node, "path");
}

void check2_contents(const CheckedObject& contents) {
  const std::string_view compression = contents.text_or_empty("compression");
  if (!compression.empty() && compression != "gzip") {
    contents.error("compression", "invalid compression method", compression);
  }
  check_source2(contents);
}

void check2_whole_unit(const CheckedObject& unit) {
  if (unit.version() == kFirst2 && check_unit_contents2(unit)) check_install_section2(unit);
}

void check2_unit(const CheckedObject& unit) {
  if (unit.version() != kFirst2 && check_unit_contents2(unit)) check_install_section2(unit);
  const std::string_view name = unit.text_or_empty("name");
  if (!is_unit_name(name)) unit.error("name", "invalid systemd unit extension", name);
}

void check2_whole_dropin(const CheckedObject& dropin) {
  check_unit_contents2(dropin);
  if (dropin.version() != kFirst2) check_dropin_name2(dropin);
}

void check2_dropin(const CheckedObject& dropin) {
  if (dropin.version() == kFirst2) check_dropin_name2(dropin);
}

void check2_whole_network_unit(const CheckedObject& unit) {
  check_unit_contents2(unit);
  if (unit.version() != kFirst2) check_network_name2(unit);
}

void check2_network_unit(const CheckedObject& unit) {
  if (unit.version() == kFirst2) check_network_name2(unit);
}

void check2_network_dropin(const CheckedObject& dropin) {
  check_unit_contents2(dropin);
  const std::string_view name = dropin.text_or_empty("name");
  if (!is_dropin_name(name)) dropin.error("name", "invalid networkd drop-in extension", name);
}

}  // namespace strake::ignition
