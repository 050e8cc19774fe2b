// The real kubectl against the embedded API server and against kube-apiserver: the same commands, the same words.
//
// Every step runs on both and its normalised outcome must be equal: exit status, stdout and stderr, with times,
// identifiers, versions of objects and addresses masked. A step that is known to differ names its row in
// docs/api-differences.md; it must really differ.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/runtime.h"
#include "base/subprocess.h"
#include "support/temp_dir.h"

namespace strake::kubectl_test {

/// One run of kubectl.
struct Step {
  std::string line;                    ///< arguments without blanks in them
  std::string input = {};              ///< stdin
  std::vector<std::string> more = {};  ///< arguments behind those of `line`, which may have blanks
  std::string difference = {};         ///< the row of docs/api-differences.md, when the outcomes are known to differ
  std::string editor = "false";        ///< for the verbs that start one
};

/// What differs between two runs on the same server is replaced by a word for it.
std::string masked(std::string text);

/// `text` with the first `from` in it replaced.
std::string with(std::string text, std::string_view from, std::string_view to);

class EmbeddedServer;

class KubectlTest : public testing::Test {
 public:
  static void SetUpTestSuite();
  static void TearDownTestSuite();

 protected:
  void SetUp() override;

  static const std::filesystem::path& real() { return real_; }
  static const std::filesystem::path& embedded();
  static const std::filesystem::path& home() { return home_->path(); }

  static Command command(const std::filesystem::path& kubeconfig, const Step& step);
  static std::string outcome(const std::filesystem::path& kubeconfig, const Step& step);
  static void both(const std::vector<Step>& steps);

 private:
  static inline std::filesystem::path real_;  // kubeconfig
  static inline std::filesystem::path kubectl_;
  static inline std::string differences_;
  static inline std::unique_ptr<runtime::ThreadRuntime> runtime_;
  static inline std::shared_ptr<EmbeddedServer> embedded_;  // shared: its type is not known here
  static inline std::unique_ptr<test::TempDir> home_;
};

/// A MachineConfigPool named kt-pool.
inline constexpr std::string_view kPool = R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: kt-pool}
spec:
  machineConfigSelector: {matchLabels: {role: kt}}
  nodeSelector: {matchLabels: {node-role.kubernetes.io/kt: ""}}
  paused: false
)";

/// A ConfigMap of namespace kt, with the data a: one.
std::string config_map(std::string_view name);

/// A Node with the taint that kube-apiserver gives to every new one.
std::string tainted_node(std::string_view name);

}  // namespace strake::kubectl_test
