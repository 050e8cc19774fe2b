#include <algorithm>

#include "machineconfig/diff/spec_diff_builder.h"

namespace strake::machineconfig {

namespace {

/// Everything of a user but keys and password, which are subjects of their own.
json::Value other_members(const json::Value* user) {
  json::Object kept;
  if (user == nullptr) return kept;
  for (const auto& member : user->get_object()) {
    const std::string_view name = member.key();
    if (name != "passwordHash" && name != "sshAuthorizedKeys") kept[member.key()] = member.value();
  }
  return kept;
}

void add_password(SpecDiffBuilder& builder, const ItemPair& user) {
  const auto before = text_in(user.before, "passwordHash"), after = text_in(user.after, "passwordHash");
  if (before == after) return;
  const ChangeKind kind = !before ? ChangeKind::kAdded : !after ? ChangeKind::kRemoved : ChangeKind::kChanged;
  SpecChange& change = builder.add(SubjectKind::kPassword, user.key, kind);
  change.secret = true;
  // Not even its size: that tells which kind of hash it is.
  const auto shown = [&](const std::optional<std::string>& hash) {
    return !hash ? std::string() : builder.show_secrets() ? *hash : "(hidden)";
  };
  change.before = shown(before);
  change.after = shown(after);
}

std::vector<std::string> keys_of(const json::Value* user) {
  std::vector<std::string> keys;
  if (user == nullptr) return keys;
  for (const json::Value& key : items_at(*user, {"sshAuthorizedKeys"})) {
    if (key.is_string()) keys.emplace_back(json::as_view(key.get_string()));
  }
  return keys;
}

void add_keys(SpecDiffBuilder& builder, const ItemPair& user) {
  const std::vector<std::string> before = keys_of(user.before), after = keys_of(user.after);
  const auto add_missing = [&](const std::vector<std::string>& keys, const std::vector<std::string>& other,
                               ChangeKind kind) {
    for (const std::string& key : keys) {
      if (std::find(other.begin(), other.end(), key) != other.end()) continue;
      builder.add(SubjectKind::kSshKey, fmt::format("{} {}", user.key, key), kind);
    }
  };
  add_missing(after, before, ChangeKind::kAdded);
  add_missing(before, after, ChangeKind::kRemoved);
}

void add_user(SpecDiffBuilder& builder, const ItemPair& pair) {
  const std::size_t changes_before = builder.change_count();
  const json::Value before = other_members(pair.before), after = other_members(pair.after);
  if (before != after) {
    builder.compare_json(builder.add(SubjectKind::kUser, pair.key, pair.kind()),
                         pair.before == nullptr ? nullptr : &before, pair.after == nullptr ? nullptr : &after);
  }
  add_password(builder, pair);
  add_keys(builder, pair);
  if (builder.change_count() != changes_before) return;
  builder.add(SubjectKind::kUser, pair.key, pair.kind())
      .details.emplace_back("its SSH keys are listed in another order, or an empty list stands for none");
}

}  // namespace

void add_passwd_changes(SpecDiffBuilder& builder) {
  for (const ItemPair& pair : builder.changed_items("passwd", "users", "name")) add_user(builder, pair);
  for (const ItemPair& pair : builder.changed_items("passwd", "groups", "name")) {
    builder.compare_json(builder.add(SubjectKind::kGroup, pair.key, pair.kind()), pair.before, pair.after);
  }
}

}  // namespace strake::machineconfig
