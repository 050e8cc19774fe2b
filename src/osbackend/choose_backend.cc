#include "osbackend/choose_backend.h"

#include "osbackend/bootc/bootc_status.h"

namespace strake::osbackend {

namespace {

const std::string kStartedByOstreePath = "/run/ostree-booted";

/// kCancelled and kTimeout are the caller's; all else says something about the program.
Result<std::optional<ProcessOutput>> try_program(ProgramRunner& programs, std::vector<std::string> argv,
                                                 const runtime::Call& call) {
  Command command;
  command.argv = std::move(argv);
  Result<ProcessOutput> output = programs.run(command, call);
  if (output.ok()) return std::optional(*std::move(output));
  if (output.error().code() == Code::kNotFound) return std::optional<ProcessOutput>();
  return output.error();
}

void note_bootc(const ProcessOutput& output, HostFacts& host) {
  if (!output.exit.success()) {
    host.why_bootc_cannot = fmt::format("'bootc status' {}", to_string(output.exit));
    return;
  }
  const auto status = parse_bootc_status(output.stdout_bytes);
  if (!status.ok()) {
    host.why_bootc_cannot = status.error().to_string();
  } else if (!status->is_bootc_host || !status->booted) {
    host.why_bootc_cannot = "bootc does not take this machine for one of its own";
  } else if (status->booted->incompatible) {
    host.why_bootc_cannot = "rpm-ostree has changed what the machine runs";
  } else {
    host.bootc_can_go_on = true;
  }
}

}  // namespace

std::string_view to_string(BackendKind kind) {
  switch (kind) {
    case BackendKind::kNone: return "none";
    case BackendKind::kRpmOstree: return "rpm-ostree";
    case BackendKind::kBootc: return "bootc";
  }
  return "unknown";
}

BackendChoice choose_backend(const HostFacts& host, bool prefer_bootc) {
  if (!host.started_by_ostree)
    return {BackendKind::kNone, "this machine was not started by ostree (there is no /run/ostree-booted)"};
  if (host.bootc_can_go_on && (prefer_bootc || !host.has_rpm_ostree)) return {BackendKind::kBootc, ""};
  const std::string why_not_bootc = host.has_bootc ? host.why_bootc_cannot : "bootc is not installed";
  if (host.has_rpm_ostree)
    return {BackendKind::kRpmOstree, prefer_bootc ? fmt::format("rpm-ostree instead of bootc: {}", why_not_bootc) : ""};
  return {BackendKind::kNone, fmt::format("rpm-ostree is not installed, and {}", why_not_bootc)};
}

Result<HostFacts> look_at_host(FileTree& root, ProgramRunner& programs, const runtime::Call& call) {
  HostFacts host;
  STRAKE_TRY(const auto started, root.read(kStartedByOstreePath));
  host.started_by_ostree = started.has_value();
  STRAKE_TRY(const auto rpm_ostree, try_program(programs, {"rpm-ostree", "--version"}, call));
  host.has_rpm_ostree = rpm_ostree && rpm_ostree->exit.success();
  STRAKE_TRY(const auto bootc, try_program(programs, {"bootc", "status", "--json", "--format-version=1"}, call));
  host.has_bootc = bootc.has_value();
  if (bootc) note_bootc(*bootc, host);
  return host;
}

}  // namespace strake::osbackend
