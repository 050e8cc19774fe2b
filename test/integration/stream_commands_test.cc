// `strake stream` as a user and a script run it. Its JSON is read by Python, which stands for everybody's own reader.
#include <gtest/gtest.h>

#include <filesystem>

#include "base/fd.h"
#include "base/subprocess.h"
#include "release/sample.h"
#include "support/places.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

using namespace std::chrono_literals;

std::string stream_file(const std::string& name) {
  return (source_folder() / "test/corpus/boot_image_stream" / name).string();
}

ProcessOutput run_stream(std::vector<std::string> arguments) {
  Command command;
  command.argv = {strake_program().string(), "stream"};
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.timeout = 120s;
  // No cluster may be found by accident.
  command.env = std::vector<std::string>{"PATH=/usr/bin:/bin", "HOME=/nonexistent", "KUBECONFIG=/nonexistent/config"};
  auto output = run(command);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  return output.ok() ? *std::move(output) : ProcessOutput{};
}

/// What a Python expression over `d` gives, as compact JSON with sorted keys.
std::string python_value(const std::string& json_text, const std::string& expression) {
  Command command;
  command.argv = {"python3", "-c",
                  "import json,sys; d=json.load(sys.stdin); print(json.dumps(" + expression + ",sort_keys=True))"};
  command.stdin_bytes = json_text;
  auto output = run_checked(command);
  EXPECT_TRUE(output.ok()) << (output.ok() ? "" : output.error().to_string());
  return output.ok() ? output->stdout_bytes : "";
}

TEST(Stream, AnswersAreWhatJsonReadersFindInTheStream) {
  struct Case {
    const char* name;
    std::vector<std::string> arguments;
    const char* in_answer;
    const char* in_stream;
  };
  const Case cases[] = {
      {"artifacts", {"get", "--platform", "vmware"}, "d", "d['architectures']['x86_64']['artifacts']['vmware']"},
      {"regions", {"get", "--platform", "aws"}, "d", "d['architectures']['x86_64']['images']['aws']"},
      {"one region",
       {"get", "--platform", "aws", "--arch", "arm64", "--region", "us-east-1"},
       "d['image']",
       "d['architectures']['aarch64']['images']['aws']['regions']['us-east-1']['image']"},
      {"a narrowed stream",
       {"show", "--platform", "metal", "--format", "pxe"},
       "d['architectures']['x86_64']['artifacts']['metal']['formats']",
       "{'pxe': d['architectures']['x86_64']['artifacts']['metal']['formats']['pxe']}"},
      {"the whole stream", {"show"}, "d", "d"},
  };
  const auto stream = read_file(stream_file("rhcos.json"), 1 << 20);
  ASSERT_TRUE(stream.ok());
  for (const Case& c : cases) {
    std::vector<std::string> arguments = c.arguments;
    arguments.insert(arguments.end(), {"-f", stream_file("rhcos.json"), "-o", "json"});
    const ProcessOutput output = run_stream(arguments);
    ASSERT_EQ(output.exit.exit_code, 0) << c.name << ": " << output.stderr_bytes;
    EXPECT_EQ(python_value(output.stdout_bytes, c.in_answer), python_value(*stream, c.in_stream)) << c.name;
  }
  const ProcessOutput legacy =
      run_stream({"get", "-f", stream_file("rhcos.json"), "--platform", "aws", "-o", "legacy"});
  EXPECT_EQ(python_value(legacy.stdout_bytes, "d['amis']['eu-west-1']['hvm']"), "\"ami-0e1000000000000a1\"\n");
}

