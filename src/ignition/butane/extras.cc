// What only Butane has: contents in the config itself, local files, trees.
#include <algorithm>

#include "base/text.h"
#include "codec/utf8.h"
#include "ignition/butane/embed.h"
#include "ignition/butane/translator.h"
#include "ignition/checks.h"

namespace strake::ignition {

namespace {

constexpr std::string_view kNoFilesFolder = "local paths count from a folder that must be given with --files-dir";
constexpr std::string_view kNotTaken = "is not taken here; translate this config with butane and give its result";

}  // namespace

bool ButaneTranslator::is_file_resource(const StructSchema& schema) {
  return is_resource(schema) && schema.find("compression")->since_minor == 0;
}

bool ButaneTranslator::is_unit_text(const StructSchema& schema) {
  const Member* contents = schema.find("contents");
  return contents != nullptr && contents->type == MemberType::kString;
}

std::vector<std::string_view> ButaneTranslator::extra_members(const StructSchema& schema) const {
  std::vector<std::string_view> names;
  const auto add_if = [&](bool is_known, std::initializer_list<std::string_view> more) {
    if (is_known) names.insert(names.end(), more);
  };
  add_if(is_root(schema), {"variant", "version"});
  add_if(is_root(schema) && dialect_.is_openshift, {"metadata", "openshift"});
  add_if(is_root(schema) && dialect_.has_boot_device, {"boot_device"});
  add_if(is_root(schema) && dialect_.has_grub, {"grub"});
  add_if(is_storage(schema) && dialect_.has_local(), {"trees"});
  add_if(is_resource(schema) && dialect_.has_local(), {"inline", "local"});
  add_if(is_file_resource(schema) && !dialect_.has_local(), {"inline"});
  add_if(is_unit_text(schema) && dialect_.has_local_text(), {"contents_local"});
  add_if(is_user(schema) && dialect_.has_local_text(), {"ssh_authorized_keys_local"});
  return names;
}

void ButaneTranslator::take_extras(const Place& place, const StructSchema& schema, json::Object& made) {
  const auto has = [&](std::string_view name) {
    const auto names = extra_members(schema);
    return std::ranges::find(names, name) != names.end();
  };
  if (is_root(schema)) {
    refuse(place, has("boot_device"), "boot_device");
    refuse(place, has("grub"), "grub");
  }
  if (is_storage(schema)) {
    for (const std::string_view name : {"disks", "filesystems", "raid"}) refuse(place, true, name);
    refuse(place, dialect_.spec.minor >= 2, "luks");
  }
  if (has("inline")) take_contents(place, has("local"), made);
  if (has("contents_local")) take_local_text(place, made);
  if (has("ssh_authorized_keys_local")) take_local_keys(place, made);
  if (schema.find("mode") != nullptr) check_mode(place, schema.find("contents") == nullptr, made);
}

void ButaneTranslator::refuse(const Place& place, bool is_known, std::string_view name) {
  const yaml::Node* value = place.node.find(name);
  if (!is_known || value == nullptr || value->kind == NodeKind::kNull) return;
  if (value->kind != NodeKind::kScalar && value->children.empty()) return;
  add(Severity::kError, below(place, name), std::string(kNotTaken), true);
}

void ButaneTranslator::check_mode(const Place& place, bool of_directory, const json::Object& made) {
  const auto mode = json::find_int(made, {"mode"});
  if (!mode || !is_decimal_mode(*mode, of_directory)) return;
  add(Severity::kWarning, below(place, "mode"),
      "unreasonable, but reasonable if its digits are meant to be octal; begin it with a zero");
}

const yaml::Node* ButaneTranslator::text_member(const Place& place, const std::string& name) {
  const yaml::Node* value = place.node.find(name);
  if (value == nullptr || value->kind == NodeKind::kNull) return nullptr;
  return text_of(place.member(name, *value)) ? value : nullptr;
}

void ButaneTranslator::take_contents(const Place& place, bool has_local, json::Object& made) {
  const yaml::Node* written = text_member(place, "inline");
  const yaml::Node* local = has_local ? text_member(place, "local") : nullptr;
  if ((written != nullptr) + (local != nullptr) + made.contains("source") > 1) {
    fail(place, "only one of inline, local and source can be set");
    return;
  }
  if (written != nullptr) embed(written->text, made);
  if (local != nullptr) {
    if (const auto contents = read_local(below(place, "local"), local->text); contents) embed(*contents, made);
  }
}

void ButaneTranslator::embed(std::string_view contents, json::Object& resource) {
  if (!dialect_.has_local()) {
    resource["source"] = embed_escaped(contents);
    return;
  }
  // Contents that came with a compression are packed already.
  const bool is_packed_already = !json::find_string(resource, {"compression"}).value_or("").empty();
  const Embedded embedded = embed_contents(contents, dialect_.packs_contents && !is_packed_already);
  resource["source"] = embedded.source;
  result_.is_packed = result_.is_packed || embedded.is_packed;
  // Said even when it is nothing, so that no config merged below this one says it instead.
  if (!is_packed_already) resource["compression"] = embedded.is_packed ? "gzip" : "";
}

std::optional<std::string> ButaneTranslator::local_path(std::string_view written) {
  std::string path = simplified_path("." + (written.starts_with('/') ? std::string() : "/") + std::string(written));
  if (path == ".." || path.starts_with("../")) return std::nullopt;
  return path;
}

std::optional<std::string> ButaneTranslator::read_local(const json::Steps& steps, std::string_view written) {
  if (files_ == nullptr) {
    add(Severity::kError, steps, std::string(kNoFilesFolder));
    return std::nullopt;
  }
  const auto path = local_path(written);
  if (!path || path->find('\0') != std::string::npos) {
    add(Severity::kError, steps, "leads out of the folder given with --files-dir");
    return std::nullopt;
  }
  auto contents = files_->read(*path);
  if (contents.ok()) return *std::move(contents);
  add(Severity::kError, steps, contents.error().to_string());
  return std::nullopt;
}

void ButaneTranslator::take_local_text(const Place& place, json::Object& made) {
  const yaml::Node* local = text_member(place, "contents_local");
  if (local == nullptr) return;
  const json::Steps steps = below(place, "contents_local");
  if (made.contains("contents")) {
    add(Severity::kError, steps, "only one of contents and contents_local can be set");
    return;
  }
  if (local->text.empty()) return;
  const auto contents = read_local(steps, local->text);
  if (contents && is_text(steps, *contents)) made["contents"] = *contents;
}

bool ButaneTranslator::is_text(const json::Steps& steps, std::string_view contents) {
  if (codec::is_valid_utf8(contents)) return true;
  add(Severity::kError, steps, "the file is not UTF-8 text");
  return false;
}

void ButaneTranslator::take_local_keys(const Place& place, json::Object& made) {
  const yaml::Node* files = place.node.find("ssh_authorized_keys_local");
  if (files == nullptr || files->kind == NodeKind::kNull) return;
  const Place list = place.member("ssh_authorized_keys_local", *files);
  for (const json::Value& name : list_of(list, nullptr)) {
    const auto contents = read_local(list.steps, json::as_view(name.get_string()));
    if (!contents || !is_text(list.steps, *contents)) continue;
    json::Value& keys = made["sshAuthorizedKeys"];
    if (!keys.is_array()) keys = json::Array();
    for (std::string_view line : split(*contents, '\n')) {
      if (line.ends_with('\r')) line.remove_suffix(1);
      if (!line.empty()) keys.get_array().emplace_back(line);
    }
  }
}

void ButaneTranslator::take_trees(json::Value& config) {
  const yaml::Node* storage = root_.find("storage");
  const yaml::Node* trees = storage == nullptr ? nullptr : storage->find("trees");
  if (trees == nullptr || trees->kind == NodeKind::kNull || !dialect_.has_local()) return;
  const Place list = Place{root_, {}}.member("storage", *storage).member("trees", *trees);
  if (trees->kind != NodeKind::kList) {
    fail(list, fmt::format("expected a list, found {}", kind_name(*trees)));
    return;
  }
  for (const std::string_view name : {"files", "directories", "links"}) {
    const json::Value* nodes = json::find(config, {"storage", name});
    for (std::size_t i = 0; nodes != nullptr && nodes->is_array() && i < nodes->get_array().size(); ++i) {
      nodes_[{name, json::find_string(nodes->get_array()[i], {"path"}).value_or("")}] = i;
    }
  }
  for (std::size_t i = 0; i < trees->children.size(); ++i) {
    if (trees->children[i].kind != NodeKind::kNull) take_tree(list.item(i), config);
  }
}

void ButaneTranslator::take_tree(const Place& place, json::Value& config) {
  if (place.node.kind != NodeKind::kMapping) {
    fail(place, fmt::format("expected a mapping, found {}", kind_name(place.node)));
    return;
  }
  warn_of_unknown(place, {"local", "path"});
  const yaml::Node* local = text_member(place, "local");
  const yaml::Node* target = text_member(place, "path");
  if (local == nullptr || local->text.empty()) {
    fail(place, "local: missing");
    return;
  }
  if (files_ == nullptr) {
    fail(place, std::string(kNoFilesFolder));
    return;
  }
  const auto path = local_path(local->text);
  if (!path || path->find('\0') != std::string::npos) {
    fail(place, "leads out of the folder given with --files-dir");
    return;
  }
  auto entries = files_->walk(*path);
  if (!entries.ok()) {
    fail(place, entries.error().to_string());
    return;
  }
  const std::string base = target == nullptr || target->text.empty() ? "/" : target->text;
  for (const LocalEntry& entry : *entries) {
    if (!codec::is_valid_utf8(entry.path)) {
      fail(place, "a name in this tree is not UTF-8 text");
    } else {
      add_entry(place, simplified_path(base + "/" + entry.path), entry, config);
    }
  }
}

void ButaneTranslator::add_entry(const Place& place, const std::string& path, const LocalEntry& entry,
                                 json::Value& config) {
  const bool is_file = entry.kind == LocalEntry::Kind::kFile;
  const std::string_view list_name = is_file ? "files" : "links";
  auto known = nodes_.find({list_name, path});
  json::Value& list = json::ensure(config, {"storage", list_name});
  if (!list.is_array()) list = json::Array();
  if (known == nodes_.end()) {
    for (const std::string_view other : {"files", "directories", "links"}) {
      if (!nodes_.contains({other, path})) continue;
      fail(place, fmt::format("{} is there already, as something else", path));
      return;
    }
    known = nodes_.emplace(std::pair{list_name, path}, list.get_array().size()).first;
    list.get_array().emplace_back(json::Object{{"path", path}});
  }
  json::Object* node = &list.get_array()[known->second].get_object();
  const std::string has = is_file ? json::find_string(*node, {"contents", "source"}).value_or("")
                                  : json::find_string(*node, {"target"}).value_or("");
  if (!has.empty()) {
    fail(place, fmt::format("{} is there already, with contents", path));
    return;
  }
  if (!is_file) {
    if (is_text(place.steps, entry.contents)) (*node)["target"] = entry.contents;
    return;
  }
  json::Value& contents = (*node)["contents"];
  if (!contents.is_object()) contents = json::Object();
  embed(entry.contents, contents.get_object());
  node->emplace("mode", entry.is_executable ? 0755 : 0644);
}

}  // namespace strake::ignition
