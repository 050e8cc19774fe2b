#include "controlplane/sample_job.h"

#include <algorithm>
#include <map>

#include "api/conditions.h"
#include "api/kinds.h"
#include "api/machine_config_pool.h"
#include "api/node.h"
#include "api/node_annotations.h"
#include "base/fd.h"
#include "bootimage/boot_image_data.h"
#include "bootimage/report.h"
#include "bootimage/sample.h"
#include "release/publish.h"
#include "release/sample.h"
#include "rollout/node_ledger.h"

namespace strake::controlplane {

namespace {

using namespace std::chrono_literals;

constexpr auto kLookInterval = 200ms;

using PoolNodes = std::vector<api::NodePtr>;

bool has_reached(const api::NodeView& node, const std::string& target) {
  return node.done() && node.desired_config == target;
}

/// One line a pool, printed when it differs from the last.
std::string progress_line(const std::string& pool, const std::string& target, const PoolNodes& nodes) {
  std::string updating;
  std::size_t updated = 0;
  for (const api::NodePtr& node : nodes) {
    if (has_reached(*node, target)) ++updated;
    if (has_reached(*node, target) || node->desired_config != target) continue;
    const bool begun = node->state != api::NodeState::kAbsent && node->state != api::NodeState::kDone;
    updating += fmt::format("{}{} ({})", updating.empty() ? "" : ", ", node->name,
                            !node->healthy ? "rebooting" : (begun ? node->state.text() : "targeted"));
  }
  return fmt::format("{:<8} {}/{} nodes on {}{}", pool, updated, nodes.size(), target,
                     updating.empty() ? "" : "; at work: " + updating);
}

std::string versions_of(const std::vector<kube::Object>& objects) {
  std::string versions;
  for (const kube::Object& object : objects) versions += object.resource_version() + " ";
  return versions;
}

bool pool_reached(const kube::Object& pool, const PoolNodes& nodes) {
  const api::MachineConfigPoolView view(pool.json());
  return view.reached() == view.target() && api::condition_is_true(pool.json(), api::pool_condition::kUpdated) &&
         std::all_of(nodes.begin(), nodes.end(),
                     [&](const api::NodePtr& node) { return has_reached(*node, view.target()); });
}

class SampleJob {
 public:
  SampleJob(runtime::Runtime& runtime, kube::KubeApi& api, const SampleJobOptions& options, std::stop_token stop)
      : runtime_(runtime), api_(api), options_(options), stop_(std::move(stop)) {}

  Status run();

