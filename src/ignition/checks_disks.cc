#include <algorithm>
#include <map>
#include <set>

#include "ignition/checks.h"
#include "ignition/source_url.h"

namespace strake::ignition {

namespace {

constexpr std::size_t kMaxPartitionLabelBytes = 36;
constexpr std::size_t kMaxLuksLabelBytes = 47;
constexpr SpecVersion kOptionalRaidLevel{3, 3};
constexpr SpecVersion kFormatNone{3, 3};
constexpr SpecVersion kOptionalClevis{3, 3};

/// Where a partition lies, in MiB; a size of 0 fills what is free, so only its start is known.
struct Extent {
  std::size_t index;
  std::int64_t start;
  std::int64_t end;
};

std::int64_t partition_end(std::int64_t start, std::int64_t size) {
  if (size == 0) return start;
  // Wraps as the reference does; sanitizers only object to signed overflow.
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(start) + static_cast<std::uint64_t>(size) - 1);
}

void check_overlaps(const CheckedObject& disk, const Path& partitions) {
  std::vector<Extent> extents;
  for (std::size_t i = 0; i < disk.list("partitions").size(); ++i) {
    const CheckedObject partition = disk.item("partitions", i, partitions);
    const auto start = partition.integer("startMiB");
    const auto size = partition.integer("sizeMiB");
    if (start && size && *start != 0) extents.push_back({i, *start, partition_end(*start, *size)});
  }
  for (const Extent& one : extents) {
    for (const Extent& other : extents) {
      if (one.index == other.index) continue;
      const auto inside_other = [&](std::int64_t point) { return point >= other.start && point <= other.end; };
      if (inside_other(one.start) || inside_other(one.end) || (one.start < other.start && one.end > other.end)) {
        disk.report().error(partitions.item(other.index), "partitions overlap");
        return;  // one is enough: the others often follow from it
      }
    }
  }
}

void check_partition_names(const CheckedObject& disk, const Path& partitions) {
  std::set<std::int64_t> numbers;
  std::set<std::string_view> labels;
  bool numbers_collide = false;
  bool labels_collide = false;
  bool has_free_number = false;
  bool has_removed = false;
  for (std::size_t i = 0; i < disk.list("partitions").size(); ++i) {
    const CheckedObject partition = disk.item("partitions", i, partitions);
    const std::int64_t number = partition.integer("number").value_or(0);
    if (number != 0 && !numbers.insert(number).second && !std::exchange(numbers_collide, true)) {
      disk.report().error(partitions.item(i), "partition numbers collide", fmt::format("{}", number));
    }
    const auto label = partition.text("label");
    if (label && !labels.insert(*label).second && !std::exchange(labels_collide, true)) {
      disk.report().error(partitions.item(i), "cannot use the same partition label twice", *label);
    }
    has_free_number = has_free_number || number == 0;
    has_removed = has_removed || partition.boolean("shouldExist") == false;
  }
  if (has_free_number && has_removed) {
    disk.report().error(partitions, "shouldExist is false for a partition and other partition(s) has start or size 0");
  }
}

struct FormatLimit {
  std::string_view format;
  std::size_t max_label_bytes;
};
constexpr FormatLimit kFormatLimits[] = {{"ext4", 16}, {"btrfs", 256}, {"xfs", 12}, {"swap", 15}, {"vfat", 11}};

constexpr std::string_view kLevelsWithoutSpares[] = {"linear", "raid0", "0", "stripe"};
constexpr std::string_view kLevelsWithSpares[] = {"raid1", "1",     "mirror", "raid4",  "4", "raid5",
                                                  "5",     "raid6", "6",      "raid10", "10"};

bool clevis_has_others(const CheckedObject& clevis) {
  return !clevis.list("tang").empty() || clevis.boolean("tpm2") == true || clevis.integer("threshold").value_or(0) != 0;
}

}  // namespace

bool is_guid(std::string_view text) {
  if (text.empty()) return true;
  if (text.size() != 36) return false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool wants_dash = i == 8 || i == 13 || i == 18 || i == 23;
    if (wants_dash ? text[i] != '-'
                   : std::string_view("0123456789abcdefABCDEF").find(text[i]) == std::string_view::npos)
      return false;
  }
  return true;
}

