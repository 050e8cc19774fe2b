// The render controller: keeps every pool's rendered config current.
//
// A thin executor around plan_render: reads its informers, creates the rendered MachineConfig, points the pool at it,
// and says in the pool's RenderDegraded condition when it cannot. A refused render keeps the old config.
#pragma once

#include <map>
#include <string>

#include "base/runtime.h"
#include "kube/controller.h"
#include "kube/informer.h"
#include "kube/kube_api.h"
#include "machineconfig/render.h"

namespace strake::machineconfig {

class RenderController {
 public:
  /// `version` marks what this program generates; see RenderInput.
  RenderController(runtime::Runtime& runtime, kube::KubeApi& api, std::string version);

  void start();
  void stop();
  /// Pools whose last render failed, and why.
  std::map<kube::ObjectKey, Error> errors() const { return controller_.errors(); }

 private:
  Result<kube::Reconciled> reconcile(const kube::ObjectKey& pool_key, const kube::Call& call);
  RenderInput input_for(kube::ObjectPtr pool) const;
  Status ensure_rendered(const kube::Object& rendered, const kube::Call& call);
  Status point_pool(const kube::Object& pool, const RenderPlan& plan, const kube::Call& call);
  Status set_render_degraded(const kube::Object& pool, const std::string& message, const kube::Call& call);
  std::vector<kube::ObjectKey> all_pools() const;

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  std::string version_;
  kube::Informer pools_;
  kube::Informer configs_;
  kube::Informer controller_configs_;
  kube::Informer os_image_streams_;
  kube::Controller controller_;
};

}  // namespace strake::machineconfig