TEST(Stream, ExitCodesTellAbsentFromError) {
  const std::string rhcos = stream_file("rhcos.json");
  struct Case {
    const char* name;
    std::vector<std::string> arguments;
    int exit_code;
    const char* says;
  };
  const Case cases[] = {
      {"found", {"get", "-f", rhcos, "--platform", "gcp", "-o", "reference"}, 0, ""},
      {"architecture", {"get", "-f", rhcos, "--platform", "aws", "--arch", "riscv64"}, 3, "x86_64"},
      {"platform", {"get", "-f", rhcos, "--platform", "nutanix"}, 3, "vmware"},
      {"region", {"get", "-f", rhcos, "--platform", "aws", "--region", "mars-1"}, 3, "eu-west-1"},
      {"format", {"show", "-f", rhcos, "--format", "floppy"}, 3, "raw.gz"},
      {"stream", {"show", "-f", stream_file("configmap.json"), "--stream", "rhel-8"}, 3, "rhel-10, rhel-9"},
      {"no such file", {"show", "-f", "/nonexistent/stream.json"}, 1, "/nonexistent/stream.json"},
      {"another document", {"show", "-f", stream_file("wrong-type")}, 1, "architectures"},
      {"two sources", {"show", "-f", rhcos, "--mirror", "https://m.example"}, 1, "give one of them"},
      {"no platform", {"get", "-f", rhcos}, 1, "--platform"},
      {"unknown output", {"get", "-f", rhcos, "--platform", "aws", "-o", "xml"}, 1, "expected text, json"},
      {"no release there", {"show", "--release", "/nonexistent"}, 1, "/nonexistent"},
      {"a mirror that is away",
       {"show", "--mirror", "https://127.0.0.1:1/", "--mirror-version", "4.16"},
       4,
       "127.0.0.1"},
  };
  for (const Case& c : cases) {
    const ProcessOutput output = run_stream(c.arguments);
    EXPECT_EQ(output.exit.exit_code, c.exit_code) << c.name << ": " << output.stderr_bytes;
    EXPECT_NE(output.stderr_bytes.find(c.says), std::string::npos) << c.name << ": " << output.stderr_bytes;
  }
}

TEST(Stream, OfAReleaseIsReadFromItsVerifiedPayload) {
  const TempDir dir;
  ASSERT_TRUE(release::write_sample_release(dir.path(), release::SampleRelease::kA).ok());
  const std::vector<std::string> question{"get",     "--release", dir.path().string(), "--platform",
                                          "aws",     "--region",  "eu-west-1",         "--arch",
                                          "aarch64", "-o",        "reference"};
  const ProcessOutput output = run_stream(question);
  EXPECT_EQ(output.exit.exit_code, 0) << output.stderr_bytes;
  EXPECT_EQ(output.stdout_bytes, "ami-0a00000000000e102\n");

  // One byte of any layer, and nothing of the release is believed.
  for (const auto& entry : std::filesystem::directory_iterator(dir / "blobs" / "sha256")) {
    auto bytes = read_file(entry.path(), 16 << 20);
    ASSERT_TRUE(bytes.ok());
    std::string changed = *bytes;
    changed[changed.size() / 2] = static_cast<char>(changed[changed.size() / 2] ^ 1);
    ASSERT_TRUE(write_file_atomic(entry.path(), changed, 0644).ok());
    const ProcessOutput refused = run_stream(question);
    EXPECT_EQ(refused.exit.exit_code, 6) << entry.path();
    EXPECT_EQ(refused.stdout_bytes, "") << entry.path();
    ASSERT_TRUE(write_file_atomic(entry.path(), *bytes, 0644).ok());
  }
}

TEST(Stream, AMirrorOnDiskIsIndexedAndRead) {
  const TempDir dir;
  const auto folder = dir / "x86_64/dependencies/rhcos/4.16/4.16.3";
  std::filesystem::create_directories(folder);
  const std::string sum(64, 'a');
  ASSERT_TRUE(
      write_file_atomic(folder / "sha256sum.txt", sum + "  rhcos-4.16.3-x86_64-vmware.x86_64.ova\n", 0644).ok());
  ASSERT_TRUE(write_file_atomic(folder / "rhcos-id.txt", "416.94.202406251923-0\n", 0644).ok());
  const std::string mirror = "file://" + dir.path().string();
  EXPECT_EQ(run_stream({"show", "--mirror", mirror}).stdout_bytes, "x86_64: 4.16.3\n");
  EXPECT_EQ(run_stream({"get", "--mirror", mirror, "--mirror-version", "4.16.3", "--platform", "vmware"}).stdout_bytes,
            "format     ova\nrelease    416.94.202406251923-0\nlocation   " + mirror +
                "/x86_64/dependencies/rhcos/4.16/4.16.3/rhcos-4.16.3-x86_64-vmware.x86_64.ova\nsha256     " + sum +
                "\n");
  EXPECT_EQ(
      run_stream({"get", "--mirror", mirror, "--mirror-version", "4.16.4", "--platform", "vmware"}).exit.exit_code, 3);
}

}  // namespace
}  // namespace strake::test
