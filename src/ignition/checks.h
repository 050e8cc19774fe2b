// What validation looks at in each object of an Ignition config; the table in schema.cc says which check belongs where.
// The findings, and their words, are those of coreos/ignition's validator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "codec/json.h"
#include "ignition/report.h"
#include "ignition/version.h"

namespace strake::ignition {

/// One object of a config whose members are known to have their types, and where to report what is wrong with it.
class CheckedObject {
 public:
  CheckedObject(const json::Object& object, const Path& path, SpecVersion version, Report& report)
      : object_(object), path_(path), version_(version), report_(report) {}

  SpecVersion version() const { return version_; }
  const Path& path() const { return path_; }
  Report& report() const { return report_; }

  bool has(std::string_view name) const { return object_.contains(name); }
  std::optional<std::string_view> text(std::string_view name) const;
  std::string_view text_or_empty(std::string_view name) const { return text(name).value_or(std::string_view()); }
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<bool> boolean(std::string_view name) const;

  /// The items of a list; none when it is absent.
  const json::Array& list(std::string_view name) const;

  /// An object inside; an empty one when it is absent.
  CheckedObject inside(std::string_view name, const Path& path) const;

  /// Item `index` of the list `name`, an object.
  CheckedObject item(std::string_view name, std::size_t index, const Path& path) const;

  void error(std::string_view member, std::string message, std::string_view found = {}) const;
  void warn(std::string_view member, std::string message, std::string_view found = {}) const;

 private:
  const json::Object& object_;
  const Path& path_;
  SpecVersion version_;
  Report& report_;
};

void check_config(const CheckedObject& config);

void check_ignition_config(const CheckedObject& config);
void check_tls(const CheckedObject& tls);
void check_proxy(const CheckedObject& proxy);
void check_resource(const CheckedObject& resource);
void check_config_reference(const CheckedObject& reference);
void check_certificate_authority(const CheckedObject& authority);
void check_http_header(const CheckedObject& header);
void check_verification(const CheckedObject& verification);

void check_storage(const CheckedObject& storage);
void check_node(const CheckedObject& node);
void check_file(const CheckedObject& file);
void check_directory(const CheckedObject& directory);
void check_owner(const CheckedObject& owner);

void check_disk(const CheckedObject& disk);
void check_partition(const CheckedObject& partition);
void check_filesystem(const CheckedObject& filesystem);
void check_raid(const CheckedObject& raid);
void check_luks(const CheckedObject& luks);
void check_clevis_custom(const CheckedObject& custom);
void check_tang(const CheckedObject& tang);

void check_systemd(const CheckedObject& systemd);
void check_unit(const CheckedObject& unit);
void check_dropin(const CheckedObject& dropin);

// Spec 2.x: the same, in checks2.cc.
void check2_config(const CheckedObject& config);
void check2_reference(const CheckedObject& reference);
void check2_group(const CheckedObject& group);
void check2_user(const CheckedObject& user);
void check2_user_create(const CheckedObject& create);
void check2_whole_disk(const CheckedObject& disk);
void check2_disk(const CheckedObject& disk);
void check2_partition(const CheckedObject& partition);
void check2_whole_filesystem(const CheckedObject& filesystem);
void check2_filesystem(const CheckedObject& filesystem);
void check2_whole_mount(const CheckedObject& mount);
void check2_mount(const CheckedObject& mount);
void check2_whole_raid(const CheckedObject& raid);
void check2_raid(const CheckedObject& raid);
void check2_whole_file(const CheckedObject& file);
void check2_file(const CheckedObject& file);
void check2_directory(const CheckedObject& directory);
void check2_node(const CheckedObject& node);
void check2_contents(const CheckedObject& contents);
void check2_whole_unit(const CheckedObject& unit);
void check2_unit(const CheckedObject& unit);
void check2_whole_dropin(const CheckedObject& dropin);
void check2_dropin(const CheckedObject& dropin);
void check2_whole_network_unit(const CheckedObject& unit);
void check2_network_unit(const CheckedObject& unit);
void check2_network_dropin(const CheckedObject& dropin);

/// What Linux takes for a path; longer ones would only cost time.
inline constexpr std::size_t kMaxPathBytes = 4096;

/// What is wrong with a path that must be absolute and simple; nullopt when nothing is.
std::optional<std::string> path_problem(std::string_view path);

/// Go's path.Clean: the shortest path that means the same, by text alone.
std::string simplified_path(std::string_view path);

/// "01234567-89AB-CDEF-EDCB-A98765432101", or nothing at all.
bool is_guid(std::string_view text);

/// How long a label the filesystem format holds; nullopt when the format is not known.
std::optional<std::size_t> max_label_bytes(std::string_view format);

/// Overlaps are looked for pair by pair, so hostile input is cut off; a partition table holds 128.
inline constexpr std::size_t kMaxJudgedPartitions = 256;
std::string too_many_partitions(std::size_t count);

enum class RaidLevel { kUnknown, kWithoutSpares, kWithSpares };
RaidLevel raid_level(std::string_view level);

bool is_unit_name(std::string_view name);    ///< by its extension
bool is_dropin_name(std::string_view name);  ///< by its extension

/// From the last dot of the last part of a path.
std::string_view file_extension(std::string_view name);

}  // namespace strake::ignition
