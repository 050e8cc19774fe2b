// render, diff, explain and config lint as a user runs them: on files, on standard input, on a cluster of `strake up`.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/fd.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "support/strake_command.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

std::string config(const std::string& name, const std::string& role, const std::string& spec) {
  return fmt::format(R"(---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata:
  name: {}
  labels:
    machineconfiguration.openshift.io/role: {}
spec: {}
)",
                     name, role, spec);
}

std::string file_config(const std::string& name, const std::string& role, const std::string& path,
                        const std::string& contents, const std::string& more = "") {
  return config(name, role,
                fmt::format(R"({{"config":{{"ignition":{{"version":"3.2.0"}},"storage":{{"files":[{{"path":"{}",)"
                            R"("contents":{{"source":"data:,{}"}}{}}}]}}}}}})",
                            path, contents, more));
}

struct ConfigCommandsTest : testing::Test {
  std::filesystem::path write(const std::string& name, const std::string& text) {
    const std::filesystem::path path = directory_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
    return path;
  }

  /// A worker pool and an infra pool that overrides one of its files.
  std::string sample() {
    write("sample/10-worker.yaml",
          file_config("50-worker", "worker", "/etc/chrony.conf", "server%20a%0A", R"(,"mode":420)"));
    write("sample/20-infra.yaml", file_config("50-infra", "infra", "/etc/chrony.conf", "server%20b%0A"));
    write("sample/notes.txt", "not YAML: [");
    return (directory_ / "sample").string();
  }

  static json::Value json_of(const ProcessOutput& output) {
    auto value = json::parse(output.stdout_bytes);
    EXPECT_TRUE(value.ok()) << output.stdout_bytes << output.stderr_bytes;
    return value.ok() ? *std::move(value) : json::Object{};
  }

  /// Of a difference with one pool in it.
  static json::Value only_pool(const json::Value& difference) {
    EXPECT_EQ(json::find_string(difference, {"kind"}), "ConfigDifference");
    const json::Value* pools = json::find(difference, {"pools"});
    EXPECT_TRUE(pools != nullptr && pools->get_array().size() == 1) << json::write(difference);
    return pools != nullptr && !pools->get_array().empty() ? pools->get_array().front() : json::Value(json::Object{});
  }

  TempDir directory_;
};

TEST_F(ConfigCommandsTest, RenderGivesTheNamesOfEveryPool) {
  const ProcessOutput names = run_strake({"render", "-f", sample(), "-o", "name", "--os-image", "img"});
  EXPECT_EQ(names.exit.exit_code, 0) << names.stderr_bytes;
  EXPECT_EQ(names.stderr_bytes, "");
  const ProcessOutput infra =
      run_strake({"render", "-f", sample(), "-o", "json", "--os-image", "img", "--pool", "infra"});
  const json::Value rendered = json_of(infra);
  EXPECT_EQ(names.stdout_bytes.find(*json::find_string(rendered, {"metadata", "name"}) + "\nrendered-worker-"), 0u)
      << names.stdout_bytes;
  const json::Value& file = json::find(rendered, {"spec", "config", "storage", "files"})->get_array().at(0);
  EXPECT_EQ(json::find_string(file, {"contents", "source"}), "data:,server%20b%0A");
  EXPECT_EQ(json::find_int(file, {"mode"}), 420) << "the mode of the worker's file stays";
}

TEST_F(ConfigCommandsTest, RenderOfAPlatformVectorHasThePlatformsName) {
  // Hash vector V1: everything empty.
  const ProcessOutput output = run_strake({"render", "-f", "-", "-o", "name"}, config("00-worker", "worker", "{}"));
  EXPECT_EQ(output.stdout_bytes, "rendered-worker-6da92b29d98fcd722bbf117520c22ee4\n");
  EXPECT_NE(output.stderr_bytes.find("no OS image"), std::string::npos) << "without an image it warns";
}

TEST_F(ConfigCommandsTest, RenderWritesOneFileAPoolThatReadsBackTheSame) {
  const std::filesystem::path out = directory_ / "out";
  const ProcessOutput output = run_strake({"render", "-f", sample(), "-o", "dir=" + out.string(), "--os-image", "img"});
  ASSERT_EQ(output.exit.exit_code, 0) << output.stderr_bytes;
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(out)) {
    const auto written = yaml::parse(*read_file(entry.path(), 1 << 20));
    ASSERT_TRUE(written.ok());
    EXPECT_EQ(*json::find_string(*written, {"metadata", "name"}) + ".yaml", entry.path().filename().string());
    ++files;
  }
  EXPECT_EQ(files, 2u);
  // What was rendered differs from what it was rendered from in nothing.
  EXPECT_EQ(run_strake({"diff", sample(), sample(), "--os-image", "img"}).exit.exit_code, 0);
}

