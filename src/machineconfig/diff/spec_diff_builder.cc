#include "machineconfig/diff/spec_diff_builder.h"

#include <map>

namespace strake::machineconfig {

namespace {

constexpr std::size_t kLongestName = 200;

/// "systemd.password=x" stays recognisable by its first half.
std::string hidden_name(const std::string& name) {
  const std::string first_half = name.substr(0, name.find('=') + 1);  // nothing when there is no '='
  return (find_secret(first_half) ? "" : first_half) + "(hidden)";
}

/// The subject whose cause speaks for this one.
Subject subject_of_cause(const Subject& subject) {
  switch (subject.kind) {
    case SubjectKind::kDropin: return {SubjectKind::kUnit, subject.name.substr(0, subject.name.find('/'))};
    case SubjectKind::kUser:
    case SubjectKind::kPassword:
    case SubjectKind::kSshKey: return {SubjectKind::kSshKey, ""};
    case SubjectKind::kKernelArgument:
    case SubjectKind::kExtension: return {subject.kind, ""};
    case SubjectKind::kOsImage:
    case SubjectKind::kExtensionsImage:
    case SubjectKind::kKernelType:
    case SubjectKind::kFips:
    case SubjectKind::kFile:
    case SubjectKind::kDirectory:
    case SubjectKind::kLink:
    case SubjectKind::kUnit:
    case SubjectKind::kGroup:
    case SubjectKind::kIgnitionSection: return subject;
  }
  return subject;
}

/// Why a change calls for nothing.
std::string_view why_without_cause(SubjectKind kind) {
  if (kind == SubjectKind::kExtensionsImage) return "nodes look at it only when their extensions change";
  // Only where encodings are not compared: see FileComparison.
  if (kind == SubjectKind::kFile) return "the node's file stays as it is";
  return "running nodes do nothing; only machines installed later get it";
}

}  // namespace

ChangeKind ItemPair::kind() const {
  if (before == nullptr) return ChangeKind::kAdded;
  return after == nullptr ? ChangeKind::kRemoved : ChangeKind::kChanged;
}

std::vector<ItemPair> pair_items(const json::Array& before, const json::Array& after, std::string_view key) {
  const auto key_in = [key](const json::Value& item) { return json::find_string(item, {key}).value_or(""); };
  std::map<std::string, const json::Value*> old_items;
  for (const json::Value& item : before) old_items.emplace(key_in(item), &item);
  std::vector<ItemPair> pairs;
  for (const json::Value& item : after) {
    ItemPair pair{key_in(item), nullptr, &item};
    if (const auto known = old_items.find(pair.key); known != old_items.end()) {
      pair.before = known->second;
      old_items.erase(known);
    }
    pairs.push_back(std::move(pair));
  }
  for (const json::Value& item : before) {
    std::string name = key_in(item);
    if (old_items.erase(name) > 0) pairs.push_back({std::move(name), &item, nullptr});
  }
  return pairs;
}

std::optional<std::string> text_in(const json::Value* item, std::string_view member) {
  return item == nullptr ? std::nullopt : json::find_string(*item, {member});
}

void compare_attribute(SpecChange& change, std::string_view name, const std::string& before, const std::string& after) {
  if (before == after) return;
  change.details.push_back(
      fmt::format("{}: {} -> {}", name, before.empty() ? "unset" : before, after.empty() ? "unset" : after));
}

std::vector<ItemPair> SpecDiffBuilder::changed_items(std::string_view section, std::string_view list,
                                                     std::string_view key) const {
  std::vector<ItemPair> pairs =
      pair_items(items_at(before_.config, {section, list}), items_at(after_.config, {section, list}), key);
  std::erase_if(pairs, [](const ItemPair& pair) { return pair.same(); });
  return pairs;
}

SpecChange& SpecDiffBuilder::add(SubjectKind kind, std::string name, ChangeKind change) {
  SpecChange& added = diff_.changes.emplace_back();
  added.subject = {kind, std::move(name)};
  added.kind = change;
  added.secret = find_secret(added.subject.name).has_value();
  added.name = added.secret && !options_.show_secrets ? hidden_name(added.subject.name)
                                                      : shortened(added.subject.name, kLongestName);
  explain(added);
  return added;
}

void SpecDiffBuilder::explain(SpecChange& change) const {
  const auto& irreconcilable = diff_.verdict.irreconcilable;
  if (irreconcilable && irreconcilable->subject == change.subject) {
    change.why = fmt::format("a running node cannot follow: {}", irreconcilable->reason);
    return;
  }
  const Subject wanted = subject_of_cause(change.subject);
  for (const Cause& cause : diff_.verdict.causes) {
    if (cause.subject != wanted) continue;
    change.actions = cause.actions;
    change.why = cause.why;
    return;
  }
  change.why = why_without_cause(change.subject.kind);
}

void SpecDiffBuilder::compare_contents(SpecChange& change, const std::optional<std::string>& before,
                                       const std::optional<std::string>& after, ContentForm form,
                                       std::optional<SecretKind> secret_by_place) const {
  ContentDiff contents = diff_contents(before, after,
                                       {.form = form,
                                        .secret_by_place = secret_by_place,
                                        .show_secrets = options_.show_secrets,
                                        .limits = options_.limits});
  change.secret = change.secret || contents.secret.has_value();
  std::move(contents.details.begin(), contents.details.end(), std::back_inserter(change.details));
}

void SpecDiffBuilder::compare_json(SpecChange& change, const json::Value* before, const json::Value* after) const {
  const auto shown = [&](const json::Value* side) -> std::optional<std::string> {
    if (side == nullptr) return std::nullopt;
    json::Value copy = *side;
    if (hide_secret_members(copy)) {
      change.secret = true;
      if (options_.show_secrets) copy = *side;
    }
    return json::write_pretty(copy);
  };
  const auto old_text = shown(before), new_text = shown(after);
  const std::size_t details_before = change.details.size();
  compare_contents(change, old_text, new_text, ContentForm::kAny);
  if (change.details.size() == details_before) {
    change.details.emplace_back("a hidden part differs (--show-secrets shows it)");
  }
}

}  // namespace strake::machineconfig
