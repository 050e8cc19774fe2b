// The parts of a spec diff's making that the kinds of subjects share. Internal to spec_diff*.cc.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "machineconfig/diff/content_diff.h"
#include "machineconfig/diff/spec_diff.h"

namespace strake::machineconfig {

/// One item of a list as the two sides have it; nullptr where a side lacks it.
struct ItemPair {
  std::string key;
  const json::Value* before = nullptr;
  const json::Value* after = nullptr;

  bool same() const { return before != nullptr && after != nullptr && *before == *after; }
  bool on_both_sides() const { return before != nullptr && after != nullptr; }
  ChangeKind kind() const;
};

/// Pairs the items of two lists by their member `key`: those of the new list in its order, then those only the old one
/// has.
std::vector<ItemPair> pair_items(const json::Array& before, const json::Array& after, std::string_view key);

/// The string member of a side, when there is such a side and it has one.
std::optional<std::string> text_in(const json::Value* item, std::string_view member);

class SpecDiffBuilder {
 public:
  SpecDiffBuilder(const ComparableSpec& before, const ComparableSpec& after, const SpecDiffOptions& options,
                  SpecDiff& diff)
      : before_(before), after_(after), options_(options), diff_(diff) {}

  const ComparableSpec& before() const { return before_; }
  const ComparableSpec& after() const { return after_; }
  bool show_secrets() const { return options_.show_secrets; }
  std::size_t change_count() const { return diff_.changes.size(); }

  /// The pairs of a list of the Ignition config that are not the same.
  std::vector<ItemPair> changed_items(std::string_view section, std::string_view list, std::string_view key) const;

  /// A change with its action and reason. The reference lasts until the next add().
  SpecChange& add(SubjectKind kind, std::string name, ChangeKind change);
  void note(std::string text) { diff_.notes.push_back(std::move(text)); }

  /// Adds the detail lines of changed contents.
  void compare_contents(SpecChange& change, const std::optional<std::string>& before,
                        const std::optional<std::string>& after, ContentForm form,
                        std::optional<SecretKind> secret_by_place = std::nullopt) const;
  /// The same for a piece of the config itself, with what is secret by its place hidden.
  void compare_json(SpecChange& change, const json::Value* before, const json::Value* after) const;

 private:
  void explain(SpecChange& change) const;

  const ComparableSpec& before_;
  const ComparableSpec& after_;
  const SpecDiffOptions& options_;
  SpecDiff& diff_;
};

/// Adds "name: old -> new" when they differ.
void compare_attribute(SpecChange& change, std::string_view name, const std::string& before, const std::string& after);

void add_storage_changes(SpecDiffBuilder& builder);  ///< files, directories, links
void add_systemd_changes(SpecDiffBuilder& builder);  ///< units, drop-ins
void add_passwd_changes(SpecDiffBuilder& builder);   ///< users, keys, passwords, groups

}  // namespace strake::machineconfig
