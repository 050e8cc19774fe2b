// The generator controller: turns KubeletConfigs, ContainerRuntimeConfigs, mirror sets, image policies and the Image
// config into MachineConfigs, where Strake is the whole stack. Beside another manager it is not run: that one does it.
//
// A thin executor around plan_generated, in an order that can be cut off anywhere: a KubeletConfig first gets its
// number and a finalizer for every MachineConfig it is about to have; then the MachineConfigs are written; what nobody
// asks for goes; then finalizers nobody needs, and last the status, which opens the gate of the render controller.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "base/runtime.h"
#include "kube/kube_api.h"
#include "machineconfig/control/config_writer.h"
#include "machineconfig/control/controller_frame.h"
#include "machineconfig/generate/generate_plan.h"

namespace strake::machineconfig {

/// What one source of MachineConfigs came to, for logs and metrics.
struct GenerateReport {
  std::string source;     ///< "KubeletConfig small", "registries"
  std::string refusal{};  ///< "" when it was made into MachineConfigs

  bool operator==(const GenerateReport&) const = default;
};

struct GeneratorOptions {
  std::string version{};  ///< of this program; what is generated carries it
  kube::Hooks hooks{};
  /// Told when a source comes to something else than the last time. Called by the worker; must not wait.
  std::function<void(const GenerateReport&)> on_report{};
};

class GeneratorController {
 public:
  GeneratorController(runtime::Runtime& runtime, kube::KubeApi& api, GeneratorOptions options);

  void start();
  void stop();

 private:
  Result<kube::Reconciled> reconcile(const kube::Call& call);
  Status carry_out(const GeneratePlan& plan, const kube::Call& call);
  Result<kube::ObjectPtr> claim(const GeneratorVerdict& verdict, const kube::Call& call);
  Status finish(GeneratorVerdict verdict, const kube::Call& call);
  Status set_status(const GeneratorVerdict& verdict, const kube::Object& generator, const kube::Call& call);
  void forget_gone(const GeneratePlan& plan);
  GenerateInput input() const;
  void tell(const kube::Object* about, GenerateReport report);

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  const GeneratorOptions options_;
  std::map<std::string, GenerateReport> reports_;  ///< by source; the worker's own
  ControllerFrame frame_;
  kube::Informer& pools_;
  kube::Informer& configs_;
  kube::Informer& controller_configs_;
  kube::Informer& kubelet_configs_;
  kube::Informer& runtime_configs_;
  kube::Informer& digest_mirrors_;
  kube::Informer& tag_mirrors_;
  kube::Informer& source_policies_;
  kube::Informer& images_;
  kube::Informer& cluster_image_policies_;
  kube::Informer& image_policies_;
  ConfigWriter writer_;
};

}  // namespace strake::machineconfig