TEST_F(ConfigCommandsTest, InputThatCannotBeRenderedIsNamedWithFileObjectAndField) {
  const auto refused = [&](const std::string& text, const std::string& expected) {
    const ProcessOutput output = run_strake({"render", "-f", write("bad/bad.yaml", text).parent_path().string()});
    EXPECT_EQ(output.exit.exit_code, 1) << text;
    EXPECT_NE(output.stderr_bytes.find(expected), std::string::npos) << output.stderr_bytes;
  };
  refused("a: [1\n", "bad.yaml: line 2, column 1");
  refused("- 1\n", "bad.yaml:1: the document is not an object");
  refused("kind: ConfigMap\napiVersion: v1\n", "holds no MachineConfig");
  refused(config("50-a", "worker", "{}") + config("50-a", "worker", "{}"), "MachineConfig 50-a is there twice: ");
  refused(config("50-a", "worker", R"({"kernelType":"fast"})"), "MachineConfig 50-a: spec.kernelType");
  refused(file_config("50-a", "worker", "etc/x", ""), "MachineConfig 50-a: spec.config: storage.files[0].path");
  refused(config("50-a", "worker", R"({"config":{"ignition":{"version":"9.0.0"}}})"),
          "MachineConfig 50-a: spec.config");
  EXPECT_EQ(run_strake({"render", "-f", (directory_ / "nowhere").string()}).exit.exit_code, 1);
  EXPECT_EQ(run_strake({"render", "-f", sample(), "-o", "xml"}).exit.exit_code, 1);
  const ProcessOutput pool = run_strake({"render", "-f", sample(), "--pool", "gpu"});
  EXPECT_NE(pool.stderr_bytes.find("there is no pool 'gpu'; known are infra, worker"), std::string::npos);
}

TEST_F(ConfigCommandsTest, AConfigTooLargeForTheApiIsRefusedUnlessAskedFor) {
  const std::string file =
      write("big.yaml", file_config("50-big", "worker", "/etc/big", std::string(1'600'000, 'x'))).string();
  const ProcessOutput refused = run_strake({"render", "-f", file, "-o", "name"});
  EXPECT_EQ(refused.exit.exit_code, 1);
  EXPECT_NE(refused.stderr_bytes.find("/etc/big"), std::string::npos) << refused.stderr_bytes;
  EXPECT_EQ(run_strake({"render", "-f", file, "-o", "name", "--no-size-limit"}).exit.exit_code, 0);
}

TEST_F(ConfigCommandsTest, ExplainNamesWinnersAndLosers) {
  const ProcessOutput output = run_strake({"explain", "infra", "/etc/chrony.conf", "-f", sample(), "-o", "json"});
  ASSERT_EQ(output.exit.exit_code, 0) << output.stderr_bytes;
  const json::Value explained = json_of(output);
  const json::Array& subjects = json::find(explained, {"subjects"})->get_array();
  ASSERT_EQ(subjects.size(), 1u);
  EXPECT_EQ(
      json::write(*json::find(subjects.at(0), {"contributions"})),
      fmt::format(R"([{{"source":"50-worker","wins":true,"sets":["contents.source","mode"],"inEffect":["mode"],)"
                  R"("place":"{0}/10-worker.yaml:8"}},)"
                  R"({{"source":"50-infra","wins":true,"sets":["contents.source"],"inEffect":["contents.source"],)"
                  R"("place":"{0}/20-infra.yaml:8"}}])",
                  sample()));
  EXPECT_EQ(json::find_string(subjects.at(0), {"value"}), "0644, 9 bytes");
  EXPECT_EQ(json::write(*json::find(subjects.at(0), {"contents"})), R"(["server b"])");
  const ProcessOutput all = run_strake({"explain", "infra", "--all", "-f", sample()});
  EXPECT_EQ(all.exit.exit_code, 0) << all.stderr_bytes;
  EXPECT_NE(all.stdout_bytes.find("file /etc/chrony.conf: 0644, 9 bytes\n"), std::string::npos) << all.stdout_bytes;
  EXPECT_EQ(all.stdout_bytes.find("server b"), std::string::npos) << "one line each";
  EXPECT_EQ(run_strake({"explain", "infra", "-f", sample()}).exit.exit_code, 1) << "neither WHAT nor --all";
  const ProcessOutput text = run_strake({"explain", "infra", "/etc/chrony.conf", "-f", sample()});
  EXPECT_NE(text.stdout_bytes.find("in effect: mode; loses contents.source"), std::string::npos) << text.stdout_bytes;
  const ProcessOutput unknown = run_strake({"explain", "infra", "/etc/other", "-f", sample()});
  EXPECT_EQ(unknown.exit.exit_code, 3) << "absent";
  EXPECT_NE(unknown.stderr_bytes.find("comes with the OS image"), std::string::npos);
  EXPECT_EQ(run_strake({"explain", "gpu", "/etc/other", "-f", sample()}).exit.exit_code, 1);
}

