#include "simulation/render_stage.h"

#include "api/conditions.h"
#include "api/kinds.h"
#include "api/machine_config.h"
#include "api/machine_config_pool.h"
#include "api/node_annotations.h"
#include "apistore/schema/registry.h"
#include "codec/data_url.h"
#include "codec/yaml.h"
#include "kube/patch.h"

namespace strake::simulation {

using namespace std::chrono_literals;

namespace {

const kube::Resource& resource_of(const kube::Object& object) {
  for (const kube::Resource& resource : api::all_kinds()) {
    if (resource.kind == object.kind()) return resource;
  }
  for (const kube::Resource* resource : {&kube::core::kNode, &kube::core::kNamespace, &kube::core::kConfigMap,
                                         &kube::core::kSecret, &kube::core::kPod, &kube::core::kPodDisruptionBudget}) {
    if (resource->kind == object.kind()) return *resource;
  }
  STRAKE_INVARIANT(object.kind() == kube::core::kLease.kind);
  return kube::core::kLease;
}

}  // namespace

RenderStage::RenderStage(std::uint64_t seed) : simulation_(seed) {
  static const std::shared_ptr<const apistore::Registry> kRegistry = [] {
    auto registry = apistore::Registry::standard();
    STRAKE_INVARIANT(registry.ok());
    return std::make_shared<const apistore::Registry>(*std::move(registry));
  }();
  auto service = apistore::Service::open(simulation_, kRegistry, {});
  STRAKE_INVARIANT(service.ok());
  service_ = *std::move(service);
  admin_ = std::make_unique<apistore::InProcessApi>(*service_, apistore::Caller::system("admin"));
  service_->start();
}

RenderStage::~RenderStage() {
  stop_controller();
  service_->stop();
}

void RenderStage::apply(std::string_view text) {
  const auto documents = yaml::parse_stream(text);
  STRAKE_INVARIANT(documents.ok());
  auto task = simulation_.spawn("admin", [&](std::stop_token stop) {
    const kube::Call call{stop, std::nullopt};
    for (const yaml::Document& document : *documents) {
      const kube::Object object(document.value);
      const kube::Resource& resource = resource_of(object);
      auto known = admin_->get(resource, object.key(), call);
      if (!known.ok()) {
        known = admin_->create(resource, object, {}, call);
      } else {
        known = admin_->patch(resource, object.key(), kube::PatchType::kMerge, object.json(), {}, call);
      }
      if (!known.ok()) throw std::runtime_error(known.error().to_string());
      if (const json::Value* status = json::find(object.json(), {"status"})) {
        const auto written =
            kube::apply_status_patch(*admin_, resource, *known, *status, kube::IfChanged::kOverwrite, call);
        if (!written.ok()) throw std::runtime_error(written.error().to_string());
      }
    }
  });
  run_until([&] { return task.done(); });
  task.join();
}

void RenderStage::put_file_config(const std::string& name, const std::string& role, const std::string& path,
                                  const std::string& text) {
  apply(fmt::format(R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {{name: {}, labels: {{machineconfiguration.openshift.io/role: {}}}}}
spec:
  config:
    ignition: {{version: 3.4.0}}
    storage: {{files: [{{path: {}, contents: {{source: "data:,{}"}}}}]}}
)",
                    name, role, path, text));
}

void RenderStage::remove_config(const std::string& name) {
  auto task = simulation_.spawn("admin", [&](std::stop_token stop) {
    (void)admin_->remove(api::kMachineConfig, {"", name}, {}, {stop, std::nullopt});
  });
  run_until([&] { return task.done(); });
  task.join();
}

void RenderStage::start_controller(machineconfig::RenderOptions options, std::optional<std::uint64_t> calls) {
  start_process(
      [this, options](kube::KubeApi& api, std::stop_token stop) {
        machineconfig::RenderController controller(simulation_, api, options);
        controller.start();
        (void)simulation_.sleep(24h * 365, stop);
        controller.stop();
      },
      calls);
}

void RenderStage::start_process(std::function<void(kube::KubeApi& api, std::stop_token stop)> body,
                                std::optional<std::uint64_t> calls) {
  stop_controller();
  fence_ = std::make_shared<apistore::Fence>();
  if (calls) fence_->crash_after_calls(*calls);
  controller_ =
      simulation_.spawn("process", [this, body = std::move(body), fence = fence_](const std::stop_token& stop) {
        apistore::InProcessApi store(*service_, apistore::Caller::system("process"));
        apistore::SimulatedApi api(simulation_, store, faults_, 1, counts_, fence);
        body(api, stop);
      });
}

void RenderStage::stop_controller() {
  if (fence_) fence_->raise();
  controller_.stop_and_join();
}

bool RenderStage::run_until(const std::function<bool()>& reached) {
  bool done = false;
  auto judge = simulation_.spawn("judge", [&](std::stop_token stop) {
    while (!stop.stop_requested()) {
      if (reached()) {
        done = true;
        return;
      }
      if (!simulation_.sleep(50ms, stop).ok()) return;
    }
  });
  sim::RunLimits limits;
  limits.virtual_time = 1h;
  limits.steps = 1'000'000;
  (void)simulation_.run(limits, [&] { return done; });
  judge.stop_and_join();
  return done;
}

void RenderStage::run_for(runtime::Duration duration) {
  const runtime::TimePoint end = simulation_.now() + duration;
  run_until([&] { return simulation_.now() >= end; });
}

kube::Object RenderStage::pool(const std::string& name) {
  apistore::Request request{apistore::Caller::system("judge"), {}, {}};
  auto found = service_->get(request, api::kMachineConfigPool, {"", name});
  return found.ok() ? kube::Object(std::move(found->object)) : kube::Object();
}

std::string RenderStage::target(const std::string& pool_name) {
  const kube::Object found = pool(pool_name);
  return api::MachineConfigPoolView(found.json()).target();
}

std::vector<kube::Object> RenderStage::list(const kube::Resource& resource) {
  std::vector<kube::Object> objects;
  apistore::Request request{apistore::Caller::system("judge"), {}, {}};
  const auto listed = service_->list(request, resource, "", {});
  STRAKE_INVARIANT(listed.ok());
  for (const std::string& text : listed->items) {
    auto object = json::parse(text);
    STRAKE_INVARIANT(object.ok());
    objects.emplace_back(*std::move(object));
  }
  return objects;
}

std::vector<std::string> RenderStage::rendered_names() {
  std::vector<std::string> names;
  for (const kube::Object& config : list(api::kMachineConfig)) {
    if (std::string name = config.name(); name.starts_with(api::kRenderedPrefix)) names.push_back(std::move(name));
  }
  return names;
}

bool RenderStage::exists(const kube::Resource& resource, const kube::ObjectKey& key) {
  apistore::Request request{apistore::Caller::system("judge"), {}, {}};
  return service_->get(request, resource, key).ok();
}

std::string RenderStage::render_degraded(const std::string& pool_name) {
  const kube::Object found = pool(pool_name);
  const auto condition = api::find_condition(found.json(), api::pool_condition::kRenderDegraded);
  if (!condition) return "";
  return fmt::format("{} {}: {}", api::to_string(condition->status), condition->reason, condition->message);
}

std::string RenderStage::store_version() {
  apistore::Request request{apistore::Caller::system("judge"), {}, {}};
  const auto listed = service_->list(request, api::kMachineConfig, "", {});
  STRAKE_INVARIANT(listed.ok());
  return listed->resource_version;
}

}  // namespace strake::simulation