std::optional<std::size_t> max_label_bytes(std::string_view format) {
  const auto* const limit = std::ranges::find(kFormatLimits, format, &FormatLimit::format);
  return limit == std::end(kFormatLimits) ? std::nullopt : std::optional(limit->max_label_bytes);
}

std::string too_many_partitions(std::size_t count) {
  return fmt::format("{} partitions on one disk; at most {} are read", count, kMaxJudgedPartitions);
}

RaidLevel raid_level(std::string_view level) {
  if (std::ranges::find(kLevelsWithoutSpares, level) != std::end(kLevelsWithoutSpares))
    return RaidLevel::kWithoutSpares;
  if (std::ranges::find(kLevelsWithSpares, level) != std::end(kLevelsWithSpares)) return RaidLevel::kWithSpares;
  return RaidLevel::kUnknown;
}

void check_disk(const CheckedObject& disk) {
  const std::string_view device = disk.text_or_empty("device");
  if (device.empty()) {
    disk.error("device", "disk device is required");
    return;
  }
  if (auto problem = path_problem(device)) disk.error("device", *std::move(problem), device);
  const Path partitions = disk.path().member("partitions");
  if (disk.list("partitions").size() > kMaxJudgedPartitions) {
    disk.report().error(partitions, too_many_partitions(disk.list("partitions").size()));
    return;
  }
  check_partition_names(disk, partitions);
  check_overlaps(disk, partitions);
}

void check_partition(const CheckedObject& partition) {
  const auto label = partition.text("label");
  const bool describes_more = label || !partition.text_or_empty("typeGuid").empty() ||
                              !partition.text_or_empty("guid").empty() || partition.has("startMiB") ||
                              partition.has("sizeMiB");
  if (partition.boolean("shouldExist") == false && describes_more) {
    partition.report().error(partition.path(), "shouldExist specified false with other options also specified");
  }
  if (partition.integer("number").value_or(0) == 0 && !label) {
    partition.report().error(partition.path(), "a partition number >= 1 or a label must be specified");
  }
  if (label && label->size() > kMaxPartitionLabelBytes) {
    partition.error("label", "partition labels may not exceed 36 characters", *label);
  } else if (label && label->find(':') != std::string_view::npos) {
    partition.error("label", "partition label will be truncated to text before the colon", *label);
  }
  for (const std::string_view member : {"guid", "typeGuid"}) {
    if (const std::string_view guid = partition.text_or_empty(member); !is_guid(guid)) {
      partition.error(member, "doesn't match the form \"01234567-89AB-CDEF-EDCB-A98765432101\"", guid);
    }
  }
}

void check_filesystem(const CheckedObject& filesystem) {
  const std::string_view path = filesystem.text_or_empty("path");
  if (!path.empty()) {
    if (auto problem = path_problem(path)) filesystem.error("path", *std::move(problem), path);
  }
  const std::string_view device = filesystem.text_or_empty("device");
  if (auto problem = path_problem(device)) filesystem.error("device", *std::move(problem), device);

  const std::string_view format = filesystem.text_or_empty("format");
  const std::string_view label = filesystem.text_or_empty("label");
  const auto limit = max_label_bytes(format);
  const bool known = limit || (format == "none" && filesystem.version() >= kFormatNone);
  if (format.empty()) {
    if (!path.empty() || !label.empty() || !filesystem.text_or_empty("uuid").empty() ||
        filesystem.boolean("wipeFilesystem") == true || !filesystem.list("mountOptions").empty() ||
        !filesystem.list("options").empty()) {
      filesystem.error("format",
                       "format cannot be empty when path, label, uuid, wipeFilesystem, options, or mountOptions is "
                       "specified");
    }
    if (!label.empty()) filesystem.error("label", "filesystem must specify format if label is specified");
    return;
  }
  if (!known) filesystem.error("format", "invalid filesystem format", format);
  if (limit && label.size() > *limit) {
    filesystem.error("label",
                     fmt::format("filesystem labels cannot be longer than {} characters when using {}", *limit, format),
                     label);
  }
}

