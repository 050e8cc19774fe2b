#include <algorithm>
#include <string>

#include "codec/base64.h"
#include "codec/compress.h"
#include "codec/data_url.h"
#include "ignition/config.h"
#include "ignition/translate.h"

namespace strake::ignition {

namespace {

constexpr std::size_t kMaxFileBytes = 64u << 20;    // decoded; keeps a gzip bomb in a data URL small
constexpr std::size_t kMaxFilesBytes = 512u << 20;  // decoded, of all files of a config: many small bombs
constexpr std::size_t kMaxConfigBytes = 64u << 20;

Error member_error(const std::string& where, std::string_view what) {
  return error(Code::kInvalidArgument, "{}: {}", where, what);
}

Result<std::string> decode_source(std::string_view source, std::string_view compression, const std::string& where,
                                  std::size_t& budget) {
  if (source.empty()) return std::string();
  if (!source.starts_with("data:")) {
    return error(Code::kUnsupported, "{}: only data URLs can be applied to a running node, found '{}'", where,
                 source.substr(0, source.find(':') + 1));
  }
  STRAKE_TRY_CONTEXT(codec::DataUrl url, codec::parse_data_url(source), "{}", where);
  if (compression == "gzip") {
    STRAKE_TRY_CONTEXT(url.data, codec::gunzip(url.data, std::min(kMaxFileBytes, budget)), "{}", where);
    budget -= url.data.size();
    return std::move(url.data);
  }
  if (!compression.empty()) return member_error(where, fmt::format("unknown compression '{}'", compression));
  return url.data;
}

/// What Ignition lets pass and a node cannot do: replace its root, or write a path that a C program would cut short.
Status check_paths(const json::Value& config) {
  for (const std::string_view list : {"files", "directories", "links"}) {
    const json::Value* items = json::find(config, {"storage", list});
    if (items == nullptr) continue;
    for (std::size_t i = 0; i < items->get_array().size(); ++i) {
      const std::string_view path = json::as_view(items->get_array()[i].get_object().at("path").get_string());
      if (path != "/" && path.find('\0') == std::string_view::npos) continue;
      return member_error(fmt::format("storage.{}[{}].path", list, i), fmt::format("'{}' cannot be written", path));
    }
  }
  return {};
}

/// Validation has looked at the URLs themselves; what is left is whether packed contents unpack.
Status check_files(const json::Value& config) {
  const json::Value* files = json::find(config, {"storage", "files"});
  if (files == nullptr) return {};
  std::size_t budget = kMaxFilesBytes;
  for (std::size_t i = 0; i < files->get_array().size(); ++i) {
    const json::Value& file = files->get_array()[i];
    const std::string compression = json::find_string(file, {"contents", "compression"}).value_or("");
    if (compression.empty()) continue;
    const std::string source = json::find_string(file, {"contents", "source"}).value_or("");
    if (!source.starts_with("data:")) continue;
    const std::string where =
        fmt::format("storage.files[{}] ({}).contents.source", i, json::find_string(file, {"path"}).value_or(""));
    if (auto decoded = decode_source(source, compression, where, budget); !decoded.ok())
      return std::move(decoded).error();
  }
  return {};
}

Status check_file_name(std::string_view name, const std::string& where) {
  const bool only_extension = name.find_last_of('.') == 0;
  if (!only_extension && name.find_first_of(std::string_view("/\0", 2)) == std::string_view::npos) return {};
  return member_error(where + ".name", fmt::format("'{}' is not a file name", name));
}

/// Unit and drop-in names are file names.
Status check_units(const json::Value& config) {
  const json::Value* units = json::find(config, {"systemd", "units"});
  if (units == nullptr) return {};
  for (std::size_t i = 0; i < units->get_array().size(); ++i) {
    const json::Value& unit = units->get_array()[i];
    const std::string where = fmt::format("systemd.units[{}]", i);
    STRAKE_CHECK_OK(check_file_name(json::find_string(unit, {"name"}).value_or(""), where));
    const json::Value* dropins = json::find(unit, {"dropins"});
    if (dropins == nullptr) continue;
    for (std::size_t d = 0; d < dropins->get_array().size(); ++d) {
      STRAKE_CHECK_OK(check_file_name(json::find_string(dropins->get_array()[d], {"name"}).value_or(""),
                                      fmt::format("{}.dropins[{}]", where, d)));
    }
  }
  return {};
}

}  // namespace

json::Value empty_config() { return json::Object{{"ignition", json::Object{{"version", to_string(kLatestVersion)}}}}; }

void normalise(json::Value& config) {
  if (!config.is_object()) return;
  json::Object& members = config.get_object();
  bool any_empty = false;
  const auto is_empty = [](const json::Value& item) {
    return item.is_null() || (item.is_array() && item.get_array().empty()) ||
           (item.is_object() && item.get_object().empty());
  };
  for (auto& [name, item] : members) {
    if (item.is_array()) {
      for (json::Value& element : item.get_array()) normalise(element);
    } else {
      normalise(item);
    }
    any_empty = any_empty || is_empty(item);
  }
  if (!any_empty) return;
  for (auto member = members.begin(); member != members.end();) {
    member = is_empty(member->value()) ? members.stable_erase(member) : member + 1;
  }
}

Result<std::string> decode_config_bytes(std::string_view bytes) {
  constexpr std::string_view kGzipMagic = "\x1F\x8B";
  constexpr std::string_view kGzipMagicInBase64 = "H4sI";
  if (bytes.starts_with(kGzipMagic)) return codec::gunzip(bytes, kMaxConfigBytes).context("gzipped config");
  const std::size_t start = std::min(bytes.find_first_not_of(" \t\r\n"), bytes.size());
  if (!bytes.substr(start).starts_with(kGzipMagicInBase64)) return std::string(bytes);
  std::string text(bytes.substr(start));
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; });
  STRAKE_TRY_CONTEXT(const std::string packed, codec::decode_base64(text), "config in base64");
  return codec::gunzip(packed, kMaxConfigBytes).context("gzipped config in base64");
}

