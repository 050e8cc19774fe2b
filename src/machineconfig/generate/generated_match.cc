#include "machineconfig/generate/generated_match.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "codec/json_patch.h"
#include "codec/toml.h"
#include "codec/yaml.h"
#include "machineconfig/generate/generated_config.h"
#include "machineconfig/generate/kubelet_config.h"

namespace strake::machineconfig {

namespace {

constexpr std::size_t kMostMembersNamed = 5;

using FilesByPath = std::map<std::string, std::string>;

FilesByPath files_by_path(const kube::Object& config) {
  FilesByPath files;
  for (GeneratedFile& file : files_in(config)) files[std::move(file.path)] = std::move(file.contents);
  return files;
}

/// As far as the format is known by the name; a list of lines otherwise, in no order.
json::Value read_generated(std::string_view path, const std::string& text) {
  const bool is_toml = path.starts_with("/etc/crio/") || path.starts_with("/etc/containers/");
  const auto read = path.ends_with(".json")                               ? json::parse(text)
                    : path.ends_with(".yaml") || path == kKubeletConfPath ? yaml::parse(text)
                    : is_toml                                             ? toml::parse(text)
                                                                          : Result<json::Value>(json::Value());
  if (read.ok() && !read->is_null()) return *read;
  json::Object lines;
  for (const std::string_view line : split(text, '\n')) {
    if (!trimmed(line).empty()) lines[trimmed(line)] = true;
  }
  return lines;
}

/// Written out or left out, it is the same to most programs.
bool says_nothing(const json::Value& value) {
  return value.is_null() || (value.is_bool() && !value.get_bool()) ||
         (value.is_string() && value.get_string().empty()) || (value.is_object() && value.get_object().empty()) ||
         (value.is_array() && value.get_array().empty());
}

class MemberComparison {
 public:
  void compare(const std::string& where, const json::Value& wanted, const json::Value& held) {
    if (wanted.is_object() && held.is_object()) {
      for (const auto& member : wanted.get_object()) {
        const json::Value* theirs = held.get_object().if_contains(member.key());
        const std::string path = fmt::format("{}{}{}", where, where.empty() ? "" : ".", std::string_view(member.key()));
        if (theirs != nullptr) {
          compare(path, member.value(), *theirs);
        } else if (!says_nothing(member.value())) {
          lacking.push_back(path);
        }
      }
      return;
    }
    const bool same = wanted.is_array() && held.is_array() ? same_list(wanted.get_array(), held.get_array())
                                                           : json::same_value(wanted, held);
    if (!same) lacking.push_back(where);
  }

  std::vector<std::string> lacking;

 private:
  /// Of objects each has its like, in whatever order; other lists are the same, or not.
  static bool same_list(const json::Array& wanted, const json::Array& held) {
    if (!std::ranges::all_of(wanted, [](const json::Value& item) { return item.is_object(); })) {
      return json::same_value(wanted, held);
    }
    return said_by(wanted) == said_by(held);
  }

  static std::multiset<std::string> said_by(const json::Array& items) {
    std::multiset<std::string> said;
    for (const json::Value& item : items) said.insert(json::write_canonical(without_empty(item)));
    return said;
  }

  static json::Value without_empty(const json::Value& value) {
    if (!value.is_object()) return value;
    json::Object rest;
    for (const auto& member : value.get_object()) {
      if (!says_nothing(member.value())) rest[member.key()] = without_empty(member.value());
    }
    return rest;
  }
};

}  // namespace

std::vector<std::string> lacking_members(const kube::Object& held, const kube::Object& wanted) {
  const FilesByPath theirs = files_by_path(held);
  std::vector<std::string> lacking;
  for (const auto& [path, text] : files_by_path(wanted)) {
    const auto file = theirs.find(path);
    if (file == theirs.end()) {
      lacking.push_back(path);
      continue;
    }
    MemberComparison comparison;
    comparison.compare("", read_generated(path, text), read_generated(path, file->second));
    const std::vector<std::string>& members = comparison.lacking;
    if (members.empty()) continue;
    const std::size_t named = std::min(members.size(), kMostMembersNamed);
    lacking.push_back(fmt::format("{}{}{}{}", path, members.front().empty() ? "" : ": ",
                                  fmt::join(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(named), " "),
                                  named < members.size() ? fmt::format(" and {} more", members.size() - named) : ""));
  }
  return lacking;
}

}  // namespace strake::machineconfig
