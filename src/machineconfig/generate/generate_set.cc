#include "machineconfig/generate/generate_set.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/node_annotations.h"
#include "base/text.h"
#include "base/visible_text.h"
#include "machineconfig/generate/generate_plan.h"
#include "machineconfig/generate/generated_match.h"

namespace strake::machineconfig {

namespace {

using What = GeneratedNote::What;

constexpr std::string_view kSourcesOfRegistries = "the mirror sets, image policies and the Image config";
constexpr std::size_t kMostLackingNamed = 3;

struct OperatorsOwn {
  std::string_view kind;  ///< of config.openshift.io
  std::string_view prefix;
};
constexpr std::array<OperatorsOwn, 2> kOperatorsOwn = {{{"Node", "97-"}, {"FeatureGate", "98-"}}};

GeneratePlan plan_of_set(const ConfigSet& set, const std::string& version) {
  GenerateInput input;
  input.pools = pools_of(set);
  input.configs = set.configs;
  input.generators = set.generators;
  input.policies = set.mirror_policies;
  input.controller_config = set.controller_config;
  input.version = version;
  return plan_generated(input);
}

std::string name_of(const kube::Object& object) {
  return fmt::format("{} {}", object.kind(), object.key().to_string());
}

/// Made by Strake, of whatever version.
bool is_own_work(const kube::Object& config) {
  return config.annotation(api::config_annotation::kGeneratedFrom).has_value();
}

/// "KubeletConfig small"; "" of what is made of many objects.
std::string source_of(const kube::Object& config) {
  const std::string from = config.annotation(api::config_annotation::kGeneratedFrom).value_or("");
  const std::size_t slash = from.find('/');
  if (slash == std::string::npos) return "";
  return fmt::format("{} {}", from.substr(0, slash), from.substr(slash + 1, from.rfind('@') - slash - 1));
}

std::string shown_source(const kube::Object& config) {
  const std::string source = source_of(config);
  return source.empty() ? std::string(kSourcesOfRegistries) : source;
}

/// The kind of the object it is made of; "" where it is made of several.
std::string_view source_kind(GeneratedKind kind) {
  switch (kind) {
    case GeneratedKind::kKubelet: return api::kKubeletConfig.kind;
    case GeneratedKind::kContainerRuntime: return api::kContainerRuntimeConfig.kind;
    case GeneratedKind::kRegistries: return "";
  }
  return "";
}

bool is_source_of_one(std::string_view kind) {
  return kind == api::kKubeletConfig.kind || kind == api::kContainerRuntimeConfig.kind;
}

/// "spec.kubeletConfig.maxPods: ..." as the way to the field; none where the message begins otherwise.
json::Steps field_named_by(std::string_view message) {
  const std::string_view path = message.substr(0, message.find(": "));
  if (!path.starts_with("spec.") || path.find_first_of(" []'\"") != std::string_view::npos) return {};
  json::Steps steps;
  for (const std::string_view step : split(path, '.')) steps.emplace_back(step);
  return steps;
}

class NoteTaker {
 public:
  explicit NoteTaker(const ConfigSet& set) : set_(set), plan_(plan_of_set(set, "")) {
    for (const kube::ObjectPtr& config : set.configs) held_.emplace(config->name(), config.get());
  }

  std::vector<GeneratedNote> take() {
    for (const GeneratorVerdict& verdict : plan_.generators) {
      if (verdict.refusal) note_refusal(verdict);
    }
    if (plan_.registries_refusal) note_registries_refusal(*plan_.registries_refusal);
    for (const kube::Object& config : plan_.configs) compare(config);
    for (const kube::ObjectPtr& config : plan_.stale) note_stale(*config);
    for (const kube::ObjectPtr& setting : set_.mirror_policies) note_operators_own(*setting);
    return std::move(notes_);
  }