TEST_F(ConfigCommandsTest, ExplainShowsNoSecretInAnyForm) {
  const std::string file =
      write("secret.yaml", config("50-a", "worker", R"({"kernelArguments":["rd.iscsi.password=hunter2"]})")).string();
  for (const char* format : {"text", "json"}) {
    const ProcessOutput output =
        run_strake({"explain", "worker", "rd.iscsi.password=hunter2", "-f", file, "-o", format});
    EXPECT_EQ(output.exit.exit_code, 0) << output.stderr_bytes;
    EXPECT_NE(output.stdout_bytes.find("rd.iscsi.password=(hidden)"), std::string::npos) << output.stdout_bytes;
    EXPECT_EQ(output.stdout_bytes.find("hunter2"), std::string::npos) << output.stdout_bytes;
  }
}

/// Wherever one stands in what is wrong or what changed: no verb that reports repeats it.
TEST_F(ConfigCommandsTest, NoReportRepeatsASecret) {
  const std::string file = R"({{"config":{{"ignition":{{"version":"3.4.0"}},"storage":{{"files":[{{"path":"/etc/a",)"
                           R"("contents":{{{}}}}}]}}}}}})";
  const std::string specs[] = {
      fmt::format(fmt::runtime(file), R"("source":"data:text/plain;base64,cGFzc3dvcmQ9U0VDUkVU!!!S3CRET")"),
      fmt::format(fmt::runtime(file), R"("source":"data:,password=S3CRET%zz")"),
      fmt::format(fmt::runtime(file), R"("source":"foo://user:S3CRET@host")"),
      fmt::format(fmt::runtime(file), R"("source":"https://user:S3CRET/pw%zz@host x")"),
      R"({"extensions":["token=S3CRETtoken"]})",
      R"({"osImageURL":"https://u:S3CRET@registry.example/os:1"})",
      R"({"kernelType":"password=S3CRET"})",
      R"({"kernelArguments":["rd.luks.key=S3CRETkey", "rd.iscsi.password=S3CRETkey"]})",
      R"({"config":{"ignition":{"version":"password=S3CRET"}}})",
      R"({"config":{"ignition":{"version":"3.4.0","proxy":{"httpProxy":"http://u:S3CRET@h y"}}}})",
      R"({"config":{"ignition":{"version":"3.4.0"},"systemd":{"units":[{"name":"bad --password S3CRET.service"}]}}})",
  };
  for (std::size_t i = 0; i < std::size(specs); ++i) {
    const std::string with = write(fmt::format("{}/a.yaml", i), config("50-w", "worker", specs[i])).parent_path();
    const std::string without = write(fmt::format("{}.none/a.yaml", i), config("50-w", "worker", "{}")).parent_path();
    const std::vector<std::string> verbs[] = {{"config", "lint", "-f", with},
                                              {"config", "lint", "-f", with, "-o", "json"},
                                              {"config", "lint", "-f", with, "-o", "sarif"},
                                              {"config", "lint", "-f", with, "-o", "github"},
                                              {"render", "-f", with, "-o", "name"},
                                              {"diff", without, with},
                                              {"diff", with, without, "-o", "json"}};
    for (const std::vector<std::string>& verb : verbs) {
      const ProcessOutput output = run_strake(verb);
      EXPECT_EQ((output.stdout_bytes + output.stderr_bytes).find("S3CRET"), std::string::npos)
          << specs[i] << fmt::format(" {} {}\n", verb[0], verb[1]) << output.stdout_bytes << output.stderr_bytes;
    }
  }
  const std::string keys = (directory_ / "7").string(), none = (directory_ / "7.none").string();
  for (const char* format : {"text", "json"}) {
    const ProcessOutput shown = run_strake({"diff", none, keys, "--show-secrets", "-o", format});
    EXPECT_NE(shown.stdout_bytes.find("rd.luks.key=S3CRETkey"), std::string::npos) << format << shown.stdout_bytes;
  }
}

TEST_F(ConfigCommandsTest, LintFindsNothingOrNamesThePlace) {
  EXPECT_EQ(run_strake({"config", "lint", "-f", sample()}).exit.exit_code, 0);
  const std::string bad = write("lint/bad.yaml", config("50-a", "worker", R"({"kernelType":"fast"})")).string();
  const ProcessOutput found = run_strake({"config", "lint", "-f", bad});
  EXPECT_EQ(found.exit.exit_code, 2);
  EXPECT_EQ(found.stdout_bytes.find(bad + ":8: error: MachineConfig 50-a: spec.kernelType"), 0u) << found.stdout_bytes;
  EXPECT_EQ(run_strake({"config", "lint", "-f", bad, "--ignore", "invalid"}).exit.exit_code, 0);
  const ProcessOutput no_rule = run_strake({"config", "lint", "-f", bad, "--ignore", "everything"});
  EXPECT_EQ(no_rule.exit.exit_code, 1);
  EXPECT_NE(no_rule.stderr_bytes.find("there is no rule 'everything'"), std::string::npos);
  const json::Value findings = json_of(run_strake({"config", "lint", "-f", bad, "-o", "json"}));
  EXPECT_EQ(json::find_string(json::find(findings, {"findings"})->get_array().at(0), {"rule"}), "invalid");
  EXPECT_EQ(run_strake({"config", "lint", "-f", (directory_ / "nowhere").string()}).exit.exit_code, 1);
}

TEST_F(ConfigCommandsTest, DiffSaysWhatChangesWhoDidItAndWhatItCosts) {
  const std::string added =
      write("added.yaml", file_config("60-site", "worker", "/etc/containers/policy.json", "%7B%7D")).string();
  const ProcessOutput output =
      run_strake({"diff", sample(), "--with", added, "--os-image", "img", "--pool", "worker", "-o", "json"});
  EXPECT_EQ(output.exit.exit_code, 2) << output.stderr_bytes;
  const json::Value diff = only_pool(json_of(output));
  EXPECT_EQ(json::find_bool(diff, {"reconcilable"}), true);
  EXPECT_EQ(json::find_string(diff, {"class"}), "reload");
  EXPECT_EQ(json::find_bool(diff, {"drain"}), false);
  EXPECT_EQ(json::write(*json::find(diff, {"actions"})), R"(["Reload crio.service"])");
  EXPECT_EQ(json::write(*json::find(diff, {"changedFiles"})), R"(["/etc/containers/policy.json"])");
  EXPECT_EQ(json::write(*json::find(diff, {"changedUnits"})), "[]");
  EXPECT_EQ(json::find_string(json::find(diff, {"changes"})->get_array().at(0), {"afterFrom"}), "60-site");

  const std::string policy = write("policy.yaml", R"(apiVersion: operator.openshift.io/v1
kind: MachineConfiguration
metadata: {name: cluster}
spec:
  nodeDisruptionPolicy:
    files: [{path: /etc/containers/policy.json, actions: [{type: None}]}]
)")
                                 .string();
  const json::Value calmer = only_pool(json_of(run_strake(
      {"diff", sample(), "--with", added, "--os-image", "img", "--pool", "worker", "-o", "json", "--policy", policy})));
  EXPECT_EQ(json::find_string(calmer, {"class"}), "none");
  EXPECT_EQ(json::write(*json::find(calmer, {"actions"})), R"(["None"])");
}

std::string pool(const std::string& name, const std::string& more = "") {
  return fmt::format(
      "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfigPool\nmetadata: {{name: {0}}}\nspec:\n"
      "  machineConfigSelector: {{matchExpressions: [{{key: machineconfiguration.openshift.io/role, operator: In, "
      "values: [worker, {0}]}}]}}\n{1}",
      name, more);
}

/// What changes a node, now or later, is never "No difference".
TEST_F(ConfigCommandsTest, DiffMissesNothing) {
  const std::string worker = config("50-w", "worker", R"({"kernelArguments":["a"]})");
  const std::string base = worker + pool("worker", "  nodeSelector: {matchLabels: {a: b}}\n");
  const std::string mirrors =
      "---\napiVersion: config.openshift.io/v1\nkind: ImageDigestMirrorSet\nmetadata: {name: m}\n"
      "spec: {imageDigestMirrors: [{source: a.example/b, mirrors: [c.example/d]}]}\n";
  const std::string kubelet =
      "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\nmetadata: {name: k}\n"
      "spec: {kubeletConfig: {maxPods: 400}}\n";
  const std::string policy =
      "---\napiVersion: operator.openshift.io/v1\nkind: MachineConfiguration\nmetadata: {name: cluster}\nspec: {}\n";
  const struct {
    std::string before;
    std::string after;
    int code;       ///< of --fail-on any
    int on_reboot;  ///< of --fail-on reboot
    std::string says;
  } cases[] = {
      {base, base, 0, 0, "No difference"},
      {base, base + pool("infra"), 2, 2, "pool infra added"},
      {base + pool("infra"), base, 2, 2, "pool infra removed"},
      {base, worker + pool("worker", "  nodeSelector: {matchLabels: {a: c}}\n"), 2, 2, "nodes change pools"},
      {base, base + "  paused: true\n", 2, 0, "nothing more reaches its nodes"},
      {base + "  paused: true\n", base, 2, 2, "whatever waited is rolled out at once"},
      {base, base + "  paused: false\n", 0, 0, "No difference"},
      {base, base + "  maxUnavailable: 3\n", 2, 0, "maxUnavailable: 1 -> 3"},
      {base, base + "  maxUnavailable: 1\n", 0, 0, "No difference"},
      {base, base + "  pinnedImageSets: [{name: x}]\n", 2, 2, "what it does to nodes is not known here"},
      {base, base + mirrors, 2, 2, "ImageDigestMirrorSet m added"},
      {base + mirrors, base, 2, 2, "ImageDigestMirrorSet m removed"},
      {base, base + kubelet, 2, 2, "KubeletConfig k added"},
      {base, base + policy, 2, 0, "MachineConfiguration cluster added"},
      {base, config("50-w", "worker", R"({"kernelArguments":["b"]})") + base.substr(worker.size()), 2, 2, "reboot"},
      {base, base + config("60-x", "wroker", "{}"), 0, 0, "did you mean 'worker'?"},
      {base, base + config("60-x", "worker", R"({"kernelArguments":["b"]})"), 2, 2, "kernel argument b added"},
      {base, base + "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: c}\n", 0, 0,
       "ConfigMap c is nothing a MachineConfig is made of"},
      {base, base + "---\napiVersion: machineconfiguration.io/v1\nkind: MachineConfig\nmetadata: {name: c}\n", 0, 0,
       "has apiVersion 'machineconfiguration.io/v1'"},
      {worker, worker + config("60-x", "worker", R"({"kernelArguments":["b"]})"), 2, 2, "kernel argument b added"},
      {worker, worker + config("60-x", "infra", "{}"), 2, 2, "pool infra added"},
      {"", worker, 2, 2, "pool worker added"},
      {worker, "", 2, 2, "pool worker removed"},
      {worker, worker + pool("worker"), 2, 0, "pool worker described from now on"},
  };
  int number = 0;
  for (const auto& test : cases) {
    SCOPED_TRACE(fmt::format("case {}: {}", number, test.says));
    const std::filesystem::path before = directory_ / fmt::format("{}.a", number);
    const std::filesystem::path after = directory_ / fmt::format("{}.b", number++);
    for (const auto& [folder, text] : {std::pair{before, test.before}, std::pair{after, test.after}}) {
      std::filesystem::create_directory(folder);
      if (!text.empty()) std::ofstream(folder / "all.yaml") << text;
    }
    const ProcessOutput any = run_strake({"diff", before, after, "--os-image", "img"});
    EXPECT_EQ(any.exit.exit_code, test.code) << any.stdout_bytes << any.stderr_bytes;
    EXPECT_NE((any.stdout_bytes + any.stderr_bytes).find(test.says), std::string::npos)
        << any.stdout_bytes << any.stderr_bytes;
    const ProcessOutput reboot =
        run_strake({"diff", before, after, "--os-image", "img", "--fail-on", "reboot", "-o", "json"});
    EXPECT_EQ(reboot.exit.exit_code, test.on_reboot) << reboot.stdout_bytes << reboot.stderr_bytes;
    EXPECT_EQ(json::find_bool(json_of(reboot), {"differs"}), test.code == 2) << reboot.stdout_bytes;
  }
  const ProcessOutput with =
      run_strake({"diff", (directory_ / "0.a").string(), "--with", write("m.yaml", mirrors).string()});
  EXPECT_EQ(with.exit.exit_code, 2) << with.stdout_bytes << with.stderr_bytes;
}

TEST_F(ConfigCommandsTest, RenderNamesWhatAClusterWouldMakeOfOtherObjectsAndCanMakeItToo) {
  const std::string base = config("50-w", "worker", R"({"kernelArguments":["a"]})") + pool("worker");
  const auto rendered = [&](const std::string& text, bool generated) {
    std::vector<std::string> words{"render", "-f",  write("generated.yaml", text).string(), "--os-image", "img",
                                   "-o",     "name"};
    if (generated) words.emplace_back("--generated");
    return run_strake(words);
  };
  const std::string image = "---\napiVersion: config.openshift.io/v1\nkind: Image\nmetadata: {name: cluster}\n";
  const std::string blocked = base + image + "spec: {registrySources: {blockedRegistries: [bad.example]}}\n";
  const ProcessOutput as_it_is = rendered(blocked, false);
  EXPECT_EQ(as_it_is.exit.exit_code, 0);
  EXPECT_EQ(as_it_is.stdout_bytes, rendered(base, false).stdout_bytes);
  EXPECT_NE(as_it_is.stderr_bytes.find("99-worker-generated-registries is not in the input"), std::string::npos)
      << as_it_is.stderr_bytes;
  const ProcessOutput whole = rendered(blocked, true);
  EXPECT_EQ(whole.exit.exit_code, 0) << whole.stderr_bytes;
  EXPECT_EQ(whole.stderr_bytes, "");
  EXPECT_NE(whole.stdout_bytes, as_it_is.stdout_bytes);
  const std::string both = base + image + "spec: {registrySources: {blockedRegistries: [b], allowedRegistries: [a]}}\n";
  EXPECT_EQ(rendered(both, false).exit.exit_code, 0);
  const ProcessOutput refused = rendered(both, true);
  EXPECT_EQ(refused.exit.exit_code, 1);
  EXPECT_NE(refused.stderr_bytes.find("Image cluster: spec.registrySources.allowedRegistries"), std::string::npos)
      << refused.stderr_bytes;
  const std::string broken = write("broken.yaml", base + file_config("60-x", "worker", "not/absolute", "x")).string();
  const ProcessOutput compared =
      run_strake({"diff", write("base.yaml", base).string(), broken, "--os-image", "img", "--pool", "worker"});
  EXPECT_EQ(compared.exit.exit_code, 1);
  EXPECT_NE(compared.stderr_bytes.find("after: " + broken + ":"), std::string::npos) << compared.stderr_bytes;
}

/// A KubeletConfig over a base config that has a kubelet.conf.
TEST_F(ConfigCommandsTest, DiffExplainAndLintTakeInWhatIsMadeOfOtherObjects) {
  const auto input = [&](const std::string& name, const std::string& settings) {
    return write(name, file_config("01-worker-kubelet", "worker", "/etc/kubernetes/kubelet.conf",
                                   "kind:%20KubeletConfiguration%0AapiVersion:%20kubelet.config.k8s.io/v1beta1%0A") +
                           "---\napiVersion: machineconfiguration.openshift.io/v1\nkind: KubeletConfig\n"
                           "metadata: {name: pods}\nspec:\n  machineConfigPoolSelector:\n    matchLabels:\n"
                           "      pools.operator.machineconfiguration.openshift.io/worker: ''\n  kubeletConfig: " +
                           settings + "\n")
        .string();
  };
  const std::string few = input("few.yaml", "{maxPods: 100}"), many = input("many.yaml", "{maxPods: 200}");
  const ProcessOutput difference = run_strake({"diff", few, many, "--generated", "--os-image", "img"});
  EXPECT_EQ(difference.exit.exit_code, 2) << difference.stderr_bytes;
  EXPECT_NE(difference.stdout_bytes.find("-maxPods: 100"), std::string::npos) << difference.stdout_bytes;
  EXPECT_NE(difference.stdout_bytes.find("+maxPods: 200"), std::string::npos);
  EXPECT_NE(difference.stdout_bytes.find("99-worker-generated-kubelet"), std::string::npos) << "where it comes from";
  EXPECT_NE(difference.stdout_bytes.find("what is made of it is shown with the pools"), std::string::npos);
  EXPECT_EQ(run_strake({"diff", few, few, "--generated", "--os-image", "img"}).exit.exit_code, 0);
  const ProcessOutput plain = run_strake({"diff", few, many, "--os-image", "img"});
  EXPECT_EQ(plain.exit.exit_code, 2);
  EXPECT_EQ(plain.stdout_bytes.find("maxPods"), std::string::npos) << plain.stdout_bytes;

  const std::string path = "/etc/kubernetes/kubelet.conf";
  const ProcessOutput explained = run_strake({"explain", "worker", path, "-f", many, "--generated"});
  EXPECT_EQ(explained.exit.exit_code, 0) << explained.stderr_bytes;
  EXPECT_NE(explained.stdout_bytes.find("maxPods: 200"), std::string::npos) << explained.stdout_bytes;
  EXPECT_NE(explained.stdout_bytes.find("* 99-worker-generated-kubelet"), std::string::npos);
  const ProcessOutput without = run_strake({"explain", "worker", path, "-f", many});
  EXPECT_EQ(without.stdout_bytes.find("maxPods"), std::string::npos);
  EXPECT_NE(without.stderr_bytes.find("99-worker-generated-kubelet is not in the input"), std::string::npos);

  const auto lint = [](const std::string& file, const char* more = "--fail-on=warning") {
    return run_strake({"config", "lint", "-f", file, "--ignore", "platform-path", more});
  };
  EXPECT_EQ(lint(many).exit.exit_code, 0) << lint(many).stdout_bytes;
  EXPECT_NE(lint(many).stderr_bytes.find("99-worker-generated-kubelet is not in the input"), std::string::npos);
  EXPECT_EQ(lint(many, "--generated").stderr_bytes, "");
  const std::string refused = input("refused.yaml", "{clusterDomain: x}");
  EXPECT_EQ(lint(refused).exit.exit_code, 2);
  EXPECT_EQ(lint(refused, "--generated").exit.exit_code, 2) << "a finding, and not the end";
  EXPECT_NE(lint(refused).stdout_bytes.find("error: KubeletConfig pods: would be refused: spec.kubeletConfig"),
            std::string::npos)
      << lint(refused).stdout_bytes;
  // The side before is what there is; the side after is what is proposed.
  const ProcessOutput repaired = run_strake({"diff", refused, many, "--generated", "--os-image", "img"});
  EXPECT_EQ(repaired.exit.exit_code, 2) << repaired.stderr_bytes;
  EXPECT_NE(repaired.stderr_bytes.find("warning: before: KubeletConfig pods: spec.kubeletConfig.clusterDomain"),
            std::string::npos)
      << repaired.stderr_bytes;
  EXPECT_EQ(run_strake({"diff", many, refused, "--generated", "--os-image", "img"}).exit.exit_code, 1);
}

TEST_F(ConfigCommandsTest, DiffOfAChangedSetAndOfFoldersInFolders) {
  const auto code = [](std::vector<std::string> words) {
    words.insert(words.begin(), "diff");
    words.insert(words.end(), {"--os-image", "img"});
    const ProcessOutput output = run_strake(words);
    return std::pair{output.exit.exit_code, output.stdout_bytes + output.stderr_bytes};
  };
  const std::string set = write("set/a.yaml", config("50-a", "worker", R"({"kernelArguments":["a"]})")).parent_path();
  write("set/sub/b.yaml", config("60-b", "worker", R"({"kernelArguments":["b"]})"));
  write("set/.git/c.yaml", "not YAML: [");
  const std::string more = write("c.yaml", config("70-c", "worker", R"({"kernelArguments":["c"]})")).string();
  const auto [plain, told] = code({set, "--with", more});
  EXPECT_EQ(plain, 2);
  EXPECT_NE(told.find("a folder; -R reads it"), std::string::npos) << told;
  EXPECT_EQ(told.find(".git"), std::string::npos) << told;
  const auto [replaced, changes] = code({set, "-R", "--without", "60-b", "--with", more, "--with", more});
  EXPECT_EQ(replaced, 2);
  EXPECT_NE(changes.find("kernel argument c added"), std::string::npos) << changes;
  EXPECT_NE(changes.find("kernel argument b removed"), std::string::npos) << changes;
  EXPECT_EQ(code({set, "-R", "--without", "nobody"}).first, 3);
  EXPECT_EQ(code({set, set, "--without", "60-b"}).first, 1) << "either two sides or one that is changed";
  const auto [marked, comment] = code({set, "-R", "--without", "60-b", "-o", "markdown"});
  EXPECT_EQ(marked, 2);
  EXPECT_NE(comment.find("| worker | reboot | yes | 1 |"), std::string::npos) << comment;
  write("kustomize/kustomization.yaml",
        "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [x.yaml]\n");
  EXPECT_NE(code({set, (directory_ / "kustomize").string()}).second.find("kustomize build"), std::string::npos);
  EXPECT_NE(run_strake({"render", "-f", set, "-R", "-o", "json", "--os-image", "img"}).stdout_bytes.find("\"b\""),
            std::string::npos);
}

TEST_F(ConfigCommandsTest, DiffOfTwoConfigsComparesThemAsTheyStand) {
  const std::string one =
      write("one.yaml", config("rendered-worker-1", "worker", R"({"kernelArguments":[]})")).string();
  const std::string two =
      write("two.yaml", config("rendered-worker-2", "worker", R"({"kernelArguments":["nosmt"]})")).string();
  EXPECT_EQ(run_strake({"diff", one, one}).exit.exit_code, 0);
  const ProcessOutput text = run_strake({"diff", one, two});
  EXPECT_EQ(text.exit.exit_code, 2);
  EXPECT_NE(text.stdout_bytes.find("reboot"), std::string::npos) << text.stdout_bytes;
  EXPECT_NE(text.stdout_bytes.find("nosmt"), std::string::npos) << text.stdout_bytes;
  EXPECT_EQ(run_strake({"diff", one}).exit.exit_code, 1) << "one side is missing";
  EXPECT_EQ(run_strake({"diff", one, (directory_ / "nowhere.yaml").string()}).exit.exit_code, 1);
}

TEST_F(ConfigCommandsTest, WhatNodesCannotFollowIsToldBeforeItIsApplied) {
  const std::string disks = write("disks.yaml", config("70-disks", "worker",
                                                       R"({"config":{"ignition":{"version":"3.2.0"},"storage":)"
                                                       R"({"disks":[{"device":"/dev/sdb","wipeTable":true}]}}})"))
                                .string();
  const json::Value diff = only_pool(
      json_of(run_strake({"diff", sample(), "--with", disks, "--os-image", "img", "--pool", "worker", "-o", "json"})));
  EXPECT_EQ(json::find_bool(diff, {"reconcilable"}), false);
  EXPECT_EQ(json::find_string(diff, {"class"}), "reinstall");
  EXPECT_EQ(json::find_string(diff, {"reason"}), "ignition disks section contains changes");
}

TEST_F(ConfigCommandsTest, TheSameQuestionsAreAnsweredByACluster) {
  const std::string state = (directory_ / "state").string();
  const std::vector<std::string> up{"up", "--state", state, "--listen", "127.0.0.1:0"};
  ASSERT_EQ(
      run_strake({"up", "--state", state, "--listen", "127.0.0.1:0", "--nodes", "3", "--once", "--boot-time", "300ms"})
          .exit.exit_code,
      0);
  auto server = ChildProcess::start(strake_command(up));
  ASSERT_TRUE(server.ok()) << server.error().to_string();
  const std::string kubeconfig = state + "/kubeconfig";
  const auto ask = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--kubeconfig", kubeconfig});
    ProcessOutput output;
    // The server needs a moment; its answer to a question does not change.
    for (int tries = 0; tries < 50; ++tries) {
      output = run_strake(arguments);
      if (output.stderr_bytes.find("onnect") == std::string::npos) break;
      (void)server->wait_exit(200ms);
    }
    return output;
  };
  const ProcessOutput names = ask({"render", "-o", "name"});
  ASSERT_EQ(names.exit.exit_code, 0) << names.stderr_bytes;
  EXPECT_EQ(std::ranges::count(names.stdout_bytes, '\n'), 2) << names.stdout_bytes;
  const ProcessOutput explained = ask({"explain", "worker", "mitigations=auto"});
  EXPECT_EQ(explained.exit.exit_code, 0) << explained.stderr_bytes;
  EXPECT_NE(explained.stdout_bytes.find("00-worker"), std::string::npos) << explained.stdout_bytes;
  const std::string added = write("added.yaml", file_config("60-site", "worker", "/etc/site", "1")).string();
  const ProcessOutput diff = ask({"diff", "--with", added});
  EXPECT_EQ(diff.exit.exit_code, 2) << diff.stderr_bytes;
  EXPECT_NE(diff.stdout_bytes.find("/etc/site"), std::string::npos) << diff.stdout_bytes;
  EXPECT_EQ(diff.stdout_bytes.find("pool worker: "), 0u) << diff.stdout_bytes;
  EXPECT_NE(diff.stdout_bytes.find(" nodes change ("), std::string::npos) << diff.stdout_bytes;
  const ProcessOutput of_workers = ask({"diff", "--with", added, "--pool", "worker"});
  EXPECT_EQ(of_workers.stdout_bytes.find("pool worker: 2 of 2 nodes change ("), 0u) << of_workers.stdout_bytes;
  EXPECT_EQ(of_workers.stdout_bytes.find("no pool takes"), std::string::npos) << of_workers.stdout_bytes;
  const std::string worker = names.stdout_bytes.substr(names.stdout_bytes.find("rendered-worker-"));
  const std::string name = worker.substr(0, worker.find('\n'));
  EXPECT_EQ(ask({"diff", name, name}).exit.exit_code, 0) << "a rendered config is the same as itself";
  const ProcessOutput mode = ask({"mode", "show"});
  EXPECT_NE(mode.stdout_bytes.find("render   own"), std::string::npos) << mode.stdout_bytes << mode.stderr_bytes;
  EXPECT_EQ(ask({"mode", "set", "rollout", "observe"}).exit.exit_code, 0);
  EXPECT_NE(ask({"mode", "show"}).stdout_bytes.find("rollout  observe  set in StrakeConfig cluster"),
            std::string::npos);
  EXPECT_EQ(ask({"mode", "set", "rollout", "sometimes"}).exit.exit_code, 1);
}

TEST_F(ConfigCommandsTest, IgnitionShowSaysWhatAMachineWillDo) {
  const std::string config =
      R"({"ignition":{"version":"3.2.0"},"passwd":{"users":[{"name":"core","passwordHash":"$6$salt$topsecret"}]},)"
      R"("storage":{"directories":[{"path":"/d"}],"files":[{"path":"/a","contents":{"source":"data:,hello"}},)"
      R"({"path":"/p","overwrite":true,"contents":{"source":"data:,password%3Dtopsecret1"}},)"
      R"({"path":"/c","append":[{"source":"data:,x"}]},{"path":"/r","contents":{"source":"https://x.example/"}}]}})";
  const std::string shown = run_strake({"ignition", "show", "-"}, config).stdout_bytes;
  EXPECT_NE(shown.find("dir   0755           /d\nfile  0644        5  /a\nfile  0644       19  /p overwrites\n"
                       "file  as is        0  /c appends\nfile  0644        -  /r\nuser  core keys 0 password\n"),
            std::string::npos)
      << shown;
  const std::string hidden = run_strake({"ignition", "show", "-o", "json", "-"}, config).stdout_bytes;
  EXPECT_EQ(hidden.find("topsecret"), std::string::npos) << hidden;
  EXPECT_NE(hidden.find("data:,hello"), std::string::npos) << hidden;
  const std::string asked = run_strake({"ignition", "show", "-o", "json", "--show-secrets", "-"}, config).stdout_bytes;
  EXPECT_NE(asked.find("password%3Dtopsecret1"), std::string::npos) << asked;

  // In spec 2 a missing mode is 0000, so the conversion writes out what spec 3 meant.
  const std::string lowered = run_strake({"ignition", "convert", "--to", "2.2", "-"}, config).stdout_bytes;
  const std::string as_spec2 = run_strake({"ignition", "show", "-"}, lowered).stdout_bytes;
  EXPECT_NE(as_spec2.find("dir   0755           /d\nfile  0644        5  /a\nfile  0644       19  /p overwrites\n"
                          "file  as is        1  /c appends\nfile  0644        -  /r\n"),
            std::string::npos)
      << as_spec2;
  const std::string spec2 = R"({"ignition":{"version":"2.2.0"},"storage":{"files":[)"
                            R"({"filesystem":"root","path":"/a","contents":{"source":"data:,hello"}}]}})";
  EXPECT_NE(run_strake({"ignition", "show", "-"}, spec2).stdout_bytes.find("file  0000        5  /a overwrites\n"),
            std::string::npos);
}

}  // namespace
}  // namespace strake::test
