// Our rendered names beside those of the libraries that made the names in real clusters: coreos/ignition merges,
// encoding/json and yaml.v2 write, on generated MachineConfigs and texts.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "api/node_annotations.h"
#include "base/subprocess.h"
#include "codec/yaml.h"
#include "integration/machine_config_generator.h"
#include "machineconfig/merge/merge.h"
#include "machineconfig/render/rendered_name.h"
#include "machineconfig/render/rendered_size.h"
#include "support/servers.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

constexpr int kValues = 20000;
constexpr int kSets = 3000;
constexpr std::string_view kOsImage = "registry.example.com/os@sha256:0";
constexpr std::string_view kExtensionsImage = "registry.example.com/ext@sha256:0";

std::vector<json::Value> ask_judge(const std::vector<json::Value>& questions) {
  const auto programs = judge_programs();
  EXPECT_TRUE(programs.ok()) << programs.error().to_string();
  Command command;
  command.argv = {(*programs / "judge-render").string()};
  for (const json::Value& question : questions) {
    const std::string text = json::write(question);
    command.stdin_bytes += fmt::format("{}\n{}", text.size(), text);
  }
  command.timeout = 300s;
  command.stdout_limit_bytes = std::size_t{512} << 20;
  const auto output = run_checked(command);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  std::vector<json::Value> answers;
  if (!output.ok()) return answers;
  const std::string_view lines = output->stdout_bytes;
  for (std::size_t start = 0; start < lines.size();) {
    const std::size_t end = lines.find('\n', start);
    answers.push_back(*json::parse(lines.substr(start, end - start)));
    start = end + 1;
  }
  return answers;
}

/// Where two texts part, with some lines around.
std::string difference(std::string_view theirs, std::string_view ours) {
  const auto at = static_cast<std::size_t>(std::mismatch(theirs.begin(), theirs.end(), ours.begin(), ours.end()).first -
                                           theirs.begin());
  const std::size_t from = at < 200 ? 0 : at - 200;
  return fmt::format("judge:\n...{}...\nours:\n...{}...\n", theirs.substr(from, 400),
                     ours.substr(std::min(from, ours.size()), 400));
}

TEST(RenderJudge, WritesTheSameYaml) {
  MachineConfigGenerator generator(1);
  std::vector<json::Value> questions;
  for (int i = 0; i < kValues; ++i) questions.push_back(json::Object{{"spec", generator.value(3)}});
  const auto answers = ask_judge(questions);
  ASSERT_EQ(answers.size(), questions.size());
  int refused = 0;
  int disagreements = 0;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    const json::Value& value = *json::find(questions[i], {"spec"});
    if (value.is_null()) continue;  // no question at all to the judge
    const bool judge_refuses = !json::find_string(answers[i], {"error"})->empty();
    const auto ours = yaml::emit(value);
    if (judge_refuses && !ours.ok()) {
      ++refused;
      continue;
    }
    const std::string theirs =
        judge_refuses ? *json::find_string(answers[i], {"error"}) : *json::find_string(answers[i], {"yaml"});
    if (ours.ok() && !judge_refuses && *ours == theirs) {
      EXPECT_EQ(machineconfig::go_json_size(value), json::find_int(answers[i], {"jsonSize"})) << json::write(value);
      continue;
    }
    if (++disagreements <= 3) {
      ADD_FAILURE() << json::write(value) << "\n" << difference(theirs, ours.ok() ? *ours : ours.error().to_string());
    }
  }
  std::printf("yaml: %d values, %d refused by both, %d disagreements\n", kValues, refused, disagreements);
  EXPECT_EQ(disagreements, 0);
  EXPECT_GT(refused, 0);
}

/// What this project refuses and the platform renders; each stands in docs/ignition-differences.md or is contents no
/// node could apply.
bool is_deliberate_refusal(const std::string& message) {
  for (const std::string_view known : {"names the member", "cannot be written", "is not a file name", "gzip"}) {
    if (message.find(known) != std::string::npos) return true;
  }
  return false;
}

TEST(RenderJudge, GivesTheSameNames) {
  MachineConfigGenerator generator(2);
  std::vector<std::vector<kube::Object>> sets;
  std::vector<json::Value> questions;
  for (int i = 0; i < kSets; ++i) {
    sets.push_back(generator.configs());
    json::Array configs;
    for (const kube::Object& config : sets.back()) {
      configs.push_back(
          json::Object{{"generated", config.annotation(api::config_annotation::kGeneratedByController).has_value()},
                       {"spec", *json::find(config.json(), {"spec"})}});
    }
    questions.push_back(
        json::Object{{"configs", std::move(configs)}, {"osImage", kOsImage}, {"extensionsImage", kExtensionsImage}});
  }
  const auto answers = ask_judge(questions);
  ASSERT_EQ(answers.size(), questions.size());
  int same = 0;
  int merged_several = 0;
  int refused_by_both = 0;
  int refused_by_us = 0;
  int disagreements = 0;
  for (std::size_t i = 0; i < sets.size(); ++i) {
    const auto ours = [&]() -> Result<json::Value> {
      std::vector<machineconfig::Fragment> fragments;
      for (const kube::Object& config : sets[i]) {
        STRAKE_TRY(machineconfig::Fragment fragment, machineconfig::read_fragment(config));
        fragments.push_back(std::move(fragment));
      }
      return machineconfig::merge_specs(std::move(fragments), {std::string(kOsImage), std::string(kExtensionsImage)});
    }();
    const Result<std::string> hash = ours.ok() ? machineconfig::spec_hash(*ours) : Result<std::string>(ours.error());
    const std::string judge_error = *json::find_string(answers[i], {"error"});
    if (!judge_error.empty() && !hash.ok()) {
      ++refused_by_both;
      continue;
    }
    if (!hash.ok() && is_deliberate_refusal(hash.error().to_string())) {
      ++refused_by_us;
      continue;
    }
    if (hash.ok() && *hash == json::find_string(answers[i], {"hash"})) {
      EXPECT_EQ(machineconfig::spec_size(ours->get_object()), json::find_int(answers[i], {"jsonSize"}));
      ++same;
      if (sets[i].size() > 1) ++merged_several;
      continue;
    }
    if (++disagreements <= 3) {
      const std::string theirs = judge_error.empty() ? *json::find_string(answers[i], {"yaml"}) : judge_error;
      ADD_FAILURE() << "set " << i << "\n"
                    << difference(theirs, hash.ok() ? *yaml::emit(*ours) : hash.error().to_string())
                    << json::write(questions[i]).substr(0, 4000);
    }
  }
  std::printf(
      "render: %d sets of MachineConfigs, %d with the same name (%d of several MachineConfigs), %d refused by both, "
      "%d refused by us alone, %d disagreements\n",
      kSets, same, merged_several, refused_by_both, refused_by_us, disagreements);
  EXPECT_EQ(disagreements, 0);
  EXPECT_GT(same, kSets / 4);
  EXPECT_GT(merged_several, kSets / 8);
}

}  // namespace
}  // namespace strake::test
