// Where each part of a rendered config comes from: for every subject the MachineConfigs that had a say, in merge order,
// and what of it is in effect.
//
// Files, units and users are merged member by member, so one subject can have several winners: the mode of a file from
// one MachineConfig, its contents from another. A contribution therefore names the members it sets and those of them
// that the rendered config has from it. Where several say the same (a kernel argument, an SSH key), all are in effect:
// taking one of them away would not take the argument away.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "machineconfig/diff/subject.h"
#include "machineconfig/merge/merge.h"
#include "machineconfig/render/render.h"

namespace strake::machineconfig {

struct Contribution {
  std::string source;                  ///< name of a MachineConfig, or OsImages::source
  std::vector<std::string> members;    ///< what it sets: "contents.source", "mode"; sorted
  std::vector<std::string> in_effect;  ///< those of them that the rendered config has from here; sorted

  bool wins() const { return !in_effect.empty(); }
  bool operator==(const Contribution&) const = default;
};

class Provenance {
 public:
  using Contributions = std::vector<Contribution>;  ///< in merge order

  explicit Provenance(std::map<Subject, Contributions> subjects) : subjects_(std::move(subjects)) {}

  /// Every subject any MachineConfig speaks of, also those that lost everything (a file another one made a link).
  const std::map<Subject, Contributions>& subjects() const { return subjects_; }

  /// nullptr when no MachineConfig speaks of it.
  const Contributions* find(const Subject& subject) const;

  /// The subjects somebody means by what they typed: a path, a unit ("a.service", with its drop-ins), a drop-in
  /// ("a.service/10-x.conf"), a user (with password and keys), an SSH key or its comment, a kernel argument or its
  /// name, an extension, a group, a spec field ("osImageURL", "kernelType", "fips"), an Ignition section
  /// ("storage.disks").
  std::vector<Subject> lookup(std::string_view typed) const;

 private:
  std::map<Subject, Contributions> subjects_;
};

/// `fragments` are in merge order. `overwrite: true`, which the merge gives every file that says nothing, is nobody's.
Provenance trace(const std::vector<Fragment>& fragments, const OsImages& defaults);

/// The provenance of what render_pool() renders from this input.
Result<Provenance> trace_pool(const RenderInput& input);

}  // namespace strake::machineconfig
