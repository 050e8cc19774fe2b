// Runs steps on the machine. All it knows is how to run one; which and in which order is the plan's business.
#pragma once

#include <functional>
#include <vector>

#include "agent/steps.h"
#include "base/file_tree.h"
#include "base/progress.h"
#include "base/runtime.h"
#include "osbackend/os_backend.h"
#include "osbackend/service_manager.h"

namespace strake::agent {

class Executor {
 public:
  /// `progress` may be empty.
  Executor(FileTree& tree, osbackend::OsBackend& os, osbackend::ServiceManager& services, ProgressSink progress = {})
      : tree_(tree), os_(os), services_(services), progress_(std::move(progress)) {}

  Status run(const Step& step, const runtime::Call& call);

  /// What is at these paths and at the folders above them.
  Result<FileStates> look_at(const FileStates& paths);

 private:
  Status run_one(const MakeFolder& step, const runtime::Call&) { return tree_.make_folder(step.path); }
  Status run_one(const WriteFile& step, const runtime::Call&) {
    return tree_.write(step.path, step.contents, step.mode, step.owner);
  }
  Status run_one(const WriteLink& step, const runtime::Call&) { return tree_.write_link(step.path, step.target); }
  Status run_one(const RemoveFile& step, const runtime::Call&) { return tree_.remove(step.path); }
  Status run_one(const RemoveFolder& step, const runtime::Call&);
  Status run_one(const StageOs& step, const runtime::Call& call) { return os_.stage(step.target, progress_, call); }
  Status run_one(const TellService& step, const runtime::Call& call);
  Status run_one(const Reboot& step, const runtime::Call& call) { return os_.reboot(step.reason, call); }

  FileTree& tree_;
  osbackend::OsBackend& os_;
  osbackend::ServiceManager& services_;
  ProgressSink progress_;
};

}  // namespace strake::agent
