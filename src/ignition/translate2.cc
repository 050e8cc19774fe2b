// From spec 2 up to spec 3.
#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "ignition/checks.h"
#include "ignition/source_url.h"
#include "ignition/translate.h"

namespace strake::ignition {

namespace {

constexpr SpecVersion kOwnersAsNames{2, 1};  // until then files belong to numbers, 0 when none is given
constexpr SpecVersion kModeMayBeUnset{2, 2};
constexpr std::string_view kRoot = "root";
constexpr std::string_view kOnlyUser = "core";

json::Array* find_list2(json::Value& config, std::string_view section, std::string_view name) {
  json::Value* list = json::find(config, {section, name});
  return list == nullptr ? nullptr : &list->get_array();
}

const json::Array& list_of(const json::Value& config, std::string_view section, std::string_view name) {
  static const json::Array none;
  const json::Value* list = json::find(config, {section, name});
  return list == nullptr ? none : list->get_array();
}

std::string text_of(const json::Value& object, std::string_view name) {
  return json::find_string(object, {name}).value_or("");
}

bool is_zero(const json::Value& value) {
  return (value.is_string() && value.get_string().empty()) || (value.is_bool() && !value.get_bool()) ||
         (value.is_int64() && value.get_int64() == 0);
}

void copy_members(const json::Value& from, json::Object& to, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const json::Value* value = json::find(from, {name}); value != nullptr) to[name] = *value;
  }
}

/// Of members that spec 2 reads the same when they are empty and when they are absent.
void copy_nonzero(const json::Value& from, json::Object& to, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const json::Value* value = json::find(from, {name});
    if (value != nullptr && !is_zero(*value)) to[name] = *value;
  }
}

/// Spec 2.0 writes a URL as Go does: the scheme in lower case, an empty fragment left out.
void rewrite_source(json::Value& owner) {
  json::Value* source = json::find(owner, {"source"});
  if (source == nullptr) return;
  std::string text(json::as_view(source->get_string()));
  const auto url = parse_url(text);
  if (!url) return;
  text.replace(0, url->scheme.size(), url->scheme);
  if (text.ends_with('#')) text.pop_back();
  *source = text;
}

void lift_file(json::Value& file, SpecVersion from) {
  json::Object& members = file.get_object();
  if (!members.contains("mode")) members["mode"] = 0;
  if (from >= kOwnersAsNames) return;
  for (const std::string_view owner : {"user", "group"}) {
    json::Value& id = json::ensure(file, {owner, "id"});
    if (id.is_null()) id = 0;
  }
  if (json::Value* contents = json::find(file, {"contents"}); contents != nullptr) rewrite_source(*contents);
}

/// A path in the way of which no link of the config stands. The reference compares texts, so that /ab counts as lying
/// below the link /a; links are kept prefix-free, so that one look-up decides.
class LinkPrefixes {
 public:
  explicit LinkPrefixes(std::vector<std::string> links) {
    std::ranges::sort(links);
    for (std::string& link : links) {
      if (prefixes_.empty() || !link.starts_with(prefixes_.back())) prefixes_.push_back(std::move(link));
    }
  }

  bool covers(std::string_view path) const {
    const auto after = std::ranges::upper_bound(prefixes_, path);
    if (after == prefixes_.begin()) return false;
    const std::string& candidate = *std::prev(after);
    return candidate != path && path.starts_with(candidate);
  }

 private:
  std::vector<std::string> prefixes_;
};

/// One raise of one config: what it reads, and what it could not carry over.
class RaisedConfig {
 public:
  RaisedConfig(const json::Value& config, RaiseFrom2 way) : old_(config), way_(way) {}

  Result<json::Value> make() {
    raise_ignition();
    raise_passwd();
    raise_storage();
    raise_units();
    if (!list_of(old_, "networkd", "units").empty()) {
      lost_.emplace_back("networkd.units: no such member; write the units as files below /etc/systemd/network");
    }
    const SpecVersion to{3, 0};
    STRAKE_CHECK_OK(refuse_lost(to, lost_));
    json::ensure(made_, {"ignition", "version"}) = to_string(to);
    STRAKE_CHECK_OK(refuse_lost(to, lost_in(made_)));
    return std::move(made_);
  }

 private:
  bool without_loss() const { return way_ == RaiseFrom2::kWithoutLoss; }

