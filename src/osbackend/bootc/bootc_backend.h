// The OS of a machine that bootc manages, through its program: argument lists, never a shell line.
//
// bootc changes the image. Kernel arguments it keeps by source, where its version and the machine's ostree know how;
// ours are the source "strake". Packages and other kernels are no business of bootc: they belong into the image.
#pragma once

#include "base/file_tree.h"
#include "base/program_runner.h"
#include "osbackend/bootc/bootc_status.h"
#include "osbackend/kernel_argument_record.h"
#include "osbackend/os_backend.h"
#include "osbackend/retrying_programs.h"

namespace strake::osbackend {

class BootcBackend final : public OsBackend {
 public:
  /// `root` is the machine's root.
  BootcBackend(runtime::Runtime& runtime, ProgramRunner& programs, FileTree& root, RetryPolicy retry = {})
      : runtime_(runtime), programs_(programs), root_(root), retry_(retry) {}

  Result<OsStatus> status(const runtime::Call& call) override;
  Status adopt_kernel_arguments(const std::vector<std::string>& arguments, const runtime::Call& call) override;
  Status stage(const OsTarget& target, const ProgressSink& progress, const runtime::Call& call) override;
  Status drop_staged(const runtime::Call& call) override;
  Status reboot(const std::string& reason, const runtime::Call& call) override;

 private:
  struct Seen {
    BootcStatus bootc;
    OsStatus os;
  };
  Result<BootcStatus> ask(const runtime::Call& call);
  Result<Seen> look(const KernelArgumentRecord& record, const runtime::Call& call);
  Status stage_anew(const Seen& before, const OsTarget& target, KernelArgumentRecord& record,
                    const ProgressSink& progress, const runtime::Call& call);
  Status run(std::vector<std::string> arguments, const runtime::Call& call);
  bool can_set_arguments(const runtime::Call& call);

  runtime::Runtime& runtime_;
  ProgramRunner& programs_;
  FileTree& root_;
  RetryPolicy retry_;
};

}  // namespace strake::osbackend
