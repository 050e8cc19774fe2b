#include <algorithm>

#include "cmd/cli/commands.h"
#include "cmd/input/butane_input.h"
#include "cmd/input/connection.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "codec/yaml.h"
#include "ignition/config.h"

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
constexpr OptionSpec kShowOptions[] = {kOutputOption, kFilesDirOption};
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

std::string describe_file(const ignition::FileEntry& file) {
  return fmt::format("file  {:04o} {:>8}  {}\n", file.mode, file.contents.size(), file.path);
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
      out.text(fmt::format("{:5} {}\n", list, json::find_string(reference, {"source"}).value_or("")));
    }
  }
  if (const auto replace = json::find_string(config, {"ignition", "config", "replace", "source"}); replace) {
    out.text(fmt::format("replace {}\n", *replace));
  }
}

Result<int> run_ignition_show(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  const std::string& file = invocation.value("FILE");
  STRAKE_TRY(ignition::Checked checked, read_valid_config(invocation, file));
  ignition::normalise(checked.config);
  if (as_json) {
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
  // A stub's files may have to be fetched; then only their number is known.
  if (const auto files = ignition::files_of(checked.config); files.ok()) {
    for (const ignition::FileEntry& entry : *files) out.text(describe_file(entry));
  }
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
  STRAKE_TRY(const ignition::Checked checked, read_valid_config(invocation, file));
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
    "Text: the spec version, the configs it merges, how many entries each section has, files with mode and size, "
    "units. -o json: the config with only the members of its spec, without nulls and empty lists.\n\n"
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
    "2 let repeat are refused, except the same key twice. A machine boots with the lowest spec its boot image knows: "
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
