// A machine with deployments, and the programs rpm-ostree, bootc and ostree on it, for ScriptedPrograms: each answers
// in the shape of the real one, changes the same deployments, and refuses every option the real one does not have.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/file_tree.h"
#include "base/testing/scripted_programs.h"

namespace strake::osbackend::testing {

struct FakeDeployment {
  std::string image;  ///< NAME@DIGEST; "": none
  int serial = 0;
  std::vector<std::string> arguments;
  std::map<std::string, std::string> sources;  ///< of bootc: by name, the options
  std::set<std::string> layered;               ///< packages
  std::set<std::string> removed;               ///< packages of the image
  std::string id() const;
  std::string checksum() const;
};

class FakeOstreeHost {
 public:
  /// Booted from `image` with those arguments. Puts what the kernel shows below /proc into `root`.
  FakeOstreeHost(MemoryTree& root, std::string image, std::vector<std::string> arguments);

  /// This object must outlive the programs.
  void install_rpm_ostree(strake::testing::ScriptedPrograms& programs);
  void install_bootc(strake::testing::ScriptedPrograms& programs);
  void install_restart(strake::testing::ScriptedPrograms& programs);

  /// The machine starts, with what is staged if anything is.
  void boot();

  std::vector<FakeDeployment> deployments;  ///< in the order of the boot loader
  std::size_t booted = 0;
  std::set<std::string> images;    ///< that can be fetched
  std::set<std::string> packages;  ///< that can be installed
  int failing_fetches = 0;         ///< so many end with an error of the network
  int busy = 0;                    ///< so many calls of rpm-ostree find another transaction at work
  bool knows_sources = true;       ///< this bootc keeps kernel arguments by source
  bool not_started_from_image = false;
  bool incompatible = false;  ///< changed by rpm-ostree, as bootc sees it
  int restarts = 0;
  std::string last_restart;  ///< its description

 private:
  using Words = std::vector<std::string>;
  Result<ProcessOutput> rpm_ostree(const Command& command);
  Result<ProcessOutput> rpm_ostree_status() const;
  Result<ProcessOutput> kargs(const Words& words);
  Result<ProcessOutput> cleanup(const Words& words);
  Result<ProcessOutput> rebase(const Words& words);
  Result<ProcessOutput> override_packages(const Words& words);
  Result<ProcessOutput> update(const Words& words);
  Result<ProcessOutput> bootc(const Command& command);
  Result<ProcessOutput> bootc_status() const;
  Result<ProcessOutput> switch_image(const Words& words);
  Result<ProcessOutput> set_source(const Words& words);
  Result<ProcessOutput> ostree(const Command& command);
  Result<ProcessOutput> layer(const Words& install, const Words& uninstall, FakeDeployment& next);
  FakeDeployment next_deployment() const;
  void stage(FakeDeployment deployment);
  void show_kernel_files();

  MemoryTree& root_;
  int boots_ = 0;
  int serials_ = 0;
};

}  // namespace strake::osbackend::testing
