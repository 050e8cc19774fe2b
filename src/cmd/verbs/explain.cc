#include <algorithm>

#include "cmd/cli/commands.h"
#include "cmd/input/butane_input.h"
#include "cmd/input/config_input.h"
#include "cmd/input/config_set.h"
#include "cmd/input/connection.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "machineconfig/merge/provenance.h"

namespace strake::cmd {

namespace {

using machineconfig::Contribution;
using machineconfig::Subject;

constexpr ArgumentSpec kExplainArguments[] = {
    {"POOL", "the pool whose rendered config is asked about"},
    {"WHAT", "a path, a unit, a drop-in (a.service/10-x.conf), a kernel argument, an extension, a user, or a field"}};
constexpr OptionSpec kExplainOptions[] = {kFilesOption,      kRecursiveOption, kFilesDirOption, kOutputOption,
                                          kKubeconfigOption, kContextOption,   kTimeoutOption};

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

/// "wins with contents.source", "loses contents.source, keeps mode"
std::string verdict_of(const Contribution& contribution) {
  std::vector<std::string> lost;
  std::ranges::set_difference(contribution.members, contribution.in_effect, std::back_inserter(lost));
  if (contribution.in_effect.empty()) return lost.empty() ? "sets nothing" : fmt::format("loses {}", joined(lost));
  if (lost.empty()) return fmt::format("in effect: {}", joined(contribution.in_effect));
  return fmt::format("in effect: {}; loses {}", joined(contribution.in_effect), joined(lost));
}

std::string explain_text(const machineconfig::Provenance& provenance, const std::vector<Subject>& subjects) {
  std::string text;
  for (const Subject& subject : subjects) {
    text += subject.to_string() + "\n";
    for (const Contribution& contribution : *provenance.find(subject)) {
      text += fmt::format("  {} {:<32} {}\n", contribution.wins() ? "*" : " ", contribution.source,
                          verdict_of(contribution));
    }
  }
  return text;
}

json::Array string_array(const std::vector<std::string>& texts) {
  json::Array array;
  for (const std::string& text : texts) array.emplace_back(text);
  return array;
}

json::Value explain_json(const std::string& pool, const machineconfig::Provenance& provenance,
                         const std::vector<Subject>& subjects) {
  json::Array list;
  for (const Subject& subject : subjects) {
    json::Array contributions;
    for (const Contribution& contribution : *provenance.find(subject)) {
      contributions.push_back(json::Object{{"source", contribution.source},
                                           {"wins", contribution.wins()},
                                           {"sets", string_array(contribution.members)},
                                           {"inEffect", string_array(contribution.in_effect)}});
    }
    list.push_back(json::Object{{"kind", machineconfig::to_string(subject.kind)},
                                {"name", subject.name},
                                {"contributions", std::move(contributions)}});
  }
  return json::Object{{"pool", pool}, {"subjects", std::move(list)}};
}

Result<int> run_explain(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  STRAKE_TRY(const machineconfig::ConfigSet set, read_config_set(invocation));
  STRAKE_TRY(const auto pools, chosen_pools(set, invocation.value("POOL")));
  STRAKE_TRY_CONTEXT(const machineconfig::Provenance provenance,
                     machineconfig::trace_pool(machineconfig::render_input(set, pools.front())), "pool {}",
                     invocation.value("POOL"));
  const std::vector<Subject> subjects = provenance.lookup(invocation.value("WHAT"));
  if (subjects.empty()) {
    // Not a failure of ours: the answer is that nothing of this pool's configuration speaks of it.
    return error(Code::kNotFound,
                 "no MachineConfig of pool {} speaks of '{}': if a node has it, it comes with the OS image",
                 invocation.value("POOL"), invocation.value("WHAT"))
        .with_verdict(Verdict::kAbsent);
  }
  as_json ? invocation.out().report(explain_json(invocation.value("POOL"), provenance, subjects))
          : invocation.out().text(explain_text(provenance, subjects));
  return kExitOk;
}

constexpr ExitMeaning kExplainExits[] = {
    {kExitOk, "explained"}, {kExitBlocked, "no MachineConfig of the pool speaks of it"}, kServerUnreachable};

}  // namespace

const CommandSpec kExplainCommand{
    "explain",
    "Say which MachineConfig a file, unit, kernel argument or setting of a pool comes from.",
    "Every MachineConfig that speaks of it, in merge order; * marks those in effect. Files and units are merged member "
    "by member, so the mode of a file can come from one MachineConfig and its contents from another.\n\n"
    "  strake explain worker /etc/chrony.conf\n"
    "  strake explain infra kubelet.service -f manifests/\n"
    "  strake explain worker nosmt",
    kExplainArguments,
    kExplainOptions,
    run_explain,
    kExplainExits};

}  // namespace strake::cmd
