#include "osbackend/bootc/bootc_backend.h"

#include "osbackend/host_machine.h"
#include "osbackend/kernel_command_line.h"

namespace strake::osbackend {

namespace {

constexpr const char* kBootcProgram = "bootc";
constexpr const char* kArgumentSource = "strake";

std::set<std::string> ids_of(const BootcStatus& status) {
  std::set<std::string> ids;
  for (const auto* entry : {&status.booted, &status.staged, &status.rollback}) {
    if (*entry) ids.insert((*entry)->id);
  }
  return ids;
}

/// bootc does not show what is on the command line of a deployment that does not run: what we noted of it is all there
/// is to know.
Deployment described(const BootcEntry& entry, const KernelArgumentRecord& record) {
  return {.image = entry.image,
          .kernel_arguments = record.of(entry.id),
          .machine_arguments = {},
          .kernel_type = KernelType::kDefault,
          .extensions = {}};
}

}  // namespace

Status BootcBackend::run(std::vector<std::string> arguments, const runtime::Call& call) {
  const bool fetches = arguments.front() == "switch";
  Command command;
  command.argv = std::move(arguments);
  command.argv.insert(command.argv.begin(), kBootcProgram);
  const auto done = output_retrying(programs_, runtime_, command, retry_, [&](const Error&) { return fetches; }, call);
  return done.ok() ? Status() : Status(done.error());
}

/// Asked every time: an update of the image brings another bootc.
bool BootcBackend::can_set_arguments(const runtime::Call& call) {
  Command command;
  command.argv = {kBootcProgram, "loader-entries", "set-options-for-source", "--help"};
  return programs_.output_of(command, call).ok();
}

Result<BootcStatus> BootcBackend::ask(const runtime::Call& call) {
  Command command;
  command.argv = {kBootcProgram, "status", "--json", "--format-version=1"};
  STRAKE_TRY(const std::string text, programs_.output_of(command, call));
  STRAKE_TRY(BootcStatus status, parse_bootc_status(text));
  if (!status.booted || !status.is_bootc_host) {
    return error(Code::kUnsupported,
                 "bootc does not take this machine for one of its own: it was not started from an OS image");
  }
  return status;
}

Result<BootcBackend::Seen> BootcBackend::look(const KernelArgumentRecord& record, const runtime::Call& call) {
  Seen seen;
  STRAKE_TRY(seen.bootc, ask(call));
  seen.os.booted = described(*seen.bootc.booted, record);
  STRAKE_TRY(const std::vector<std::string> line, read_running_arguments(root_));
  DividedArguments arguments = record.divide(seen.bootc.booted->id, line);
  seen.os.booted.kernel_arguments = std::move(arguments.ours);
  seen.os.booted.machine_arguments = std::move(arguments.machine);
  if (seen.bootc.staged) seen.os.staged = described(*seen.bootc.staged, record);
  if (seen.bootc.rollback) seen.os.rollback = described(*seen.bootc.rollback, record);
  STRAKE_TRY(seen.os.boot_id, read_boot_id(root_));
  seen.os.capabilities = {.image = true, .kernel_arguments = can_set_arguments(call)};
  return seen;
}

Result<OsStatus> BootcBackend::status(const runtime::Call& call) {
  STRAKE_TRY(const KernelArgumentRecord record, KernelArgumentRecord::load(root_));
  STRAKE_TRY(Seen seen, look(record, call));
  return std::move(seen.os);
}

Status BootcBackend::adopt_kernel_arguments(const std::vector<std::string>& arguments, const runtime::Call& call) {
  STRAKE_TRY(KernelArgumentRecord record, KernelArgumentRecord::load(root_));
  if (!record.is_new()) return {};
  STRAKE_TRY(const BootcStatus now, ask(call));
  STRAKE_TRY(const std::vector<std::string> line, read_running_arguments(root_));
  return record.note(now.booted->id, divide_arguments(line, arguments).ours, ids_of(now));
}

Status BootcBackend::stage(const OsTarget& target, const ProgressSink& progress, const runtime::Call& call) {
  if (target.kernel_type != KernelType::kDefault || !target.extensions.empty()) {
    return error(Code::kUnsupported,
                 "bootc installs no packages and no other kernel; build them into the OS image instead");
  }
  STRAKE_TRY(KernelArgumentRecord record, KernelArgumentRecord::load(root_));
  STRAKE_TRY(const Seen before, look(record, call));
  if (differences(before.os.booted, target).empty()) return before.os.staged ? drop_staged(call) : Status();
  if (before.os.staged && differences(*before.os.staged, target).empty() && record.knows(before.bootc.staged->id))
    return {};
  if (before.bootc.booted->incompatible) {
    return error(Code::kUnsupported,
                 "rpm-ostree has changed what this machine runs, so bootc will not update it; run 'rpm-ostree reset' "
                 "on it, or let rpm-ostree manage it");
  }
  if (call.stop.stop_requested()) return error(Code::kCancelled, "staging was stopped before it began");
  Status staged = stage_anew(before, target, record, progress, call);
  if (staged.ok()) return {};
  // The caller may have been told to stop or be out of time; half an update must not boot all the same.
  const Status dropped = drop_staged(runtime_.call_within(std::chrono::minutes(5)));
  if (dropped.ok()) return staged;
  return Status(staged.error())
      .context("half of the update is still staged ({}): run 'ostree admin undeploy 0' on the machine",
               dropped.error().to_string());
}

Status BootcBackend::stage_anew(const Seen& before, const OsTarget& target, KernelArgumentRecord& record,
                                const ProgressSink& progress, const runtime::Call& call) {
  constexpr std::uint64_t kParts = 3;
  const auto tell = [&](const char* doing, std::uint64_t done) {
    if (progress) progress({doing, done, kParts});
  };
  const bool other_arguments = !change_arguments(before.os.booted.kernel_arguments, target.kernel_arguments).empty();
  if (other_arguments && !before.os.capabilities.kernel_arguments) {
    return error(Code::kUnsupported,
                 "this machine's bootc cannot keep kernel arguments by source; put them into the image "
                 "(/usr/lib/bootc/kargs.d), or update the image to one with a bootc that can");
  }
  STRAKE_CHECK_OK(record.begin(before.bootc.booted->id,
                               {before.os.booted.kernel_arguments, before.os.booted.machine_arguments},
                               target.kernel_arguments));
  // Not on top of what somebody staged before: its arguments are not known.
  if (before.os.staged) STRAKE_CHECK_OK(drop_staged(call));
  tell("pulling the OS image", 0);
  if (target.image && before.os.booted.image != target.image)
    STRAKE_CHECK_OK(run({"switch", "--quiet", "--transport=registry", target.image->to_string()}, call));
  tell("setting kernel arguments", 1);
  if (other_arguments) {
    std::vector<std::string> set{"loader-entries", "set-options-for-source",
                                 fmt::format("--source={}", kArgumentSource)};
    // Without options the source ends.
    if (!target.kernel_arguments.empty())
      set.push_back(fmt::format("--options={}", fmt::join(target.kernel_arguments, " ")));
    STRAKE_CHECK_OK(run(std::move(set), call));
  }
  tell("looking at what will boot", 2);
  STRAKE_TRY(const BootcStatus after, ask(call));
  if (!after.staged) {
    return error(Code::kIo,
                 "bootc did all it was asked for, and nothing is staged; 'journalctl -b' on the machine says more");
  }
  if (target.image && after.staged->image != target.image) {
    return error(Code::kIo, "bootc staged {} instead of {}",
                 after.staged->image ? after.staged->image->to_string() : "no image", target.image->to_string());
  }
  STRAKE_CHECK_OK(record.note(after.staged->id, target.kernel_arguments, ids_of(after)));
  tell("staged", kParts);
  return {};
}

Status BootcBackend::drop_staged(const runtime::Call& call) {
  STRAKE_TRY(const BootcStatus now, ask(call));
  if (!now.staged) return {};
  // bootc has no word for it. What is staged is the first deployment of the list.
  Command command;
  command.argv = {"ostree", "admin", "undeploy", "0"};
  const auto dropped = programs_.output_of(command, call);
  return dropped.ok() ? Status() : Status(dropped.error());
}

Status BootcBackend::reboot(const std::string& reason, const runtime::Call& call) {
  STRAKE_TRY(const BootcStatus now, ask(call));
  return restart_machine(programs_, reason, now.staged.has_value(), call);
}

}  // namespace strake::osbackend
