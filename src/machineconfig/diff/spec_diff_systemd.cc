#include "machineconfig/diff/spec_diff_builder.h"

namespace strake::machineconfig {

namespace {

std::string unit_summary(const json::Value* unit) {
  if (unit == nullptr) return "";
  std::vector<std::string> words;
  if (const auto enabled = json::find_bool(*unit, {"enabled"})) words.emplace_back(*enabled ? "enabled" : "disabled");
  if (json::find_bool(*unit, {"mask"}).value_or(false)) words.emplace_back("masked");
  if (const auto contents = json::find_string(*unit, {"contents"})) {
    words.push_back(fmt::format("{} bytes", contents->size()));
  }
  return words.empty() ? "as the OS has it" : fmt::format("{}", fmt::join(words, ", "));
}

std::string flag_in(const json::Value& unit, std::string_view flag) {
  const auto state = json::find_bool(unit, {flag});
  return !state ? "" : *state ? "true" : "false";
}

void add_unit(SpecDiffBuilder& builder, const ItemPair& pair) {
  SpecChange& change = builder.add(SubjectKind::kUnit, pair.key, pair.kind());
  change.before = unit_summary(pair.before);
  change.after = unit_summary(pair.after);
  const auto before = text_in(pair.before, "contents"), after = text_in(pair.after, "contents");
  if (pair.on_both_sides()) {
    for (const std::string_view flag : {"enabled", "mask"}) {
      compare_attribute(change, flag, flag_in(*pair.before, flag), flag_in(*pair.after, flag));
    }
    if (before.has_value() != after.has_value() && before.value_or("") == after.value_or("")) {
      change.details.emplace_back("empty contents against none");
      return;
    }
  }
  builder.compare_contents(change, before, after, ContentForm::kUnit);
}

const json::Array& dropins_of(const json::Value* unit) {
  static const json::Array kNone;
  return unit == nullptr ? kNone : items_at(*unit, {"dropins"});
}

void add_dropins(SpecDiffBuilder& builder, const ItemPair& unit) {
  for (const ItemPair& pair : pair_items(dropins_of(unit.before), dropins_of(unit.after), "name")) {
    if (pair.same()) continue;
    SpecChange& change = builder.add(SubjectKind::kDropin, fmt::format("{}/{}", unit.key, pair.key), pair.kind());
    const auto before = text_in(pair.before, "contents"), after = text_in(pair.after, "contents");
    if (before) change.before = fmt::format("{} bytes", before->size());
    if (after) change.after = fmt::format("{} bytes", after->size());
    builder.compare_contents(change, before, after, ContentForm::kUnit);
  }
}

bool differs_beside_dropins(const ItemPair& pair) {
  if (!pair.on_both_sides()) return true;
  json::Object before = pair.before->get_object(), after = pair.after->get_object();
  before.erase("dropins");
  after.erase("dropins");
  return before != after;
}

}  // namespace

void add_systemd_changes(SpecDiffBuilder& builder) {
  for (const ItemPair& pair : builder.changed_items("systemd", "units", "name")) {
    const std::size_t changes_before = builder.change_count();
    if (differs_beside_dropins(pair)) add_unit(builder, pair);
    add_dropins(builder, pair);
    if (builder.change_count() != changes_before) continue;
    builder.add(SubjectKind::kUnit, pair.key, pair.kind())
        .details.emplace_back("its drop-ins are listed in another order, or an empty list stands for none");
  }
}

}  // namespace strake::machineconfig
