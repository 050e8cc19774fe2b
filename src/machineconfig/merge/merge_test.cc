#include "machineconfig/merge/merge.h"

#include <gtest/gtest.h>

#include "api/node_annotations.h"
#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::merge_test {

using builders::fragments_of;
using builders::ignition_spec;
using builders::machine_config;

json::Value merged(const std::vector<kube::Object>& configs, const OsImages& defaults = {}) {
  auto spec = merge_specs(fragments_of(configs), defaults);
  EXPECT_TRUE(spec.ok()) << (spec.ok() ? "" : spec.error().to_string());
  return spec.ok() ? *std::move(spec) : json::Value();
}

std::string config_text(const json::Value& spec) { return json::write_canonical(*json::find(spec, {"config"})); }

TEST(MergeSpecs, FieldsComeInTheOrderOfTheApiAndAreNeverAbsent) {
  EXPECT_EQ(
      json::write(merged({machine_config("a", "worker", R"({"fips":true})")})),
      R"({"osImageURL":"","baseOSExtensionsContainerImage":"","config":{"ignition":{"version":"3.5.0"}},"kernelArguments":[],"extensions":[],"fips":true,"kernelType":"default"})");
}

TEST(MergeSpecs, ScalarsListsAndImages) {
  auto with_image = machine_config("50-image", "worker",
                                   R"({"osImageURL":"mine@sha256:1","kernelType":"realtime","kernelArguments":["b"]})");
  auto generated = machine_config(
      "60-generated", "worker",
      R"({"osImageURL":"ignored","baseOSExtensionsContainerImage":"ignored","kernelType":"default","kernelArguments":["a","b"],"fips":true,"extensions":["usbguard"]})");
  generated.set_annotation(api::config_annotation::kGeneratedByController, "1");
  const auto last = machine_config("70", "worker", R"({"fips":false,"extensions":["usbguard"]})");
  const json::Value spec = merged({with_image, generated, last}, {"release@sha256:0", "ext@sha256:0"});
  EXPECT_EQ(json::find_string(spec, {"osImageURL"}), "mine@sha256:1");
  EXPECT_EQ(json::find_string(spec, {"baseOSExtensionsContainerImage"}), "ext@sha256:0");
  EXPECT_EQ(json::find_string(spec, {"kernelType"}), "realtime");
  EXPECT_EQ(json::find_bool(spec, {"fips"}), true);
  EXPECT_EQ(json::write(*json::find(spec, {"kernelArguments"})), R"(["b","a","b"])");
  EXPECT_EQ(json::write(*json::find(spec, {"extensions"})), R"(["usbguard","usbguard"])");
  EXPECT_EQ(config_text(spec), R"({"ignition":{"version":"3.5.0"}})");
}

/// The sample of the platform: field-wise merge of a file, drop-ins by name, keys as an ordered union.
TEST(MergeSpecs, TheSampleOfThePlatform) {
  const auto parent = machine_config("a", "worker",
                                     R"({"config":{"ignition":{"version":"3.2.0"},
          "passwd":{"users":[{"name":"core","sshAuthorizedKeys":["k1","k2"]}]},
          "storage":{"files":[{"path":"/etc/b","mode":420,"contents":{"source":"data:,one"}},
                              {"path":"/etc/a","contents":{"compression":"gzip","source":"data:;base64,H4sIAAAAAAAAAwMAAAAAAAAAAAA=",
                               "verification":{"hash":"sha256-0000000000000000000000000000000000000000000000000000000000000000"}}}]},
          "systemd":{"units":[{"name":"x.service","enabled":true,
             "contents":"[Unit]\nDescription=x\n[Install]\nWantedBy=multi-user.target\n",
             "dropins":[{"name":"10-a.conf","contents":"[Service]\nEnvironment=A=1\n"}]}]}}})");
  const auto child = machine_config("b", "worker",
                                    R"({"config":{"ignition":{"version":"3.5.0"},
          "passwd":{"users":[{"name":"core","passwordHash":"$6$x","sshAuthorizedKeys":["k3","k1"]}]},
          "storage":{"files":[{"path":"/etc/c","contents":{"source":"data:,three"}},
                              {"path":"/etc/a","contents":{"source":"data:,two"}}]},
          "systemd":{"units":[{"name":"y.service","mask":true},
             {"name":"x.service","dropins":[{"name":"20-b.conf","contents":"[Service]\nEnvironment=B=2\n"},
                                            {"name":"10-a.conf","contents":"[Service]\nEnvironment=A=2\n"}]}]}}})");
  const json::Value expected = builders::from_text(
      R"({"ignition":{"version":"3.5.0"},"passwd":{"users":[{"name":"core","passwordHash":"$6$x","sshAuthorizedKeys":["k1","k2","k3"]}]},"storage":{"files":[{"overwrite":true,"path":"/etc/b","contents":{"source":"data:,one"},"mode":420},{"overwrite":true,"path":"/etc/a","contents":{"source":"data:,two","verification":{"hash":"sha256-0000000000000000000000000000000000000000000000000000000000000000"}}},{"overwrite":true,"path":"/etc/c","contents":{"source":"data:,three"}}]},"systemd":{"units":[{"contents":"[Unit]\nDescription=x\n[Install]\nWantedBy=multi-user.target\n","dropins":[{"contents":"[Service]\nEnvironment=A=2\n","name":"10-a.conf"},{"contents":"[Service]\nEnvironment=B=2\n","name":"20-b.conf"}],"enabled":true,"name":"x.service"},{"mask":true,"name":"y.service"}]}})");
  EXPECT_EQ(config_text(merged({parent, child})), json::write_canonical(expected));
}