Result<json::Value> parse(const json::Value& config) {
  Checked checked = check(config);
  const auto& findings = checked.report.findings;
  const auto first = std::ranges::find(findings, Severity::kError, &Finding::severity);
  if (checked.version_problem) {
    return error(*checked.version_problem,
                 "ignition.version: parsing Ignition config failed: {} version. Supported spec versions: {}: '{}'",
                 *checked.version_problem == Code::kUnsupported ? "unknown" : "invalid", supported_versions(),
                 first->found);
  }
  if (first != findings.end()) return error(Code::kInvalidArgument, "{}", first->to_string());
  STRAKE_TRY(json::Value raised, raise_as_operator(std::move(checked.config), checked.version));
  STRAKE_CHECK_OK(check_paths(raised));
  STRAKE_CHECK_OK(check_files(raised));
  STRAKE_CHECK_OK(check_units(raised));
  return raised;
}

Result<std::vector<FileEntry>> files_of(const json::Value& config) {
  std::vector<FileEntry> entries;
  const json::Value* files = json::find(config, {"storage", "files"});
  if (files == nullptr || !files->is_array()) return entries;
  std::size_t budget = kMaxFilesBytes;
  for (const json::Value& file : files->get_array()) {
    FileEntry entry;
    entry.path = json::find_string(file, {"path"}).value_or("");
    if (const json::Value* append = json::find(file, {"append"}); append != nullptr) {
      return error(Code::kUnsupported, "file {}: 'append' cannot be applied to a running node", entry.path);
    }
    STRAKE_TRY(entry.contents, decode_source(json::find_string(file, {"contents", "source"}).value_or(""),
                                             json::find_string(file, {"contents", "compression"}).value_or(""),
                                             fmt::format("file {}", entry.path), budget));
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
