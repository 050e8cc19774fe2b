// The sample job of `strake up`: two releases through a small cluster, with plan, progress and a verdict.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "controlplane/first_config.h"
#include "kube/kube_api.h"
#include "rollout/cluster_plan.h"

namespace strake::controlplane {

struct SampleJobOptions {
  std::filesystem::path work_dir;  ///< the sample releases are written below it
  std::size_t nodes = 6;
  std::string version;
  runtime::Duration limit = std::chrono::minutes(5);  ///< for each release to reach every node of a small cluster
  runtime::Duration limit_per_node = std::chrono::seconds(5);  ///< more of it for each node: they go one at a time
  std::function<void(const std::string& line)> print;
  std::function<std::vector<FirstFetch>()> first_fetches;  ///< of the machines of this run; may be empty
  std::function<std::string(const rollout::ClusterPlan& plan)> render_plan;  ///< as `strake plan` shows them
};

/// Signs the sample releases with a key made for this run, whose public half is left beside them (keyring.asc), and
/// verifies them like any other release. Applies release A, then B; shows the plan before B and progress during both;
/// compares the end with the plan. An error says what did not end as planned.
Status run_sample_job(runtime::Runtime& runtime, kube::KubeApi& api, const SampleJobOptions& options,
                      std::stop_token stop);

}  // namespace strake::controlplane
