#include <algorithm>

#include "base/secrets.h"
#include "cmd/cli/commands.h"
#include "cmd/input/butane_input.h"
#include "cmd/input/connection.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "codec/yaml.h"
#include "ignition/config.h"
#include "ignition/translate.h"
#include "machineconfig/diff/redact.h"

namespace strake::cmd {

namespace {

constexpr std::size_t kMaxConfigBytes = std::size_t{64} << 20;

constexpr ArgumentSpec kConfigFiles[] = {
    {"FILE", "Ignition configs (JSON, gzipped JSON or that in base64) or Butane configs; - is standard input", true,
     true, kFileValue}};
constexpr ArgumentSpec kConfigFile[] = {
    {"FILE", "an Ignition config (JSON, gzipped JSON or that in base64) or a Butane config; - is standard input", true,
     false, kFileValue}};
constexpr OptionSpec kValidateOptions[] = {kOutputOption, kFilesDirOption, {"strict", "", "warnings count as errors"}};
constexpr OptionSpec kShowOptions[] = {
    kOutputOption, kFilesDirOption, {"show-secrets", "", "show passwords, keys and secret contents in -o json too"}};
constexpr OptionSpec kMergeOptions[] = {kFilesDirOption};
constexpr OptionSpec kConvertOptions[] = {
    kFilesDirOption, {"to", "VERSION", "spec version of the result: 2.2, 3.1, 3.2, 3.3, 3.4 or 3.5", "3.5"}};

/// Butane gives an Ignition config too; of a MachineConfig that is the part which is one.
Result<ignition::Checked> check_butane(const Invocation& invocation, const std::string& file, std::string_view text) {
  ButaneReader reader(invocation.value("files-dir"));
  STRAKE_TRY_CONTEXT(ignition::ButaneResult butane, reader.translate(text, 0), "{}", shown_path(file));
  if (butane.settings.is_object() && !butane.settings.get_object().empty()) {
    invocation.out().warn(
        fmt::format("{}: only the Ignition config in it counts; kernel arguments, extensions, fips "
                    "and kernel type of the section openshift do not",
                    shown_path(file)));
  }
  ignition::Checked checked;
  checked.version = butane.spec;
  checked.config = std::move(butane.config);
  checked.report = std::move(butane.report);
  return checked;
}

/// nullopt when the text is no Butane config, as far as can be told.
Result<bool> is_butane_text(std::string_view text) {
  if (text.find("variant") == std::string_view::npos) return false;
  auto documents = yaml::parse_stream(text, {.max_bytes = kMaxConfigBytes});
  const bool is_json = text.find_first_not_of(" \t\r\n") == text.find('{');
  if (!documents.ok()) return is_json ? Result<bool>(false) : Result<bool>(std::move(documents).error());
  if (documents->empty() || !ignition::is_butane(documents->front().value)) return false;
  if (documents->size() == 1) return true;
  return error(Code::kInvalidArgument, "line {}: a second document where one config is expected", (*documents)[1].line);
}

Result<ignition::Checked> read_checked(const Invocation& invocation, const std::string& file) {
  STRAKE_TRY(const std::string bytes, read_text_input(file, kMaxConfigBytes));
  STRAKE_TRY_CONTEXT(const std::string text, ignition::decode_config_bytes(bytes), "{}", shown_path(file));
  STRAKE_TRY_CONTEXT(const bool is_butane, is_butane_text(text), "{}", shown_path(file));
  if (is_butane) return check_butane(invocation, file, text);
  return ignition::check_text(text);
}

/// "FILE:3:9: error: storage.files[2].path: path not absolute: 'etc/x'", the form editors jump to.
std::string finding_line(std::string_view file, const ignition::Finding& finding) {
  const std::string place =
      finding.position ? fmt::format(":{}:{}", finding.position->line, finding.position->column) : "";
  return fmt::format("{}{}: {}: {}", shown_path(file), place, ignition::to_string(finding.severity),
                     finding.to_string());
}

json::Value finding_json(const ignition::Finding& finding) {
  json::Object object{
      {"severity", ignition::to_string(finding.severity)}, {"path", finding.path()}, {"message", finding.message}};
  if (!finding.found.empty()) object["found"] = finding.found;
  if (finding.position) {
    object["line"] = finding.position->line;
    object["column"] = finding.position->column;
  }
  return object;
}

/// The config of a file; its findings go to stderr when they are errors.
Result<ignition::Checked> read_valid_config(const Invocation& invocation, const std::string& file) {
  STRAKE_TRY(ignition::Checked checked, read_checked(invocation, file));
  if (!checked.report.is_fatal()) return checked;
  for (const ignition::Finding& finding : checked.report.findings) {
    invocation.out().progress(finding_line(file, finding));
  }
  return error(Code::kInvalidArgument, "{} is not a valid Ignition config", shown_path(file));
}

Result<int> run_ignition_validate(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  bool all_fine = true;
  json::Array results;
  for (const std::string& file : invocation.list("FILE")) {
    STRAKE_TRY(const ignition::Checked checked, read_checked(invocation, file));
    const auto& findings = checked.report.findings;
    const bool fine = !checked.report.is_fatal() && (findings.empty() || !invocation.is_set("strict"));
    all_fine = all_fine && fine;
    json::Array list;
    for (const ignition::Finding& finding : findings) {
      if (as_json) {
        list.push_back(finding_json(finding));
      } else {
        invocation.out().text(finding_line(file, finding) + "\n");
      }
    }
    results.push_back(json::Object{{"file", file}, {"valid", fine}, {"findings", std::move(list)}});
    if (fine && !as_json)
      invocation.out().text(fmt::format("{}: valid, spec {}\n", shown_path(file), to_string(checked.version)));
  }
  if (as_json) invocation.out().report(std::move(results));
  return all_fine ? kExitOk : kExitError;
}

/// How many bytes the machine writes, unpacked; "-" when they must be fetched.
std::string contents_size(const json::Value& file) {
  json::Value alone = json::Object{{"storage", json::Object{{"files", json::Array{file}}}}};
  alone.at("storage").at("files").at(0).get_object().erase("append");
  const auto decoded = ignition::files_of(alone);
  return decoded.ok() ? fmt::format("{}", decoded->front().contents.size()) : "-";
}

/// What a machine makes of it: spec 2 overwrites unless told otherwise and takes a missing mode for 0000, spec 3
/// neither.
std::string describe_file(const json::Value& file, ignition::SpecVersion version) {
  const bool is_spec2 = version.major == 2;
  const bool appends2 = is_spec2 && json::find_bool(file, {"append"}) == true;
  const json::Value* parts = json::find(file, {"append"});
  const bool appends = appends2 || (parts != nullptr && parts->is_array() && !parts->get_array().empty());
  const bool is_whole = !appends2 && (is_spec2 || json::find(file, {"contents", "source"}) != nullptr);
  const auto given = json::find_int(file, {"mode"});
  const std::string mode = given ? fmt::format("{:04o}", *given) : is_whole ? (is_spec2 ? "0000" : "0644") : "as is";
  const bool overwrites = json::find_bool(file, {"overwrite"}).value_or(is_spec2 && !appends2);
  return fmt::format("file  {} {:>8}  {}{}{}\n", mode, contents_size(file),
                     json::find_string(file, {"path"}).value_or(""), overwrites && is_whole ? " overwrites" : "",
                     appends ? " appends" : "");
}

std::string describe_directory(const json::Value& directory, ignition::SpecVersion version) {
  const auto mode = json::find_int(directory, {"mode"}).value_or(version.major == 2 ? 0 : 0755);
  return fmt::format("dir   {:04o}           {}\n", mode, json::find_string(directory, {"path"}).value_or(""));
}

std::string describe_link(const json::Value& link) {
  return fmt::format("link                 {} -> {}{}\n", json::find_string(link, {"path"}).value_or(""),
                     json::find_string(link, {"target"}).value_or(""),
                     json::find_bool(link, {"hard"}) == true ? " hard" : "");
}

/// Keys and hashes are counted, not shown.
std::string describe_user(const json::Value& user) {
  const json::Value* keys = json::find(user, {"sshAuthorizedKeys"});
  return fmt::format("user  {} keys {}{}\n", json::find_string(user, {"name"}).value_or(""),
                     keys != nullptr && keys->is_array() ? keys->get_array().size() : 0,
                     json::find_string(user, {"passwordHash"}).value_or("").empty() ? "" : " password");
}

/// A file's contents are shown when nothing about them looks secret.
bool may_show_contents(const json::Value& file) {
  const auto decoded = ignition::files_of(json::Object{{"storage", json::Object{{"files", json::Array{file}}}}});
  if (!decoded.ok() || find_secret(decoded->front().contents)) return false;
  const auto mode = json::find_int(file, {"mode"});
  return !find_secret_place(decoded->front().path,
                            mode ? std::optional(static_cast<std::uint32_t>(*mode)) : std::nullopt);
}

/// What is secret by its place, and contents that look it.
void hide_secrets(json::Value& config) {
  const auto each = [&](std::initializer_list<std::string_view> path, const auto& visit) {
    json::Value* items = json::find(config, path);
    if (items == nullptr || !items->is_array()) return;
    for (json::Value& item : items->get_array()) visit(item);
  };
  // Every data URL is hidden first; those of harmless files come back.
  std::vector<std::optional<json::Value>> shown;
  each({"storage", "files"}, [&](json::Value& file) {
    const json::Value* source = json::find(file, {"contents", "source"});
    shown.push_back(source != nullptr && may_show_contents(file) ? std::optional(*source) : std::nullopt);
  });
  for (auto& [name, section] : config.get_object()) machineconfig::hide_secret_members(section);
  std::size_t index = 0;
  each({"storage", "files"}, [&](json::Value& file) {
    if (const auto& source = shown[index++]; source) *json::find(file, {"contents", "source"}) = *source;
  });
  const auto hide_text = [](json::Value& holder) {
    const auto text = json::find_string(holder, {"contents"});
    if (text && find_secret(*text)) holder.get_object()["contents"] = kHiddenSecret;
  };
  each({"systemd", "units"}, [&](json::Value& unit) {
    hide_text(unit);
    if (json::Value* dropins = json::find(unit, {"dropins"}); dropins != nullptr && dropins->is_array()) {
      for (json::Value& dropin : dropins->get_array()) hide_text(dropin);
    }
  });
}

/// Spec 2 also has `enable`, which `enabled` overrules.
std::string describe_unit(const json::Value& unit) {
  const bool enabled = json::find_bool(unit, {"enabled"}).value_or(json::find_bool(unit, {"enable"}).value_or(false));
  return fmt::format("unit  {}{}{}\n", json::find_string(unit, {"name"}).value_or(""), enabled ? " enabled" : "",
                     json::find_bool(unit, {"mask"}) == true ? " masked" : "");
}

/// Where the rest of the config comes from: what a stub is about.
void print_references(const json::Value& config, Output& out) {
  for (const std::string_view list : {"append", "merge"}) {
    const json::Value* references = json::find(config, {"ignition", "config", list});
    if (references == nullptr) continue;
    for (const json::Value& reference : references->get_array()) {
      out.text(fmt::format("{:5} {}\n", list, without_secrets(json::find_string(reference, {"source"}).value_or(""))));
    }
  }
  if (const auto replace = json::find_string(config, {"ignition", "config", "replace", "source"}); replace) {
    out.text(fmt::format("replace {}\n", without_secrets(*replace)));
  }
}

Result<int> run_ignition_show(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  const std::string& file = invocation.value("FILE");
  STRAKE_TRY(ignition::Checked checked, read_valid_config(invocation, file));
  ignition::normalise(checked.config);
  if (as_json) {
    if (!invocation.is_set("show-secrets")) hide_secrets(checked.config);
    invocation.out().document(json::write_pretty(checked.config));
    return kExitOk;
  }
  Output& out = invocation.out();
  out.text(fmt::format("spec  {}\n", to_string(checked.version)));
  print_references(checked.config, out);
  for (const auto& [section, value] : checked.config.get_object()) {
    if (section == "ignition") continue;
    for (const auto& [list, items] : value.get_object()) {
      if (items.is_array())
        out.text(fmt::format("has   {}.{}: {}\n", std::string_view(section), std::string_view(list),
                             items.get_array().size()));
    }
  }
  const auto each = [&](std::initializer_list<std::string_view> path, const auto& describe) {
    const json::Value* items = json::find(checked.config, path);
    if (items == nullptr) return;
    for (const json::Value& item : items->get_array()) out.text(describe(item));
  };
  each({"storage", "directories"}, [&](const json::Value& item) { return describe_directory(item, checked.version); });
  each({"storage", "files"}, [&](const json::Value& item) { return describe_file(item, checked.version); });
  each({"storage", "links"}, describe_link);
  each({"passwd", "users"}, describe_user);
  if (const json::Value* units = json::find(checked.config, {"systemd", "units"}); units != nullptr) {
    for (const json::Value& unit : units->get_array()) out.text(describe_unit(unit));
  }
  return kExitOk;
}

Result<int> run_ignition_convert(const Invocation& invocation) {
  const std::string& wanted = invocation.value("to");
  // "3.2" is what people say; the config itself names the version in full.
  const std::string full = std::ranges::count(wanted, '.') == 1 ? wanted + ".0" : wanted;
  STRAKE_TRY_CONTEXT(const ignition::SpecVersion to, ignition::parse_spec_version(full), "--to '{}'", wanted);
  const std::string& file = invocation.value("FILE");
  STRAKE_TRY(ignition::Checked checked, read_valid_config(invocation, file));
  if (checked.version.major == 3 && to.major == 2) ignition::write_default_modes(checked.config);
  STRAKE_TRY_CONTEXT(const json::Value converted, ignition::convert(checked.config, to), "{}", shown_path(file));
  invocation.out().document(json::write_pretty(converted));
  return kExitOk;
}

Result<int> run_ignition_merge(const Invocation& invocation) {
  json::Value merged = ignition::empty_config();
  for (const std::string& file : invocation.list("FILE")) {
    STRAKE_TRY(ignition::Checked checked, read_valid_config(invocation, file));
    STRAKE_TRY_CONTEXT(const json::Value config, ignition::parse(checked.config), "{}", shown_path(file));
    merged = ignition::merge(merged, config);
  }
  invocation.out().document(json::write_pretty(merged));
  return kExitOk;
}

constexpr ExitMeaning kIgnitionValidateExits[] = {{kExitOk, "all valid"},
                                                  {kExitError, "an error was found or a file could not be read"}};
constexpr ExitMeaning kIgnitionShowExits[] = {{kExitOk, "shown"},
                                              {kExitError, "the config is not valid or could not be read"}};
constexpr ExitMeaning kIgnitionConvertExits[] = {
    {kExitOk, "converted"}, {kExitError, "refused, or the config is not valid or could not be read"}};
constexpr ExitMeaning kIgnitionMergeExits[] = {{kExitOk, "merged"},
                                               {kExitError, "a config is not valid or could not be read"}};

}  // namespace

const CommandSpec kIgnitionValidateCommand{
    "ignition validate",
    "Check Ignition configs, spec 2.0 to 2.2 and 3.0 to 3.5, as Ignition itself checks them.",
    "Each finding is one line: FILE:LINE:COLUMN: error|warning: MEMBER: what is wrong. A machine refuses to boot with "
    "a config that has an error; a warning is something Ignition ignores, such as a misspelt member. A Butane config "
    "(a YAML document with a variant) is translated and judged as butane does it.\n\n"
    "  strake ignition validate worker.ign\n"
    "  kubectl get secret worker-user-data -o jsonpath='{.data.userData}' | base64 -d |\n"
    "      strake ignition validate -",
    kConfigFiles,
    kValidateOptions,
    run_ignition_validate,
    kIgnitionValidateExits};

const CommandSpec kIgnitionShowCommand{
    "ignition show",
    "Show what an Ignition config contains.",
    "Text: the spec version, the configs it merges, how many entries each section has, and what a machine will do: "
    "files with the mode they get (in spec 2 a missing one is 0000) and their unpacked size (- when they are fetched), "
    "directories, links, users, units. -o json: the config with only the members of its spec, without nulls and empty "
    "lists, secrets hidden.\n\n"
    "  strake ignition show worker.ign",
    kConfigFile,
    kShowOptions,
    run_ignition_show,
    kIgnitionShowExits};

const CommandSpec kIgnitionConvertCommand{
    "ignition convert",
    "Write an Ignition config in another spec version.",
    "Reads spec 2.0 to 2.2 and 3.0 to 3.5, stubs and full configs; writes 2.2 and 3.1 to 3.5. A config that uses "
    "something the target cannot express is refused, and every such member is named; nothing is dropped silently, and "
    "entries stay in order. From spec 2 to 3, config.append becomes config.merge, and files, units and keys that spec "
    "2 let repeat are refused, except the same key twice. From spec 3 to 2, modes that are not set are written out, "
    "because spec 2 would take them for 0000. A machine boots with the lowest spec its boot image knows: "
    "3.1 is right for a stub.\n\n"
    "  strake ignition convert --to 3.1 worker.ign > worker-3.1.ign\n"
    "  strake ignition convert --to 3.4 --files-dir files/ worker.bu > worker.ign",
    kConfigFile,
    kConvertOptions,
    run_ignition_convert,
    kIgnitionConvertExits};

const CommandSpec kIgnitionMergeCommand{
    "ignition merge",
    "Merge Ignition configs, later ones over earlier ones.",
    "Follows the rules of the specification: files by path, units and drop-ins by name, users and groups by name, "
    "disks by device; a member that a later config does not set stays. The configs may have different specs; the "
    "result is printed, in spec 3.5.0. A config of spec 2 is raised as the Machine Config Operator raises it: of "
    "repeated files and units the last counts, in reverse order.\n\n"
    "  strake ignition merge base.ign site.ign > node.ign",
    kConfigFiles,
    kMergeOptions,
    run_ignition_merge,
    kIgnitionMergeExits};

}  // namespace strake::cmd
