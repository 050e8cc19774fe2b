// From a release to the nodes on a real kube-apiserver: the same controllers, agents and sample job as on the embedded
// store. The controllers have the rights of their service account, each agent those of its own node.
#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>

#include "controlplane/sample_job.h"
#include "controlplane/sandbox_machine.h"
#include "kube/cluster_access.h"
#include "kube/https_api.h"
#include "machineconfig/render/render_controller.h"
#include "machineconfig/template/template_controller.h"
#include "rollout/rollout_controller.h"
#include "support/places.h"
#include "support/servers.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t kNodes = 6;

std::unique_ptr<kube::HttpsApi> api_for(runtime::Runtime& runtime, const std::filesystem::path& kubeconfig) {
  const auto config = kube::load_kubeconfig(kube::kubeconfig_locations(kubeconfig));
  EXPECT_TRUE(config.ok());
  auto access = kube::resolve_access(*config);
  EXPECT_TRUE(access.ok()) << (access.ok() ? "" : access.error().to_string());
  auto api = kube::HttpsApi::create(runtime, *std::move(access));
  EXPECT_TRUE(api.ok());
  return *std::move(api);
}

TEST(ReleaseToNodeCluster, TheSampleJobEndsAsPlannedOnARealApiServer) {
  const auto started = shared_cluster();
  ASSERT_TRUE(started.ok()) << started.error().to_string();
  KubeCluster& cluster = **started;
  for (const Status& prepared : {cluster.install_definitions(), cluster.collect_leftovers()}) {
    ASSERT_TRUE(prepared.ok()) << prepared.error().to_string();
  }
  const auto applied = cluster.kubectl_checked({"apply", "--server-side", "-f", source_folder() / "deploy/rbac"});
  ASSERT_TRUE(applied.ok()) << applied.error().to_string();
  for (const char* name : {"openshift-machine-config-operator", "openshift-machine-api"}) {
    (void)cluster.kubectl({.arguments = {"create", "namespace", name}});
  }

  runtime::ThreadRuntime runtime;
  const auto admin = api_for(runtime, cluster.kubeconfig());
  const auto controller = cluster.client_kubeconfig("system:serviceaccount:strake-system:strake-controller",
                                                    {"system:serviceaccounts", "system:serviceaccounts:strake-system"});
  ASSERT_TRUE(controller.ok()) << controller.error().to_string();
  const auto controller_api = api_for(runtime, *controller);
  machineconfig::RenderController render(runtime, *controller_api, {.version = "test"});
  rollout::RolloutOptions rollout_options;
  rollout_options.keep_agent_rights = true;
  rollout::RolloutController rollout(runtime, *controller_api, rollout_options);
  machineconfig::TemplateController templates(runtime, *controller_api, {.version = "test"});
  templates.start();
  render.start();
  rollout.start();

  struct Hosted {
    std::unique_ptr<TempDir> folder;
    std::unique_ptr<DirectoryTree> tree;
    std::unique_ptr<kube::HttpsApi> agent_api;
    std::unique_ptr<controlplane::SandboxMachine> machine;
    runtime::Task task;
  };
  std::atomic<int> refused = 0;
  std::vector<Hosted> machines;
  for (std::size_t i = 0; i < kNodes; ++i) {
    Hosted hosted;
    controlplane::MachineOptions options;
    options.identity.role = i % 3 == 0 ? "master" : "worker";
    options.identity.name = fmt::format("{}-{}", options.identity.role, i);
    options.boot_time = 200ms;
    options.agent.hooks.on_failure = [&refused](const agent::Failure& failure) {
      const bool before_its_rights = failure.doing == agent::Doing::kReadingNode;
      if (failure.error.code() == Code::kDenied && !before_its_rights) ++refused;
    };
    const auto kubeconfig = cluster.client_kubeconfig("strake:agent:" + options.identity.name, {"strake:agents"});
    ASSERT_TRUE(kubeconfig.ok()) << kubeconfig.error().to_string();
    hosted.folder = std::make_unique<TempDir>();
    hosted.tree = std::make_unique<DirectoryTree>(hosted.folder->path(), false);
    hosted.agent_api = api_for(runtime, *kubeconfig);
    hosted.machine =
        std::make_unique<controlplane::SandboxMachine>(runtime, *admin, *hosted.agent_api, *hosted.tree, options);
    hosted.task =
        runtime.spawn("node", [machine = hosted.machine.get()](std::stop_token stop) { machine->keep_running(stop); });
    machines.push_back(std::move(hosted));
  }

  TempDir work;
  controlplane::SampleJobOptions job;
  job.work_dir = work.path();
  job.nodes = kNodes;
  job.version = "test";
  job.limit = 2min;
  std::string log;
  job.print = [&](const std::string& line) { log += line + "\n"; };
  job.render_plan = [](const rollout::ClusterPlan& plan) { return fmt::format("{} pools", plan.pools.size()); };
  const Status finished = controlplane::run_sample_job(runtime, *admin, job, {});
  EXPECT_TRUE(finished.ok()) << (finished.ok() ? "" : finished.error().to_string()) << "\n" << log;
  EXPECT_EQ(refused, 0) << "the rights to a config come before the wish to run it";
  for (Hosted& hosted : machines) hosted.task.request_stop();
  machines.clear();
  rollout.stop();
  render.stop();
  templates.stop();
}

}  // namespace
}  // namespace strake::test
