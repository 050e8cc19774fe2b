// Which kernel arguments of which deployment are ours: neither rpm-ostree nor bootc keeps that, and a machine's command
// line alone does not tell. Kept below /var, which all deployments of a machine share.
//
// A power cut may come between what a program changed and what we note of it. So what is about to be applied is noted
// first, and a deployment nobody noted is taken for either: what of it is on the line is ours.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file_tree.h"
#include "base/result.h"
#include "osbackend/kernel_command_line.h"

namespace strake::osbackend {

class KernelArgumentRecord {
 public:
  static constexpr const char* kPath = "/var/lib/strake/kernel-arguments.json";

  /// kCorrupt, with what to do, when the file is damaged: without it nobody knows whose an argument is.
  static Result<KernelArgumentRecord> load(FileTree& tree);

  /// Nothing was ever noted: the machine is new to us.
  bool is_new() const { return is_new_; }
  /// What may be ours in that deployment; of one nobody noted, what may have been applied last.
  std::vector<std::string> of(const std::string& deployment) const;
  /// Whose the arguments on that deployment's line are. Of one nobody noted, what the machine had of its own before
  /// stays its own.
  DividedArguments divide(const std::string& deployment, const std::vector<std::string>& line) const;
  bool knows(const std::string& deployment) const { return deployments_.contains(deployment); }

  /// `intended` is about to be applied, on a machine that runs `booted` with those arguments.
  Status begin(const std::string& booted, const DividedArguments& arguments, const std::vector<std::string>& intended);
  /// Applied in `deployment`. Only those `alive` are kept.
  Status note(const std::string& deployment, const std::vector<std::string>& ours, const std::set<std::string>& alive);

 private:
  explicit KernelArgumentRecord(FileTree& tree) : tree_(&tree) {}
  Status save();

  FileTree* tree_;
  bool is_new_ = true;
  std::map<std::string, std::vector<std::string>> deployments_;
  std::vector<std::string> last_;      ///< noted last
  std::vector<std::string> intended_;  ///< noted or to be applied
  std::vector<std::string> machine_;   ///< the machine's own, when an update began last
};

}  // namespace strake::osbackend
