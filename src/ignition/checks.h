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

/// What is wrong with a path that must be absolute and simple; nullopt when nothing is.
std::optional<std::string> path_problem(std::string_view path);

}  // namespace strake::ignition
