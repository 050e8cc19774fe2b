// From spec 3.2 down to spec 2.2. Unlike the library the Machine Config Operator uses, nothing is dropped silently.
#include <algorithm>
#include <unordered_set>

#include "ignition/checks.h"
#include "ignition/translate.h"

namespace strake::ignition {

namespace {

constexpr SpecVersion kTarget2{2, 2};
constexpr std::string_view kNoSuchMember = "no such member";

const json::Array& items_of(const json::Value& object, std::initializer_list<std::string_view> path) {
  static const json::Array none;
  const json::Value* list = json::find(object, path);
  return list == nullptr ? none : list->get_array();
}

bool says_nothing(const json::Value& value) {
  return (value.is_string() && value.get_string().empty()) || (value.is_bool() && !value.get_bool());
}

class LoweredConfig {
 public:
  explicit LoweredConfig(const json::Value& config) : old_(config) {}

  Result<json::Value> make() {
    lower_ignition();
    lower_passwd();
    lower_disks();
    lower_filesystems();
    lower_nodes();
    lower_units();
    STRAKE_CHECK_OK(refuse_lost(kTarget2, lost_));
    json::ensure(made_, {"ignition", "version"}) = to_string(kTarget2);
    STRAKE_CHECK_OK(refuse_lost(kTarget2, lost_in(made_)));
    return std::move(made_);
  }

 private:
  void lose(const std::string& where, std::string_view why) { lost_.push_back(fmt::format("{}: {}", where, why)); }

  void refuse_members(const json::Value& object, const std::string& where,
                      std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (json::find(object, {name}) != nullptr) lose(fmt::format("{}.{}", where, name), kNoSuchMember);
    }
  }

  static void copy_all(const json::Value& from, json::Object& to, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      if (const json::Value* value = json::find(from, {name}); value != nullptr) to[name] = *value;
    }
  }

  /// Of members that spec 2 reads the same when they are empty and when they are absent.
  static void copy_telling(const json::Value& from, json::Object& to, std::initializer_list<std::string_view> names) {
    for (const std::string_view name : names) {
      const json::Value* value = json::find(from, {name});
      if (value != nullptr && !says_nothing(*value)) to[name] = *value;
    }
  }

  /// `path` of the new config gets the items of a list of the old one.
  template <typename Lower>
  void lower_list(std::initializer_list<std::string_view> from, std::initializer_list<std::string_view> to,
                  Lower lower) {
    const json::Array& items = items_of(old_, from);
    json::Array lowered;
    for (std::size_t i = 0; i < items.size(); ++i) {
      lower(items[i], fmt::format("{}[{}]", fmt::join(from, "."), i), lowered);
    }
    if (!lowered.empty()) json::ensure(made_, to) = std::move(lowered);
  }

  json::Object lower_reference(const json::Value& old, const std::string& where) {
    refuse_members(old, where, {"compression", "httpHeaders"});
    json::Object reference;
    copy_telling(old, reference, {"source"});
    copy_all(old, reference, {"verification"});
    return reference;
  }

  void lower_ignition() {
    const auto reference = [&](const json::Value& old, const std::string& where, json::Array& lowered) {
      lowered.emplace_back(lower_reference(old, where));
    };
    lower_list({"ignition", "config", "merge"}, {"ignition", "config", "append"}, reference);
    lower_list({"ignition", "security", "tls", "certificateAuthorities"},
               {"ignition", "security", "tls", "certificateAuthorities"}, reference);
    if (const json::Value* replace = json::find(old_, {"ignition", "config", "replace"}); replace != nullptr) {
      json::Object lowered = lower_reference(*replace, "ignition.config.replace");
      if (json::find(*replace, {"source"}) != nullptr) {
        json::ensure(made_, {"ignition", "config", "replace"}) = std::move(lowered);
      }
    }
    if (const json::Value* timeouts = json::find(old_, {"ignition", "timeouts"}); timeouts != nullptr) {
      json::ensure(made_, {"ignition", "timeouts"}) = *timeouts;
    }
    if (json::find(old_, {"ignition", "proxy"}) != nullptr) lose("ignition.proxy", kNoSuchMember);
  }

  /// Spec 2 has no other way than to make it exist.
  void refuse_removal(const json::Value& old, const std::string& where) {
    if (json::find_bool(old, {"shouldExist"}) == false) lose(where + ".shouldExist", "spec 2 cannot remove anything");
  }