 private:
  void note_refusal(const GeneratorVerdict& verdict) {
    const std::string who = name_of(*verdict.generator);
    std::string why = verdict.refusal->to_string();
    if (why.starts_with(who + ": ")) why.erase(0, who.size() + 2);
    const bool is_unknown = verdict.refusal->code() == Code::kNotFound;
    refused_kinds_.insert(verdict.generator->kind());
    // What its pools or base files are is not in the input, so nobody can say here whether it is right.
    const bool is_held = !verdict.configs.empty() && std::ranges::all_of(verdict.configs, [&](const std::string& name) {
      return held_.contains(name);
    });
    if (is_unknown && is_held) return;
    notes_.push_back({.what = is_unknown ? What::kUnknown : What::kRefused,
                      .source = who,
                      .field = field_named_by(why),
                      .subject = who,
                      .message = fmt::format("{}: {}", is_unknown ? "is not rendered" : "would be refused", why),
                      .next = is_unknown ? "add what is missing to the input (pools with their labels, base configs)"
                                         : "repair it; until then its pools are not rendered"});
  }

  void note_registries_refusal(const Error& refusal) {
    const std::string why = refusal.to_string();
    GeneratedNote note{.what = What::kRefused,
                       .subject = std::string(kSourcesOfRegistries),
                       .message = fmt::format("would be refused: {}", why),
                       .next = "repair it; until then registries stay as they were"};
    if (const kube::ObjectPtr policy = refused_policy(set_.mirror_policies, refusal)) {
      note.source = note.subject = name_of(*policy);
      const std::string reason = why.substr(note.source.size() + 2);
      note.field = field_named_by(reason);
      note.message = fmt::format("would be refused: {}", reason);
    }
    notes_.push_back(std::move(note));
  }

  void compare(const kube::Object& wanted) {
    const auto held = held_.find(wanted.name());
    if (held == held_.end()) {
      notes_.push_back(
          {.what = What::kMissing,
           .source = source_of(wanted),
           .subject = wanted.name(),
           .message = fmt::format("is not in the input: a cluster makes it of {}, and the rendered name will differ",
                                  shown_source(wanted)),
           .next = fmt::format("--generated adds what Strake makes; on OpenShift add the operator's own: kubectl get "
                               "machineconfig {} -o yaml",
                               wanted.name())});
      return;
    }
    const std::vector<std::string> lacking = lacking_of(*held->second, wanted);
    if (lacking.empty()) return;
    const std::size_t named = std::min(lacking.size(), kMostLackingNamed);
    notes_.push_back({.what = What::kOutdated,
                      .source = fmt::format("MachineConfig {}", wanted.name()),
                      .subject = wanted.name(),
                      .message = fmt::format(
                          "is not what {} asks for now ({}{}): a cluster changes it, and the rendered name will differ",
                          shown_source(wanted),
                          fmt::join(lacking.begin(), lacking.begin() + static_cast<std::ptrdiff_t>(named), ", "),
                          named < lacking.size() ? fmt::format(", {} more", lacking.size() - named) : ""),
                      .next = next_for_outdated(*held->second)});
  }

  static std::vector<std::string> lacking_of(const kube::Object& held, const kube::Object& wanted) {
    std::vector<std::string> lacking = lacking_members(held, wanted);
    // Ours is the same to the byte; with more in it than is asked for it is an old one, too.
    if (!lacking.empty() || !is_own_work(held) || api::spec_of(held) == nullptr) return lacking;
    if (json::write_canonical(*api::spec_of(held)) != json::write_canonical(*api::spec_of(wanted))) {
      lacking.emplace_back("it has more, or other bytes");
    }
    return lacking;
  }

  static std::string next_for_outdated(const kube::Object& held) {
    return is_own_work(held) ? "--generated makes it anew"
                             : fmt::format(
                                   "take it from the cluster once that has made it anew: kubectl get "
                                   "machineconfig {} -o yaml",
                                   held.name());
  }

  /// What the Machine Config Operator makes of settings that Strake makes nothing of.
  void note_operators_own(const kube::Object& setting) {
    const auto made = std::ranges::find(kOperatorsOwn, setting.kind(), &OperatorsOwn::kind);
    if (made == kOperatorsOwn.end()) return;
    for (const kube::ObjectPtr& pool : pools_of(set_)) {
      const std::string name = fmt::format("{}{}-generated-kubelet", made->prefix, pool->name());
      if (!is_built_in_pool(*pool) || held_.contains(name)) continue;
      notes_.push_back(
          {.what = What::kUnknown,
           .source = name_of(setting),
           .subject = name,
           .message = fmt::format("is not in the input: the Machine Config Operator makes it of {}, Strake "
                                  "does not, and the rendered name will differ",
                                  name_of(setting)),
           .next = fmt::format("add the operator's own: kubectl get machineconfig {} -o yaml", name)});
    }
  }

