#include "configserver/bootstrap_answers.h"

#include <fstream>

#include <gtest/gtest.h>

#include "configserver/testing/objects.h"
#include "support/temp_dir.h"

namespace strake::configserver::bootstrap_answers_test {

struct Stage {
  Stage() {
    for (const char* name : {"machine-pools", "machine-configs"}) std::filesystem::create_directory(folder / name);
    write("kubeconfig", "the: kubeconfig\n");
    write("ca.pem", "REGISTRY CA");
    input.directory = folder.path();
    input.kubeconfig = folder / "kubeconfig";
    input.registry_authorities = {{"registry.example", folder / "ca.pem"}};
  }
  void write(const std::string& name, std::string_view text) { std::ofstream(folder / name) << text; }
  void write_pool(const std::string& name, const std::string& config) {
    write("machine-pools/" + name + ".yaml", json::write(objects::pool(name, config, config, 0).json()));
  }
  Answer answer(std::string_view pool) { return read_bootstrap(input)->find(pool, {3, 2}); }

  test::TempDir folder;
  BootstrapInput input;
};

TEST(BootstrapAnswers, TheMachinesThatMakeTheCluster) {
  Stage stage;
  EXPECT_EQ(stage.answer("master").outcome, Outcome::kNoBootstrapConfig);
  stage.write_pool("master", "rendered-master-1");
  EXPECT_EQ(stage.answer("master").outcome, Outcome::kNoBootstrapConfig);
  stage.write("machine-configs/rendered-master-1.yaml",
              json::write(objects::rendered("rendered-master-1", R"({"ignition":{"version":"3.2.0"}})").json()));
  const Answer served = stage.answer("master");
  ASSERT_TRUE(served.body) << served.problem;
  const json::Value config = objects::from_text(*served.body);
  EXPECT_EQ(objects::file_in(config, machine_path::kKubeconfig), "the: kubeconfig\n");
  EXPECT_EQ(objects::file_in(config, "/etc/docker/certs.d/registry.example/ca.crt"), "REGISTRY CA");
  EXPECT_EQ(objects::file_in(config, machine_path::kApiServerCa), "absent");
  EXPECT_EQ(json::find_string(objects::from_text(objects::file_in(config, machine_path::kEncapsulated)),
                              {"spec", "config", "ignition", "version"}),
            "3.5.0");
}

TEST(BootstrapAnswers, NobodyElseAndNothingBroken) {
  Stage stage;
  stage.write_pool("worker", "rendered-worker-1");
  EXPECT_EQ(stage.answer("worker").outcome, Outcome::kNoPool);
  stage.write("machine-pools/master.yaml", "a: [");
  EXPECT_EQ(stage.answer("master").outcome, Outcome::kNotReadable);
  stage.write_pool("master", "../../etc/shadow");
  EXPECT_EQ(stage.answer("master").outcome, Outcome::kNotReadable);
  stage.write_pool("master", "rendered-master-1");
  stage.write("machine-configs/rendered-master-1.yaml", "- no object");
  EXPECT_EQ(stage.answer("master").outcome, Outcome::kNotReadable);
}

}  // namespace strake::configserver::bootstrap_answers_test
