#include "machineconfig/render/rendered_name.h"

#include <gtest/gtest.h>

#include "machineconfig/testing/builders.h"

namespace strake::machineconfig::rendered_name_test {

json::Value spec(std::string os_image, std::string extensions_image, std::string_view config) {
  return json::Object{{"osImageURL", os_image},
                      {"baseOSExtensionsContainerImage", extensions_image},
                      {"config", builders::from_text(config)},
                      {"kernelArguments", json::Array{}},
                      {"extensions", json::Array{}},
                      {"fips", false},
                      {"kernelType", "default"}};
}

std::string repeat4(const std::string& text) { return text + text + text + text; }

TEST(RenderedName, GoldenVectorsOfThePlatform) {
  const std::string minimal = R"({"ignition":{"version":"3.5.0"}})";
  EXPECT_EQ(*spec_hash(spec("", "", minimal)), "6da92b29d98fcd722bbf117520c22ee4");  // V1
  json::Value second = spec("registry.example.com/os@sha256:" + repeat4("0123456789abcdef"),
                            "registry.example.com/ext@sha256:" + repeat4("fedcba9876543210"), minimal);
  second.get_object()["kernelArguments"] = json::Array{"nosmt", "foo=bar baz", "a: b"};
  second.get_object()["extensions"] = json::Array{"usbguard"};
  second.get_object()["fips"] = true;
  second.get_object()["kernelType"] = "realtime";
  EXPECT_EQ(*spec_hash(second), "c13312b8bd5049dd0b7efbc5632d142f");  // V2
  EXPECT_EQ(
      *spec_hash(spec(
          "img", "",
          R"({"ignition":{"version":"3.5.0"},"passwd":{"users":[{"name":"core","passwordHash":"$6$x","sshAuthorizedKeys":["k1","k2","k3"]}]},"storage":{"files":[{"overwrite":true,"path":"/etc/b","contents":{"source":"data:,one"},"mode":420},{"overwrite":true,"path":"/etc/a","contents":{"source":"data:,two","verification":{"hash":"sha256-0000000000000000000000000000000000000000000000000000000000000000"}}},{"overwrite":true,"path":"/etc/c","contents":{"source":"data:,three"}}]},"systemd":{"units":[{"contents":"[Unit]\nDescription=x\n[Install]\nWantedBy=multi-user.target\n","dropins":[{"contents":"[Service]\nEnvironment=A=2\n","name":"10-a.conf"},{"contents":"[Service]\nEnvironment=B=2\n","name":"20-b.conf"}],"enabled":true,"name":"x.service"},{"mask":true,"name":"y.service"}]}})")),
      "727584ed332c970857e69fadba615991");  // V3
  EXPECT_EQ(
      *spec_hash(spec(
          "img", "",
          R"({"ignition":{"version":"3.5.0"},"systemd":{"units":[{"name":"t.service","contents":"[Service]\nExecStart=/usr/bin/foo \\\n\t--first-option=value-one --second-option=value-two --third-option=value-three --fourth=4\n"}]}})")),
      "f23af49d4c03905bddcc322c34d07bfe");  // V5
}

TEST(RenderedName, ChangesWithTheSpecAndOnlyWithIt) {
  const json::Value one = spec("img", "", R"({"ignition":{"version":"3.5.0"}})");
  const std::string name = *rendered_name("worker", one);
  EXPECT_TRUE(*name_matches_spec(name, one));
  EXPECT_FALSE(*name_matches_spec(name, spec("img2", "", R"({"ignition":{"version":"3.5.0"}})")));
}

}  // namespace strake::machineconfig::rendered_name_test
