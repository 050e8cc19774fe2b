// What the config server hands out beside a second assembly of it: another language, coreos' own types and the
// translations the Machine Config Operator uses.
#include <gtest/gtest.h>

#include <map>

#include "api/kinds.h"
#include "codec/base64.h"
#include "codec/data_url.h"
#include "configserver/assembly.h"
#include "ignition/config.h"
#include "integration/ignition_generator.h"
#include "integration/ignition_judge.h"
#include "support/servers.h"

namespace strake::test::assembly_judge_test {

namespace {

using configserver::AssemblyInput;
using ignition::SpecVersion;

constexpr SpecVersion kServedVersions[] = {{2, 2}, {3, 1}, {3, 2}, {3, 3}, {3, 4}, {3, 5}};
constexpr int kTries = 1000;
constexpr int kShownDifferences = 3;

/// One cluster's say in what machines get, from plain to everything at once.
struct Surroundings {
  std::string api_server_ca, cloud_ca, layered_image, pre_built_image;
  bool kernel_arguments = false;
  bool has_files_already = false;
  bool bootstrap = false;
};
const Surroundings kSurroundings[] = {
    {},
    {"API CA\n", "CLOUD CA\n", "", "", true, false, false},
    {"API CA\n", "CLOUD CA\n", "registry.example/layered@sha256:1", "", false, true, false},
    {"", "CLOUD CA\n", "registry.example/layered@sha256:1", "registry.example/built@sha256:2", true, true, false},
    {"API CA\n", "", "", "", true, false, true},
};

/// An entry for a path the server writes itself, with a mode and a hash that belong to other contents.
void add_file_of_server(json::Value& config, std::string_view path) {
  json::Value& files = json::ensure(config, {"storage", "files"});
  if (!files.is_array()) files = json::Array{};
  for (const json::Value& file : files.get_array()) {
    if (json::find_string(file, {"path"}) == path) return;
  }
  files.get_array().push_back(
      json::Object{{"path", path}, {"mode", 0600}, {"contents", json::Object{{"source", "data:,before"}}}});
}

struct Case {
  AssemblyInput input;
  std::string question;  ///< for the judge
};

Case case_of(json::Value ignition_config, const Surroundings& around, int number) {
  if (around.has_files_already) {
    add_file_of_server(ignition_config, configserver::machine_path::kApiServerCa);
    add_file_of_server(ignition_config, configserver::machine_path::kCloudCa);
  }
  kube::Object config(api::kMachineConfig, {"", fmt::format("rendered-worker-{}", number)});
  json::ensure(config.json(), {"metadata", "creationTimestamp"}) = "2026-01-01T00:00:00Z";
  json::ensure(config.json(), {"metadata", "uid"}) = "11111111-2222-3333-4444-555555555555";
  if (!around.pre_built_image.empty()) {
    json::ensure(config.json(), {"metadata", "annotations", "machineconfiguration.openshift.io/pre-built-image"}) =
        around.pre_built_image;
  }
  json::ensure(config.json(), {"spec", "osImageURL"}) = "registry.example/os@sha256:0";
  if (around.kernel_arguments)
    json::ensure(config.json(), {"spec", "kernelArguments"}) = json::Array{"nosmt", "a=\"b c\" & <d>"};
  json::ensure(config.json(), {"spec", "config"}) = std::move(ignition_config);

  Case result;
  kube::Object controller(api::kControllerConfig, {"", "machine-config-controller"});
  json::ensure(controller.json(), {"spec", "kubeAPIServerServingCAData"}) = codec::encode_base64(around.api_server_ca);
  json::ensure(controller.json(), {"spec", "cloudProviderCAData"}) = codec::encode_base64(around.cloud_ca);
  result.input.controller_config = std::make_shared<const kube::Object>(std::move(controller));
  result.input.layered_image = around.layered_image;
  result.input.kubeconfig = "apiVersion: v1\nkind: Config\n# \xc3\xa9 100%\n";
  result.input.bootstrap = around.bootstrap;
  json::Array registries;
  if (around.bootstrap) {
    result.input.registry_authorities = {{"registry.example:5000", "REGISTRY CA"}, {"other", "OTHER CA"}};
    for (const auto& [name, pem] : result.input.registry_authorities)
      registries.push_back(json::Object{{"name", name}, {"pem", pem}});
  }
  result.question = json::write(json::Object{{"machineConfig", config.json()},
                                             {"apiServerCA", around.api_server_ca},
                                             {"cloudCA", around.cloud_ca},
                                             {"kubeconfig", result.input.kubeconfig},
                                             {"layeredImage", around.layered_image},
                                             {"registries", std::move(registries)},
                                             {"bootstrap", around.bootstrap}});
  result.input.config = std::make_shared<const kube::Object>(std::move(config));
  return result;
}

/// Two texts of a data URL are alike when they decode alike, and two JSON files when they say the same.
std::string comparable(json::Value config) {
  ignition::normalise(config);
  if (json::Value* files = json::find(config, {"storage", "files"}); files != nullptr && files->is_array()) {
    for (json::Value& file : files->get_array()) {
      json::Value* source = json::find(file, {"contents", "source"});
      const auto data = codec::parse_data_url(json::find_string(file, {"contents", "source"}).value_or(""));
      if (source == nullptr || !data.ok()) continue;
      const auto inner = json::parse(data->data);
      const bool is_json = json::find_string(file, {"path"}).value_or("").ends_with(".json");
      *source = is_json && inner.ok() ? json::write_canonical(*inner) : data->data;
    }
  }
  return json::write_canonical(config);
}

/// The library forgets these without a word; we refuse. docs/ignition-differences.md has the table.
bool refused_on_purpose(const std::string& ours) {
  for (const char* words : {"cex: no such member", "wipePartitionEntry: no such member",
                            "shouldExist: spec 2 cannot remove", "contents.source: is not set"}) {
    if (ours.find(words) != std::string::npos) return true;
  }
  return false;
}

}  // namespace

TEST(AssemblyJudge, EveryAnswerIsWhatASecondAssemblyGives) {
  const auto programs = judge_programs();
  ASSERT_TRUE(programs.ok()) << programs.error().to_string();
  IgnitionGenerator generator(151);
  std::vector<Case> cases;
  std::vector<std::string> questions;
  for (int i = 0; i < kTries; ++i) {
    ignition::Checked checked = ignition::check(generator.config(ignition::kLatestVersion));
    if (checked.report.is_fatal() || checked.version != ignition::kLatestVersion) continue;
    if (!ignition::parse(checked.config).ok()) continue;  // what no rendered config holds
    ignition::normalise(checked.config);                  // as a rendered one is
    cases.push_back(case_of(std::move(checked.config), kSurroundings[cases.size() % std::size(kSurroundings)], i));
    questions.push_back(cases.back().question);
  }
  ASSERT_GT(cases.size(), 200U);
  const auto answers = judge({(*programs / "judge-ignition2").string(), "serve"}, questions);
  ASSERT_EQ(answers.size(), cases.size());
  std::map<std::string, int> alike, refused;
  int listed = 0, differ = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (const SpecVersion version : kServedVersions) {
      const std::string minor = fmt::format("{}.{}", version.major, version.minor);
      const json::Value* judged = json::find(answers[i], {minor});
      ASSERT_NE(judged, nullptr) << minor;
      const json::Value* theirs = json::find(*judged, {"config"});
      const auto ours = configserver::assemble(cases[i].input, version);
      const std::string theirs_text =
          theirs == nullptr ? json::find_string(*judged, {"error"}).value_or("") : comparable(*theirs);
      const std::string ours_text = ours.ok() ? comparable(*json::parse(*ours)) : ours.error().to_string();
      if (theirs == nullptr && !ours.ok()) {
        ++refused[minor];
      } else if (theirs != nullptr && ours.ok() && theirs_text == ours_text) {
        ++alike[minor];
      } else if (!ours.ok() && refused_on_purpose(ours_text)) {
        ++listed;
      } else if (++differ <= kShownDifferences) {
        ADD_FAILURE() << minor << "\nquestion " << cases[i].question << "\ntheirs " << theirs_text << "\nours   "
                      << ours_text;
      }
    }
  }
  EXPECT_EQ(differ, 0);
  for (const SpecVersion version : kServedVersions) {
    const std::string minor = fmt::format("{}.{}", version.major, version.minor);
    std::printf("%s: %d alike, %d refused alike\n", minor.c_str(), alike[minor], refused[minor]);
    EXPECT_GT(alike[minor], static_cast<int>(cases.size() / 50)) << minor;
  }
  std::printf("%zu configs; %d differ as listed, %d differ\n", cases.size(), listed, differ);
}

}  // namespace strake::test::assembly_judge_test
