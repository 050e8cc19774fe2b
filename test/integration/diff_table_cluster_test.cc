// Every pair of diff_table.txt that an API server can hold: "before" is in the server, "after" is made of it with
// --with and --without, and the same is said as about files.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "codec/json_patch.h"
#include "codec/yaml.h"
#include "integration/conformance.h"
#include "integration/diff_table.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

const kube::Resource* const kKinds[] = {
    &api::kMachineConfig,     &api::kMachineConfigPool,    &api::kControllerConfig,         &api::kKubeletConfig,
    &api::kOsImageStream,     &api::kMachineConfiguration, &api::kContainerRuntimeConfig,   &api::kMachineOsConfig,
    &api::kImageTagMirrorSet, &api::kImageDigestMirrorSet, &api::kImageContentSourcePolicy, &api::kImageConfig};

const kube::Resource* kind_of(const kube::Object& object) {
  const auto* found = std::ranges::find(kKinds, object.kind(), [](const kube::Resource* known) { return known->kind; });
  return found == std::end(kKinds) ? nullptr : *found;
}

using Objects = std::map<std::string, kube::Object>;  ///< by "KIND/NAME"

Objects objects_of(const std::string& text) {
  Objects objects;
  auto documents = yaml::parse_stream(text);
  EXPECT_TRUE(documents.ok()) << (documents.ok() ? "" : documents.error().to_string());
  if (!documents.ok()) return objects;
  for (yaml::Document& document : *documents) {
    kube::Object object(std::move(document.value));
    const std::string key = fmt::format("{}/{}", object.kind(), object.name());
    EXPECT_NE(kind_of(object), nullptr) << key << ": mark the case with `files`";
    objects.emplace(key, std::move(object));
  }
  return objects;
}

struct DiffTableCluster : conformance::ConformanceTest {
  void SetUp() override {
    ConformanceTest::SetUp();
    if (HasFatalFailure()) return;
    {
      // kube-apiserver lets the first reader of each kind wait for a second: all at once, then.
      std::vector<runtime::Task> readers;
      for (const kube::Resource* kind : kKinds) {
        readers.push_back(runtime().spawn("first reader", [this, kind](const std::stop_token&) {
          EXPECT_TRUE(api().list(*kind, "", {}, call()).ok()) << kind->kind;
        }));
      }
    }
    clear();
  }

  void clear() {
    for (const kube::Resource* kind : kKinds) {
      const auto page = api().list(*kind, "", {}, call());
      ASSERT_TRUE(page.ok()) << kind->kind;
      for (const kube::Object& object : page->items) {
        ASSERT_TRUE(api().remove(*kind, {"", object.name()}, {}, call()).ok()) << object.name();
      }
    }
    present_.clear();
  }

  /// Writes what differs from what the case before left there.
  void bring_to(const Objects& wanted) {
    for (const auto& [key, object] : present_) {
      if (wanted.contains(key)) continue;
      const auto removed = api().remove(*kind_of(object), {"", object.name()}, {}, call());
      EXPECT_TRUE(removed.ok()) << conformance::outcome(removed);
    }
    for (const auto& [key, object] : wanted) {
      const auto known = present_.find(key);
      if (known != present_.end() && json::same_value(known->second.json(), object.json())) continue;
      if (known != present_.end()) {
        ASSERT_TRUE(api().remove(*kind_of(object), {"", object.name()}, {}, call()).ok()) << key;
      }
      const auto created = api().create(*kind_of(object), object, {}, call());
      EXPECT_TRUE(created.ok()) << key << " " << conformance::outcome(created);
    }
    present_ = wanted;
  }

  Objects present_;
  TempDir folder_;
};

TEST_P(DiffTableCluster, HoldsForAServerAndWhatIsPutOverIt) {
  const auto kubeconfig = server().kubeconfig();
  ASSERT_TRUE(kubeconfig.ok()) << kubeconfig.error().to_string();
  std::size_t asked = 0;
  std::vector<DiffCase> cases = read_diff_table();
  // What the server holds is written once for all cases that begin with it.
  std::ranges::stable_sort(cases, {}, &DiffCase::before);
  std::erase_if(cases, [](const DiffCase& test) { return test.files_only; });
  // Whoever reads from kube-apiserver after a write waits a tenth of a second: there one in three of the others do.
  std::map<std::string, int> sharing;
  for (const DiffCase& test : cases) ++sharing[test.before];
  int alone = 0;
  for (const DiffCase& test : cases) {
    if (on_kubernetes() && sharing[test.before] == 1 && ++alone % 3 != 0) continue;
    SCOPED_TRACE(fmt::format("diff_table.txt:{}: {}", test.line, test.title));
    const Objects before = objects_of(test.before), after = objects_of(test.after);
    bring_to(before);
    const std::filesystem::path file = folder_ / "after.yaml";
    std::ofstream(file) << test.after;
    std::vector<std::string> words{"diff", "-o", "json", "--kubeconfig", kubeconfig->string(), "--with", file.string()};
    for (const auto& [key, object] : before) {
      if (!after.contains(key)) words.insert(words.end(), {"--without", key});
    }
    const InProcessOutput output = run_in_process(words);
    EXPECT_EQ(verdict_of(output), test.verdict) << output.out << output.err;
    std::vector<std::string> said = summary_of(output, {"", file.string()}), expected = test.expected;
    for (std::vector<std::string>* lines : {&said, &expected}) {
      std::erase_if(*lines, [](const std::string& line) { return line.starts_with("warns "); });
    }
    EXPECT_EQ(said, expected) << output.out << output.err;
    ++asked;
  }
  EXPECT_GE(asked, on_kubernetes() ? 90u : 150u);
  clear();
}

