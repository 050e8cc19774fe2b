#include "cmd/input/diff_sides.h"

#include <algorithm>
#include <filesystem>

#include "api/kinds.h"
#include "api/machine_config.h"
#include "base/text.h"
#include "cmd/input/config_set.h"
#include "cmd/input/connection.h"
#include "cmd/input/text_input.h"

namespace strake::cmd {

namespace {

bool is_rendered(const kube::ObjectPtr& config) { return config && !pool_of_rendered(config->name()).empty(); }

/// One MachineConfig; beside it nothing that a cluster makes others of, unless it is rendered already.
bool stands_for_itself(const machineconfig::ConfigSet& set) {
  if (set.configs.size() != 1 || !set.pools.empty()) return false;
  return is_rendered(set.configs.front()) || (set.generators.empty() && set.mirror_policies.empty());
}

/// "50-site" is a MachineConfig; of other kinds "KubeletConfig/max-pods", "pool/infra".
Status leave_out(machineconfig::ConfigSet& set, const std::string& what) {
  const std::size_t slash = what.find('/');
  std::string kind = slash == std::string::npos ? api::kMachineConfig.kind : what.substr(0, slash);
  if (equal_ignoring_case(kind, "pool")) kind = api::kMachineConfigPool.kind;
  const std::string name = slash == std::string::npos ? what : what.substr(slash + 1);
  if (set.remove(kind, name)) return {};
  return error(Code::kNotFound, "--without {}: there is no such {}", what, kind).with_verdict(Verdict::kAbsent);
}

}  // namespace

std::string pool_of_rendered(const std::string& name) {
  const std::size_t hash = name.rfind('-');
  if (!name.starts_with(api::kRenderedPrefix) || hash < api::kRenderedPrefix.size()) return "";
  return name.substr(api::kRenderedPrefix.size(), hash - api::kRenderedPrefix.size());
}

Result<DiffSides> DiffInput::read() {
  const std::string &a = invocation_.value("A"), &b = invocation_.value("B");
  const bool changes = !invocation_.list("with").empty() || !invocation_.list("without").empty();
  if (changes == !b.empty()) {
    return error(Code::kInvalidArgument,
                 "give A and B, or --with PATH and --without NAME (with or without A); see `strake diff --help`");
  }
  if (changes) {
    STRAKE_TRY(DiffSide before, a.empty() ? read_cluster() : read_operand(a, Which::kBefore));
    if (!a.empty()) {
      STRAKE_TRY(before.set, with_image_options(std::move(before.set), invocation_));
    }
    STRAKE_TRY(DiffSides sides, changed(std::move(before)));
    return with_generated_configs(std::move(sides));
  }
  DiffSides sides;
  STRAKE_TRY(sides.before, read_operand(a, Which::kBefore));
  STRAKE_TRY(sides.after, read_operand(b, Which::kAfter));
  STRAKE_CHECK_OK(settle_forms(sides));
  return with_generated_configs(std::move(sides));
}

Error DiffSide::placed(Error failure) const {
  // The last file that has an object is the one it is from.
  for (auto source = sources.rbegin(); source != sources.rend(); ++source) {
    const std::size_t contexts = failure.contexts().size();
    failure = with_place(std::move(failure), set.configs, *source);
    if (failure.contexts().size() > contexts) break;
  }
  return failure;
}

/// What a cluster holds has them already, made by whoever manages it.
Result<DiffSides> DiffInput::with_generated_configs(DiffSides sides) {
  if (!invocation_.is_set(kGeneratedOption.name)) return sides;
  if (!sides.before.single && !before_is_cluster_) {
    machineconfig::GeneratedSet made = made_if_asked(std::move(sides.before.set), invocation_);
    for (const Error& refusal : made.refusals) invocation_.out().warn(fmt::format("before: {}", refusal.to_string()));
    sides.before.set = std::move(made.set);
  }
  if (!sides.after.single) {
    STRAKE_TRY_CONTEXT(sides.after.set, with_generated_option(std::move(sides.after.set), invocation_), "after");
  }
  return sides;
}

kube::Call DiffInput::call() { return cluster_call(runtime_, invocation_); }

Result<DiffSide> DiffInput::read_operand(const std::string& operand, Which which) {
  std::error_code failure;
  if (operand == kStandardInputPath || std::filesystem::exists(operand, failure)) return read_files(operand, which);
  if (operand.find('/') != std::string::npos || !operand.starts_with(api::kRenderedPrefix)) {
    return error(Code::kNotFound, "{}: there is no such file or directory, and it is not the name of a rendered config",
                 operand);
  }
  STRAKE_TRY(kube::KubeApi * api, cluster());
  STRAKE_TRY_CONTEXT(kube::Object config, api->get(api::kMachineConfig, {"", operand}, call()),
                     "reading MachineConfig {} from the cluster", operand);
  DiffSide side;
  side.single = std::make_shared<const kube::Object>(std::move(config));
  auto policy = api->get(api::kMachineConfiguration, {"", std::string(api::kMachineConfigurationName)}, call());
  if (!policy.ok() && policy.error().code() != Code::kNotFound) return policy.error();
  if (policy.ok()) side.set.machine_configuration = std::make_shared<const kube::Object>(*std::move(policy));
  return side;
}

Result<DiffSide> DiffInput::read_cluster() {
  STRAKE_TRY(kube::KubeApi * api, cluster());
  DiffSide side;
  STRAKE_TRY(side.set, read_config_cluster(*api, call()));
  STRAKE_CHECK_OK(read_platform_settings(*api, side.set, call()));
  before_is_cluster_ = true;
  return side;
}

Result<DiffSide> DiffInput::read_files(const std::string& path, Which which) {
  // A side without anything is the state before the first MachineConfig, or after the last.
  ConfigInputOptions options{
      .may_be_empty = true, .recursive = invocation_.is_set("recursive"), .files_dir = invocation_.value("files-dir")};
  options.last_of_duplicate_keys_counts = which == Which::kBefore;
  STRAKE_TRY(ConfigFiles files, read_config_files(path, options));
  for (const std::string& note : files.notes) invocation_.out().warn(note);
  DiffSide side;
  if (stands_for_itself(files.set)) side.single = files.set.configs.front();
  side.set = std::move(files.set);
  side.sources.push_back(std::move(files.sources));
  return side;
}

/// What is changed is always a set, even when it is one MachineConfig.
Result<DiffSides> DiffInput::changed(DiffSide before) {
  before.single = nullptr;
  DiffSides sides{before, std::move(before)};
  const ConfigInputOptions options{.recursive = invocation_.is_set("recursive"),
                                   .files_dir = invocation_.value("files-dir")};
  for (const std::string& path : invocation_.list("with")) {
    STRAKE_TRY(const ConfigFiles added, read_config_files(path, options));
    for (const std::string& note : added.notes) invocation_.out().warn(note);
    sides.after.set.lay_over(added.set);
    sides.after.sources.push_back(added.sources);
  }
  for (const std::string& what : invocation_.list("without")) STRAKE_CHECK_OK(leave_out(sides.after.set, what));
  return sides;
}

/// One MachineConfig beside a set is one of a set too, unless it was rendered for a pool; and so are two of which pools
/// would choose in another way.
Status DiffInput::settle_forms(DiffSides& sides) {
  const auto& [before, after] = sides;
  const bool chosen_alike = before.single && after.single &&
                            (is_rendered(before.single) || before.single->labels() == after.single->labels());
  for (DiffSide* side : {&sides.before, &sides.after}) {
    if (chosen_alike || is_rendered(side->single)) continue;
    const bool named_pool = side->single && !invocation_.value("pool").empty();
    const DiffSide& other = side == &sides.before ? sides.after : sides.before;
    if (named_pool && !other.single) continue;
    side->single = nullptr;
    STRAKE_TRY(side->set, with_image_options(std::move(side->set), invocation_));
  }
  return {};
}

Result<kube::KubeApi*> DiffInput::cluster() {
  if (!api_) {
    STRAKE_TRY(api_, connect(runtime_, invocation_));
  }
  return api_.get();
}

}  // namespace strake::cmd
