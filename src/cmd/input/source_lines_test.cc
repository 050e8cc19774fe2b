#include "cmd/input/source_lines.h"

#include <gtest/gtest.h>

#include "base/fd.h"
#include "cmd/input/config_input.h"
#include "support/temp_dir.h"

namespace strake::cmd::source_lines_test {

const std::string kTwoDocuments =
    "apiVersion: machineconfiguration.openshift.io/v1\n"
    "kind: MachineConfig\n"
    "metadata:\n"
    "  name: 50-a\n"
    "spec:\n"
    "  kernelArguments: [nosmt,\n"
    "    quiet]\n"
    "---\n"
    "apiVersion: v1\n"
    "kind: List\n"
    "items:\n"
    "- apiVersion: machineconfiguration.openshift.io/v1\n"
    "  kind: MachineConfig\n"
    "  metadata:\n"
    "    name: 50-b\n"
    "  spec:\n"
    "    fips: true\n"
    "- apiVersion: machineconfiguration.openshift.io/v1\n"
    "  kind: MachineConfig\n"
    "  metadata: {name: 50-c}\n";

struct Folder {
  test::TempDir dir;
  std::string write(const std::string& name, const std::string& text) {
    const std::string path = (dir.path() / name).string();
    EXPECT_TRUE(write_file_atomic(path, text, 0600).ok());
    return path;
  }
};

TEST(SourceLines, FieldsOfDocumentsAndOfItemsOfAList) {
  Folder folder;
  const std::string path = folder.write("site.yaml", kTwoDocuments);
  const auto files = read_config_files(path);
  ASSERT_TRUE(files.ok()) << files.error().to_string();
  const SourceField fields[] = {
      {"MachineConfig", "50-a", {}},
      {"MachineConfig", "50-a", {"spec", "kernelArguments", "[1]"}},
      {"MachineConfig", "50-a", {"spec", "config", "storage"}},
      {"MachineConfig", "50-b", {}},
      {"MachineConfig", "50-b", {"spec", "fips"}},
      {"MachineConfig", "50-c", {"spec", "fips"}},
      {"MachineConfig", "50-none", {}},
  };
  const auto places = files->sources.find(fields);
  std::vector<std::string> shown;
  for (const SourcePlace& place : places) shown.push_back(place.to_string());
  EXPECT_EQ(shown, (std::vector<std::string>{path + ":1", path + ":7", path + ":5", path + ":12", path + ":17",
                                             path + ":18", ""}));
  EXPECT_EQ(files->sources.find_object("MachineConfig", "50-c")->to_string(), path + ":9: items[1]");
}

TEST(SourceLines, AFileThatIsGoneOrChangedStillHasItsDocument) {
  Folder folder;
  const std::string path = folder.write("site.yaml", kTwoDocuments);
  const auto files = read_config_files(path);
  ASSERT_TRUE(files.ok());
  folder.write("site.yaml", "a: [");
  EXPECT_EQ(files->sources.find({"MachineConfig", "50-b", {"spec", "fips"}}).line, 9u);
  ASSERT_TRUE(std::filesystem::remove(path));
  EXPECT_EQ(files->sources.find({"MachineConfig", "50-b", {"spec", "fips"}}).line, 9u);
}

}  // namespace strake::cmd::source_lines_test
