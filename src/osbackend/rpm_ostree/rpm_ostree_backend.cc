#include "osbackend/rpm_ostree/rpm_ostree_backend.h"

#include <algorithm>

#include "api/os_packages.h"
#include "osbackend/host_machine.h"
#include "osbackend/kernel_command_line.h"

namespace strake::osbackend {

namespace {

constexpr const char* kRpmOstreeProgram = "rpm-ostree";
/// The digest in the name is what is verified: it chains to the release.
constexpr std::string_view kRegistryOrigin = "ostree-unverified-registry:";

Capabilities rpm_ostree_capabilities() {
  return {.image = true,
          .kernel_arguments = true,
          .extensions = true,
          .kernel_types = {KernelType::kDefault, KernelType::kRealtime, KernelType::k64kPages}};
}

std::span<const std::string_view> packages_of(KernelType type) {
  switch (type) {
    case KernelType::kDefault: break;
    case KernelType::kRealtime: return api::realtime_kernel_packages();
    case KernelType::k64kPages: return api::large_page_kernel_packages();
  }
  return {};
}

void add_options(std::vector<std::string>& arguments, std::string_view option,
                 std::span<const std::string_view> values) {
  for (const std::string_view value : values) arguments.push_back(fmt::format("{}={}", option, value));
}

/// rpm-ostree does one thing at a time, whoever asked for it.
bool is_busy(const Error& error) { return error.to_string().find("Transaction in progress") != std::string::npos; }

std::set<std::string> ids_of(const RpmOstreeStatus& status) {
  std::set<std::string> ids;
  for (const RpmOstreeDeployment& deployment : status.deployments) ids.insert(deployment.id);
  return ids;
}

}  // namespace

Status RpmOstreeBackend::run(std::vector<std::string> arguments, const runtime::Call& call) {
  // Fetching is worth another attempt whatever the reason; for the rest only a busy daemon is.
  const bool fetches =
      arguments.front() == "rebase" || arguments.front() == "update" || arguments.front() == "override";
  Command command;
  command.argv = std::move(arguments);
  command.argv.insert(command.argv.begin(), kRpmOstreeProgram);
  const auto done = output_retrying(
      programs_, runtime_, command, retry_, [&](const Error& failure) { return fetches || is_busy(failure); }, call);
  return done.ok() ? Status() : Status(done.error());
}

Result<RpmOstreeStatus> RpmOstreeBackend::ask(const runtime::Call& call) {
  Command command;
  command.argv = {kRpmOstreeProgram, "status", "--json"};
  STRAKE_TRY(const std::string text, programs_.output_of(command, call));
  return parse_rpm_ostree_status(text);
}

Result<std::vector<std::string>> RpmOstreeBackend::arguments_of(std::size_t index, const runtime::Call& call) {
  Command command;
  command.argv = {kRpmOstreeProgram, "kargs", fmt::format("--deploy-index={}", index)};
  STRAKE_TRY(const std::string line, programs_.output_of(command, call));
  return split_command_line(line);
}

Result<Deployment> RpmOstreeBackend::describe(const RpmOstreeStatus& all, std::size_t index,
                                              const KernelArgumentRecord& record, const runtime::Call& call) {
  const RpmOstreeDeployment& from = all.deployments[index];
  STRAKE_TRY(const std::vector<std::string> line, arguments_of(index, call));
  DividedArguments arguments = record.divide(from.id, line);
  return Deployment{.image = from.image,
                    .kernel_arguments = std::move(arguments.ours),
                    .machine_arguments = std::move(arguments.machine),
                    .kernel_type = from.kernel_type(),
                    .extensions = from.extensions()};
}

Result<RpmOstreeBackend::Seen> RpmOstreeBackend::look(const KernelArgumentRecord& record, const runtime::Call& call) {
  Seen seen;
  STRAKE_TRY(seen.rpm_ostree, ask(call));
  STRAKE_TRY(seen.os.booted, describe(seen.rpm_ostree, seen.rpm_ostree.booted, record, call));
  if (const auto index = seen.rpm_ostree.pending) {
    STRAKE_TRY(seen.os.staged, describe(seen.rpm_ostree, *index, record, call));
  }
  if (const auto index = seen.rpm_ostree.rollback) {
    STRAKE_TRY(seen.os.rollback, describe(seen.rpm_ostree, *index, record, call));
  }
  STRAKE_TRY(seen.os.boot_id, read_boot_id(root_));
  seen.os.capabilities = rpm_ostree_capabilities();
  return seen;
}

Result<OsStatus> RpmOstreeBackend::status(const runtime::Call& call) {
  STRAKE_TRY(const KernelArgumentRecord record, KernelArgumentRecord::load(root_));
  STRAKE_TRY(Seen seen, look(record, call));
  return std::move(seen.os);
}

Status RpmOstreeBackend::adopt_kernel_arguments(const std::vector<std::string>& arguments, const runtime::Call& call) {
  STRAKE_TRY(KernelArgumentRecord record, KernelArgumentRecord::load(root_));
  if (!record.is_new()) return {};
  STRAKE_TRY(const RpmOstreeStatus now, ask(call));
  STRAKE_TRY(const std::vector<std::string> line, arguments_of(now.booted, call));
  return record.note(now.deployments[now.booted].id, divide_arguments(line, arguments).ours, ids_of(now));
}

Status RpmOstreeBackend::stage(const OsTarget& target, const ProgressSink& progress, const runtime::Call& call) {
  STRAKE_TRY(KernelArgumentRecord record, KernelArgumentRecord::load(root_));
  STRAKE_TRY(const Seen before, look(record, call));
  if (differences(before.os.booted, target).empty()) return before.os.staged ? drop_staged(call) : Status();
  if (before.os.staged && differences(*before.os.staged, target).empty() &&
      record.knows(before.rpm_ostree.deployments[*before.rpm_ostree.pending].id)) {
    return {};
  }
  if (call.stop.stop_requested()) return error(Code::kCancelled, "staging was stopped before it began");
  Status staged = stage_anew(before, target, record, progress, call);
  if (staged.ok()) return {};
  // The caller may have been told to stop or be out of time; half an update must not boot all the same.
  const Status dropped = run({"cleanup", "-p"}, runtime_.call_within(std::chrono::minutes(5)));
  if (dropped.ok()) return staged;
  return Status(staged.error())
      .context("half of the update is still pending ({}): run 'rpm-ostree cleanup -p' on the machine",
               dropped.error().to_string());
}

Status RpmOstreeBackend::stage_anew(const Seen& before, const OsTarget& target, KernelArgumentRecord& record,
                                    const ProgressSink& progress, const runtime::Call& call) {
  constexpr std::uint64_t kParts = 4;
  const auto tell = [&](const char* doing, std::uint64_t done) {
    if (progress) progress({doing, done, kParts});
  };
  const std::string& booted_id = before.rpm_ostree.deployments[before.rpm_ostree.booted].id;
  STRAKE_CHECK_OK(record.begin(booted_id, {before.os.booted.kernel_arguments, before.os.booted.machine_arguments},
                               target.kernel_arguments));
  STRAKE_CHECK_OK(run({"cleanup", "-p"}, call));
  const bool other_image = target.image && before.os.booted.image != target.image;
  const bool other_kernel = before.os.booted.kernel_type != target.kernel_type;
  if (const auto old = packages_of(before.os.booted.kernel_type); !old.empty() && (other_image || other_kernel)) {
    // The kernel of the image has to be back before the image under it changes.
    std::vector<std::string> reset{"override", "reset"};
    for (const std::string_view name : api::default_kernel_packages()) reset.emplace_back(name);
    add_options(reset, "--uninstall", old);
    STRAKE_CHECK_OK(run(std::move(reset), call));
  }
  tell("pulling the OS image", 0);
  if (other_image) {
    STRAKE_CHECK_OK(
        run({"rebase", "--experimental", fmt::format("{}{}", kRegistryOrigin, target.image->to_string())}, call));
  }
  tell("setting kernel arguments", 1);
  const ArgumentChange change = change_arguments(before.os.booted.kernel_arguments, target.kernel_arguments);
  if (!change.empty()) {
    std::vector<std::string> kargs{"kargs"};
    for (const std::string& argument : change.remove) kargs.push_back("--delete-if-present=" + argument);
    for (const std::string& argument : change.append) kargs.push_back("--append=" + argument);
    STRAKE_CHECK_OK(run(std::move(kargs), call));
  }
  tell("installing packages", 2);
  STRAKE_CHECK_OK(stage_packages(before, target, other_image, call));
  tell("looking at what will boot", 3);
  STRAKE_TRY(const RpmOstreeStatus made, ask(call));
  if (!made.pending) {
    return error(Code::kIo,
                 "rpm-ostree did all it was asked for, and nothing is pending; 'journalctl -u rpm-ostreed' on the "
                 "machine says more");
  }
  STRAKE_CHECK_OK(record.note(made.deployments[*made.pending].id, target.kernel_arguments, ids_of(made)));
  STRAKE_TRY(const Deployment next, describe(made, *made.pending, record, call));
  std::vector<std::string> wrong = differences(next, target);
  if (!change_arguments(next.machine_arguments, before.os.booted.machine_arguments).empty()) {
    wrong.push_back(fmt::format("of the machine's own kernel arguments there are [{}] instead of [{}]",
                                fmt::join(next.machine_arguments, " "),
                                fmt::join(before.os.booted.machine_arguments, " ")));
  }
  if (!wrong.empty())
    return error(Code::kIo, "what rpm-ostree made is not what was asked for: {}", fmt::join(wrong, "; "));
  tell("staged", kParts);
  return {};
}

Status RpmOstreeBackend::stage_packages(const Seen& before, const OsTarget& target, bool other_image,
                                        const runtime::Call& call) {
  const bool other_kernel = before.os.booted.kernel_type != target.kernel_type;
  if (const auto wanted = packages_of(target.kernel_type); !wanted.empty() && (other_kernel || other_image)) {
    std::vector<std::string> replace{"override", "remove"};
    for (const std::string_view name : api::default_kernel_packages()) replace.emplace_back(name);
    add_options(replace, "--install", wanted);
    STRAKE_CHECK_OK(run(std::move(replace), call));
  }
  const RpmOstreeDeployment& booted = before.rpm_ostree.deployments[before.rpm_ostree.booted];
  std::vector<std::string_view> missing, superfluous;
  for (const std::string& name : target.extensions) {
    const api::Extension* extension = api::find_extension(name);
    if (extension == nullptr) return error(Code::kInvalidArgument, "there is no extension '{}'", name);
    for (const std::string_view package : extension->packages) {
      if (!booted.has_package(package)) missing.push_back(package);
    }
  }
  // Only packages of extensions are ours to remove: an administrator may have layered others.
  for (const api::Extension& extension : api::known_extensions()) {
    if (std::ranges::find(target.extensions, extension.name) != target.extensions.end()) continue;
    for (const std::string_view package : extension.packages) {
      if (booted.has_package(package)) superfluous.push_back(package);
    }
  }
  if (missing.empty() && superfluous.empty()) return {};
  std::vector<std::string> update{"update"};
  add_options(update, "--install", missing);
  add_options(update, "--uninstall", superfluous);
  return run(std::move(update), call);
}

Status RpmOstreeBackend::drop_staged(const runtime::Call& call) {
  STRAKE_TRY(const RpmOstreeStatus now, ask(call));
  return now.pending ? run({"cleanup", "-p"}, call) : Status();
}

Status RpmOstreeBackend::reboot(const std::string& reason, const runtime::Call& call) {
  STRAKE_TRY(const RpmOstreeStatus now, ask(call));
  const bool staged = now.pending && now.deployments[*now.pending].staged;
  return restart_machine(programs_, reason, staged, call);
}

}  // namespace strake::osbackend
