#include "osbackend/ostree/boot_state.h"

#include <algorithm>

#include "codec/json.h"
#include "osbackend/host_machine.h"

namespace strake::osbackend {

Result<std::string> MachineBootState::booted(const std::vector<sysroot::Deployment>& deployments) {
  const auto running = std::ranges::find_if(deployments, &sysroot::Deployment::booted);
  if (running != deployments.end()) return running->id;
  return error(Code::kUnsupported, "this machine was not started from a deployment of its own sysroot");
}

Result<std::string> MachineBootState::boot_id() { return read_boot_id(root_); }

Status MachineBootState::restart(const std::string& reason, const runtime::Call& call) {
  // Deployments are written at once, so there is nothing to wait for on the way down.
  return restart_machine(programs_, reason, false, call);
}

Result<SandboxBootState::Record> SandboxBootState::load() {
  STRAKE_TRY_CONTEXT(const auto file, tree_.read(kPath), "reading what the sandbox runs");
  if (!file) return error(Code::kNotFound, "this sandboxed machine was never started");
  const auto value = json::parse(file->contents);
  const auto booted = value.ok() ? json::find_string(*value, {"booted"}) : std::nullopt;
  const auto boots = value.ok() ? json::find_int(*value, {"boots"}) : std::nullopt;
  if (!booted || !boots || *boots < 0) {
    return error(Code::kCorrupt,
                 "{}, which says what this sandboxed machine runs, is damaged; delete the machine's folder to have it "
                 "installed anew",
                 kPath);
  }
  return Record{*booted, static_cast<std::uint64_t>(*boots)};
}

Result<std::string> SandboxBootState::booted(const std::vector<sysroot::Deployment>& deployments) {
  STRAKE_TRY(const Record record, load());
  const bool there = std::ranges::find(deployments, record.booted, &sysroot::Deployment::id) != deployments.end();
  if (there) return record.booted;
  return error(Code::kCorrupt, "deployment {}, which this sandboxed machine runs, is gone from its sysroot",
               record.booted);
}

Result<std::string> SandboxBootState::boot_id() {
  STRAKE_TRY(const Record record, load());
  return fmt::format("boot-{}", record.boots);
}

Status SandboxBootState::boot(const std::vector<sysroot::Deployment>& deployments) {
  if (deployments.empty()) return error(Code::kNotFound, "the boot loader of this sandboxed machine offers nothing");
  const auto before = load();
  if (!before.ok() && before.error().code() != Code::kNotFound) return before.error();
  json::Object record;
  record["booted"] = deployments.front().id;
  record["boots"] = before.ok() ? before->boots + 1 : 1;
  return tree_.write(kPath, json::write_pretty(record), 0600, {});
}

}  // namespace strake::osbackend
