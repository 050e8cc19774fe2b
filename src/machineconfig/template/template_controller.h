// The template controller: keeps the base configs of a cluster (template_plan.h), where Strake is the whole stack.
// Beside another manager it is not run: that one has its own.
//
// It owns observedGeneration and the conditions TemplateControllerCompleted, Running and Failing of the
// ControllerConfig, for which rendering waits: they say that the base configs are those of the release the
// ControllerConfig names. Written last, so that a controller killed anywhere leaves the gate closed.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/runtime.h"
#include "kube/kube_api.h"
#include "machineconfig/control/config_writer.h"
#include "machineconfig/control/controller_frame.h"
#include "machineconfig/generate/generator_controller.h"
#include "machineconfig/template/template_plan.h"

namespace strake::machineconfig {

class TemplateController {
 public:
  /// Told as the generator controller tells; the source is "templates".
  TemplateController(runtime::Runtime& runtime, kube::KubeApi& api, GeneratorOptions options);

  void start() { frame_.start(); }
  void stop() { frame_.stop(); }

 private:
  /// Which of the three conditions is True.
  enum class Stage { kRunning, kFailing, kCompleted };

  Result<kube::Reconciled> reconcile(const kube::Call& call);
  Result<kube::Reconciled> wait_for_release(const TemplateInput& seen, const TemplatePlan& plan,
                                            const kube::Call& call);
  Status carry_out(const TemplateInput& seen, const TemplatePlan& plan, const kube::Call& call);
  /// `observes`: the generation of the ControllerConfig is observed. kConflict when it is not the one that was seen.
  Status set_stage(const kube::Object& controller_config, Stage stage, const std::string& message, bool observes,
                   const kube::Call& call);
  /// On the ControllerConfig: rendering waits until all of them are seen.
  Status name_base_configs(const kube::Object& controller_config, const std::string& names, const kube::Call& call);
  /// As it is now; kConflict when its spec is not the one that was seen.
  Result<kube::Object> fresh_controller_config(const kube::Object& seen, const kube::Call& call);
  TemplateInput input() const;
  void tell(const kube::Object& controller_config, std::string refusal);

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  const GeneratorOptions options_;
  std::optional<runtime::TimePoint> waiting_since_;  ///< the worker's own, as what follows
  std::string told_;
  ControllerFrame frame_;
  kube::Informer& controller_configs_;
  kube::Informer& release_contents_;
  kube::Informer& strake_configs_;
  kube::Informer& pull_secrets_;
  kube::Informer& pools_;
  kube::Informer& configs_;
  ConfigWriter writer_;
};

}  // namespace strake::machineconfig