  /// The list of the new config, for the items of a list of the old one.
  template <typename Raise>
  void raise_list(std::string_view section, std::string_view name, Raise raise) {
    const json::Array& items = list_of(old_, section, name);
    if (items.empty()) return;
    json::Array raised;
    raised.reserve(items.size());
    for (std::size_t i = 0; i < items.size(); ++i) {
      json::Object item;
      raise(items[i], item, fmt::format("{}.{}[{}]", section, name, i));
      raised.push_back(std::move(item));
    }
    json::ensure(made_, {section, name}) = std::move(raised);
  }

  static json::Object raise_resource(const json::Value& old) {
    json::Object resource;
    copy_nonzero(old, resource, {"compression"});
    resource["source"] = text_of(old, "source");  // spec 2 reads an absent source as an empty file
    copy_members(old, resource, {"verification"});
    return resource;
  }

  void raise_ignition() {
    const auto references = [&](std::initializer_list<std::string_view> from,
                                std::initializer_list<std::string_view> to) {
      const json::Value* list = json::find(old_, from);
      if (list == nullptr) return;
      json::Array raised;
      for (const json::Value& reference : list->get_array()) raised.push_back(raise_resource(reference));
      json::ensure(made_, to) = std::move(raised);
    };
    references({"ignition", "config", "append"}, {"ignition", "config", "merge"});
    references({"ignition", "security", "tls", "certificateAuthorities"},
               {"ignition", "security", "tls", "certificateAuthorities"});
    if (const json::Value* replace = json::find(old_, {"ignition", "config", "replace"}); replace != nullptr) {
      json::ensure(made_, {"ignition", "config", "replace"}) = raise_resource(*replace);
    }
    if (const json::Value* timeouts = json::find(old_, {"ignition", "timeouts"}); timeouts != nullptr) {
      json::ensure(made_, {"ignition", "timeouts"}) = *timeouts;
    }
  }

  void raise_passwd() {
    raise_list("passwd", "users", [&](const json::Value& old, json::Object& user, const std::string&) {
      user["name"] = text_of(old, "name");
      const json::Value* create = json::find(old, {"create"});
      // A user with `create` has nothing else set; the operator forgets what stands inside.
      for (const json::Value* source : {&old, without_loss() ? create : nullptr}) {
        if (source == nullptr) continue;
        copy_members(*source, user, {"groups", "passwordHash", "sshAuthorizedKeys", "uid"});
        copy_nonzero(
            *source, user,
            {"gecos", "homeDir", "noCreateHome", "noLogInit", "noUserGroup", "primaryGroup", "shell", "system"});
      }
      if (without_loss()) drop_repeated_keys(user);
    });
    raise_list("passwd", "groups", [&](const json::Value& old, json::Object& group, const std::string&) {
      group["name"] = text_of(old, "name");
      copy_members(old, group, {"gid"});
      copy_nonzero(old, group, {"passwordHash", "system"});
    });
  }

  /// The same key twice says nothing more than once, and spec 3 refuses it.
  static void drop_repeated_keys(json::Object& user) {
    json::Value* keys = user.if_contains("sshAuthorizedKeys");
    if (keys == nullptr) return;
    std::unordered_set<std::string> seen;
    json::Array kept;
    for (const json::Value& key : keys->get_array()) {
      if (seen.emplace(json::as_view(key.get_string())).second) kept.push_back(key);
    }
    *keys = std::move(kept);
  }

  void raise_units() {
    raise_list("systemd", "units", [&](const json::Value& old, json::Object& unit, const std::string&) {
      unit["name"] = text_of(old, "name");
      copy_nonzero(old, unit, {"contents", "mask"});
      const auto enabled = json::find_bool(old, {"enabled"});
      if (enabled) {
        unit["enabled"] = *enabled;
      } else if (json::find_bool(old, {"enable"}) == true) {
        unit["enabled"] = true;
      }
      const json::Value* dropins = json::find(old, {"dropins"});
      if (dropins == nullptr) return;
      json::Array raised;
      for (const json::Value& dropin : dropins->get_array()) {
        json::Object made{{"name", text_of(dropin, "name")}};
        copy_nonzero(dropin, made, {"contents"});
        raised.push_back(std::move(made));
      }
      unit["dropins"] = std::move(raised);
    });
  }

