#include "machineconfig/diff/spec_diff.h"

#include <algorithm>
#include <map>

#include "machineconfig/diff/spec_diff_builder.h"

namespace strake::machineconfig {

namespace {

void add_value_change(SpecDiffBuilder& builder, SubjectKind kind, const std::string& before, const std::string& after) {
  if (before == after) return;
  SpecChange& change = builder.add(kind, "",
                                   before.empty()  ? ChangeKind::kAdded
                                   : after.empty() ? ChangeKind::kRemoved
                                                   : ChangeKind::kChanged);
  change.before = before;
  change.after = after;
}

/// Items by how often they occur; when only the order differs, the list as a whole.
void add_list_changes(SpecDiffBuilder& builder, SubjectKind kind, const std::vector<std::string>& before,
                      const std::vector<std::string>& after) {
  if (before == after) return;
  std::map<std::string, int> surplus;
  for (const std::string& item : after) ++surplus[item];
  for (const std::string& item : before) --surplus[item];
  const std::size_t changes_before = builder.change_count();
  for (const std::string& item : after) {
    if (surplus[item] <= 0) continue;
    --surplus[item];
    builder.add(kind, item, ChangeKind::kAdded);
  }
  for (const std::string& item : before) {
    if (surplus[item] >= 0) continue;
    ++surplus[item];
    builder.add(kind, item, ChangeKind::kRemoved);
  }
  if (builder.change_count() != changes_before) return;
  SpecChange& change = builder.add(kind, "", ChangeKind::kChanged);
  change.details.emplace_back("the same ones in another order");
  const std::string old_order = fmt::format("{}", fmt::join(before, " "));
  change.secret = find_secret(old_order).has_value();
  if (change.secret && !builder.show_secrets()) return;
  change.before = old_order;
  change.after = fmt::format("{}", fmt::join(after, " "));
}

/// What only a first boot applies, section by section.
void add_section_changes(SpecDiffBuilder& builder) {
  constexpr std::pair<std::string_view, std::string_view> kSections[] = {
      {"kernelArguments", ""}, {"storage", "disks"},     {"storage", "filesystems"},
      {"storage", "luks"},     {"storage", "raid"},      {"ignition", "config"},
      {"ignition", "proxy"},   {"ignition", "security"}, {"ignition", "timeouts"}};
  for (const auto& [outer, inner] : kSections) {
    const auto member_of = [section = outer, member = inner](const ComparableSpec& spec) {
      return member.empty() ? json::find(spec.config, {section}) : json::find(spec.config, {section, member});
    };
    const ItemPair pair{inner.empty() ? std::string(outer) : fmt::format("{}.{}", outer, inner),
                        member_of(builder.before()), member_of(builder.after())};
    const bool absent = pair.before == nullptr && pair.after == nullptr;
    if (absent || pair.same()) continue;
    builder.compare_json(builder.add(SubjectKind::kIgnitionSection, pair.key, pair.kind()), pair.before, pair.after);
  }
}

/// Lists that differ although each of their items is the same.
void add_notes(SpecDiffBuilder& builder) {
  const struct {
    std::string_view section, list, key;
  } lists[] = {{"storage", "files", "path"}, {"storage", "directories", "path"}, {"storage", "links", "path"},
               {"systemd", "units", "name"}, {"passwd", "users", "name"},        {"passwd", "groups", "name"}};
  for (const auto& place : lists) {
    if (same_member(builder.before(), builder.after(), {place.section, place.list})) continue;
    if (!builder.changed_items(place.section, place.list, place.key).empty()) continue;
    const bool empty = items_at(builder.after().config, {place.section, place.list}).empty();
    builder.note(empty ? fmt::format("{}.{}: an empty list on one side, none on the other", place.section, place.list)
                       : fmt::format("{}.{}: the same items in another order", place.section, place.list));
  }
}

}  // namespace

Result<SpecDiff> diff_specs(const json::Value& before, const json::Value& after, const SpecDiffOptions& options) {
  STRAKE_TRY_CONTEXT(const ComparableSpec old_spec, comparable_spec(before), "old config");
  STRAKE_TRY_CONTEXT(const ComparableSpec new_spec, comparable_spec(after), "new config");
  return diff_comparable(old_spec, new_spec, options);
}

Result<SpecDiff> diff_comparable(const ComparableSpec& old_spec, const ComparableSpec& new_spec,
                                 const SpecDiffOptions& options) {
  SpecDiff diff;
  diff.before_name = options.before_name;
  diff.after_name = options.after_name;
  STRAKE_TRY(diff.verdict, judge_disruption(old_spec, new_spec, options.context));
  STRAKE_TRY(diff.on_strake, consequence_of_change(old_spec, new_spec, options.context.policy));
  SpecDiffBuilder builder(old_spec, new_spec, options, diff);
  add_value_change(builder, SubjectKind::kOsImage, old_spec.os_image, new_spec.os_image);
  add_value_change(builder, SubjectKind::kExtensionsImage, old_spec.extensions_image, new_spec.extensions_image);
  add_value_change(builder, SubjectKind::kKernelType, old_spec.kernel_type, new_spec.kernel_type);
  add_value_change(builder, SubjectKind::kFips, old_spec.fips ? "on" : "off", new_spec.fips ? "on" : "off");
  add_list_changes(builder, SubjectKind::kKernelArgument, old_spec.kernel_arguments, new_spec.kernel_arguments);
  add_list_changes(builder, SubjectKind::kExtension, old_spec.extensions, new_spec.extensions);
  add_storage_changes(builder);
  add_systemd_changes(builder);
  add_passwd_changes(builder);
  add_section_changes(builder);
  add_notes(builder);
  return diff;
}

}  // namespace strake::machineconfig
