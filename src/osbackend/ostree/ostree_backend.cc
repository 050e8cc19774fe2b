#include "osbackend/ostree/ostree_backend.h"

#include <algorithm>

#include "osbackend/kernel_command_line.h"
#include "ostree/import/container_names.h"

namespace strake::osbackend {

namespace {

/// libostree keeps this one itself.
constexpr std::string_view kOwnArgument = "ostree=";

std::vector<std::string> arguments_on(const sysroot::Deployment& deployment) {
  std::vector<std::string> line = split_command_line(deployment.command_line);
  std::erase_if(line, [](const std::string& argument) { return argument.starts_with(kOwnArgument); });
  return line;
}

std::optional<ImageReference> image_of(const sysroot::Deployment& deployment) {
  const auto reference = ostree::read_origin(deployment.origin);
  if (!reference.ok()) return std::nullopt;
  const auto image = ImageReference::of_origin(reference->to_string());
  return image.ok() ? std::optional(*image) : std::nullopt;
}

Deployment described(const sysroot::Deployment& deployment, const KernelArgumentRecord& record) {
  DividedArguments arguments = record.divide(deployment.id, arguments_on(deployment));
  return {.image = image_of(deployment),
          .kernel_arguments = std::move(arguments.ours),
          .machine_arguments = std::move(arguments.machine),
          .kernel_type = KernelType::kDefault,
          .extensions = {}};
}

std::set<std::string> ids_of(const std::vector<sysroot::Deployment>& deployments) {
  std::set<std::string> ids;
  for (const sysroot::Deployment& deployment : deployments) ids.insert(deployment.id);
  return ids;
}

}  // namespace

Result<OstreeBackend::Seen> OstreeBackend::look(const KernelArgumentRecord& record) {
  Seen seen;
  STRAKE_TRY(seen.deployments, sysroot_.deployments());
  STRAKE_TRY(const std::string running, boot_.booted(seen.deployments));
  const auto found = std::ranges::find(seen.deployments, running, &sysroot::Deployment::id);
  if (found == seen.deployments.end()) return error(Code::kNotFound, "there is no deployment {}", running);
  seen.booted = static_cast<std::size_t>(found - seen.deployments.begin());
  seen.os.booted = described(*found, record);
  if (seen.booted > 0) seen.os.staged = described(seen.deployments.front(), record);
  if (seen.booted + 1 < seen.deployments.size())
    seen.os.rollback = described(seen.deployments[seen.booted + 1], record);
  STRAKE_TRY(seen.os.boot_id, boot_.boot_id());
  seen.os.capabilities = {.image = true, .kernel_arguments = true};
  return seen;
}

Result<OsStatus> OstreeBackend::status(const runtime::Call&) {
  STRAKE_TRY(const KernelArgumentRecord record, KernelArgumentRecord::load(root_));
  STRAKE_TRY(Seen seen, look(record));
  return std::move(seen.os);
}

Status OstreeBackend::adopt_kernel_arguments(const std::vector<std::string>& arguments, const runtime::Call&) {
  STRAKE_TRY(KernelArgumentRecord record, KernelArgumentRecord::load(root_));
  if (!record.is_new()) return {};
  STRAKE_TRY(const Seen now, look(record));
  return record.note(now.running().id, divide_arguments(arguments_on(now.running()), arguments).ours,
                     ids_of(now.deployments));
}

Status OstreeBackend::stage(const OsTarget& target, const ProgressSink& progress, const runtime::Call& call) {
  if (target.kernel_type != KernelType::kDefault || !target.extensions.empty()) {
    return error(Code::kUnsupported,
                 "ostree alone installs no packages and no other kernel; build them into the OS image instead");
  }
  STRAKE_TRY(KernelArgumentRecord record, KernelArgumentRecord::load(root_));
  STRAKE_TRY(const Seen before, look(record));
  if (differences(before.os.booted, target).empty()) return before.os.staged ? drop_staged(call) : Status();
  if (before.os.staged && differences(*before.os.staged, target).empty() &&
      record.knows(before.deployments.front().id)) {
    return {};
  }
  if (call.stop.stop_requested()) return error(Code::kCancelled, "staging was stopped before it began");
  DeployableImage image{before.running().commit, before.running().origin};
  if (target.image && before.os.booted.image != target.image) {
    STRAKE_TRY(image, importer_.import(*target.image, sysroot_.repository(), progress, call));
  }
  STRAKE_CHECK_OK(record.begin(before.running().id,
                               {before.os.booted.kernel_arguments, before.os.booted.machine_arguments},
                               target.kernel_arguments));
  if (progress) progress({"deploying", 0, 1});
  sysroot::NewDeployment wanted;
  wanted.stateroot = before.running().stateroot;
  wanted.commit = image.commit;
  wanted.origin = image.origin;
  wanted.kernel_arguments = before.os.booted.machine_arguments;
  wanted.kernel_arguments.insert(wanted.kernel_arguments.end(), target.kernel_arguments.begin(),
                                 target.kernel_arguments.end());
  wanted.merge_from = before.running().id;
  wanted.keep = {before.running().id};
  STRAKE_TRY(const std::string made, sysroot_.deploy(wanted, call));
  STRAKE_CHECK_OK(record.note(made, target.kernel_arguments, {made, before.running().id}));
  if (progress) progress({"deploying", 1, 1});
  return {};
}

Status OstreeBackend::drop_staged(const runtime::Call& call) {
  STRAKE_TRY(const KernelArgumentRecord record, KernelArgumentRecord::load(root_));
  STRAKE_TRY(const Seen now, look(record));
  if (now.booted == 0) return {};
  std::vector<std::string> kept;
  for (std::size_t i = now.booted; i < now.deployments.size(); ++i) kept.push_back(now.deployments[i].id);
  return sysroot_.set_order(kept, call);
}

Status OstreeBackend::reboot(const std::string& reason, const runtime::Call& call) {
  return boot_.restart(reason, call);
}

}  // namespace strake::osbackend
