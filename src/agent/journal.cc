#include "agent/journal.h"

#include "codec/json.h"

namespace strake::agent {

namespace {

// Where the platform's own daemon keeps it, so that either can take over from the other.
const std::string kCurrentConfigPath = "/etc/machine-config-daemon/currentconfig";
const std::string kJournalPath = "/var/lib/strake/agent-journal.json";

Result<Journal> journal_from(const json::Value& value) {
  Journal journal;
  STRAKE_TRY(journal.phase, parse_phase(json::find_string(value, {"phase"}).value_or("")));
  STRAKE_TRY(journal.disruption,
             machineconfig::parse_disruption_class(json::find_string(value, {"class"}).value_or("")));
  const json::Value* config = json::find(value, {"config"});
  if (config == nullptr || !config->is_object()) return error(Code::kCorrupt, "config: missing");
  journal.config = kube::Object(*config);
  journal.boot_id = json::find_string(value, {"bootId"}).value_or("");
  if (const json::Value* touched = json::find(value, {"touched"}); touched != nullptr && touched->is_array()) {
    for (const json::Value& path : touched->get_array()) {
      if (path.is_string()) journal.touched.emplace(json::as_view(path.get_string()));
    }
  }
  return journal;
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
  return tree_.write(kCurrentConfigPath, json::write(config.json()), 0600, {}).context("recording the applied config");
}

Result<std::optional<Journal>> AgentDisk::journal() {
  STRAKE_TRY_CONTEXT(const auto value, read_json(kJournalPath), "reading the agent's journal");
  if (!value) return std::optional<Journal>();
  STRAKE_TRY_CONTEXT(Journal journal, journal_from(*value), "{}", kJournalPath);
  return std::optional(std::move(journal));
}

Status AgentDisk::write_journal(const Journal& journal) {
  json::Array touched;
  for (const std::string& path : journal.touched) touched.emplace_back(path);
  const json::Value value = json::Object{{"phase", to_string(journal.phase)},
                                         {"class", machineconfig::to_string(journal.disruption)},
                                         {"bootId", journal.boot_id},
                                         {"touched", std::move(touched)},
                                         {"config", journal.config.json()}};
  return tree_.write(kJournalPath, json::write(value), 0600, {}).context("writing the agent's journal");
}

Status AgentDisk::clear_journal() { return tree_.remove(kJournalPath).context("clearing the agent's journal"); }

}  // namespace strake::agent
