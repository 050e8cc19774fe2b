#include <set>
#include <string>

#include "codec/compress.h"
#include "codec/data_url.h"
#include "ignition/config.h"
#include "ignition/schema.h"

namespace strake::ignition {

namespace {

constexpr std::size_t kMaxFileBytes = 64u << 20;  // decoded; keeps a gzip bomb in a data URL small
constexpr std::int64_t kMaxMode = 07777;

constexpr std::string_view kUnitSuffixes[] = {".service", ".socket", ".device", ".mount", ".automount", ".swap",
                                              ".target",  ".path",   ".timer",  ".slice", ".scope",     ".snapshot"};

Error member_error(const std::string& where, std::string_view what) {
  return error(Code::kInvalidArgument, "{}: {}", where, what);
}

std::string join_member(const std::string& where, std::string_view name) {
  return where.empty() ? std::string(name) : where + "." + std::string(name);
}

/// Checks types and copies the members of the spec version; others are left out, as Ignition itself ignores them.
Result<json::Value> take_struct(const json::Value& value, const StructSchema& schema, int minor,
                                const std::string& where) {
  if (!value.is_object())
    return member_error(where, fmt::format("expected an object, found {}", json::type_name(value)));
  json::Object taken;
  for (const auto& [name, item] : value.get_object()) {
    const Member* member = schema.find(name);
    if (member == nullptr || member->since_minor > minor || item.is_null()) continue;
    const std::string path = join_member(where, name);
    const auto wrong = [&](std::string_view wanted) {
      return member_error(path, fmt::format("expected {}, found {}", wanted, json::type_name(item)));
    };
    switch (member->type) {
      case MemberType::kString:
        if (!item.is_string()) return wrong("a string");
        taken[name] = item;
        break;
      case MemberType::kInteger:
        if (item.is_int64() || item.is_uint64()) {
          taken[name] = item;
        } else if (item.is_double() &&
                   item.get_double() == static_cast<double>(static_cast<std::int64_t>(item.get_double()))) {
          taken[name] = static_cast<std::int64_t>(item.get_double());
        } else {
          return wrong("an integer");
        }
        break;
      case MemberType::kBool:
        if (!item.is_bool()) return wrong("a boolean");
        taken[name] = item;
        break;
      case MemberType::kObject: {
        STRAKE_TRY(taken[name], take_struct(item, *member->element, minor, path));
        break;
      }
      case MemberType::kStringList:
      case MemberType::kObjectList: {
        if (!item.is_array()) return wrong("a list");
        json::Array list;
        for (std::size_t i = 0; i < item.get_array().size(); ++i) {
          const json::Value& element = item.get_array()[i];
          const std::string element_path = fmt::format("{}[{}]", path, i);
          if (member->type == MemberType::kObjectList) {
            STRAKE_TRY(json::Value element_taken, take_struct(element, *member->element, minor, element_path));
            list.push_back(std::move(element_taken));
          } else if (element.is_string()) {
            list.push_back(element);
          } else {
            return member_error(element_path, fmt::format("expected a string, found {}", json::type_name(element)));
          }
        }
        taken[name] = std::move(list);
        break;
      }
    }
  }
  return json::Value(std::move(taken));
}

Result<int> minor_version(const json::Value& config) {
  const json::Value* version = json::find(config, {"ignition", "version"});
  if (version == nullptr)
    return error(Code::kInvalidArgument, "ignition.version: missing; write for example \"3.5.0\"");
  if (!version->is_string()) {
    return member_error("ignition.version",
                        fmt::format("expected a string such as \"3.5.0\", found {}", json::type_name(*version)));
  }
  const std::string_view text = json::as_view(version->get_string());
  for (int minor = 0; minor <= kLatestMinor; ++minor) {
    if (text == fmt::format("3.{}.0", minor)) return minor;
  }
  return error(Code::kUnsupported, "ignition.version: unknown version '{}'; supported are 3.0.0 to 3.{}.0", text,
               kLatestMinor);
}

bool is_clean_absolute_path(std::string_view path) {
  if (path.empty() || path.front() != '/' || path == "/") return false;
  if (path.back() == '/' || path.find("//") != std::string_view::npos || path.find('\0') != std::string_view::npos)
    return false;
  for (std::size_t start = 1; start <= path.size();) {
    const std::size_t end = std::min(path.find('/', start), path.size());
    const std::string_view part = path.substr(start, end - start);
    if (part == "." || part == "..") return false;
    start = end + 1;
  }
  return true;
}

Result<std::string> decode_source(std::string_view source, std::string_view compression, const std::string& where) {
  if (source.empty()) return std::string();
  if (!source.starts_with("data:")) {
    return error(Code::kUnsupported, "{}: only data URLs can be applied to a running node, found '{}'", where,
                 source.substr(0, source.find(':') + 1));
  }
  STRAKE_TRY_CONTEXT(codec::DataUrl url, codec::parse_data_url(source), "{}", where);
  if (compression == "gzip") {
    return codec::gunzip(url.data, kMaxFileBytes).context("{}", where);
  }
  if (!compression.empty()) return member_error(where, fmt::format("unknown compression '{}'", compression));
  return url.data;
}

Status check_paths(const json::Value& config) {
  std::set<std::string, std::less<>> seen;
  for (const std::string_view list : {"files", "directories", "links"}) {
    const json::Value* items = json::find(config, {"storage", list});
    if (items == nullptr) continue;
    for (std::size_t i = 0; i < items->get_array().size(); ++i) {
      const std::string where = fmt::format("storage.{}[{}]", list, i);
      const json::Value& item = items->get_array()[i];
      const std::string path = json::find_string(item, {"path"}).value_or("");
      if (!is_clean_absolute_path(path)) {
        return member_error(where + ".path", fmt::format("'{}' is not a clean absolute path", path));
      }
      if (!seen.insert(path).second) return member_error(where + ".path", fmt::format("'{}' is defined twice", path));
      if (const auto mode = json::find_int(item, {"mode"}); mode && (*mode < 0 || *mode > kMaxMode)) {
        return member_error(where + ".mode", fmt::format("{} is outside 0 to {}", *mode, kMaxMode));
      }
      if (list == "links" && json::find_string(item, {"target"}).value_or("").empty()) {
        return member_error(where + ".target", "missing");
      }
    }
  }
  return {};
}

Status check_files(const json::Value& config) {
  const json::Value* files = json::find(config, {"storage", "files"});
  if (files == nullptr) return {};
  for (std::size_t i = 0; i < files->get_array().size(); ++i) {
    const json::Value& file = files->get_array()[i];
    const std::string source = json::find_string(file, {"contents", "source"}).value_or("");
    if (!source.starts_with("data:")) continue;
    const std::string where =
        fmt::format("storage.files[{}] ({}).contents.source", i, json::find_string(file, {"path"}).value_or(""));
    const std::string compression = json::find_string(file, {"contents", "compression"}).value_or("");
    if (auto decoded = decode_source(source, compression, where); !decoded.ok()) return std::move(decoded).error();
  }
  return {};
}

Status check_units(const json::Value& config) {
  const json::Value* units = json::find(config, {"systemd", "units"});
  if (units == nullptr) return {};
  std::set<std::string> seen;
  for (std::size_t i = 0; i < units->get_array().size(); ++i) {
    const std::string where = fmt::format("systemd.units[{}].name", i);
    const std::string name = json::find_string(units->get_array()[i], {"name"}).value_or("");
    const bool known = std::any_of(std::begin(kUnitSuffixes), std::end(kUnitSuffixes), [&](std::string_view suffix) {
      return name.size() > suffix.size() && name.ends_with(suffix);
    });
    if (!known || name.find('/') != std::string::npos) {
      return member_error(where, fmt::format("'{}' is not a systemd unit name such as x.service", name));
    }
    if (!seen.insert(name).second) return member_error(where, fmt::format("'{}' is defined twice", name));
    const json::Value* dropins = json::find(units->get_array()[i], {"dropins"});
    if (dropins == nullptr) continue;
    for (std::size_t d = 0; d < dropins->get_array().size(); ++d) {
      const std::string dropin = json::find_string(dropins->get_array()[d], {"name"}).value_or("");
      if (dropin.size() <= 5 || !dropin.ends_with(".conf") || dropin.find('/') != std::string::npos) {
        return member_error(fmt::format("systemd.units[{}].dropins[{}].name", i, d),
                            fmt::format("'{}' is not a drop-in name such as 10-x.conf", dropin));
      }
    }
  }
  return {};
}

}  // namespace

json::Value empty_config() {
  return json::Object{{"ignition", json::Object{{"version", fmt::format("3.{}.0", kLatestMinor)}}}};
}

void normalise(json::Value& config) {
  if (!config.is_object()) return;
  json::Object kept;
  for (auto& [name, item] : config.get_object()) {
    if (item.is_array()) {
      for (json::Value& element : item.get_array()) normalise(element);
    } else {
      normalise(item);
    }
    const bool empty = item.is_null() || (item.is_array() && item.get_array().empty()) ||
                       (item.is_object() && item.get_object().empty());
    if (!empty) kept[name] = std::move(item);
  }
  config = std::move(kept);
}

Result<json::Value> parse(const json::Value& config) {
  if (!config.is_object()) {
    return error(Code::kInvalidArgument, "an Ignition config is an object, found {}", json::type_name(config));
  }
  STRAKE_TRY(const int minor, minor_version(config));
  STRAKE_TRY(json::Value taken, take_struct(config, config_schema(), minor, ""));
  normalise(taken);
  STRAKE_CHECK_OK(check_paths(taken));
  STRAKE_CHECK_OK(check_files(taken));
  STRAKE_CHECK_OK(check_units(taken));
  json::ensure(taken, {"ignition", "version"}) = fmt::format("3.{}.0", kLatestMinor);
  return taken;
}

Result<std::vector<FileEntry>> files_of(const json::Value& config) {
  std::vector<FileEntry> entries;
  const json::Value* files = json::find(config, {"storage", "files"});
  if (files == nullptr || !files->is_array()) return entries;
  for (const json::Value& file : files->get_array()) {
    FileEntry entry;
    entry.path = json::find_string(file, {"path"}).value_or("");
    if (const json::Value* append = json::find(file, {"append"}); append != nullptr) {
      return error(Code::kUnsupported, "file {}: 'append' cannot be applied to a running node", entry.path);
    }
    STRAKE_TRY(entry.contents, decode_source(json::find_string(file, {"contents", "source"}).value_or(""),
                                             json::find_string(file, {"contents", "compression"}).value_or(""),
                                             fmt::format("file {}", entry.path)));
    entry.mode = static_cast<std::uint32_t>(json::find_int(file, {"mode"}).value_or(0644));
    entry.user_id = json::find_int(file, {"user", "id"});
    entry.group_id = json::find_int(file, {"group", "id"});
    entry.user_name = json::find_string(file, {"user", "name"}).value_or("");
    entry.group_name = json::find_string(file, {"group", "name"}).value_or("");
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<UnitEntry> units_of(const json::Value& config) {
  std::vector<UnitEntry> entries;
  const json::Value* units = json::find(config, {"systemd", "units"});
  if (units == nullptr || !units->is_array()) return entries;
  for (const json::Value& unit : units->get_array()) {
    UnitEntry entry;
    entry.name = json::find_string(unit, {"name"}).value_or("");
    entry.contents = json::find_string(unit, {"contents"});
    entry.enabled = json::find_bool(unit, {"enabled"});
    entry.mask = json::find_bool(unit, {"mask"});
    if (const json::Value* dropins = json::find(unit, {"dropins"}); dropins != nullptr && dropins->is_array()) {
      for (const json::Value& dropin : dropins->get_array()) {
        entry.dropins.push_back(
            {json::find_string(dropin, {"name"}).value_or(""), json::find_string(dropin, {"contents"}).value_or("")});
      }
    }
    entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace strake::ignition
