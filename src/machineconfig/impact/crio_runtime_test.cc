#include "machineconfig/impact/crio_runtime.h"

#include <gtest/gtest.h>

#include "codec/compress.h"
#include "codec/data_url.h"

namespace strake::machineconfig::crio_runtime_test {

constexpr std::string_view kRunc = "[crio.runtime]\ndefault_runtime = \"runc\"\n";
constexpr std::string_view kCrun = "[crio]\n[crio.runtime]\ndefault_runtime = 'crun' # the default\n";

json::Value file(std::string_view path, std::string_view contents, bool compressed = false) {
  json::Object resource{
      {"source", codec::encode_base64_data_url(compressed ? codec::gzip(contents) : std::string(contents))}};
  if (compressed) resource["compression"] = "gzip";
  return json::Object{{"path", path}, {"contents", std::move(resource)}};
}

json::Value config_with(json::Array files) {
  return json::Object{{"storage", json::Object{{"files", std::move(files)}}}};
}

TEST(CrioRuntime, TheLastFileByPathWins) {
  struct Case {
    const char* name;
    json::Array files;
    std::optional<RuntimeChoice> choice;
  };
  const Case cases[] = {
      {"nothing chosen", {file("/etc/crio/crio.conf.d/00-x", "[crio.image]\n")}, std::nullopt},
      {"runc", {file("/etc/crio/crio.conf.d/01-a", kRunc)}, RuntimeChoice{"runc", "/etc/crio/crio.conf.d/01-a"}},
      {"compressed",
       {file("/etc/crio/crio.conf.d/01-a", kRunc, true)},
       RuntimeChoice{"runc", "/etc/crio/crio.conf.d/01-a"}},
      {"crun later",
       {file("/etc/crio/crio.conf.d/02-b", kCrun), file("/etc/crio/crio.conf.d/01-a", kRunc)},
       RuntimeChoice{"crun", "/etc/crio/crio.conf.d/02-b"}},
      {"runc later",
       {file("/etc/crio/crio.conf.d/02-b", kRunc), file("/etc/crio/crio.conf.d/01-a", kCrun)},
       RuntimeChoice{"runc", "/etc/crio/crio.conf.d/02-b"}},
      {"a later file that does not choose",
       {file("/etc/crio/crio.conf.d/02-b", "x = 1\n"), file("/etc/crio/crio.conf.d/01-a", kRunc)},
       RuntimeChoice{"runc", "/etc/crio/crio.conf.d/01-a"}},
      {"another folder", {file("/etc/crio/crio.conf", kRunc), file("/etc/crio.conf.d/x", kRunc)}, std::nullopt},
      {"not TOML", {file("/etc/crio/crio.conf.d/01-a", "default_runtime: runc")}, std::nullopt},
      {"fetched",
       {json::Object{{"path", "/etc/crio/crio.conf.d/01-a"},
                     {"contents", json::Object{{"source", "https://x.example/y"}}}}},
       std::nullopt},
      {"no contents", {json::Object{{"path", "/etc/crio/crio.conf.d/01-a"}}}, std::nullopt},
  };
  for (const Case& test : cases) EXPECT_EQ(crio_default_runtime(config_with(test.files)), test.choice) << test.name;
  EXPECT_EQ(crio_default_runtime(json::Object{}), std::nullopt);
}

TEST(CrioRuntime, OnlyTheRuntimeTableCounts) {
  EXPECT_EQ(default_runtime_of(kRunc), "runc");
  EXPECT_EQ(default_runtime_of("crio.runtime.default_runtime = \"runc\""), "runc");
  EXPECT_EQ(default_runtime_of("default_runtime = \"runc\""), std::nullopt);
  EXPECT_EQ(default_runtime_of("[crio.runtime.runtimes.runc]\nruntime_path = \"/usr/bin/runc\"\n"), std::nullopt);
  EXPECT_EQ(default_runtime_of("[crio.runtime]\n# default_runtime = \"runc\"\n"), std::nullopt);
}

TEST(CrioRuntime, OnlyStreamsWithoutRuncRefuseIt) {
  const RuntimeChoice runc{"runc", "/etc/crio/crio.conf.d/x"};
  for (const char* stream : {"rhel-10", "centos-10"}) EXPECT_FALSE(check_runtime_exists(runc, stream).ok()) << stream;
  for (const char* stream : {"rhel-9", "", "rhel-100"}) EXPECT_TRUE(check_runtime_exists(runc, stream).ok()) << stream;
  EXPECT_TRUE(check_runtime_exists({"crun", runc.path}, "rhel-10").ok());
}

}  // namespace strake::machineconfig::crio_runtime_test
