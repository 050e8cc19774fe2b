// The workflow of docs/ci as it stands: its own shell steps, run one after the other as a runner runs them, in a
// repository with a main branch and a branch to be reviewed.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "base/fd.h"
#include "base/subprocess.h"
#include "base/text.h"
#include "codec/yaml.h"
#include "support/places.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

struct Step {
  std::string name;
  std::string script;
};

std::string machine_config(const std::string& spec) {
  return "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 50-a\n  labels:\n"
         "    machineconfiguration.openshift.io/role: worker\nspec: " +
         spec + "\n";
}

struct ReviewWorkflow : testing::Test {
  void SetUp() override {
    const auto text = read_file(source_folder() / "docs/ci/review-manifests.yml", 1 << 16);
    ASSERT_TRUE(text.ok());
    const auto workflow = yaml::parse(*text);
    ASSERT_TRUE(workflow.ok()) << workflow.error().to_string();
    const json::Value& job = *json::find(*workflow, {"jobs", "review"});
    for (const json::Value& step : json::find(job, {"steps"})->get_array()) {
      const auto script = json::find_string(step, {"run"});
      if (script) steps_.push_back({*json::find_string(step, {"name"}), *script});
    }
    for (const auto& member : json::find(job, {"env"})->get_object()) {
      variables_[std::string(member.key())] = json::as_view(member.value().get_string());
    }
    ASSERT_EQ(steps_.size(), 5u);
    // The program under test, and a `gh` that keeps what it is given.
    std::filesystem::create_directories(folder_ / "bin");
    std::filesystem::create_symlink(strake_program(), folder_ / "bin/strake");
    std::ofstream(folder_ / "bin/gh") << "#!/bin/sh\ncp \"$5\" \"$RUNNER_TEMP/said\"\n";
    std::filesystem::permissions(folder_ / "bin/gh", std::filesystem::perms::owner_all);
    git({"init", "-q", "-b", "main", repository()});
  }

  std::string repository() const { return (folder_ / "repository").string(); }

  std::string git(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"git", "-C", arguments.front() == "init" ? "/" : repository(), "-c",
                                         "user.name=a", "-c", "user.email=a@example.com"});
    Command command;
    command.argv = std::move(arguments);
    command.env = environment();
    const auto output = run_checked(command);
    EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
    return output.ok() ? std::string(trimmed(output->stdout_bytes)) : "";
  }

  /// The manifests of a branch, as one commit. An empty text: no manifest at all.
  void commit(const std::string& text) {
    const std::filesystem::path manifests = folder_ / "repository/manifests/site";
    std::filesystem::remove_all(manifests);
    std::filesystem::create_directories(manifests);
    if (!text.empty()) std::ofstream(manifests / "a.yaml") << text;
    git({"add", "-A"});
    git({"commit", "-q", "--allow-empty", "-m", "x"});
  }

  std::vector<std::string> environment() {
    std::vector<std::string> list{"PATH=" + (folder_ / "bin").string() + ":/usr/bin:/bin",
                                  "HOME=" + folder_.path().string()};
    for (const auto& [name, value] : variables_) list.push_back(name + "=" + value);
    return list;
  }

  /// The name of the step that failed; "" when the branch passes.
  std::string review(const std::string& before, const std::string& after) {
    commit(before);
    variables_["BASE"] = git({"rev-parse", "HEAD"});
    git({"checkout", "-q", "-B", "branch"});
    commit(after);
    std::filesystem::remove_all(folder_ / "runner");
    std::filesystem::create_directory(folder_ / "runner");
    git({"worktree", "prune"});
    variables_["RUNNER_TEMP"] = folder_ / "runner";
    variables_["GITHUB_ENV"] = folder_ / "runner/env";
    variables_["GITHUB_STEP_SUMMARY"] = folder_ / "runner/summary";
    std::string failed;
    for (const Step& step : steps_) {
      Command command;
      command.argv = {"bash", "-e", "-c", step.script};
      command.env = environment();
      command.cwd = repository();
      const auto output = run(command);
      EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
      printed_ += output->stdout_bytes + output->stderr_bytes;
      if (output->exit.exit_code != 0) failed = step.name;
      if (!failed.empty()) break;
      // What a step writes there, the next ones have in their environment.
      const auto lines = read_file(folder_ / "runner/env", 4096);
      if (!lines.ok()) continue;
      for (const std::string_view line : split(*lines, '\n')) {
        const std::size_t equals = line.find('=');
        if (equals != std::string_view::npos) variables_[std::string(line.substr(0, equals))] = line.substr(equals + 1);
      }
    }
    git({"checkout", "-q", "main"});
    variables_.erase("STRAKE_DIFF");
    return failed;
  }

  std::string comment() { return read_file(folder_ / "runner/said", 1 << 20).value_or(""); }

  TempDir folder_;
  std::vector<Step> steps_;
  std::map<std::string, std::string> variables_;
  std::string printed_;
};

TEST_F(ReviewWorkflow, LetsThroughWhatItShouldAndStopsTheRest) {
  const std::string plain = machine_config("{kernelArguments: [a]}");
  EXPECT_EQ(review(plain, "# a comment\n" + plain), "") << printed_;
  EXPECT_EQ(comment(), "No difference in the configuration of nodes.\n");
  EXPECT_EQ(review(plain, machine_config("{kernelArguments: [b]}")), "gate") << printed_;
  EXPECT_NE(comment().find("| (one config) | reboot | yes | 2 |"), std::string::npos) << comment();
  EXPECT_NE(printed_.find("nodes would have to bear 'reboot' or more"), std::string::npos) << printed_;
  variables_["FAIL_ON"] = "irreconcilable";
  EXPECT_EQ(review(plain, machine_config("{kernelArguments: [b]}")), "") << printed_;
  EXPECT_EQ(review("", plain), "") << "the first manifest: " << printed_;
  EXPECT_EQ(review(machine_config("{kernelArguments: [a], kernelArguments: [b]}"), plain), "")
      << "a repair" << printed_;
}

TEST_F(ReviewWorkflow, ABrokenBranchFailsWithTheReason) {
  const std::string plain = machine_config("{kernelArguments: [a]}");
  EXPECT_EQ(review(plain, machine_config("{kernelType: fast}")), "what changes on nodes");
  EXPECT_NE(printed_.find("spec.kernelType"), std::string::npos) << printed_;
}

}  // namespace
}  // namespace strake::test