TEST_P(DiffTableCluster, SaysWhatItCostsInNodes) {
  const auto kubeconfig = server().kubeconfig();
  ASSERT_TRUE(kubeconfig.ok()) << kubeconfig.error().to_string();
  const auto ask = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--kubeconfig", kubeconfig->string()});
    return run_in_process(words);
  };
  const std::string selector = "machineConfigSelector: {matchLabels: {machineconfiguration.openshift.io/role: worker}}";
  const auto object = [](const std::string& kind, const std::string& name, const std::string& members) {
    return fmt::format(
        "---\n{{apiVersion: machineconfiguration.openshift.io/v1, kind: {}, metadata: {{name: {}, labels: "
        "{{machineconfiguration.openshift.io/role: worker}}}}, spec: {{{}}}}}\n",
        kind, name, members);
  };
  const std::string infra =
      object("MachineConfigPool", "infra", "paused: true, nodeSelector: {matchLabels: {dt-infra: a}}, " + selector);
  bring_to(objects_of(object("MachineConfig", "50-a", "kernelArguments: [a]") + infra +
                      object("MachineConfigPool", "worker",
                             "maxUnavailable: 2, nodeSelector: {matchLabels: {dt-worker: a}}, " + selector)));
  // What the nodes run, as a controller would have left it.
  for (const std::string pool : {"worker", "infra"}) {
    const InProcessOutput rendered = ask({"render", "--pool", pool, "-o", "json"});
    const kube::Object config(*json::parse(rendered.out));
    ASSERT_TRUE(api().create(api::kMachineConfig, config, {}, call()).ok());
    for (const std::string node : {"dt-1", "dt-2", "dt-3"}) {
      kube::Object machine(kube::core::kNode, {"", node + pool});
      machine.set_label("dt-worker", "a");
      if (pool == "infra") machine.set_label("dt-infra", "a");
      for (const std::string_view annotation :
           {api::node_annotation::kCurrentConfig, api::node_annotation::kDesiredConfig}) {
        machine.set_annotation(annotation, config.name());
      }
      machine.set_annotation(api::node_annotation::kState, "Done");
      if (pool == "worker" || node == "dt-1") {
        ASSERT_TRUE(api().create(kube::core::kNode, machine, {}, call()).ok());
      }
    }
  }
  const std::string file = folder_ / "more.yaml";
  std::ofstream(file) << object("MachineConfig", "60-b", "kernelArguments: [b]");
  const std::string text = ask({"diff", "--with", file}).out;
  EXPECT_NE(text.find("pool worker: 3 of 3 nodes change (3 reboot), 2 at once: dt-1worker, dt-2worker, dt-3worker\n"),
            std::string::npos)
      << text;
  EXPECT_NE(
      text.find("pool infra: paused, so nothing happens until it is resumed; then 1 of 1 nodes change (1 reboot)"),
      std::string::npos)
      << text;
  EXPECT_NE(ask({"diff", "--with", file, "-o", "markdown"})
                .out.find("- pool worker: 3 of 3 nodes change (3 reboot), 2 at once"),
            std::string::npos);
  const auto document = json::parse(ask({"diff", "--with", file, "-o", "json"}).out);
  ASSERT_TRUE(document.ok());
  const json::Array& cost = json::find(*document, {"cost"})->get_array();
  ASSERT_EQ(cost.size(), 2u);
  EXPECT_EQ(json::find_bool(cost[0], {"paused"}), true);
  EXPECT_EQ(json::find(cost[1], {"changing"})->get_array().size(), 3u);
  // Only what the change itself brings about: another limit moves no node, a pool that goes gives its nodes away.
  EXPECT_EQ(ask({"diff", "--without", "pool/infra"}).out.find("pool worker: 1 of 4 nodes change"), 0u);
  std::ofstream(file) << object("MachineConfigPool", "worker",
                                "maxUnavailable: 3, nodeSelector: {matchLabels: {dt-worker: a}}, " + selector);
  const std::string limit = ask({"diff", "--with", file}).out;
  EXPECT_EQ(limit.find("nodes change"), std::string::npos) << limit;
  for (const std::string node : {"dt-1worker", "dt-2worker", "dt-3worker", "dt-1infra"}) {
    EXPECT_TRUE(api().remove(kube::core::kNode, {"", node}, {}, call()).ok());
  }
  clear();
}

INSTANTIATE_TEST_SUITE_P(Backends, DiffTableCluster,
                         testing::Values(conformance::Backend::kEmbeddedHttps, conformance::Backend::kKubernetes),
                         conformance::backend_name);

}  // namespace
}  // namespace strake::test