  void lower_passwd() {
    lower_list({"passwd", "users"}, {"passwd", "users"},
               [&](const json::Value& old, const std::string& where, json::Array& lowered) {
                 refuse_removal(old, where);
                 json::Object user;
                 copy_all(old, user, {"groups", "passwordHash", "sshAuthorizedKeys", "uid"});
                 copy_telling(old, user,
                              {"gecos", "homeDir", "name", "noCreateHome", "noLogInit", "noUserGroup", "primaryGroup",
                               "shell", "system"});
                 lowered.push_back(std::move(user));
               });
    lower_list({"passwd", "groups"}, {"passwd", "groups"},
               [&](const json::Value& old, const std::string& where, json::Array& lowered) {
                 refuse_removal(old, where);
                 json::Object group;
                 copy_all(old, group, {"gid"});
                 copy_telling(old, group, {"name", "passwordHash", "system"});
                 lowered.push_back(std::move(group));
               });
  }

  void lower_disks() {
    lower_list({"storage", "disks"}, {"storage", "disks"},
               [&](const json::Value& old, const std::string& where, json::Array& lowered) {
                 json::Object disk;
                 copy_telling(old, disk, {"device", "wipeTable"});
                 json::Array partitions;
                 const json::Array& given = items_of(old, {"partitions"});
                 for (std::size_t i = 0; i < given.size(); ++i) {
                   partitions.emplace_back(lower_partition(given[i], fmt::format("{}.partitions[{}]", where, i)));
                 }
                 if (!partitions.empty()) disk["partitions"] = std::move(partitions);
                 lowered.push_back(std::move(disk));
               });
    lower_list({"storage", "raid"}, {"storage", "raid"},
               [&](const json::Value& old, const std::string&, json::Array& lowered) {
                 json::Object raid;
                 copy_all(old, raid, {"devices", "level", "options"});
                 copy_telling(old, raid, {"name"});
                 if (json::find_int(old, {"spares"}).value_or(0) != 0) copy_all(old, raid, {"spares"});
                 lowered.push_back(std::move(raid));
               });
    if (json::find(old_, {"storage", "luks"}) != nullptr) lose("storage.luks", kNoSuchMember);
  }

  json::Object lower_partition(const json::Value& old, const std::string& where) {
    for (const std::string_view name : {"sizeMiB", "startMiB"}) {
      if (json::find(old, {name}) == nullptr) continue;
      lose(fmt::format("{}.{}", where, name), "spec 2 counts sectors, and how many make a MiB depends on the disk");
    }
    for (const std::string_view name : {"resize", "wipePartitionEntry"}) {
      if (json::find_bool(old, {name}) == true) lose(fmt::format("{}.{}", where, name), kNoSuchMember);
    }
    refuse_removal(old, where);
    json::Object partition;
    if (json::find_int(old, {"number"}).value_or(0) != 0) copy_all(old, partition, {"number"});
    copy_telling(old, partition, {"guid", "label", "typeGuid"});
    return partition;
  }

  /// Spec 2 writes a file into a named filesystem, so each gets a name: the path it is mounted at, else a number.
  void lower_filesystems() {
    int nameless = 0;
    lower_list({"storage", "filesystems"}, {"storage", "filesystems"},
               [&](const json::Value& old, const std::string& where, json::Array& lowered) {
                 refuse_members(old, where, {"mountOptions"});
                 const std::string path = json::find_string(old, {"path"}).value_or("");
                 const std::string name = path.empty() ? fmt::format("{}", ++nameless) : path;
                 if (!path.empty()) mount_points_.insert(path);
                 json::Object mount;
                 copy_all(old, mount, {"label", "options", "uuid"});
                 copy_telling(old, mount, {"device", "format", "wipeFilesystem"});
                 lowered.push_back(json::Object{{"name", name}, {"mount", std::move(mount)}});
               });
  }

  /// The innermost one at or around `path`; empty when there is none.
  std::string_view mount_point_of(std::string_view path) const {
    for (std::string_view around = path; !mount_points_.empty() && !around.empty();) {
      if (mount_points_.contains(std::string(around))) return around;
      const std::size_t slash = around.rfind('/');
      if (around == "/" || slash == std::string_view::npos) break;
      around = around.substr(0, std::max<std::size_t>(slash, 1));
    }
    return {};
  }