 private:
  kube::Call call() { return runtime_.call_within(30s, stop_); }
  runtime::TimePoint time_limit() const {
    return runtime_.now() + options_.limit + options_.limit_per_node * static_cast<int>(options_.nodes);
  }
  Status make_key();
  Result<std::string> present_version();
  Status apply(release::SampleRelease sample, const std::string& name);
  Status wait_for_nodes();
  void show_first_configs();
  Status pause_pools(bool paused);
  Status show_plan(const std::string& release);
  Status follow(const std::string& release);
  Status check_end();
  Status show_boot_images();
  std::string release_of(const std::string& config);

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  const SampleJobOptions& options_;
  std::stop_token stop_;
  std::map<std::string, std::string> release_of_config_;
  std::optional<release::ReleaseSigner> signer_;
};

Status SampleJob::make_key() {
  STRAKE_TRY(signer_, release::ReleaseSigner::create("Strake sample releases of one run", runtime_.wall_now()));
  std::error_code failure;
  std::filesystem::create_directories(options_.work_dir, failure);
  if (failure) return errno_error(failure.value(), options_.work_dir.string());
  return write_file_atomic(options_.work_dir / "keyring.asc", release::armour_keyring(signer_->keyring().packets),
                           0600);
}

/// Of the release that was published last; "" before the first.
Result<std::string> SampleJob::present_version() {
  const auto config = api_.get(api::kControllerConfig, {"", std::string(api::kControllerConfigName)}, call());
  if (!config.ok() && config.error().code() == Code::kNotFound) return std::string();
  if (!config.ok()) return config.error();
  return config->annotation(api::config_annotation::kReleaseImageVersion).value_or("");
}

Status SampleJob::apply(release::SampleRelease sample, const std::string& name) {
  const std::filesystem::path layout = options_.work_dir / ("release-" + name);
  STRAKE_CHECK_OK(release::write_sample_release(layout, sample).context("writing sample release {}", name));
  STRAKE_CHECK_OK(release::sign_sample_release(layout, *signer_, runtime_, call()));
  STRAKE_TRY(const release::ProvenRelease proven, release::read_signed_layout(layout, release::kSampleReleaseReference,
                                                                              signer_->keyring(), runtime_, call()));
  release::Publisher publisher{options_.version, runtime_.wall_now()};
  // A job that is run again goes back from the end of the last one, and from nowhere else.
  STRAKE_TRY(const std::string present, present_version());
  publisher.allow_downgrade = present == release::to_string(release::SampleRelease::kB);
  STRAKE_TRY(const auto steps, release::publish(api_, proven, publisher, call()));
  options_.print(fmt::format("Applied release {} from {}, {} ({} objects written)", proven.payload().version,
                             layout.string(), proven.proof().record(), steps.size()));
  return {};
}

Status SampleJob::wait_for_nodes() {
  const runtime::TimePoint limit = time_limit();
  while (true) {
    const auto nodes = api_.list(kube::core::kNode, "", {}, call());
    if (nodes.ok() && nodes->items.size() >= options_.nodes) return {};
    if (runtime_.now() > limit) return error(Code::kTimeout, "not all of {} nodes joined in time", options_.nodes);
    STRAKE_CHECK_OK(runtime_.sleep(kLookInterval, stop_));
  }
}

/// How the machines of this run began: one line a pool and config. Those of an earlier run have booted already.
void SampleJob::show_first_configs() {
  if (!options_.first_fetches) return;
  std::map<std::string, std::pair<std::size_t, FirstFetch>> by_config;
  for (FirstFetch& fetch : options_.first_fetches()) {
    auto& [count, one] = by_config[fetch.pool + " " + fetch.config];
    ++count;
    one = std::move(fetch);
  }
  for (const auto& [config, entry] : by_config) {
    const auto& [count, fetch] = entry;
    options_.print(fmt::format("{:<8} {} new machine{} fetched {} from {} (Ignition {}, {} bytes)", fetch.pool, count,
                               count == 1 ? "" : "s", fetch.config, fetch.url, fetch.ignition, fetch.bytes));
  }
}

/// The release a rendered config belongs to, read once each; "" while it is not there.
std::string SampleJob::release_of(const std::string& config) {
  const auto known = release_of_config_.find(config);
  if (known != release_of_config_.end()) return known->second;
  const auto read = api_.get(api::kMachineConfig, {"", config}, call());
  if (!read.ok()) return "";
  return release_of_config_[config] = read->annotation(api::config_annotation::kReleaseImageVersion).value_or("");
}

Status SampleJob::follow(const std::string& release) {
  const runtime::TimePoint limit = time_limit();
  kube::InformerOptions slim;
  slim.reduce = api::slim_node;
  kube::Informer informer(runtime_, api_, kube::core::kNode, slim);
  informer.start();
  STRAKE_CHECK_OK(informer.wait_synced(call()));
  rollout::NodeLedger ledger;
  rollout::MemberBook book;
  std::map<std::string, std::string> shown;
  std::string looked_at;
  while (true) {
    const auto pools = api_.list(api::kMachineConfigPool, "", {}, call());
    // A pool's status changes with its nodes: looking at all of them pays only when it has.
    if (pools.ok() && !pools->items.empty() && versions_of(pools->items) != looked_at) {
      looked_at = versions_of(pools->items);
      std::vector<kube::ObjectPtr> shared;
      for (const kube::Object& pool : pools->items) shared.push_back(std::make_shared<const kube::Object>(pool));
      const rollout::PoolMembers members = book.sort_out(shared, ledger.update(informer.list()));
      bool all_reached = true;
      for (const kube::Object& pool : pools->items) {
        const std::string target = api::MachineConfigPoolView(pool.json()).target();
        const PoolNodes of_pool = members.of(pool.name());
        if (target.empty() || release_of(target) != release || !pool_reached(pool, of_pool)) all_reached = false;
        if (target.empty()) continue;
        std::string line = progress_line(pool.name(), target, of_pool);
        if (std::string& last = shown[pool.name()]; last != line) options_.print(last = std::move(line));
      }
      if (all_reached) return {};
      // The cache of nodes may be a moment behind the pools.
      if (std::all_of(pools->items.begin(), pools->items.end(), [](const kube::Object& pool) {
            return api::condition_is_true(pool.json(), api::pool_condition::kUpdated);
          }))
        looked_at.clear();
    }
    if (runtime_.now() > limit)
      return error(Code::kTimeout,
                   "release {} did not reach every node in time; `strake plan` says what each waits for", release);
    STRAKE_CHECK_OK(runtime_.sleep(kLookInterval, stop_));
  }
}

Status SampleJob::check_end() {
  STRAKE_TRY(const auto cluster, rollout::read_cluster_plan(api_, call()));
  std::size_t nodes = 0;
  for (const rollout::PoolPlan& plan : cluster.pools) {
    for (const rollout::NodePlan& node : plan.nodes) {
      ++nodes;
      if (node.node->planned_class == node.node->executed_class) continue;
      return error(Code::kInternal, "node {}: planned was '{}', executed '{}'", node.node->name,
                   node.node->planned_class, node.node->executed_class);
    }
  }
  if (nodes != options_.nodes)
    return error(Code::kInternal, "{} nodes ended in a pool, {} were started", nodes, options_.nodes);
  options_.print(fmt::format("All {} nodes and {} pools ended as planned.", nodes, cluster.pools.size()));
  return {};
}

Status SampleJob::show_boot_images() {
  STRAKE_TRY_CONTEXT(const stream::Stream stream, bootimage::read_cluster_stream(api_, call()),
                     "reading the release's boot image data");
  STRAKE_TRY(const auto samples, bootimage::sample_machine_sets(stream));
  for (const kube::Object& set : samples) {
    const auto created = api_.create(api::kMachineSet, set, {}, call());
    if (!created.ok() && created.error().code() != Code::kExists) return created.error();
  }
  STRAKE_TRY(const kube::ListPage sets, api_.list(api::kMachineSet, "", {}, call()));
  const auto report = bootimage::check_all(sets.items, {}, stream, {});
  options_.print("Boot images of machine sets against this release (strake bootimage check):\n" +
                 bootimage::render_text(report));
  return {};
}

Status SampleJob::pause_pools(bool paused) {
  STRAKE_TRY(const kube::ListPage pools, api_.list(api::kMachineConfigPool, "", {}, call()));
  for (const kube::Object& pool : pools.items) {
    if (api::MachineConfigPoolView(pool.json()).paused() == paused) continue;
    json::Value patch = json::Object{};
    api::MachineConfigPoolEdit(patch).set_paused(paused);
    STRAKE_TRY_CONTEXT(const kube::Object written,
                       api_.patch(api::kMachineConfigPool, pool.key(), kube::PatchType::kMerge, patch, {}, call()),
                       "{} pool {}", paused ? "pausing" : "resuming", pool.name());
  }
  return {};
}

Status SampleJob::show_plan(const std::string& release) {
  const runtime::TimePoint limit = time_limit();
  while (true) {
    STRAKE_TRY(const auto cluster, rollout::read_cluster_plan(api_, call()));
    const bool rendered = std::all_of(cluster.pools.begin(), cluster.pools.end(), [&](const rollout::PoolPlan& plan) {
      return !plan.target.empty() && release_of(plan.target) == release;
    });
    if (rendered) {
      options_.print("Plan (strake plan):\n" + options_.render_plan(cluster));
      return {};
    }
    if (runtime_.now() > limit) return error(Code::kTimeout, "release {} was not rendered in time", release);
    STRAKE_CHECK_OK(runtime_.sleep(kLookInterval, stop_));
  }
}

Status SampleJob::run() {
  STRAKE_CHECK_OK(pause_pools(false));  // a job killed halfway may have left them paused
  STRAKE_CHECK_OK(make_key());
  STRAKE_CHECK_OK(apply(release::SampleRelease::kA, "a"));
  STRAKE_CHECK_OK(wait_for_nodes());
  show_first_configs();
  STRAKE_CHECK_OK(follow(std::string(release::to_string(release::SampleRelease::kA))));
  options_.print("");
  STRAKE_CHECK_OK(pause_pools(true));  // so that the plan is seen before any of it happens
  STRAKE_CHECK_OK(apply(release::SampleRelease::kB, "b"));
  const std::string release_b(release::to_string(release::SampleRelease::kB));
  STRAKE_CHECK_OK(show_plan(release_b));
  STRAKE_CHECK_OK(pause_pools(false));
  options_.print("Pools resumed; the rollout:");
  STRAKE_CHECK_OK(follow(release_b));
  options_.print("");
  STRAKE_CHECK_OK(show_boot_images());
  return check_end();
}

}  // namespace

Status run_sample_job(runtime::Runtime& runtime, kube::KubeApi& api, const SampleJobOptions& options,
                      std::stop_token stop) {
  return SampleJob(runtime, api, options, std::move(stop)).run();
}

}  // namespace strake::controlplane
