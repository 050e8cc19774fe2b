#include "machineconfig/lint/lint.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "api/machine_config.h"
#include "machineconfig/generate/generate_set.h"
#include "machineconfig/lint/lint_config.h"
#include "machineconfig/lint/lint_pool.h"
#include "machineconfig/merge/provenance.h"
#include "machineconfig/merge/select.h"
#include "machineconfig/merge/subject_field.h"
#include "machineconfig/render/rendered_size.h"
#include "machineconfig/validate.h"

namespace strake::machineconfig {

namespace {

using ignition::Severity;

bool is_rendered_config(const kube::Object& config) { return config.name().starts_with(api::kRenderedPrefix); }

class SetLinter {
 public:
  explicit SetLinter(const ConfigSet& set) : set_(set) {
    if (set_.machine_configuration != nullptr) {
      // What is wrong with it is not a matter of MachineConfigs.
      if (auto overrides = reconcile_overrides(set_.machine_configuration->json()); overrides.ok()) {
        overrides_ = *overrides;
      }
    }
    for (const kube::ObjectPtr& config : set_.configs) {
      if (!is_rendered_config(*config)) configs_.emplace(config->name(), config.get());
    }
  }

  std::vector<LintFinding> run() {
    for (const auto& [name, config] : configs_) lint_alone(*config);
    for (const kube::ObjectPtr& pool : pools_of(set_)) lint_pool(pool);
    for (LintFinding& finding : lint_roles(set_, configs_, taken_)) {
      mistyped_.insert(finding.config);
      add(std::move(finding));
    }
    lint_generated();
    for (const auto& [name, config] : configs_) {
      if (mistyped_.contains(name)) continue;  // no pool, of course
      if (!taken_.contains(name)) {
        add({.rule = LintRuleId::kNoPool,
             .config = name,
             .field = {"metadata", "labels"},
             .message = "no pool takes it: its labels match no machineConfigSelector"});
      } else if (!effective_.contains(name) && spoken_.contains(name) && !is_generated(*config)) {
        add({.rule = LintRuleId::kNoEffect,
             .config = name,
             .message = fmt::format("everything it sets is overridden by {}", fmt::join(overridden_by_[name], ", "))});
        ineffective_.insert(name);
      }
    }
    // Who loses everything is told so once.
    std::erase_if(findings_, [&](const LintFinding& finding) {
      return finding.rule == LintRuleId::kConflict && ineffective_.contains(finding.config);
    });
    std::ranges::stable_sort(findings_, {}, [](const LintFinding& finding) {
      return std::tuple(finding.severity() != Severity::kError, std::string_view(finding.config),
                        std::string_view(finding.pool));
    });
    return std::move(findings_);
  }

 private:
  void add(LintFinding finding) { findings_.push_back(std::move(finding)); }

  /// What is only missing is no fault of the input: a repository has the sources, and not what is made of them.
  void lint_generated() {
    constexpr std::string_view kOfConfig = "MachineConfig ";
    for (GeneratedNote& note : generated_notes(set_)) {
      const bool is_refused = note.what == GeneratedNote::What::kRefused;
      if (!is_refused && note.what != GeneratedNote::What::kOutdated) continue;
      LintFinding finding{.rule = is_refused ? LintRuleId::kGeneratorRefused : LintRuleId::kGeneratedOutdated,
                          .field = std::move(note.field),
                          .message = std::move(note.message),
                          .repair = std::move(note.next)};
      if (note.source.starts_with(kOfConfig)) {
        finding.config = note.source.substr(kOfConfig.size());
      } else {
        finding.source = note.source.empty() ? std::move(note.subject) : std::move(note.source);
      }
      add(std::move(finding));
    }
  }

  /// A finding about what a MachineConfig says of a subject.
  void add_about(LintRuleId rule, const std::string& source, const Subject& subject, std::string_view member,
                 const std::string& pool, std::string message) {
    const auto config = configs_.find(source);
    add({.rule = rule,
         .config = source,
         .pool = pool,
         .field = config == configs_.end() ? json::Steps{} : field_of(*config->second, subject, member),
         .message = std::move(message)});
  }

  /// The same about the same field of one MachineConfig is said once, however many pools show it.
  void add_once(std::vector<LintFinding> found) {
    for (LintFinding& finding : found) {
      if (said_.emplace(finding.rule, finding.config, finding.field).second) add(std::move(finding));
    }
  }

  void lint_alone(const kube::Object& config) {
    std::vector<LintFinding> own;
    if (!is_generated(config)) own = lint_as_written(config);
    for (const Problem& problem : find_problems(config)) {
      const bool is_error = problem.severity == Severity::kError;
      if (is_error) invalid_.insert(config.name());
      const json::Steps field = problem.steps();
      // A rule that knows why has said more.
      if (std::ranges::any_of(own, [&](const LintFinding& finding) {
            return finding.rule == LintRuleId::kDecimalMode && finding.field == field;
          })) {
        continue;
      }
      add({.rule = is_error ? LintRuleId::kInvalid : LintRuleId::kSuspicious,
           .config = config.name(),
           .field = field,
           .message = problem.to_string()});
    }
    for (LintFinding& finding : own) add(std::move(finding));
    const std::string image = api::MachineConfigView(config.json()).os_image_url();
    if (!image.empty() && image.find("@sha256:") == std::string::npos) {
      add({.rule = LintRuleId::kImageByTag,
           .config = config.name(),
           .field = field_of(config, {SubjectKind::kOsImage, ""}),
           .message = fmt::format("spec.osImageURL: {} names a tag, and what it stands for may change unseen", image)});
    }
  }

