// The OS of a machine with an ostree sysroot and no other program to manage it: images imported by us, deployments
// through libostree.
//
// An update is one deployment, image and kernel arguments together, written at once and first in the boot loader's
// list; the one that runs stays behind it as the way back.
#pragma once

#include "osbackend/kernel_argument_record.h"
#include "osbackend/os_backend.h"
#include "osbackend/ostree/boot_state.h"
#include "osbackend/ostree/image_importer.h"
#include "sysroot/sysroot.h"

namespace strake::osbackend {

class OstreeBackend final : public OsBackend {
 public:
  /// `root` is where what we note of the machine is kept. All must outlive this.
  OstreeBackend(sysroot::Sysroot& sysroot, ImageImporter& importer, BootState& boot, FileTree& root)
      : sysroot_(sysroot), importer_(importer), boot_(boot), root_(root) {}

  Result<OsStatus> status(const runtime::Call& call) override;
  Status adopt_kernel_arguments(const std::vector<std::string>& arguments, const runtime::Call& call) override;
  Status stage(const OsTarget& target, const ProgressSink& progress, const runtime::Call& call) override;
  Status drop_staged(const runtime::Call& call) override;
  Status reboot(const std::string& reason, const runtime::Call& call) override;

 private:
  struct Seen {
    std::vector<sysroot::Deployment> deployments;
    std::size_t booted = 0;
    OsStatus os;

    const sysroot::Deployment& running() const { return deployments[booted]; }
  };
  Result<Seen> look(const KernelArgumentRecord& record);

  sysroot::Sysroot& sysroot_;
  ImageImporter& importer_;
  BootState& boot_;
  FileTree& root_;
};

}  // namespace strake::osbackend