void check_raid(const CheckedObject& raid) {
  const std::string_view level = raid.text_or_empty("level");
  const RaidLevel kind = raid_level(level);
  if (level.empty() && raid.version() >= kOptionalRaidLevel) {
    raid.error("level", "raid level is required");
  } else if (kind == RaidLevel::kWithoutSpares && raid.integer("spares").value_or(0) != 0) {
    raid.error("level", "spares unsupported for linear and raid0 arrays", level);
  } else if (kind == RaidLevel::kUnknown) {
    raid.error("level", "unrecognized raid level", level);
  }
  const Path devices = raid.path().member("devices");
  if (raid.list("devices").empty()) raid.report().error(devices, "raid devices required");
  for (std::size_t i = 0; i < raid.list("devices").size(); ++i) {
    const std::string_view device = json::as_view(raid.list("devices")[i].get_string());
    if (auto problem = path_problem(device)) raid.report().error(devices.item(i), *std::move(problem), device);
  }
}

void check_luks(const CheckedObject& luks) {
  const std::string_view name = luks.text_or_empty("name");
  if (name.find('/') != std::string_view::npos) luks.error("name", "device names cannot contain slashes", name);
  const std::string_view label = luks.text_or_empty("label");
  if (label.size() > kMaxLuksLabelBytes) {
    luks.error("label", "luks device labels cannot be longer than 47 characters", label);
  }
  const std::string_view device = luks.text_or_empty("device");
  if (device.empty()) {
    luks.error("device", "disk device is required");
  } else if (auto problem = path_problem(device)) {
    luks.error("device", *std::move(problem), device);
  }

  const Path clevis_path = luks.path().member("clevis");
  const CheckedObject clevis = luks.inside("clevis", clevis_path);
  const CheckedObject custom = clevis.inside("custom", clevis_path);
  const bool has_pin = !custom.text_or_empty("pin").empty();
  const bool is_custom = luks.version() < kOptionalClevis ? clevis.has("custom") : has_pin;
  if (is_custom && clevis_has_others(clevis)) {
    luks.error("clevis", "cannot use custom clevis config with tpm2, tang, or threshold");
  }

  const std::string_view key_file = luks.inside("keyFile", clevis_path).text_or_empty("source");
  if (!key_file.empty() && source_problem(key_file, luks.version())) {
    luks.error("keys", "invalid key-file source");
  }
  if (luks.inside("cex", clevis_path).boolean("enabled") != true) return;
  if (has_pin || clevis_has_others(clevis)) luks.error("cex", "cannot use cex with clevis");
  if (!key_file.empty()) luks.error("cex", "cannot use key file with cex");
}

void check_clevis_custom(const CheckedObject& custom) {
  constexpr std::string_view kPins[] = {"tpm2", "tang", "sss"};
  const std::string_view pin = custom.text_or_empty("pin");
  const std::string_view config = custom.text_or_empty("config");
  const bool is_optional = custom.version() >= kOptionalClevis;
  if (pin.empty() && config.empty() && !(is_optional && custom.boolean("needsNetwork") == true)) return;
  if (pin.empty() && is_optional) {
    custom.error("pin", "missing required custom clevis pin");
  } else if (std::ranges::find(kPins, pin) == std::end(kPins)) {
    custom.error("pin", "unsupported clevis pin", pin);
  }
  if (config.empty()) custom.error("config", "missing required custom clevis config");
}

void check_tang(const CheckedObject& tang) {
  const std::string_view text = tang.text_or_empty("url");
  const auto url = parse_url(text);
  if (!url) {
    tang.error("url", "unable to parse url", text);
  } else if (url->scheme != "http" && url->scheme != "https") {
    tang.error("url", "invalid url scheme", text);
  }
  if (tang.text_or_empty("thumbprint").empty()) tang.error("thumbprint", "thumbprint is required");
  const std::string_view advertisement = tang.text_or_empty("advertisement");
  if (!advertisement.empty() && !json::parse(advertisement).ok()) {
    tang.error("advertisement", "advertisement is not valid JSON");
  }
}

}  // namespace strake::ignition
