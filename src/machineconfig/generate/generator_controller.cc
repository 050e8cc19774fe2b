#include "machineconfig/generate/generator_controller.h"

#include <algorithm>

#include "api/conditions.h"
#include "api/config_generator.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/node_annotations.h"
#include "kube/patch.h"

namespace strake::machineconfig {

namespace {

/// Everything is planned at once: a number depends on all configs of a kind, a removal on all there is.
const kube::ObjectKey kEverything{"", "generated"};

constexpr std::string_view kReasonGenerated = "Generated";
constexpr std::string_view kReasonNotGenerated = "NotGenerated";

constexpr std::string_view kRegistriesSource = "registries";

std::string source_name(const kube::Object& generator) {
  return fmt::format("{} {}", generator.kind(), generator.name());
}

const kube::Resource& generator_resource(const kube::Object& generator) {
  return generator.kind() == api::kKubeletConfig.kind ? api::kKubeletConfig : api::kContainerRuntimeConfig;
}

json::Value finalizers_patch(const std::vector<std::string>& finalizers) {
  json::Array list;
  for (const std::string& name : finalizers) list.emplace_back(name);
  // An empty list and none are the same; servers show none.
  return json::Object{{"finalizers", list.empty() ? json::Value() : json::Value(std::move(list))}};
}

}  // namespace

GeneratorController::GeneratorController(runtime::Runtime& runtime, kube::KubeApi& api, GeneratorOptions options)
    : runtime_(runtime),
      api_(api),
      options_(std::move(options)),
      frame_(runtime, api, "generate", options_.hooks,
             [this](const kube::ObjectKey&, const kube::Call& call) { return reconcile(call); }),
      pools_(frame_.inform(api::kMachineConfigPool)),
      configs_(frame_.inform(api::kMachineConfig)),
      controller_configs_(frame_.inform(api::kControllerConfig)),
      kubelet_configs_(frame_.inform(api::kKubeletConfig)),
      runtime_configs_(frame_.inform(api::kContainerRuntimeConfig)),
      digest_mirrors_(frame_.inform(api::kImageDigestMirrorSet)),
      tag_mirrors_(frame_.inform(api::kImageTagMirrorSet)),
      source_policies_(frame_.inform(api::kImageContentSourcePolicy)),
      images_(frame_.inform(api::kImageConfig)),
      cluster_image_policies_(frame_.inform(api::kClusterImagePolicy)),
      image_policies_(frame_.inform(api::kImagePolicy)),
      writer_(runtime, api, configs_) {
  for (kube::Informer* informer : {&kubelet_configs_, &runtime_configs_, &digest_mirrors_, &tag_mirrors_,
                                   &source_policies_, &images_, &cluster_image_policies_, &image_policies_}) {
    informer->on_change([this](const kube::ObjectKey&) { frame_.burst().note_change(runtime_.now()); });
  }
  for (kube::Informer& informer : frame_.informers()) {
    frame_.queue().watch(informer, [](const kube::Object&) { return std::vector<kube::ObjectKey>{kEverything}; });
  }
}

void GeneratorController::start() { frame_.start(); }

void GeneratorController::stop() { frame_.stop(); }

GenerateInput GeneratorController::input() const {
  GenerateInput input;
  input.version = options_.version;
  input.pools = pools_.list();
  input.configs = configs_.list();
  input.controller_config = controller_configs_.get({"", std::string(api::kControllerConfigName)});
  for (const kube::Informer* informer : {&kubelet_configs_, &runtime_configs_}) {
    std::ranges::move(informer->list(), std::back_inserter(input.generators));
  }
  for (const kube::Informer* informer :
       {&digest_mirrors_, &tag_mirrors_, &source_policies_, &images_, &cluster_image_policies_, &image_policies_}) {
    std::ranges::move(informer->list(), std::back_inserter(input.policies));
  }
  return input;
}

Result<kube::Reconciled> GeneratorController::reconcile(const kube::Call& call) {
  if (const auto wait = frame_.burst().wait_needed(runtime_.now())) return kube::Reconciled{wait};
  const GenerateInput seen = input();
  if (!writer_.sees_own_writes({&seen.configs, &seen.generators})) {
    return kube::Reconciled{ConfigWriter::kOwnWriteRetry};
  }
  const GeneratePlan plan = plan_generated(seen);
  STRAKE_CHECK_OK(carry_out(plan, call));
  const auto& refusal = plan.registries_refusal;
  tell(refusal ? refused_policy(seen.policies, *refusal).get() : nullptr,
       {std::string(kRegistriesSource), refusal ? refusal->to_string() : ""});
  forget_gone(plan);
  return kube::Reconciled{};
}

/// One object that cannot be written holds up nothing but what depends on it.
Status GeneratorController::carry_out(const GeneratePlan& plan, const kube::Call& call) {
  Status first;
  const auto note = [&first](Status done) {
    const bool ok = done.ok();
    if (first.ok() && !ok) first = std::move(done);
    return ok;
  };
  std::set<std::string> unwritten;
  std::vector<GeneratorVerdict> claimed;
  for (GeneratorVerdict verdict : plan.generators) {
    auto now = claim(verdict, call);
    if (!now.ok()) {
      unwritten.insert(verdict.configs.begin(), verdict.configs.end());
      note(std::move(now).error());
      continue;
    }
    verdict.generator = *std::move(now);
    claimed.push_back(std::move(verdict));
  }
  for (const kube::Object& config : plan.configs) {
    if (unwritten.contains(config.name())) continue;
    if (!note(writer_.write(config, call))) unwritten.insert(config.name());
  }
  bool removed = true;
  for (const kube::ObjectPtr& config : plan.stale) removed &= note(writer_.remove(*config, call));
  for (GeneratorVerdict& verdict : claimed) {
    const bool written =
        std::ranges::none_of(verdict.configs, [&](const std::string& name) { return unwritten.contains(name); });
    if (written && removed) note(finish(std::move(verdict), call));
  }
  return first;
}

/// Its number and its finalizers, before there is anything they stand for. The object as it is then.
Result<kube::ObjectPtr> GeneratorController::claim(const GeneratorVerdict& verdict, const kube::Call& call) {
  const kube::Object& generator = *verdict.generator;
  if (verdict.refusal || generator.deleting()) return verdict.generator;
  std::vector<std::string> finalizers = generator.finalizers();
  for (const std::string& name : verdict.configs) {
    if (std::ranges::find(finalizers, name) == finalizers.end()) finalizers.push_back(name);
  }
  json::Value metadata = finalizers_patch(finalizers);
  json::ensure(metadata, {"annotations", api::config_annotation::kConfigNameSuffix}) = *verdict.suffix;
  auto claimed =
      kube::merge_patch_own_fields(api_, generator_resource(generator), generator,
                                   json::Object{{"metadata", std::move(metadata)}}, kube::IfChanged::kRefuse, {}, call);
  if (!claimed.ok()) {
    return Error(claimed.error()).context(fmt::format("numbering {} {}", generator.kind(), generator.name()));
  }
  if (claimed->resource_version() != generator.resource_version()) writer_.note_written(*claimed);
  return kube::ObjectPtr(std::make_shared<const kube::Object>(*std::move(claimed)));
}

/// What it has is written and what it had is gone: its finalizers say so, and its status.
Status GeneratorController::finish(GeneratorVerdict verdict, const kube::Call& call) {
  const kube::Object& generator = *verdict.generator;
  const auto trimmed = kube::merge_patch_own_fields(
      api_, generator_resource(generator), generator,
      json::Object{{"metadata", finalizers_patch(verdict.final_finalizers())}}, kube::IfChanged::kRefuse, {}, call);
  if (!trimmed.ok()) {
    if (trimmed.error().code() == Code::kNotFound) return {};
    return Error(trimmed.error()).context(fmt::format("releasing {} {}", generator.kind(), generator.name()));
  }
  if (generator.deleting()) return {};
  if (trimmed->resource_version() != generator.resource_version()) writer_.note_written(*trimmed);
  return set_status(verdict, *trimmed, call);
}

/// Accepted is the word of today; Success or Failure, last in the list, is what older readers look for.
Status GeneratorController::set_status(const GeneratorVerdict& verdict, const kube::Object& generator,
                                       const kube::Call& call) {
  const std::string source = source_name(generator);
  const std::string why = verdict.refusal ? verdict.refusal->to_string() : "";
  json::Value changed = generator.json();
  const auto now = runtime_.wall_now();
  const bool accepted = why.empty();
  api::set_condition(changed,
                     {"Accepted", accepted ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                      std::string(accepted ? kReasonGenerated : kReasonNotGenerated),
                      accepted ? fmt::format("made into {}", fmt::join(verdict.configs, ", ")) : why, ""},
                     now, api::ConditionPlace::kSame);
  api::remove_condition(changed, accepted ? "Failure" : "Success");
  api::set_condition(
      changed,
      {accepted ? "Success" : "Failure", accepted ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse, "",
       accepted ? "Success" : fmt::format("Error: {}", why), ""},
      now);
  json::Value own = api::conditions_status(changed);
  own.get_object()["observedGeneration"] = generator.generation();
  const auto written =
      kube::apply_status_patch(api_, generator_resource(generator), generator, own, kube::IfChanged::kRefuse, call);
  if (!written.ok()) return Error(written.error()).context(fmt::format("writing the status of {}", source));
  if (written->resource_version() != generator.resource_version()) writer_.note_written(*written);
  tell(&generator, {source, why});
  return {};
}

void GeneratorController::forget_gone(const GeneratePlan& plan) {
  std::set<std::string> present{std::string(kRegistriesSource)};
  for (const GeneratorVerdict& verdict : plan.generators) present.insert(source_name(*verdict.generator));
  std::erase_if(reports_, [&](const auto& report) { return !present.contains(report.first); });
}

void GeneratorController::tell(const kube::Object* about, GenerateReport report) {
  const auto known = reports_.find(report.source);
  if (known == reports_.end() ? report.refusal.empty() : known->second == report) return;
  if (!report.refusal.empty() && about != nullptr) {
    frame_.events().record(*about, kube::EventType::kWarning, std::string(kReasonNotGenerated), report.refusal);
  }
  if (options_.on_report) options_.on_report(report);
  reports_.insert_or_assign(report.source, std::move(report));
}

}  // namespace strake::machineconfig
