#include <algorithm>
#include <map>

#include "api/kinds.h"
#include "api/machine_config.h"
#include "base/visible_text.h"
#include "cmd/cli/commands.h"
#include "cmd/input/butane_input.h"
#include "cmd/input/config_input.h"
#include "cmd/input/config_set.h"
#include "cmd/input/connection.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "machineconfig/diff/spec_diff.h"
#include "machineconfig/merge/comparable_spec.h"
#include "machineconfig/merge/provenance.h"
#include "machineconfig/merge/subject_field.h"

namespace strake::cmd {

namespace {

using machineconfig::Contribution;
using machineconfig::Subject;

constexpr ArgumentSpec kExplainArguments[] = {
    {"POOL", "the pool whose rendered config is asked about"},
    {"WHAT",
     "a path, a unit, a drop-in (a.service/10-x.conf), a kernel argument, an extension, a user, or a field; not with "
     "--all",
     false}};
constexpr OptionSpec kExplainOptions[] = {
    {"all", "", "everything of the pool, without the contents of files and units"},
    {"show-secrets", "", "show passwords, keys and pull secrets too"},
    kFilesOption,
    kRecursiveOption,
    kFilesDirOption,
    kGeneratedOption,
    kOutputOption,
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, ", ")); }

/// "wins with contents.source", "loses contents.source, keeps mode"
std::string verdict_of(const Contribution& contribution) {
  std::vector<std::string> lost;
  std::ranges::set_difference(contribution.members, contribution.in_effect, std::back_inserter(lost));
  if (contribution.in_effect.empty()) return lost.empty() ? "sets nothing" : fmt::format("loses {}", joined(lost));
  if (lost.empty()) return fmt::format("in effect: {}", joined(contribution.in_effect));
  return fmt::format("in effect: {}; loses {}", joined(contribution.in_effect), joined(lost));
}

/// What the pool has of a subject, with secrets hidden as a difference hides them.
struct Value {
  std::string summary;                ///< "0644, 12 bytes"
  std::vector<std::string> contents;  ///< lines, the first ones
  bool secret = false;
};

constexpr std::size_t kContentLines = 20;

/// A difference from nothing shows everything there is.
Result<std::map<Subject, Value>> values_of(const machineconfig::RenderInput& input, bool show_secrets) {
  machineconfig::SpecDiffOptions options;
  options.show_secrets = show_secrets;
  options.limits.max_lines = kContentLines + 1;  // and the line that says where they stand
  STRAKE_TRY(machineconfig::RenderPlan plan, machineconfig::render_pool(input));
  const machineconfig::ComparableSpec rendered =
      machineconfig::comparable_rendered(std::move(plan.rendered.json().as_object()["spec"]));
  STRAKE_TRY(const machineconfig::ComparableSpec nothing, machineconfig::comparable_spec(json::Object{}));
  STRAKE_TRY(machineconfig::SpecDiff diff, machineconfig::diff_comparable(nothing, rendered, options));
  std::map<Subject, Value> values;
  values[{machineconfig::SubjectKind::kFips, ""}].summary = rendered.fips ? "on" : "off";
  values[{machineconfig::SubjectKind::kKernelType, ""}].summary = rendered.kernel_type;
  constexpr std::string_view kFromNothing = "contents differ, absent -> ";
  for (machineconfig::SpecChange& change : diff.changes) {
    Value value{std::move(change.after), {}, change.secret};
    for (std::string& line : change.details) {
      if (line.starts_with("@@ ")) continue;
      if (line.starts_with('+')) line.erase(0, 1);
      if (line.starts_with(kFromNothing)) line.erase(0, kFromNothing.size());
      value.contents.push_back(std::move(line));
    }
    values.emplace(change.subject, std::move(value));
  }
  return values;
}

/// Everything that is said about subjects of one pool.
class Explanation {
 public:
  Explanation(const ConfigFiles& files, const machineconfig::Provenance& provenance, std::map<Subject, Value> values,
              bool with_contents)
      : files_(files), provenance_(provenance), values_(std::move(values)), with_contents_(with_contents) {
    for (const kube::ObjectPtr& config : files.set.configs) configs_.emplace(config->name(), config.get());
  }

  std::string text(const std::vector<Subject>& subjects) const {
    std::string text;
    for (const Subject& subject : subjects) {
      const Value* value = value_of(subject);
      text += visible_line(subject.to_string());
      text += value == nullptr || value->summary.empty() ? "\n" : fmt::format(": {}\n", visible_line(value->summary));
      if (value != nullptr && with_contents_) {
        for (const std::string& line : value->contents) text += fmt::format("    | {}\n", visible_line(line));
      }
      const std::vector<SourcePlace> places = places_of(subject);
      const auto& contributions = *provenance_.find(subject);
      for (std::size_t i = 0; i < contributions.size(); ++i) {
        text += fmt::format("  {} {:<32} {}{}{}\n", contributions[i].wins() ? "*" : " ", contributions[i].source,
                            verdict_of(contributions[i]), places[i].is_known() ? "  " : "", places[i].to_string());
      }
    }
    return text;
  }