  json::Object lower_node(const json::Value& old) {
    std::string path = json::find_string(old, {"path"}).value_or("");
    std::string filesystem(mount_point_of(path));
    if (filesystem.empty()) {
      filesystem = "root";
    } else if (filesystem != "/") {
      path.erase(0, filesystem.size());
      if (path.empty()) path = "/";
    }
    json::Object node{{"filesystem", filesystem}, {"path", path}};
    copy_all(old, node, {"overwrite"});
    for (const std::string_view owner : {"user", "group"}) {
      const json::Value* given = json::find(old, {owner});
      if (given == nullptr) continue;
      json::Object lowered;
      copy_all(*given, lowered, {"id"});
      copy_telling(*given, lowered, {"name"});
      if (!lowered.empty()) node[owner] = std::move(lowered);
    }
    return node;
  }

  json::Object lower_contents(const json::Value& old, const std::string& where) {
    refuse_members(old, where, {"httpHeaders"});
    json::Object contents;
    copy_telling(old, contents, {"compression", "source"});
    copy_all(old, contents, {"verification"});
    return contents;
  }

  void lower_file(const json::Value& old, const std::string& where, json::Array& lowered) {
    json::Object file = lower_node(old);
    copy_all(old, file, {"mode"});
    file.emplace("overwrite", false);  // spec 2 overwrites unless it is told otherwise
    const json::Array& appended = items_of(old, {"append"});
    const json::Value* contents = json::find(old, {"contents"});
    if (contents != nullptr && json::find(*contents, {"source"}) != nullptr) {
      json::Object whole = file;
      if (json::Object made = lower_contents(*contents, where + ".contents"); !made.empty()) {
        whole["contents"] = std::move(made);
      }
      lowered.push_back(std::move(whole));
    } else if (contents != nullptr || appended.empty()) {
      lose(where + ".contents.source", "is not set, and spec 2 always writes a file's contents");
    }
    for (std::size_t i = 0; i < appended.size(); ++i) {
      json::Object part = file;
      part["append"] = true;
      part["overwrite"] = false;
      json::Object made = lower_contents(appended[i], fmt::format("{}.append[{}]", where, i));
      if (!made.empty()) part["contents"] = std::move(made);
      lowered.push_back(std::move(part));
    }
  }

  void lower_nodes() {
    lower_list({"storage", "files"}, {"storage", "files"},
               [&](const json::Value& old, const std::string& where, json::Array& lowered) {
                 lower_file(old, where, lowered);
               });
    lower_list({"storage", "directories"}, {"storage", "directories"},
               [&](const json::Value& old, const std::string&, json::Array& lowered) {
                 json::Object directory = lower_node(old);
                 copy_all(old, directory, {"mode"});
                 lowered.push_back(std::move(directory));
               });
    lower_list({"storage", "links"}, {"storage", "links"},
               [&](const json::Value& old, const std::string&, json::Array& lowered) {
                 json::Object link = lower_node(old);
                 copy_telling(old, link, {"hard", "target"});
                 lowered.push_back(std::move(link));
               });
  }

  void lower_units() {
    lower_list({"systemd", "units"}, {"systemd", "units"},
               [&](const json::Value& old, const std::string&, json::Array& lowered) {
                 json::Object unit;
                 copy_telling(old, unit, {"contents", "mask", "name"});
                 copy_all(old, unit, {"enabled"});
                 json::Array dropins;
                 for (const json::Value& dropin : items_of(old, {"dropins"})) {
                   json::Object made;
                   copy_telling(dropin, made, {"contents", "name"});
                   dropins.push_back(std::move(made));
                 }
                 if (!dropins.empty()) unit["dropins"] = std::move(dropins);
                 lowered.push_back(std::move(unit));
               });
  }

  const json::Value& old_;
  json::Value made_{json::Object()};
  std::unordered_set<std::string> mount_points_;
  std::vector<std::string> lost_;
};

}  // namespace

void write_default_modes(json::Value& config) {
  const auto write = [&](std::string_view list, int mode, bool only_whole) {
    json::Value* nodes = json::find(config, {"storage", list});
    if (nodes == nullptr || !nodes->is_array()) return;
    for (json::Value& node : nodes->get_array()) {
      const bool is_whole = json::find(node, {"contents", "source"}) != nullptr;
      if (!only_whole || is_whole) node.get_object().emplace("mode", mode);
    }
  };
  write("files", 0644, true);
  write("directories", 0755, false);
}

Result<json::Value> lower_to_2_2(const json::Value& config) { return LoweredConfig(config).make(); }

}  // namespace strake::ignition
