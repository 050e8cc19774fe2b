// Runs steps on the machine. All it knows is how to run one; which and in which order is the plan's business.
#pragma once

#include <functional>
#include <vector>

#include "agent/steps.h"
#include "base/file_tree.h"
#include "base/runtime.h"
#include "osbackend/os_backend.h"

namespace strake::agent {

class Executor {
 public:
  Executor(FileTree& tree, osbackend::OsBackend& os) : tree_(tree), os_(os) {}

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
  Status run_one(const StageOs& step, const runtime::Call& call) { return os_.stage(step.target, {}, call); }
  Status run_one(const Reboot& step, const runtime::Call& call) { return os_.reboot(step.reason, call); }

  FileTree& tree_;
  osbackend::OsBackend& os_;
};

}  // namespace strake::agent