  /// Only where the input has objects of the kind it is made of: who gives MachineConfigs alone left them out.
  void note_stale(const kube::Object& config) {
    const auto name = parse_generated_name(config.name());
    if (!name) return;
    const std::string kind(source_kind(name->kind));
    const auto& sources = kind.empty() ? set_.mirror_policies : set_.generators;
    const bool has_sources = std::ranges::any_of(sources, [&](const kube::ObjectPtr& source) {
      return kind.empty() ? is_generating_kind(source->kind()) : source->kind() == kind;
    });
    if (!has_sources || refused_kinds_.contains(kind)) return;
    notes_.push_back(
        {.what = What::kOutdated,
         .source = fmt::format("MachineConfig {}", config.name()),
         .subject = config.name(),
         .message =
             fmt::format("is asked for by nothing in the input (no {} for pool {}): a cluster removes it, and the "
                         "rendered name will differ",
                         kind.empty() ? "mirror set, image policy or Image config" : kind, name->pool),
         .next = is_own_work(config) ? "--generated leaves it out" : "take it out, or add the object it was made of"});
  }

  const ConfigSet& set_;
  const GeneratePlan plan_;
  std::map<std::string, const kube::Object*> held_;
  std::set<std::string> refused_kinds_;
  std::vector<GeneratedNote> notes_;
};

}  // namespace

std::string GeneratedNote::to_string() const {
  // Names come from files, and have not been seen by a server.
  return visible_line(fmt::format("{} {}; {}", subject, message, next));
}

GeneratedSet with_generated(ConfigSet set, const std::string& version) {
  GeneratePlan plan = plan_of_set(set, version);
  GeneratedSet made{std::move(set)};
  for (const GeneratorVerdict& verdict : plan.generators) {
    if (verdict.refusal) made.refusals.push_back(Error(*verdict.refusal).context(name_of(*verdict.generator)));
  }
  if (plan.registries_refusal) made.refusals.push_back(*std::move(plan.registries_refusal));
  std::map<std::string, kube::ObjectPtr*> held;
  for (kube::ObjectPtr& config : made.set.configs) held.emplace(config->name(), &config);
  std::vector<kube::ObjectPtr> added;
  for (kube::Object& config : plan.configs) {
    const auto present = held.find(config.name());
    if (present == held.end()) {
      added.push_back(std::make_shared<const kube::Object>(std::move(config)));
    } else if (is_own_work(**present->second)) {
      *present->second = std::make_shared<const kube::Object>(std::move(config));
    }
  }
  std::set<std::string> gone;
  for (const kube::ObjectPtr& config : plan.stale) {
    if (is_own_work(*config)) gone.insert(config->name());
  }
  std::erase_if(made.set.configs, [&](const kube::ObjectPtr& config) { return gone.contains(config->name()); });
  std::ranges::move(added, std::back_inserter(made.set.configs));
  return made;
}

std::vector<GeneratedNote> generated_notes(const ConfigSet& set) { return NoteTaker(set).take(); }

bool shows_generated(const ConfigSet& set, std::string_view kind) {
  if (!is_generating_kind(kind)) return false;
  return std::ranges::none_of(set.configs, [&](const kube::ObjectPtr& config) {
    const auto name = parse_generated_name(config->name());
    return name && source_kind(name->kind) == (is_source_of_one(kind) ? kind : "") && !is_own_work(*config);
  });
}

bool is_generating_kind(std::string_view kind) {
  const kube::Resource* const sources[] = {&api::kKubeletConfig,
                                           &api::kContainerRuntimeConfig,
                                           &api::kImageDigestMirrorSet,
                                           &api::kImageTagMirrorSet,
                                           &api::kImageContentSourcePolicy,
                                           &api::kImageConfig,
                                           &api::kClusterImagePolicy,
                                           &api::kImagePolicy};
  return std::ranges::any_of(sources, [&](const kube::Resource* source) { return source->kind == kind; });
}

}  // namespace strake::machineconfig