  json::Value document(const std::string& pool, const std::vector<Subject>& subjects) const {
    json::Array list;
    for (const Subject& subject : subjects) {
      const std::vector<SourcePlace> places = places_of(subject);
      const auto& all = *provenance_.find(subject);
      json::Array contributions;
      for (std::size_t i = 0; i < all.size(); ++i) {
        json::Object contribution{{"source", all[i].source},
                                  {"wins", all[i].wins()},
                                  {"sets", string_array(all[i].members)},
                                  {"inEffect", string_array(all[i].in_effect)}};
        if (places[i].is_known()) contribution["place"] = places[i].to_string();
        contributions.push_back(std::move(contribution));
      }
      json::Object item{{"kind", machineconfig::to_string(subject.kind)}, {"name", subject.name}};
      if (const Value* value = value_of(subject)) {
        item["value"] = value->summary;
        item["secret"] = value->secret;
        if (with_contents_) item["contents"] = string_array(value->contents);
      }
      item["contributions"] = std::move(contributions);
      list.push_back(std::move(item));
    }
    return json::Object{{"pool", pool}, {"subjects", std::move(list)}};
  }

 private:
  static json::Array string_array(const std::vector<std::string>& texts) {
    json::Array array;
    for (const std::string& text : texts) array.emplace_back(text);
    return array;
  }

  const Value* value_of(const Subject& subject) const {
    const auto found = values_.find(subject);
    return found == values_.end() ? nullptr : &found->second;
  }

  /// Of each contribution: the line its first member stands on. Unknown where it is from a cluster or no MachineConfig.
  std::vector<SourcePlace> places_of(const Subject& subject) const {
    std::vector<SourceField> fields;
    for (const Contribution& contribution : *provenance_.find(subject)) {
      const auto config = configs_.find(contribution.source);
      SourceField field{api::kMachineConfig.kind, contribution.source, {}};
      if (config != configs_.end()) field.field = machineconfig::field_of(*config->second, subject);
      fields.push_back(std::move(field));
    }
    return files_.sources.find(fields);
  }

  const ConfigFiles& files_;
  const machineconfig::Provenance& provenance_;
  const std::map<Subject, Value> values_;
  const bool with_contents_;
  std::map<std::string, const kube::Object*> configs_;
};

Result<int> run_explain(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  const bool all = invocation.is_set("all");
  const std::string &name = invocation.value("POOL"), &what = invocation.value("WHAT");
  if (all == !what.empty()) return error(Code::kInvalidArgument, "say WHAT is to be explained, or --all");
  STRAKE_TRY(ConfigFiles files, read_config_input(invocation));
  STRAKE_TRY(files.set, with_generated_option(std::move(files.set), invocation));
  STRAKE_TRY(const auto pools, chosen_pools(files.set, name));
  machineconfig::RenderInput input = machineconfig::render_input(files.set, pools.front());
  input.size_limit = std::nullopt;
  STRAKE_TRY(const machineconfig::Provenance provenance,
             placed(machineconfig::trace_pool(input).context("pool {}", name), files));
  std::vector<Subject> subjects;
  if (all) {
    for (const auto& [subject, contributions] : provenance.subjects()) subjects.push_back(subject);
  } else {
    subjects = provenance.lookup(what);
  }
  if (subjects.empty() && !all) {
    // Not a failure of ours: the answer is that nothing of this pool's configuration speaks of it.
    return error(Code::kNotFound,
                 "no MachineConfig of pool {} speaks of '{}': if a node has it, it comes with the OS image", name, what)
        .with_verdict(Verdict::kAbsent);
  }
  if (invocation.is_set("show-secrets")) invocation.out().show_secrets();
  auto values = values_of(input, invocation.is_set("show-secrets"));
  if (!values.ok()) {
    invocation.out().warn(fmt::format("pool {}: no values are shown: {}", name, values.error().to_string()));
  }
  const Explanation explanation(files, provenance, values.ok() ? *std::move(values) : std::map<Subject, Value>(), !all);
  as_json ? invocation.out().report(explanation.document(name, subjects))
          : invocation.out().text(explanation.text(subjects));
  return kExitOk;
}

constexpr ExitMeaning kExplainExits[] = {
    {kExitOk, "explained"}, {kExitBlocked, "no MachineConfig of the pool speaks of it"}, kServerUnreachable};

}  // namespace

const CommandSpec kExplainCommand{
    "explain",
    "Say which MachineConfig a file, unit, kernel argument or setting of a pool comes from.",
    "Every MachineConfig that speaks of it, in merge order; * marks those in effect. Files and units are merged member "
    "by member, so the mode of a file can come from one MachineConfig and its contents from another. Before them "
    "stands "
    "what the pool has of it, secrets hidden as `strake diff` hides them; behind them, with -f, file and line.\n\n"
    "  strake explain worker /etc/chrony.conf\n"
    "  strake explain infra kubelet.service -f manifests/\n"
    "  strake explain worker nosmt\n"
    "  strake explain worker --all                            everything, one line each\n"
    "  strake explain worker /etc/kubernetes/kubelet.conf -f manifests/ --generated",
    kExplainArguments,
    kExplainOptions,
    run_explain,
    kExplainExits};

}  // namespace strake::cmd
