// A simulated cluster with nothing but an API and the render controller, which can be killed and started again.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "apistore/in_process_api.h"
#include "apistore/service/service.h"
#include "apistore/simulated_api.h"
#include "base/simulation.h"
#include "machineconfig/render/render_controller.h"

namespace strake::simulation {

class RenderStage {
 public:
  explicit RenderStage(std::uint64_t seed);
  ~RenderStage();

  kube::KubeApi& admin() { return *admin_; }
  sim::Simulation& simulation() { return simulation_; }
  /// What happens to the calls of processes started here; nothing, unless a test changes it.
  apistore::FaultPlan& faults() { return faults_; }

  /// Objects as YAML documents; a document with a status gets it written too.
  void apply(std::string_view yaml);
  /// A MachineConfig of a role with one file whose contents are `text`.
  void put_file_config(const std::string& name, const std::string& role, const std::string& path,
                       const std::string& text);
  void remove_config(const std::string& name);

  /// A life of the controller; it dies after so many API calls when `calls` is given.
  void start_controller(machineconfig::RenderOptions options, std::optional<std::uint64_t> calls = std::nullopt);
  /// The same for anything else that talks to the API; it ends when its token asks.
  void start_process(std::function<void(kube::KubeApi& api, std::stop_token stop)> body,
                     std::optional<std::uint64_t> calls = std::nullopt);
  void stop_controller();
  bool controller_died() const { return fence_ && fence_->down(); }
  std::uint64_t calls_made() const { return counts_->calls; }

  /// Runs until `reached`, or an hour of virtual time.
  bool run_until(const std::function<bool()>& reached);
  void run_for(runtime::Duration duration);

  kube::Object pool(const std::string& name);
  std::string target(const std::string& pool_name);
  std::vector<std::string> rendered_names();
  std::vector<kube::Object> list(const kube::Resource& resource);
  bool exists(const kube::Resource& resource, const kube::ObjectKey& key);
  /// "True GateClosed: message", or "" without the condition.
  std::string render_degraded(const std::string& pool_name);
  /// What the store's version is now: equal before and after means that nothing was written.
  std::string store_version();

 private:
  sim::Simulation simulation_;
  std::shared_ptr<apistore::FaultCounts> counts_ = std::make_shared<apistore::FaultCounts>();
  apistore::FaultPlan faults_ = apistore::FaultPlan::none();
  std::unique_ptr<apistore::Service> service_;
  std::unique_ptr<apistore::InProcessApi> admin_;
  std::shared_ptr<apistore::Fence> fence_;
  runtime::Task controller_;
};

}  // namespace strake::simulation
