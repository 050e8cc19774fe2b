#include "agent/executor.h"

namespace strake::agent {

Status Executor::run(const Step& step, const runtime::Call& call) {
  const Status done = std::visit([&](const auto& each) { return run_one(each, call); }, step);
  if (done.ok()) return {};
  return Error(done.error()).context(to_string(step));
}

Status Executor::run_one(const RemoveFolder& step, const runtime::Call&) {
  if (step.keep_if_used) {
    STRAKE_TRY(const auto names, tree_.list(step.path));
    if (!names.empty()) return {};
  }
  return tree_.remove_folder(step.path);
}

Status Executor::run_one(const TellService& step, const runtime::Call& call) {
  switch (step.what) {
    case TellService::What::kReadUnits: return services_.read_units(call);
    case TellService::What::kReload: STRAKE_CHECK_OK(services_.reload(step.unit, call)); break;
    case TellService::What::kRestart: STRAKE_CHECK_OK(services_.restart(step.unit, call)); break;
  }
  // A service may accept and fail a moment later; one that is still starting is given the benefit of the doubt.
  STRAKE_TRY(const osbackend::ServiceState state, services_.state(step.unit, call));
  if (state != osbackend::ServiceState::kFailed) return {};
  return error(Code::kIo, "{} failed after it was told so; on the machine 'journalctl -u {}' says why", step.unit,
               step.unit);
}

Result<FileStates> Executor::look_at(const FileStates& paths) {
  FileStates states;
  for (const auto& [path, wanted] : paths) {
    for (const std::string& folder : folders_above(path)) {
      if (states.contains(folder)) continue;
      STRAKE_TRY(states[folder], tree_.read(folder));
    }
    STRAKE_TRY(states[path], tree_.read(path));
  }
  return states;
}

}  // namespace strake::agent
