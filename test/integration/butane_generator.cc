#include "integration/butane_generator.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <vector>

#include "base/text.h"

namespace strake::test {

namespace {

std::string snake(std::string_view name) {
  std::string text;
  for (const char c : name) {
    if (c >= 'A' && c <= 'Z') text += '_';
    text += lower_case(c);
  }
  return text;
}

json::Array& list_in(json::Value& config, std::initializer_list<std::string_view> path) {
  static json::Array none;
  json::Value* list = json::find(config, path);
  none.clear();
  return list == nullptr || !list->is_array() ? none : list->get_array();
}

}  // namespace

bool ButaneGenerator::chance(double probability) {
  return std::uniform_real_distribution<double>()(random_) < probability;
}

std::size_t ButaneGenerator::below(std::size_t bound) { return random_() % bound; }

std::string ButaneGenerator::some_text() {
  switch (below(6)) {
    case 0: return "";
    case 1: return std::string(below(400), 'x');
    case 2: return "a: b\n# \xC3\xA9t\xC3\xA9 100% \"q\"\n";
    case 3: return std::string(below(30), '\x01');
    case 4: {
      std::string text;
      for (std::size_t i = below(300); i > 0; --i) text += static_cast<char>('!' + below(90));
      return text;
    }
    default: {
      std::string text;
      for (std::size_t i = below(60); i > 0; --i) text += fmt::format("line {} of some text\n", below(9));
      return text;
    }
  }
}

std::string ButaneGenerator::some_path() {
  static const std::vector<std::string> paths{"small",       "text",    "binary", "/text",
                                              "sub/../text", "./small", "inside", "tree/etc/a.conf"};
  static const std::vector<std::string> wrong{"missing", "../outside", "sub/../../outside", "tree", ""};
  return chance(0.06) ? wrong[below(wrong.size())] : paths[below(paths.size())];
}

/// Butane's names; what lays out disks is left out.
json::Value ButaneGenerator::spelled(const json::Value& value, const std::string& name) {
  if (value.is_array()) {
    json::Array items;
    for (const json::Value& item : value.get_array()) items.push_back(spelled(item, name));
    return items;
  }
  if (!value.is_object()) return value;
  json::Object object;
  for (const auto& [key, item] : value.get_object()) {
    const std::string_view member = key;
    const bool is_version = name == "ignition" && member == "version" && !chance(0.02);
    if (is_version || member == "disks" || member == "filesystems" || member == "raid" || member == "luks") continue;
    object[snake(member)] = spelled(item, std::string(member));
  }
  return object;
}

void ButaneGenerator::sweeten_resource(json::Object& resource, const ButaneVersion& version) {
  if (chance(0.3)) return;
  if (!chance(0.03)) resource.erase("source");
  if (version.spec.minor >= 1 && chance(0.4)) {
    resource["local"] = some_path();
    if (!chance(0.03)) return;
  }
  resource["inline"] = some_text();
}

void ButaneGenerator::sweeten(json::Value& config, const ButaneVersion& version) {
  for (json::Value& file : list_in(config, {"storage", "files"})) {
    if (!file.is_object()) continue;
    if (chance(0.7)) {
      json::Value& contents = file.get_object()["contents"];
      if (!contents.is_object()) contents = json::Object();
      sweeten_resource(contents.get_object(), version);
    }
    for (json::Value& part : list_in(file, {"append"})) {
      if (part.is_object()) sweeten_resource(part.get_object(), version);
    }
  }
  for (json::Value& merge : list_in(config, {"ignition", "config", "merge"})) {
    if (merge.is_object() && chance(0.3)) sweeten_resource(merge.get_object(), version);
  }
  const auto local_text = [&](json::Value& unit) {
    if (!unit.is_object() || !chance(0.25)) return;
    if (!chance(0.1)) unit.get_object().erase("contents");
    unit.get_object()["contents_local"] = chance(0.1) ? "" : "unit";
  };
  for (json::Value& unit : list_in(config, {"systemd", "units"})) {
    local_text(unit);
    for (json::Value& dropin : list_in(unit, {"dropins"})) local_text(dropin);
  }
  for (json::Value& user : list_in(config, {"passwd", "users"})) {
    if (user.is_object() && chance(0.25)) user.get_object()["ssh_authorized_keys_local"] = json::Array{"keys", "text"};
  }
  if (!chance(0.3)) return;
  json::Array trees;
  trees.push_back(json::Object{{"local", chance(0.9) ? "tree" : some_path()}});
  if (chance(0.4)) trees.push_back(json::Object{{"local", "files"}, {"path", chance(0.9) ? "/opt/t" : "opt"}});
  if (chance(0.2)) trees.push_back(json::Object{{"local", "links"}, {"path", "/var/l"}});
  json::Value& storage = config.get_object()["storage"];
  if (!storage.is_object()) storage = json::Object();
  storage.get_object()["trees"] = std::move(trees);
}

void ButaneGenerator::make_acceptable_to_openshift(json::Value& config) {
  config.get_object().erase("kernel_arguments");
  if (json::Value* passwd = json::find(config, {"passwd"}); passwd != nullptr && passwd->is_object()) {
    passwd->get_object().erase("groups");
    json::Array users{json::Object{{"name", "core"}, {"ssh_authorized_keys", json::Array{"ssh-ed25519 A", "k2"}}}};
    if (chance(0.3)) users[0].get_object()["password_hash"] = "$y$j9T$x";
    passwd->get_object()["users"] = std::move(users);
  }
  json::Value* storage = json::find(config, {"storage"});
  if (storage == nullptr || !storage->is_object()) return;
  storage->get_object().erase("directories");
  storage->get_object().erase("links");
  for (json::Value& file : list_in(config, {"storage", "files"})) {
    if (!file.is_object()) continue;
    file.get_object().erase("append");
    if (const auto mode = json::find_int(file, {"mode"}); mode && chance(0.9)) file.get_object()["mode"] = *mode & 0777;
    json::Value* contents = json::find(file, {"contents"});
    if (contents == nullptr || !contents->is_object()) continue;
    contents->get_object().erase("http_headers");
    if (chance(0.8)) contents->get_object().erase("compression");
    if (chance(0.9)) contents->get_object().erase("source");
  }
}

void ButaneGenerator::add_openshift(json::Object& config) {
  json::Object metadata;
  if (!chance(0.02)) metadata["name"] = "50-site";
  json::Object labels{{"machineconfiguration.openshift.io/role", chance(0.98) ? "worker" : ""}};
  if (chance(0.2)) labels["number"] = 7;
  if (chance(0.1)) labels["nothing"] = nullptr;
  metadata["labels"] = std::move(labels);
  config["metadata"] = std::move(metadata);
  json::Object section;
  if (chance(0.5)) section["kernel_arguments"] = json::Array{"a=b", 5, "quiet", nullptr};
  if (chance(0.3)) section["extensions"] = json::Array{"usbguard", "kerberos"};
  if (chance(0.2)) section["fips"] = chance(0.5);
  if (chance(0.3)) section["kernel_type"] = chance(0.9) ? "realtime" : chance(0.5) ? "" : "64k-pages";
  if (chance(0.02)) section["kernel_args"] = json::Array{"x"};
  if (!section.empty()) config["openshift"] = std::move(section);
}

std::string ButaneGenerator::written_scalar(const json::Value& value) {
  if (value.is_null()) return chance(0.5) ? "~" : "";
  if (value.is_bool()) {
    static const std::vector<std::string> yes{"true", "True", "yes", "On", "y"}, no{"false", "FALSE", "no", "Off", "n"};
    return (value.get_bool() ? yes : no)[below(5)];
  }
  if (value.is_int64()) {
    // Butane writes MachineConfigs by way of floating-point numbers.
    constexpr std::int64_t kExact = std::int64_t{1} << 52;
    const std::int64_t number = value.get_int64() % kExact;
    if (number < 0) return fmt::format("{}", number);
    switch (below(8)) {
      case 0: return fmt::format("0x{:x}", number);
      case 1: return fmt::format("0o{:o}", number);
      case 2: return fmt::format("0b{:b}", number);
      case 3: return fmt::format("{}.0", number);
      case 4: return fmt::format("0{:o}", number);
      case 5: return fmt::format("+{}", number);
      default: return fmt::format("{}", number);
    }
  }
  return json::write(value);
}

/// In block style, a line for each scalar.
std::string ButaneGenerator::written(const json::Value& value, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string text;
  if (value.is_object()) {
    if (value.get_object().empty()) return " {}\n";
    text = "\n";
    for (const auto& [key, item] : value.get_object()) {
      text += margin + json::write(json::Value(key)) + ":" + written(item, indent + 2);
    }
    return text;
  }
  if (value.is_array()) {
    if (value.get_array().empty()) return " []\n";
    text = "\n";
    for (const json::Value& item : value.get_array()) text += margin + "-" + written(item, indent + 2);
    return text;
  }
  return " " + written_scalar(value) + "\n";
}

std::string ButaneGenerator::config(const ButaneVersion& version) {
  json::Value config = spelled(ignition_.config(version.spec), "");
  if (!config.is_object()) config = json::Object();
  if (version.variant == "openshift") {
    if (chance(0.85)) make_acceptable_to_openshift(config);
    add_openshift(config.get_object());
  }
  sweeten(config, version);
  return fmt::format("variant: {}\nversion: {}\n", version.variant, version.version) +
         written(config, 0).substr(config.get_object().empty() ? 4 : 1);
}

void write_butane_files(const std::filesystem::path& folder) {
  const auto write = [&](const std::string& name, const std::string& contents, bool executable = false) {
    std::filesystem::create_directories((folder / name).parent_path());
    std::ofstream(folder / name, std::ios::binary) << contents;
    if (executable) std::filesystem::permissions(folder / name, std::filesystem::perms(0700));
  };
  write("small", "x");
  write("text", "some text\r\nof several lines\n\n" + std::string(500, '-') + "\n");
  std::string bytes;
  for (int i = 0; i < 400; ++i) bytes += static_cast<char>(i * i % 251);
  write("binary", bytes);
  write("unit", "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n");
  write("keys", "ssh-ed25519 AAAA one\r\n\nssh-rsa BBBB two\n");
  write("sub/x", "");
  write("tree/etc/a.conf", "a = 1\n");
  write("tree/etc/z/b", "");
  write("tree/etc.d", "sorted before etc/ by some\n");
  write("tree/usr/local/bin/run", "#!/bin/sh\n", true);
  write("files/one", std::string(700, 'o'));
  write("links/file", "f");
  std::filesystem::create_directory_symlink("../elsewhere", folder / "links/away");
  std::filesystem::create_symlink("small", folder / "inside");
}

}  // namespace strake::test
