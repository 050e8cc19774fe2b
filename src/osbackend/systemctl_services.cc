#include "osbackend/systemctl_services.h"

#include "base/text.h"
#include "base/unit_name.h"

namespace strake::osbackend {

namespace {

Command systemctl(std::vector<std::string> arguments) {
  Command command;
  command.argv = {"systemctl", "--no-pager", "--no-ask-password"};
  command.argv.insert(command.argv.end(), std::make_move_iterator(arguments.begin()),
                      std::make_move_iterator(arguments.end()));
  return command;
}

Status check_unit_name(const std::string& unit) {
  if (is_unit_name(unit)) return {};
  return error(Code::kInvalidArgument, "'{}' is not the name of a unit; write it with its suffix, as in crio.service",
               unit);
}

}  // namespace

Status SystemctlServices::read_units(const runtime::Call& call) {
  const auto done = programs_.output_of(systemctl({"daemon-reload"}), call);
  return done.ok() ? Status() : Status(done.error());
}

Status SystemctlServices::act(const std::string& verb, const std::string& unit, const runtime::Call& call) {
  STRAKE_CHECK_OK(check_unit_name(unit));
  const auto done = programs_.output_of(systemctl({verb, "--", unit}), call);
  if (done.ok()) return {};
  return error(done.error().code(), "{}; on the machine 'journalctl -u {}' says more", done.error().to_string(), unit);
}

Status SystemctlServices::reload(const std::string& unit, const runtime::Call& call) {
  return act("reload", unit, call);
}

Status SystemctlServices::restart(const std::string& unit, const runtime::Call& call) {
  return act("restart", unit, call);
}

/// `is-active` says it in a word; its exit status only tells active from the rest.
Result<ServiceState> SystemctlServices::state(const std::string& unit, const runtime::Call& call) {
  STRAKE_CHECK_OK(check_unit_name(unit));
  const Command command = systemctl({"is-active", "--", unit});
  STRAKE_TRY(const ProcessOutput output, programs_.run(command, call));
  const std::string_view word = trimmed(output.stdout_bytes);
  if (word == "active" || word == "reloading") return ServiceState::kActive;
  if (word == "inactive" || word == "unknown") return ServiceState::kInactive;
  if (word == "failed") return ServiceState::kFailed;
  if (word == "activating" || word == "deactivating" || word == "maintenance") return ServiceState::kChanging;
  STRAKE_CHECK_OK(check_exit(command, output));
  return error(Code::kIo, "systemctl is-active {} answered '{}', which is no state it knows", unit, word.substr(0, 80));
}

}  // namespace strake::osbackend
