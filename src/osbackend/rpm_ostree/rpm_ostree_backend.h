// The OS of a machine that rpm-ostree manages, through its program: argument lists, never a shell line.
//
// An update is one pending deployment, made in several calls (image, kernel arguments, kernel, packages) that each
// build on the one before. What fails on the way is dropped again, so the machine boots either the old system or all of
// the new one.
#pragma once

#include "base/file_tree.h"
#include "base/program_runner.h"
#include "osbackend/kernel_argument_record.h"
#include "osbackend/os_backend.h"
#include "osbackend/retrying_programs.h"
#include "osbackend/rpm_ostree/rpm_ostree_status.h"

namespace strake::osbackend {

class RpmOstreeBackend final : public OsBackend {
 public:
  /// `root` is the machine's root.
  RpmOstreeBackend(runtime::Runtime& runtime, ProgramRunner& programs, FileTree& root, RetryPolicy retry = {})
      : runtime_(runtime), programs_(programs), root_(root), retry_(retry) {}

  Result<OsStatus> status(const runtime::Call& call) override;
  Status adopt_kernel_arguments(const std::vector<std::string>& arguments, const runtime::Call& call) override;
  Status stage(const OsTarget& target, const ProgressSink& progress, const runtime::Call& call) override;
  Status drop_staged(const runtime::Call& call) override;
  Status reboot(const std::string& reason, const runtime::Call& call) override;

 private:
  struct Seen {
    RpmOstreeStatus rpm_ostree;
    OsStatus os;
  };
  Result<RpmOstreeStatus> ask(const runtime::Call& call);
  Result<Seen> look(const KernelArgumentRecord& record, const runtime::Call& call);
  Result<std::vector<std::string>> arguments_of(std::size_t index, const runtime::Call& call);
  Result<Deployment> describe(const RpmOstreeStatus& all, std::size_t index, const KernelArgumentRecord& record,
                              const runtime::Call& call);
  Status stage_anew(const Seen& before, const OsTarget& target, KernelArgumentRecord& record,
                    const ProgressSink& progress, const runtime::Call& call);
  Status stage_packages(const Seen& before, const OsTarget& target, bool other_image, const runtime::Call& call);
  Status run(std::vector<std::string> arguments, const runtime::Call& call);

  runtime::Runtime& runtime_;
  ProgramRunner& programs_;
  FileTree& root_;
  RetryPolicy retry_;
};

}  // namespace strake::osbackend
