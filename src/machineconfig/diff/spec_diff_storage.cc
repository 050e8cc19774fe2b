#include "machineconfig/diff/spec_diff_builder.h"

namespace strake::machineconfig {

namespace {

constexpr std::int64_t kStandardFileMode = 0644;
constexpr std::int64_t kStandardFolderMode = 0755;
constexpr std::size_t kLongestUrl = 200;

/// "core:0", or nothing when the config does not say.
std::string owner_of(const json::Value& node) {
  const auto side = [&](std::string_view member) {
    if (const auto name = json::find_string(node, {member, "name"})) return *name;
    if (const auto id = json::find_int(node, {member, "id"})) return fmt::format("{}", *id);
    return std::string();
  };
  const std::string user = side("user"), group = side("group");
  if (user.empty() && group.empty()) return "";
  return fmt::format("{}:{}", user.empty() ? "0" : user, group.empty() ? "0" : group);
}

std::string mode_of(const json::Value& node, std::int64_t standard) {
  return fmt::format("{:04o}", json::find_int(node, {"mode"}).value_or(standard));
}

std::string mode_and_owner(const json::Value& node, std::int64_t standard) {
  const std::string owner = owner_of(node);
  return mode_of(node, standard) + (owner.empty() ? "" : " ") + owner;
}

/// What a side's file holds, as far as that can be known here.
struct FileSide {
  std::optional<std::string> contents;
  std::string instead;      ///< why there are none: fetched from somewhere, or unreadable
  bool secret_url = false;  ///< fetched with credentials in the URL
};

FileSide file_side(const json::Value* file, bool show_secrets) {
  FileSide side;
  if (file == nullptr) return side;
  const std::string source = json::find_string(*file, {"contents", "source"}).value_or("");
  if (!source.empty() && !source.starts_with("data:")) {
    side.secret_url = find_secret(source).has_value();
    side.instead = side.secret_url && !show_secrets ? "fetched from a hidden URL"
                                                    : "fetched from " + shortened(source, kLongestUrl);
    return side;
  }
  auto decoded = decode_file(*file);
  if (decoded.ok()) {
    side.contents = std::move(decoded->contents);
  } else {
    side.instead = "unreadable: " + shortened(decoded.error().message(), kLongestUrl);
  }
  return side;
}

std::string file_summary(const json::Value& file, const FileSide& side) {
  return fmt::format("{}, {}", mode_and_owner(file, kStandardFileMode),
                     side.contents ? fmt::format("{} bytes", side.contents->size()) : side.instead);
}

/// By the path, or because one of the sides keeps the file from all others.
std::optional<SecretKind> secret_place(const ItemPair& pair) {
  for (const json::Value* side : {pair.before, pair.after}) {
    if (side == nullptr) continue;
    const std::int64_t mode = json::find_int(*side, {"mode"}).value_or(kStandardFileMode);
    if (const auto kind = find_secret_place(pair.key, static_cast<std::uint32_t>(mode))) return kind;
  }
  return std::nullopt;
}

void add_file(SpecDiffBuilder& builder, const ItemPair& pair) {
  SpecChange& change = builder.add(SubjectKind::kFile, pair.key, pair.kind());
  const FileSide before = file_side(pair.before, builder.show_secrets());
  const FileSide after = file_side(pair.after, builder.show_secrets());
  if (pair.before != nullptr) change.before = file_summary(*pair.before, before);
  if (pair.after != nullptr) change.after = file_summary(*pair.after, after);
  change.secret = before.secret_url || after.secret_url;
  if (pair.on_both_sides()) {
    compare_attribute(change, "mode", mode_of(*pair.before, kStandardFileMode),
                      mode_of(*pair.after, kStandardFileMode));
    compare_attribute(change, "owner", owner_of(*pair.before), owner_of(*pair.after));
    compare_attribute(change, "contents", before.instead, after.instead);
    const bool same_source = json::find_string(*pair.before, {"contents", "source"}) ==
                             json::find_string(*pair.after, {"contents", "source"});
    if (change.secret && !same_source && before.instead == after.instead) {
      change.details.emplace_back("contents: fetched from another hidden URL (--show-secrets shows it)");
    }
    if (items_at(*pair.before, {"append"}) != items_at(*pair.after, {"append"})) {
      change.details.emplace_back("what is appended differs");
    }
  }
  const bool is_systemd_setting = pair.key.find("/systemd/") != std::string::npos;
  builder.compare_contents(change, before.contents, after.contents,
                           is_systemd_setting ? ContentForm::kUnit : ContentForm::kAny, secret_place(pair));
  if (pair.on_both_sides() && change.details.empty()) {
    change.details.emplace_back("same contents, mode and owner; the config only writes them differently");
  }
}

std::string link_summary(const json::Value* link) {
  if (link == nullptr) return "";
  const std::string owner = owner_of(*link);
  return fmt::format("{}to {}{}{}", json::find_bool(*link, {"hard"}).value_or(false) ? "hard link " : "",
                     json::find_string(*link, {"target"}).value_or(""), owner.empty() ? "" : ", owner ", owner);
}

}  // namespace

void add_storage_changes(SpecDiffBuilder& builder) {
  for (const ItemPair& pair : builder.changed_items("storage", "files", "path")) add_file(builder, pair);
  for (const ItemPair& pair : builder.changed_items("storage", "directories", "path")) {
    SpecChange& change = builder.add(SubjectKind::kDirectory, pair.key, pair.kind());
    if (pair.before != nullptr) change.before = mode_and_owner(*pair.before, kStandardFolderMode);
    if (pair.after != nullptr) change.after = mode_and_owner(*pair.after, kStandardFolderMode);
  }
  for (const ItemPair& pair : builder.changed_items("storage", "links", "path")) {
    SpecChange& change = builder.add(SubjectKind::kLink, pair.key, pair.kind());
    change.before = link_summary(pair.before);
    change.after = link_summary(pair.after);
  }
}

}  // namespace strake::machineconfig
