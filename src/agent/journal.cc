#include "agent/journal.h"

#include "codec/digest.h"
#include "codec/json.h"

namespace strake::agent {

namespace {

// Where the platform's own daemon keeps it, so that either can take over from the other.
const std::string kCurrentConfigPath = "/etc/machine-config-daemon/currentconfig";
const std::string kJournalPath = "/var/lib/strake/agent-journal.json";
const std::string kBeforeFolder = "/var/lib/strake/agent-before";

std::string before_path(const std::string& path) {
  return fmt::format("{}/{}", kBeforeFolder, codec::Digest::sha256_of(path).hex());
}

std::string_view kind_name(FileState::Kind kind) {
  switch (kind) {
    case FileState::Kind::kFile: return "file";
    case FileState::Kind::kLink: return "link";
    case FileState::Kind::kDirectory: return "folder";
  }
  return "unknown";
}

/// Without the contents of files, which have a file of their own.
json::Value to_json(const std::optional<FileState>& state) {
  if (!state) return json::Object{{"kind", "absent"}};
  json::Object value{{"kind", kind_name(state->kind)}, {"mode", state->mode}};
  if (state->owner.user_id) value["user"] = *state->owner.user_id;
  if (state->owner.group_id) value["group"] = *state->owner.group_id;
  if (state->kind == FileState::Kind::kLink) value["target"] = state->contents;
  return value;
}

}  // namespace

std::string_view to_string(Phase phase) {
  switch (phase) {
    case Phase::kApplying: return "applying";
    case Phase::kBooting: return "booting";
    case Phase::kReporting: return "reporting";
  }
  return "unknown";
}

Result<Phase> parse_phase(std::string_view text) {
  for (const Phase phase : {Phase::kApplying, Phase::kBooting, Phase::kReporting}) {
    if (text == to_string(phase)) return phase;
  }
  return error(Code::kCorrupt, "phase: '{}' is unknown", text);
}

Result<std::optional<json::Value>> AgentDisk::read_json(const std::string& path) {
  STRAKE_TRY(const auto file, tree_.read(path));
  if (!file) return std::optional<json::Value>();
  STRAKE_TRY_CONTEXT(json::Value value, json::parse(file->contents), "{}", path);
  return std::optional(std::move(value));
}

Result<std::optional<kube::Object>> AgentDisk::current_config() {
  STRAKE_TRY_CONTEXT(auto value, read_json(kCurrentConfigPath), "reading the applied config");
  if (!value) return std::optional<kube::Object>();
  return std::optional(kube::Object(*std::move(value)));
}

Status AgentDisk::write_current_config(const kube::Object& config) {
  return write_if_changed(kCurrentConfigPath, json::write(config.json())).context("recording the applied config");
}

Result<std::optional<FileState>> AgentDisk::state_from(const std::string& path, const json::Value& value) {
  const std::string kind = json::find_string(value, {"kind"}).value_or("");
  if (kind == "absent") return std::optional<FileState>();
  FileState state;
  state.mode = static_cast<std::uint32_t>(json::find_int(value, {"mode"}).value_or(0));
  state.owner = {json::find_int(value, {"user"}), json::find_int(value, {"group"})};
  if (kind == kind_name(FileState::Kind::kDirectory)) {
    state.kind = FileState::Kind::kDirectory;
  } else if (kind == kind_name(FileState::Kind::kLink)) {
    state.kind = FileState::Kind::kLink;
    state.contents = json::find_string(value, {"target"}).value_or("");
  } else if (kind == kind_name(FileState::Kind::kFile)) {
    STRAKE_TRY(auto kept, tree_.read(before_path(path)));
    if (!kept) return error(Code::kCorrupt, "before: {} is missing from {}", path, kBeforeFolder);
    state.contents = std::move(kept->contents);
  } else {
    return error(Code::kCorrupt, "before: {}: '{}' is unknown", path, kind);
  }
  return std::optional(std::move(state));
}

Result<Journal> AgentDisk::journal_from(const json::Value& value) {
  Journal journal;
  STRAKE_TRY(journal.phase, parse_phase(json::find_string(value, {"phase"}).value_or("")));
  STRAKE_TRY(journal.disruption,
             machineconfig::parse_disruption_class(json::find_string(value, {"class"}).value_or("")));
  const json::Value* config = json::find(value, {"config"});
  if (config == nullptr || !config->is_object()) return error(Code::kCorrupt, "config: missing");
  journal.config = kube::Object(*config);
  journal.boot_id = json::find_string(value, {"bootId"}).value_or("");
  journal.boots = static_cast<int>(json::find_int(value, {"boots"}).value_or(0));
  if (const json::Value* before = json::find(value, {"before"}); before != nullptr && before->is_object()) {
    for (const auto& entry : before->get_object()) {
      const std::string path(entry.key());
      STRAKE_TRY(journal.before[path], state_from(path, entry.value()));
    }
  }
  if (const json::Value* told = json::find(value, {"told"}); told != nullptr && told->is_array()) {
    journal.told.reserve(told->get_array().size());
    for (const json::Value& item : told->get_array()) {
      TellService step;
      STRAKE_TRY_CONTEXT(step.what, parse_tell_service(json::find_string(item, {"what"}).value_or("")), "told");
      step.unit = json::find_string(item, {"unit"}).value_or("");
      journal.told.push_back(std::move(step));
    }
  }
  return journal;
}

Result<std::optional<Journal>> AgentDisk::journal() {
  STRAKE_TRY_CONTEXT(const auto value, read_json(kJournalPath), "reading the agent's journal");
  if (!value) return std::optional<Journal>();
  STRAKE_TRY_CONTEXT(Journal journal, journal_from(*value), "{}", kJournalPath);
  return std::optional(std::move(journal));
}

Status AgentDisk::write_if_changed(const std::string& path, std::string_view contents) {
  STRAKE_TRY(const auto there, tree_.read(path));
  if (there && there->kind == FileState::Kind::kFile && there->contents == contents) return {};
  return tree_.write(path, contents, 0600, {});
}

Status AgentDisk::write_journal(const Journal& journal) {
  json::Object before;
  for (const auto& [path, state] : journal.before) {
    before[path] = to_json(state);
    if (!state || state->kind != FileState::Kind::kFile) continue;
    STRAKE_CHECK_OK(write_if_changed(before_path(path), state->contents).context("keeping {} as it was", path));
  }
  json::Array told;
  for (const TellService& step : journal.told)
    told.push_back(json::Object{{"what", to_string(step.what)}, {"unit", step.unit}});
  const json::Value value =
      json::Object{{"phase", to_string(journal.phase)}, {"class", machineconfig::to_string(journal.disruption)},
                   {"bootId", journal.boot_id},         {"boots", journal.boots},
                   {"before", std::move(before)},       {"told", std::move(told)},
                   {"config", journal.config.json()}};
  return write_if_changed(kJournalPath, json::write(value)).context("writing the agent's journal");
}

Status AgentDisk::clear_journal() {
  STRAKE_CHECK_OK(tree_.remove(kJournalPath).context("clearing the agent's journal"));
  STRAKE_TRY_CONTEXT(const auto kept, tree_.list(kBeforeFolder), "clearing the agent's journal");
  for (const std::string& name : kept)
    STRAKE_CHECK_OK(tree_.remove(fmt::format("{}/{}", kBeforeFolder, name)).context("clearing the agent's journal"));
  return tree_.remove_folder(kBeforeFolder).context("clearing the agent's journal");
}

}  // namespace strake::agent
