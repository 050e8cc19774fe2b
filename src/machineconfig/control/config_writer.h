// Writes MachineConfigs that belong to a controller to the last member: creates what is missing, takes hand edits back,
// removes what nobody asks for. Remembers its own writes until the informers have them, so that nothing is decided on
// older knowledge than its own.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "kube/informer.h"
#include "kube/kube_api.h"

namespace strake::machineconfig {

class ConfigWriter {
 public:
  /// `configs`: the informer of MachineConfigs; outlives the writer. Used by one worker.
  ConfigWriter(runtime::Runtime& runtime, kube::KubeApi& api, const kube::Informer& configs)
      : runtime_(runtime), api_(api), configs_(configs) {}

  /// Spec, labels and annotations of `config`; what others annotated stays.
  Status write(const kube::Object& config, const kube::Call& call);
  /// Exactly this one: not if it has changed since.
  Status remove(const kube::Object& config, const kube::Call& call);
  /// Whether write() would do something.
  bool differs(const kube::Object& config) const;

  /// A write of ours, of any kind, that the informers have not brought back yet.
  void note_written(const kube::Object& object);
  /// Look again after kOwnWriteRetry while this is false.
  bool sees_own_writes(const std::vector<const std::vector<kube::ObjectPtr>*>& seen);
  static constexpr runtime::Duration kOwnWriteRetry = std::chrono::milliseconds(100);

 private:
  struct OwnWrite {
    std::string version;
    runtime::TimePoint when;
  };

  runtime::Runtime& runtime_;
  kube::KubeApi& api_;
  const kube::Informer& configs_;
  std::map<std::string, OwnWrite> own_writes_;  ///< by kind and name
};

}  // namespace strake::machineconfig