  /// The rules of lint_config.h.
  std::vector<LintFinding> lint_as_written(const kube::Object& config) const {
    std::vector<LintFinding> found;
    const json::Value* ignition = api::MachineConfigView(config.json()).config();
    const LintedConfig linted{config, ignition != nullptr && ignition->is_object() ? ignition : nullptr, found};
    lint_paths(linted);
    lint_sources(linted);
    lint_modes(linted);
    lint_first_boot(linted, overrides_);
    lint_users(linted);
    lint_kernel_arguments(linted);
    lint_mount_units(linted);
    lint_unit_syntax(linted);
    lint_secrets(linted);
    return found;
  }

  void lint_pool(const kube::ObjectPtr& pool) {
    const RenderInput input = render_input(set_, pool);
    const auto selected = select_configs(*pool, input.configs);
    if (selected.ok()) {
      for (const kube::ObjectPtr& config : *selected) taken_.insert(config->name());
    }
    const auto plan = render_pool(input);
    if (!plan.ok()) {
      // What is wrong with one MachineConfig alone was said already.
      const bool said = selected.ok() && std::ranges::any_of(*selected, [&](const kube::ObjectPtr& config) {
                          return invalid_.contains(config->name());
                        });
      if (!said) {
        add({.rule = LintRuleId::kUnrenderable, .pool = pool->name(), .message = plan.error().to_string()});
      }
      for (const kube::ObjectPtr& config : selected.ok() ? *selected : std::vector<kube::ObjectPtr>{}) {
        effective_.insert(config->name());  // nobody can tell
      }
      return;
    }
    if (plan->size_bytes > kLargeRenderedBytes) {
      add({.rule = LintRuleId::kLarge,
           .pool = pool->name(),
           .message = fmt::format("the rendered config has {} bytes of the {} that API servers take", plan->size_bytes,
                                  kMaxRenderedBytes)});
    }
    const auto provenance = trace_pool(input);
    if (!provenance.ok()) return;
    lint_merge(*provenance, pool->name());
    add_once(lint_conflicts(*provenance, configs_, pool->name()));
    if (const json::Value* merged = api::MachineConfigView(plan->rendered.json()).config()) {
      add_once(lint_programs(*merged, *provenance, configs_, pool->name()));
    }
  }

  void lint_merge(const Provenance& provenance, const std::string& pool) {
    for (const auto& [subject, contributions] : provenance.subjects()) {
      note_effects(contributions);
      if (subject.kind == SubjectKind::kFile) lint_file(subject, contributions, pool);
      if (subject.kind == SubjectKind::kKernelArgument || subject.kind == SubjectKind::kExtension) {
        lint_repeated(subject, contributions, pool);
      }
    }
  }

  void note_effects(const Provenance::Contributions& contributions) {
    for (const Contribution& contribution : contributions) {
      spoken_.insert(contribution.source);
      if (contribution.wins()) {
        effective_.insert(contribution.source);
        continue;
      }
      for (const Contribution& other : contributions) {
        if (other.wins()) overridden_by_[contribution.source].insert(other.source);
      }
    }
  }

  /// The merge keeps what the overriding fragment does not set, whether or not it still fits.
  void lint_file(const Subject& subject, const Provenance::Contributions& contributions, const std::string& pool) {
    const Contribution* source = winner_of(contributions, "contents.source");
    const Contribution* hash = winner_of(contributions, "contents.verification.hash");
    if (source != nullptr && hash != nullptr && source != hash) {
      add_about(LintRuleId::kStaleHash, source->source, subject, "contents.source", pool,
                fmt::format("{}: its contents replace those of {}, whose verification.hash stays in effect",
                            subject.to_string(), hash->source));
    }
    const bool is_in_effect = std::ranges::any_of(contributions, &Contribution::wins);
    if (source == nullptr && is_in_effect && winner_of(contributions, "overwrite") == nullptr) {
      add_about(
          LintRuleId::kNoContents, contributions.back().source, subject, "", pool,
          fmt::format("{}: it has no contents and gets overwrite: true, which nodes refuse", subject.to_string()));
    }
  }

  void lint_repeated(const Subject& subject, const Provenance::Contributions& contributions, const std::string& pool) {
    if (contributions.size() < 2) return;
    add_about(LintRuleId::kRepeatedItem, contributions.back().source, subject, "", pool,
              fmt::format("{}: {} sets it already, and it is not removed twice", subject.to_string(),
                          contributions.front().source));
  }

  const ConfigSet& set_;
  ConfigsByName configs_;  ///< those that are not rendered
  ReconcileOverrides overrides_;
  std::set<std::tuple<LintRuleId, std::string, json::Steps>> said_;
  std::set<std::string> mistyped_;     ///< their role looks like another
  std::set<std::string> ineffective_;  ///< told to have no effect
  std::vector<LintFinding> findings_;
  std::set<std::string> invalid_;    ///< MachineConfigs with an error of their own
  std::set<std::string> taken_;      ///< by a pool
  std::set<std::string> spoken_;     ///< they set something
  std::set<std::string> effective_;  ///< something of theirs is in a rendered config
  std::map<std::string, std::set<std::string>> overridden_by_;
};

}  // namespace

std::vector<LintFinding> lint_configs(const ConfigSet& set) { return SetLinter(set).run(); }

}  // namespace strake::machineconfig
