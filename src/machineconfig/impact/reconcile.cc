#include "machineconfig/impact/reconcile.h"

#include <algorithm>

#include "api/machine_config.h"
#include "api/machine_configuration.h"

namespace strake::machineconfig {

namespace {

constexpr std::string_view kForceFile = "/run/machine-config-daemon-force";
constexpr std::int64_t kMaxFilePermissions = 0777;

std::string key_of(const json::Value& item, std::string_view key) {
  return json::find_string(item, {key}).value_or("");
}

/// The key of the first item of one list that the other does not have just so; "" when only the order differs or one
/// of the lists is absent.
std::string first_difference(const json::Array& before, const json::Array& after, std::string_view key) {
  const auto missing = [](const json::Array& list, const json::Value& item) {
    return std::find(list.begin(), list.end(), item) == list.end();
  };
  for (const json::Value& item : after) {
    if (missing(before, item)) return key_of(item, key);
  }
  for (const json::Value& item : before) {
    if (missing(after, item)) return key_of(item, key);
  }
  return "";
}

/// The item that differs, or the whole section when no single one does.
Subject differing_item(const ComparableSpec& before, const ComparableSpec& after, SubjectKind kind,
                       std::string_view section, std::string_view list, std::string_view key) {
  std::string name =
      first_difference(items_at(before.config, {section, list}), items_at(after.config, {section, list}), key);
  if (name.empty()) return {SubjectKind::kIgnitionSection, fmt::format("{}.{}", section, list)};
  return {kind, std::move(name)};
}

std::optional<Irreconcilable> check_users(const ComparableSpec& before, const ComparableSpec& after) {
  if (same_member(before, after, {"passwd", "users"})) return std::nullopt;
  const json::Array& users = items_at(after.config, {"passwd", "users"});
  if (users.empty()) return std::nullopt;
  for (const json::Value& user : users) {
    const std::string name = key_of(user, "name");
    if (name == "core") continue;
    return Irreconcilable{
        "invalid passwd change(s): ignition passwd user section contains unsupported changes: non-core user",
        {SubjectKind::kUser, name}};
  }
  // Only the last user is looked at more closely; a second `core` cannot be in a valid config.
  const json::Object& user = users.back().get_object();
  const Subject core{SubjectKind::kUser, "core"};
  if (!user.contains("passwordHash") && items_at(users.back(), {"sshAuthorizedKeys"}).empty()) {
    return Irreconcilable{
        "invalid passwd change(s): ignition passwd user section contains unsupported changes: user "
        "must be core and have 1 or more sshKeys",
        core};
  }
  for (const auto& member : user) {
    const std::string_view name = member.key();
    if (name == "name" || name == "passwordHash" || name == "sshAuthorizedKeys") continue;
    return Irreconcilable{"invalid passwd change(s): SSH keys and password hash are not reconcilable", core};
  }
  return std::nullopt;
}

std::optional<Irreconcilable> check_storage(const ComparableSpec& before, const ComparableSpec& after,
                                            const ReconcileOverrides& overrides) {
  const struct {
    std::string_view list;
    bool overridden;
  } disk_sections[] = {{"disks", overrides.disks}, {"filesystems", overrides.file_systems}, {"raid", overrides.raid}};
  for (const auto& section : disk_sections) {
    if (section.overridden || same_member(before, after, {"storage", section.list})) continue;
    return Irreconcilable{fmt::format("ignition {} section contains changes", section.list),
                          {SubjectKind::kIgnitionSection, fmt::format("storage.{}", section.list)}};
  }
  if (!same_member(before, after, {"storage", "directories"})) {
    return Irreconcilable{"ignition directories section contains changes",
                          differing_item(before, after, SubjectKind::kDirectory, "storage", "directories", "path")};
  }
  if (!same_member(before, after, {"storage", "links"}) && !items_at(after.config, {"storage", "links"}).empty()) {
    return Irreconcilable{"ignition links section contains changes",
                          differing_item(before, after, SubjectKind::kLink, "storage", "links", "path")};
  }
  for (const json::Value& file : items_at(after.config, {"storage", "files"})) {
    const std::string path = key_of(file, "path");
    if (!items_at(file, {"append"}).empty()) {
      return Irreconcilable{fmt::format("ignition file {} includes append", path), {SubjectKind::kFile, path}};
    }
    if (path == kForceFile) {
      return Irreconcilable{fmt::format("cannot create {} via Ignition", path), {SubjectKind::kFile, path}};
    }
  }
  return std::nullopt;
}

Status check_permissions(const ComparableSpec& spec) {
  for (const json::Value& file : items_at(spec.config, {"storage", "files"})) {
    const auto mode = json::find_int(file, {"mode"});
    if (!mode || *mode <= kMaxFilePermissions) continue;
    return error(Code::kInvalidArgument, "spec.config: file {}: mode {:#o} cannot exceed 0777", key_of(file, "path"),
                 *mode);
  }
  return {};
}

/// Whether a MachineConfig says anything itself about the subject of a refusal.
bool speaks_of(const ComparableSpec& component, const Subject& subject) {
  const auto has_item = [&](std::string_view section, std::string_view list, std::string_view key) {
    const json::Array& items = items_at(component.config, {section, list});
    return std::any_of(items.begin(), items.end(),
                       [&](const json::Value& item) { return key_of(item, key) == subject.name; });
  };
  switch (subject.kind) {
    case SubjectKind::kGroup: return has_item("passwd", "groups", "name");
    case SubjectKind::kUser: return has_item("passwd", "users", "name");
    case SubjectKind::kDirectory: return has_item("storage", "directories", "path");
    case SubjectKind::kLink: return has_item("storage", "links", "path");
    case SubjectKind::kFile: return has_item("storage", "files", "path");
    case SubjectKind::kFips: return component.fips;
    case SubjectKind::kIgnitionSection: {
      const json::Value* here = &component.config;
      for (std::string_view rest = subject.name; here != nullptr && !rest.empty();) {
        const std::size_t dot = rest.find('.');
        here = json::find(*here, {rest.substr(0, dot)});
        rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
      }
      return here != nullptr;
    }
    case SubjectKind::kOsImage:
    case SubjectKind::kExtensionsImage:
    case SubjectKind::kKernelType:
    case SubjectKind::kKernelArgument:
    case SubjectKind::kExtension:
    case SubjectKind::kUnit:
    case SubjectKind::kDropin:
    case SubjectKind::kSshKey:
    case SubjectKind::kPassword: return false;  // no rule is about these
  }
  return false;
}

const json::Value& spec_of_component(const kube::Object& component) {
  static const json::Value kEmpty = json::Object{};
  const json::Value* spec = api::spec_of(component);
  return spec == nullptr ? kEmpty : *spec;
}

}  // namespace

Result<ReconcileOverrides> reconcile_overrides(const json::Value& machine_configuration) {
  ReconcileOverrides overrides;
  for (const std::string& section : api::MachineConfigurationView(machine_configuration).irreconcilable_storage()) {
    if (section == "Disks") {
      overrides.disks = true;
    } else if (section == "FileSystems") {
      overrides.file_systems = true;
    } else if (section == "Raid") {
      overrides.raid = true;
    } else {
      return error(Code::kInvalidArgument,
                   "spec.irreconcilableValidationOverrides.storage: '{}' is not Disks, FileSystems or Raid", section);
    }
  }
  return overrides;
}

std::optional<Irreconcilable> check_reconcilable(const ComparableSpec& before, const ComparableSpec& after,
                                                 const ReconcileOverrides& overrides) {
  if (!same_member(before, after, {"passwd", "groups"})) {
    return Irreconcilable{"invalid passwd change(s): ignition Passwd Groups section contains changes",
                          differing_item(before, after, SubjectKind::kGroup, "passwd", "groups", "name")};
  }
  if (auto refusal = check_users(before, after)) return refusal;
  if (!same_member(before, after, {"kernelArguments"})) {
    return Irreconcilable{"ignition kargs section contains changes",
                          {SubjectKind::kIgnitionSection, "kernelArguments"}};
  }
  if (auto refusal = check_storage(before, after, overrides)) return refusal;
  if (before.fips != after.fips) {
    return Irreconcilable{"detected change to FIPS flag; refusing to modify FIPS on a running cluster",
                          {SubjectKind::kFips, ""}};
  }
  return std::nullopt;
}

Result<std::optional<Irreconcilable>> check_reconcilable(const json::Value& old_spec, const json::Value& new_spec,
                                                         const ReconcileOverrides& overrides) {
  STRAKE_TRY_CONTEXT(const ComparableSpec before, comparable_spec(old_spec), "old config");
  STRAKE_TRY_CONTEXT(const ComparableSpec after, comparable_spec(new_spec), "new config");
  STRAKE_CHECK_OK(check_permissions(after).context("new config"));
  return check_reconcilable(before, after, overrides);
}

const kube::Object* causing_component(const RefusedRender& render, const Irreconcilable& refusal) {
  const kube::Object* first = nullptr;
  const kube::Object* last_speaking = nullptr;
  for (const kube::ObjectPtr& component : render.components) {
    const json::Value& spec = spec_of_component(*component);
    const auto alone = check_reconcilable(render.current_spec, spec, render.overrides);
    if (!alone.ok() || !*alone || (*alone)->reason != refusal.reason) continue;
    if (first == nullptr) first = component.get();
    const auto comparable = comparable_spec(spec);
    if (comparable.ok() && speaks_of(*comparable, refusal.subject)) last_speaking = component.get();
  }
  // A component that merely lacks what the current config has is refused for the same reason, and is innocent. Of those
  // that speak of the matter the last one has the last word in the merge.
  return last_speaking != nullptr ? last_speaking : first;
}

std::string refusal_message(const RefusedRender& render, const Irreconcilable& refusal) {
  if (const kube::Object* component = causing_component(render, refusal)) {
    return fmt::format("reconciliation failed between current config \"{}\" and base config \"{}\": {}",
                       render.current_name, component->name(), refusal.reason);
  }
  std::vector<std::string> component_errors;
  for (const kube::ObjectPtr& component : render.components) {
    const auto alone = check_reconcilable(render.current_spec, spec_of_component(*component), render.overrides);
    if (alone.ok() && !*alone) continue;
    component_errors.push_back(
        fmt::format("{}: {}", component->name(), alone.ok() ? (*alone)->reason : alone.error().to_string()));
  }
  return fmt::format(
      "render reconciliation error: new machineconfig \"{}\" is not reconcilable against \"{}\": {}; component errors: "
      "[{}]",
      render.new_name, render.current_name, refusal.reason, fmt::join(component_errors, "; "));
}

}  // namespace strake::machineconfig
