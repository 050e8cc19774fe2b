// The kubelet.conf that KubeletConfigs make, as a kubelet reads it at its start: Kubernetes' own strict decoding and
// validation take what we take, and refuse what we refuse on the kubelet's behalf.
#include <gtest/gtest.h>

#include "api/kinds.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "codec/yaml.h"
#include "machineconfig/generate/kubelet_config.h"
#include "machineconfig/testing/builders.h"
#include "machineconfig/testing/kubelet_cases.h"
#include "support/servers.h"

namespace strake::test::kubelet_judge_test {

using machineconfig::builders::from_text;
using machineconfig::builders::KubernetesSays;

/// What the judge says of each file: "ok" or what is wrong.
std::vector<std::string> ask_kubernetes(const std::vector<std::string>& files) {
  const auto programs = kube_programs();
  EXPECT_TRUE(programs.ok()) << (programs.ok() ? "" : programs.error().to_string());
  if (!programs.ok()) return {};
  Command command;
  command.argv = {(*programs / "judge-kubelet").string()};
  for (const std::string& file : files) command.stdin_bytes += json::write(json::Value(file)) + "\n";
  command.timeout = std::chrono::seconds(120);
  const auto output = run_checked(command);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  std::vector<std::string> answers;
  if (!output.ok()) return answers;
  for (const std::string_view line : split(output->stdout_bytes, '\n')) {
    if (!line.empty()) answers.emplace_back(line);
  }
  return answers;
}

std::optional<std::string> generated_conf(const char* spec, bool small_base = false) {
  kube::Object config(api::kKubeletConfig, {"", "judged"});
  if (small_base) config.set_annotation(machineconfig::kKubeletBaseAnnotation, machineconfig::kSmallKubeletBase);
  json::ensure(config.json(), {"spec"}) = from_text(spec);
  const kube::Object pool(api::kMachineConfigPool, {"", "worker"});
  std::optional<std::string> base;
  if (!small_base) base = std::string(machineconfig::builders::kKubeletBase);
  const auto files = machineconfig::generate_kubelet_config({&config, &pool, base});
  if (!files.ok()) return std::nullopt;
  return files->front().contents;
}

/// The settings alone, as a file.
std::string bare_conf(const char* settings) {
  json::Value conf = from_text(settings);
  conf.get_object()["kind"] = "KubeletConfiguration";
  conf.get_object()["apiVersion"] = "kubelet.config.k8s.io/v1beta1";
  return yaml::emit(conf).value_or("");
}

TEST(KubeletJudge, TakesAndRefusesWhatWeDo) {
  std::vector<std::string> names;
  std::vector<std::string> files;
  std::vector<bool> expected;
  for (const auto& c : machineconfig::builders::kKubeletCases) {
    if (c.kubernetes == KubernetesSays::kNotAsked) continue;
    const bool taken = c.kubernetes == KubernetesSays::kYes;
    names.emplace_back(c.name);
    expected.push_back(taken);
    const std::string spec = fmt::format(R"({{"kubeletConfig":{}}})", c.settings);
    const auto conf = generated_conf(spec.c_str());
    ASSERT_EQ(conf.has_value(), taken) << c.name;
    files.push_back(taken ? *conf : bare_conf(c.settings));
  }
  for (const char* profile : {"Old", "Intermediate", "Modern"}) {
    const std::string spec = fmt::format(R"({{"tlsSecurityProfile":{{"type":"{}"}}}})", profile);
    names.emplace_back(profile);
    expected.push_back(true);
    files.push_back(generated_conf(spec.c_str()).value_or("refused"));
  }
  names.emplace_back("the small base");
  expected.push_back(true);
  files.push_back(generated_conf(R"({"kubeletConfig":{"maxPods":100}})", true).value_or("refused"));
  names.emplace_back("a misspelt field");
  expected.push_back(false);
  files.push_back(bare_conf(R"({"maxPod":100})"));
  const std::vector<std::string> answers = ask_kubernetes(files);
  ASSERT_EQ(answers.size(), files.size());
  int taken = 0;
  for (std::size_t i = 0; i < files.size(); ++i) {
    EXPECT_EQ(answers[i] == "ok", expected[i]) << names[i] << ": " << answers[i] << "\n" << files[i];
    taken += expected[i] ? 1 : 0;
  }
  EXPECT_GT(taken, 10);
  EXPECT_GT(static_cast<int>(files.size()) - taken, 10);
}

}  // namespace strake::test::kubelet_judge_test