std::string files_text(const std::vector<kube::Object>& configs) {
  return json::write_canonical(*json::find(merged(configs), {"config", "storage", "files"}));
}

constexpr std::string_view kGzipHello = "data:;base64,H4sIAAAAAAAAA8tIzcnJVyjPL8pJAQCFEUoNCwAAAA==";  // "hello world"

kube::Object file_config(const std::string& name, std::string_view members) {
  return machine_config(name, "worker",
                        ignition_spec(fmt::format(R"("storage":{{"files":[{{"path":"/x"{}}}]}})", members)));
}

TEST(MergeSpecs, CompressionDoesNotLeakIntoReplacedContents) {
  const std::string packed = fmt::format(R"(,"contents":{{"compression":"gzip","source":"{}"}})", kGzipHello);
  const auto gzip = file_config("a", packed);
  const auto plain = file_config("b", R"(,"contents":{"source":"data:,x"})");
  const auto explicitly_none = file_config("a", R"(,"contents":{"compression":"","source":"data:,x"})");
  const auto only_mode = file_config("c", R"(,"mode":384)");
  const auto nothing = machine_config("d", "worker", ignition_spec(""));
  const auto no_config = machine_config("e", "worker", "{}");
  const std::string plain_result = R"([{"contents":{"source":"data:,x"},"overwrite":true,"path":"/x"}])";
  const std::string empty_kept = R"([{"contents":{"compression":"","source":"data:,x"},"overwrite":true,"path":"/x"}])";
  EXPECT_EQ(files_text({gzip, plain}), plain_result);
  EXPECT_NE(files_text({plain, gzip}).find(R"("compression":"gzip")"), std::string::npos);
  // A single config keeps what it says; a second one, even an empty one, takes the empty text away.
  EXPECT_EQ(files_text({explicitly_none}), empty_kept);
  EXPECT_EQ(files_text({explicitly_none, no_config}), empty_kept);
  EXPECT_EQ(files_text({explicitly_none, nothing}), plain_result);
  EXPECT_EQ(files_text({no_config, explicitly_none}), plain_result);
  // A change of the mode alone makes the platform forget that the contents are packed; names depend on it.
  EXPECT_EQ(files_text({gzip, only_mode}),
            fmt::format(R"([{{"contents":{{"source":"{}"}},"mode":384,"overwrite":true,"path":"/x"}}])", kGzipHello));
  EXPECT_EQ(files_text({no_config, only_mode}), R"([{"mode":384,"overwrite":true,"path":"/x"}])");
}

TEST(MergeSpecs, FilesOverwriteUnlessSaidOtherwise) {
  EXPECT_EQ(files_text({file_config("a", "")}), R"([{"overwrite":true,"path":"/x"}])");
  EXPECT_EQ(files_text({file_config("a", R"(,"overwrite":false)")}), R"([{"overwrite":false,"path":"/x"}])");
  EXPECT_EQ(files_text({file_config("a", R"(,"overwrite":false)"), file_config("b", "")}),
            R"([{"overwrite":false,"path":"/x"}])");
}

TEST(MergeSpecs, KernelDevelNeedsTheDefaultKernel) {
  const auto devel = machine_config("10-devel", "worker", R"({"extensions":["kernel-devel"]})");
  const auto realtime = machine_config("20-realtime", "worker", R"({"kernelType":"realtime"})");
  const auto refused = merge_specs(fragments_of({devel, realtime}), {});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().to_string(),
            "installing kernel-devel extension is not supported with kernelType: realtime; MachineConfig 10-devel sets "
            "the extension (spec.extensions), MachineConfig 20-realtime the type (spec.kernelType)");
  EXPECT_TRUE(
      merge_specs(fragments_of({devel, machine_config("x", "worker", R"({"kernelType":"default"})")}), {}).ok());
}

}  // namespace strake::machineconfig::merge_test
