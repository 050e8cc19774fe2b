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