  void raise_node(const json::Value& old, json::Object& node, const std::string& where) {
    node["path"] = simplified_path(text_of(old, "path"));
    for (const std::string_view owner : {"user", "group"}) {
      const json::Value* given = json::find(old, {owner});
      if (given == nullptr) continue;
      json::Object made;
      copy_members(*given, made, {"id"});
      copy_nonzero(*given, made, {"name"});
      if (!made.empty()) node[owner] = std::move(made);
    }
    copy_members(old, node, {"overwrite"});
    const std::string filesystem = text_of(old, "filesystem");
    if (filesystem != kRoot && without_loss()) {
      lost_.push_back(
          fmt::format("{}.filesystem: spec 3 writes below paths, and '{}' has none; use root", where, filesystem));
    }
  }

  void refuse_below_links() {
    if (without_loss()) return;  // spec 3's own check is exact
    std::vector<std::string> links;
    for (const json::Value& link : list_of(made_, "storage", "links")) links.push_back(text_of(link, "path"));
    const LinkPrefixes prefixes(std::move(links));
    for (const std::string_view list : {"files", "directories", "links"}) {
      const json::Array& items = list_of(made_, "storage", list);
      for (std::size_t i = 0; i < items.size(); ++i) {
        const std::string path = text_of(items[i], "path");
        if (prefixes.covers(path)) {
          lost_.push_back(fmt::format("storage.{}[{}].path: '{}' starts with a link of the config", list, i, path));
        }
      }
    }
  }

  void refuse_filesystems() {
    const json::Array& filesystems = list_of(old_, "storage", "filesystems");
    for (std::size_t i = 0; i < filesystems.size(); ++i) {
      const std::string where = fmt::format("storage.filesystems[{}]", i);
      const std::string name = text_of(filesystems[i], "name");
      const std::string path = text_of(filesystems[i], "path");
      if (name != kRoot) {
        lost_.push_back(fmt::format("{}.name: where '{}' is mounted is not known", where, name));
      } else if (without_loss() && json::find(filesystems[i], {"mount"}) != nullptr) {
        lost_.push_back(fmt::format("{}.mount: spec 3 does not make the root filesystem this way", where));
      } else if (without_loss() && path != "/" && path != "/sysroot") {
        lost_.push_back(fmt::format("{}.path: the root filesystem is at /, not at '{}'", where, path));
      }
    }
  }

  void raise_storage() {
    refuse_filesystems();
    raise_list("storage", "disks", [&](const json::Value& old, json::Object& disk, const std::string& where) {
      disk["device"] = text_of(old, "device");
      copy_nonzero(old, disk, {"wipeTable"});
      const json::Value* partitions = json::find(old, {"partitions"});
      if (partitions == nullptr || partitions->get_array().empty()) return;
      lost_.push_back(where + ".partitions: sizes are in sectors, and how many make a MiB depends on the disk");
    });
    raise_list("storage", "raid", [&](const json::Value& old, json::Object& raid, const std::string&) {
      raid["name"] = text_of(old, "name");
      copy_members(old, raid, {"level", "devices", "options"});
      copy_nonzero(old, raid, {"spares"});
    });
    raise_list("storage", "files", [&](const json::Value& old, json::Object& file, const std::string& where) {
      raise_node(old, file, where);
      const bool appends = json::find_bool(old, {"append"}) == true;
      if (appends) {
        file["overwrite"] = false;
      } else if (!file.contains("overwrite")) {
        file["overwrite"] = true;  // what spec 2 does unless it is told otherwise
      }
      copy_members(old, file, {"mode"});
      const json::Value* contents = json::find(old, {"contents"});
      json::Object resource = raise_resource(contents == nullptr ? json::Value(json::Object()) : *contents);
      if (appends) {
        file["append"] = json::Array{std::move(resource)};
      } else {
        file["contents"] = std::move(resource);
      }
    });
    raise_list("storage", "directories",
               [&](const json::Value& old, json::Object& directory, const std::string& where) {
                 raise_node(old, directory, where);
                 copy_members(old, directory, {"mode"});
               });
    raise_list("storage", "links", [&](const json::Value& old, json::Object& link, const std::string& where) {
      raise_node(old, link, where);
      copy_nonzero(old, link, {"hard"});
      link["target"] = text_of(old, "target");
    });
    refuse_below_links();
  }

  const json::Value& old_;
  RaiseFrom2 way_;
  json::Value made_{json::Object()};
  std::vector<std::string> lost_;
};

