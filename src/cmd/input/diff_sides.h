// The two sides of `strake diff`: what its operands and its --with and --without come to, before anything is compared.
//
// The side before is what there is, right or wrong: what is wrong with it is a warning, so that a repair can be
// reviewed. The side after is what is proposed: what is wrong with it is an error.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/runtime.h"
#include "cmd/cli/command.h"
#include "cmd/input/config_input.h"
#include "kube/kube_api.h"
#include "machineconfig/render/render_set.h"

namespace strake::cmd {

/// Either a config that is taken as it stands, or a set that is rendered for each pool.
struct DiffSide {
  kube::ObjectPtr single{};
  machineconfig::ConfigSet set{};
  std::vector<SourceLines> sources{};  ///< of the files it was read from; later ones replace objects of earlier ones

  /// "site.yaml:12: ...": the error of a render with its place, where it is about a field of a MachineConfig.
  Error placed(Error failure) const;
};

struct DiffSides {
  DiffSide before;
  DiffSide after;
};

/// "rendered-<pool>-<hash>" tells its pool; "" for any other name.
std::string pool_of_rendered(const std::string& name);

/// What may need a cluster, connected to once.
class DiffInput {
 public:
  explicit DiffInput(const Invocation& invocation) : invocation_(invocation) {}

  Result<DiffSides> read();
  /// The cluster that "before" is; nullptr when it comes from files.
  kube::KubeApi* live_cluster() const { return before_is_cluster_ ? api_.get() : nullptr; }
  kube::Call call();

 private:
  enum class Which { kBefore, kAfter };

  Result<DiffSide> read_operand(const std::string& operand, Which which);
  Result<DiffSide> read_cluster();
  Result<DiffSide> read_files(const std::string& path, Which which);
  Result<DiffSides> changed(DiffSide before);
  Status settle_forms(DiffSides& sides);
  Result<DiffSides> with_generated_configs(DiffSides sides);
  Result<kube::KubeApi*> cluster();

  const Invocation& invocation_;
  runtime::ThreadRuntime runtime_;
  std::unique_ptr<kube::KubeApi> api_;
  bool before_is_cluster_ = false;
};

}  // namespace strake::cmd
