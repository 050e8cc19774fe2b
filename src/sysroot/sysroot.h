// A sysroot: the place on a disk where ostree keeps an OS. A repository of objects, deployments checked out from it,
// and the boot loader's entries that say which of them starts. Through libostree, which appears nowhere else.
//
// A deployment is made beside the running one and takes over when the list is written: one rename decides, so a power
// cut leaves the old list or the new one. Files of the running system's /etc are merged into the new one's.
//
// Calls block in the system; they belong into a task of their own. Not for several threads at once.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/runtime.h"

namespace strake::sysroot {

struct Deployment {
  std::string id;  ///< "rhcos-<commit>.<serial>", as rpm-ostree names it
  std::string stateroot;
  std::string commit;
  int serial = 0;
  bool booted = false;  ///< of a running machine; never of a sysroot in a folder
  bool staged = false;  ///< becomes the first one when the machine goes down
  bool pinned = false;
  std::string command_line;    ///< the kernel's, with libostree's own `ostree=`
  std::string origin;          ///< the text of its origin file; "" when there is none
  std::filesystem::path root;  ///< where its files are
};

struct NewDeployment {
  std::string stateroot;
  std::string commit;
  std::string origin;                         ///< see ostree::origin_text
  std::vector<std::string> kernel_arguments;  ///< all of its line
  std::optional<std::string> merge_from;      ///< the deployment whose /etc goes on; nullopt: none does
  /// Which of the present ones stay, in this order, after the new one. Pinned ones stay in any case.
  std::vector<std::string> keep;
};

struct SysrootOptions {
  /// Whole file systems are synced at each change. Only tests and things that are made anew anyway do without.
  bool durable = true;
};

class Sysroot {
 public:
  /// An empty one with a stateroot, or that stateroot in one that is there. The repository is of mode bare.
  static Status create(const std::filesystem::path& root, const std::string& stateroot);
  /// kNotFound, naming what is missing, when the folder is none.
  static Result<Sysroot> open(const std::filesystem::path& root, SysrootOptions options = {});
  Sysroot(Sysroot&&) noexcept;
  Sysroot& operator=(Sysroot&&) noexcept;
  ~Sysroot();

  const std::filesystem::path& root() const;
  /// Where the objects of commits have to be before they are deployed.
  std::filesystem::path repository() const;

  /// In the order in which the boot loader offers them: the first one starts. Read anew each time.
  Result<std::vector<Deployment>> deployments();

  /// Makes a deployment, puts it first, and answers its id. Nothing is left of one that could not be made.
  Result<std::string> deploy(const NewDeployment& wanted, const runtime::Call& call);
  /// These, in this order, and no others but pinned ones, which come last. kNotFound: there is no such deployment.
  Status set_order(const std::vector<std::string>& ids, const runtime::Call& call);
  Status set_pinned(const std::string& id, bool pinned, const runtime::Call& call);
  /// Removes what no deployment needs, objects included.
  Status clean(const runtime::Call& call);

 private:
  struct Impl;
  explicit Sysroot(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace strake::sysroot