/// From last to first; of items with the same key only the first one met stays, and `met_again` gets the others.
template <typename MetAgain>
void reverse_without_repeats(json::Array& list, std::string_view key, MetAgain met_again) {
  std::unordered_map<std::string, std::size_t> places;
  json::Array kept;
  for (std::size_t i = list.size(); i-- > 0;) {
    const auto [place, is_new] = places.emplace(text_of(list[i], key), kept.size());
    if (is_new) {
      kept.push_back(std::move(list[i]));
    } else {
      met_again(kept[place->second], list[i]);
    }
  }
  list = std::move(kept);
}

/// The drop-ins of an earlier unit of the same name go behind those of the last one, unless their name is taken.
class DropinCollector {
 public:
  void operator()(json::Value& unit, const json::Value& older) {
    const json::Value* dropins = json::find(older, {"dropins"});
    if (dropins == nullptr) return;
    json::Value& list = json::ensure(unit, {"dropins"});
    if (!list.is_array()) list.emplace_array();
    const auto [names, is_new] = names_.try_emplace(text_of(unit, "name"));
    if (is_new) {
      for (const json::Value& dropin : list.get_array()) names->second.insert(text_of(dropin, "name"));
    }
    for (const json::Value& dropin : dropins->get_array()) {
      if (names->second.insert(text_of(dropin, "name")).second) list.get_array().push_back(dropin);
    }
  }

 private:
  std::unordered_map<std::string, std::unordered_set<std::string>> names_;  ///< of each unit's drop-ins
};

Status merge_users(json::Array& users) {
  for (std::size_t i = users.size(); i-- > 0;) {
    if (const std::string name = text_of(users[i], "name"); name != kOnlyUser) {
      return error(Code::kUnsupported, "unexpected user with name: {}. Only core user is supported: passwd.users[{}]",
                   name, i);
    }
  }
  json::Array keys;
  std::unordered_set<std::string> seen;
  for (std::size_t i = users.size(); i-- > 0;) {
    const json::Value* own = json::find(users[i], {"sshAuthorizedKeys"});
    if (own == nullptr) continue;
    for (const json::Value& key : own->get_array()) {
      if (seen.emplace(json::as_view(key.get_string())).second) keys.push_back(key);
    }
  }
  json::Value last = std::move(users.back());
  if (!keys.empty()) last.get_object()["sshAuthorizedKeys"] = std::move(keys);
  users = json::Array{std::move(last)};
  return {};
}

}  // namespace

json::Value lift_to_2_2(json::Value config, SpecVersion from) {
  json::ensure(config, {"ignition", "version"}) = to_string(SpecVersion{2, 2});
  if (from >= kModeMayBeUnset) return config;
  if (json::Array* files = find_list2(config, "storage", "files"); files != nullptr) {
    for (json::Value& file : *files) lift_file(file, from);
  }
  if (json::Array* directories = find_list2(config, "storage", "directories"); directories != nullptr) {
    for (json::Value& directory : *directories) directory.get_object().emplace("mode", 0);
  }
  if (from >= kOwnersAsNames) return config;
  if (json::Value* references = json::find(config, {"ignition", "config", "append"}); references != nullptr) {
    for (json::Value& reference : references->get_array()) rewrite_source(reference);
  }
  if (json::Value* replace = json::find(config, {"ignition", "config", "replace"}); replace != nullptr) {
    rewrite_source(*replace);
  }
  if (json::Array* users = find_list2(config, "passwd", "users"); users != nullptr) {
    for (json::Value& user : *users) {
      if (text_of(user, "passwordHash").empty()) user.get_object().erase("passwordHash");
    }
  }
  return config;
}

Result<json::Value> merge_duplicates_as_operator(json::Value config) {
  if (json::Array* files = find_list2(config, "storage", "files"); files != nullptr) {
    reverse_without_repeats(*files, "path", [](json::Value&, const json::Value&) {});
  }
  if (json::Array* units = find_list2(config, "systemd", "units"); units != nullptr) {
    reverse_without_repeats(*units, "name", DropinCollector());
  }
  if (json::Array* users = find_list2(config, "passwd", "users"); users != nullptr && !users->empty()) {
    STRAKE_CHECK_OK(merge_users(*users));
  }
  return config;
}

Result<json::Value> raise_to_3_0(const json::Value& config, RaiseFrom2 way) { return RaisedConfig(config, way).make(); }

}  // namespace strake::ignition
