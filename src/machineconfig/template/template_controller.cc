#include "machineconfig/template/template_controller.h"

#include <algorithm>
#include <ranges>

#include "api/conditions.h"
#include "api/controller_config.h"
#include "api/kinds.h"
#include "api/node_annotations.h"
#include "api/release_contents.h"
#include "kube/patch.h"

namespace strake::machineconfig {

namespace {

using namespace std::chrono_literals;

const kube::ObjectKey kTemplates{"", "templates"};
const kube::ObjectKey kTemplateControllerConfig{"", std::string(api::kControllerConfigName)};

constexpr std::string_view kTemplatesSource = "templates";
/// A release is published in several writes; only what lasts is worth a word.
constexpr auto kPublishingTakes = 10s;
constexpr auto kPublishingRetry = 2s;

}  // namespace

TemplateController::TemplateController(runtime::Runtime& runtime, kube::KubeApi& api, GeneratorOptions options)
    : runtime_(runtime),
      api_(api),
      options_(std::move(options)),
      frame_(runtime, api, "template", options_.hooks,
             [this](const kube::ObjectKey&, const kube::Call& call) { return reconcile(call); }),
      controller_configs_(frame_.inform(api::kControllerConfig)),
      release_contents_(frame_.inform(kube::core::kConfigMap, api::kMachineConfigNamespace, api::kReleaseContentsName)),
      strake_configs_(frame_.inform(api::kStrakeConfig)),
      pull_secrets_(frame_.inform(kube::core::kSecret, api::kOpenshiftConfigNamespace, api::kPullSecretName)),
      pools_(frame_.inform(api::kMachineConfigPool)),
      configs_(frame_.inform(api::kMachineConfig)),
      writer_(runtime, api, configs_) {
  for (kube::Informer& informer : frame_.informers()) {
    frame_.queue().watch(informer, [](const kube::Object&) { return std::vector<kube::ObjectKey>{kTemplates}; });
  }
}

TemplateInput TemplateController::input() const {
  TemplateInput input;
  input.version = options_.version;
  input.controller_config = controller_configs_.get(kTemplateControllerConfig);
  input.release_contents =
      release_contents_.get({std::string(api::kMachineConfigNamespace), std::string(api::kReleaseContentsName)});
  input.strake_config = strake_configs_.get({"", std::string(api::kStrakeConfigName)});
  input.pull_secret =
      pull_secrets_.get({std::string(api::kOpenshiftConfigNamespace), std::string(api::kPullSecretName)});
  input.pools = pools_.list();
  input.configs = configs_.list();
  return input;
}

Result<kube::Reconciled> TemplateController::reconcile(const kube::Call& call) {
  const TemplateInput seen = input();
  const std::vector<kube::ObjectPtr> controller_configs = controller_configs_.list();
  if (!writer_.sees_own_writes({&seen.configs, &controller_configs})) {
    return kube::Reconciled{ConfigWriter::kOwnWriteRetry};
  }
  const TemplatePlan plan = plan_templates(seen);
  if (plan.outcome != TemplatePlan::Outcome::kWaiting) waiting_since_.reset();
  Status done;
  switch (plan.outcome) {
    case TemplatePlan::Outcome::kNothing: return kube::Reconciled{};
    case TemplatePlan::Outcome::kWaiting: return wait_for_release(seen, plan, call);
    case TemplatePlan::Outcome::kRefused:
      tell(*seen.controller_config, plan.reason);
      done = set_stage(*seen.controller_config, Stage::kFailing, plan.reason, true, call);
      break;
    case TemplatePlan::Outcome::kReady:
      done = carry_out(seen, plan, call);
      if (done.ok()) tell(*seen.controller_config, "");
      break;
  }
  // The ControllerConfig is not what was planned for any more: the watch brings the new one.
  if (!done.ok() && done.error().code() == Code::kConflict) return kube::Reconciled{ConfigWriter::kOwnWriteRetry};
  STRAKE_CHECK_OK(std::move(done));
  return kube::Reconciled{};
}

Result<kube::Reconciled> TemplateController::wait_for_release(const TemplateInput& seen, const TemplatePlan& plan,
                                                              const kube::Call& call) {
  if (!waiting_since_) waiting_since_ = runtime_.now();
  if (runtime_.now() - *waiting_since_ >= kPublishingTakes) {
    tell(*seen.controller_config, plan.reason);
    const Status said = set_stage(*seen.controller_config, Stage::kRunning, plan.reason, false, call);
    if (!said.ok() && said.error().code() != Code::kConflict) return said.error();
  }
  return kube::Reconciled{kPublishingRetry};
}

Status TemplateController::carry_out(const TemplateInput& seen, const TemplatePlan& plan, const kube::Call& call) {
  const kube::Object& controller_config = *seen.controller_config;
  const bool changes = !plan.stale.empty() || std::ranges::any_of(plan.configs, [&](const kube::Object& config) {
    return writer_.differs(config);
  });
  // Several objects change: while they do nobody renders. A generation that is not observed keeps the gate closed.
  const bool observed =
      api::ControllerConfigView(controller_config.json()).observed_generation() == controller_config.generation();
  if (changes && observed) {
    STRAKE_CHECK_OK(set_stage(controller_config, Stage::kRunning, "base configs are being written", false, call));
  }
  for (const kube::Object& config : plan.configs) STRAKE_CHECK_OK(writer_.write(config, call));
  for (const kube::ObjectPtr& config : plan.stale) STRAKE_CHECK_OK(writer_.remove(*config, call));
  const auto names = plan.configs | std::views::transform([](const kube::Object& config) { return config.name(); });
  STRAKE_CHECK_OK(name_base_configs(controller_config, fmt::format("{}", fmt::join(names, ",")), call));
  return set_stage(controller_config, Stage::kCompleted, fmt::format("made {}", fmt::join(names, ", ")), true, call);
}

Status TemplateController::name_base_configs(const kube::Object& controller_config, const std::string& names,
                                             const kube::Call& call) {
  if (controller_config.annotation(api::config_annotation::kBaseConfigs) == names) return {};
  kube::Object own;
  own.set_annotation(api::config_annotation::kBaseConfigs, names);
  return kube::retry_on_conflict(runtime_, call, [&]() -> Status {
    STRAKE_TRY(const kube::Object fresh, fresh_controller_config(controller_config, call));
    const auto written = kube::merge_patch_own_fields(api_, api::kControllerConfig, fresh, own.json(),
                                                      kube::IfChanged::kRefuse, {}, call);
    if (!written.ok()) return Error(written.error()).context("naming the base configs on the ControllerConfig");
    writer_.note_written(*written);
    return {};
  });
}

Result<kube::Object> TemplateController::fresh_controller_config(const kube::Object& seen, const kube::Call& call) {
  STRAKE_TRY(kube::Object fresh, api_.get(api::kControllerConfig, seen.key(), call));
  if (fresh.generation() == seen.generation() && fresh.uid() == seen.uid()) return fresh;
  return error(Code::kConflict, "ControllerConfig {} has changed meanwhile", fresh.name());
}

Status TemplateController::set_stage(const kube::Object& controller_config, Stage stage, const std::string& message,
                                     bool observes, const kube::Call& call) {
  namespace condition = api::controller_config_condition;
  const auto edited = [&](const kube::Object& object) -> std::optional<json::Value> {
    json::Value status = object.json();
    bool changed = observes && api::ControllerConfigView(status).observed_generation() != object.generation();
    const auto set = [&](std::string_view type, bool is_true, std::string_view reason) {
      changed |= api::set_condition(status,
                                    {.type = std::string(type),
                                     .status = is_true ? api::ConditionStatus::kTrue : api::ConditionStatus::kFalse,
                                     .reason = std::string(is_true ? reason : "AsExpected"),
                                     .message = is_true ? message : "",
                                     .last_transition_time = {}},
                                    runtime_.wall_now());
    };
    set(condition::kTemplateRunning, stage == Stage::kRunning, "Working");
    set(condition::kTemplateFailing, stage == Stage::kFailing, "TemplatesRefused");
    set(condition::kTemplateCompleted, stage == Stage::kCompleted, "Generated");
    if (!changed) return std::nullopt;
    json::Value own = api::conditions_status(status);
    if (observes) own.get_object()["observedGeneration"] = object.generation();
    return own;
  };
  if (!edited(controller_config)) return {};
  // Whoever publishes a release writes conditions of its own there: read fresh, and never over a newer one.
  return kube::retry_on_conflict(runtime_, call, [&]() -> Status {
    STRAKE_TRY(const kube::Object fresh, fresh_controller_config(controller_config, call));
    const std::optional<json::Value> own = edited(fresh);
    if (!own) return {};
    const auto written =
        kube::apply_status_patch(api_, api::kControllerConfig, fresh, *own, kube::IfChanged::kRefuse, call);
    if (!written.ok()) return Error(written.error()).context("writing the status of the ControllerConfig");
    writer_.note_written(*written);
    return {};
  });
}

void TemplateController::tell(const kube::Object& controller_config, std::string refusal) {
  if (told_ == refusal) return;
  if (!refusal.empty()) {
    frame_.events().record(controller_config, kube::EventType::kWarning, "TemplatesRefused", refusal);
  }
  if (options_.on_report) options_.on_report({std::string(kTemplatesSource), refusal});
  told_ = std::move(refusal);
}

}  // namespace strake::machineconfig
