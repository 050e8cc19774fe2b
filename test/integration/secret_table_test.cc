// Secrets of every kind, in MachineConfigs that are right and in some that are not, through every verb that reads
// them: none of what they report shows one. The verbs that print a config because they are asked for it (`render -o
// json|yaml|dir`, `ignition convert|merge`) are the exception.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "codec/base64.h"
#include "codec/json.h"
#include "support/strake_in_process.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

constexpr std::string_view kSecret = "S3CRETS3CRET";

std::string escaped(std::string_view text) {
  std::string url;
  for (const char c : text) url += fmt::format("%{:02x}", static_cast<unsigned char>(c));
  return url;
}

std::string file(const std::string& path, std::string_view contents, const std::string& more = "") {
  return fmt::format(R"("storage":{{"files":[{{"path":"{}","contents":{{"source":"data:,{}"}}{}}}]}})", path,
                     escaped(contents), more);
}

std::string unit(std::string_view contents) {
  return fmt::format(
      R"("systemd":{{"units":[{{"name":"a.service","contents":{0},"dropins":[{{"name":"b.conf","contents":{0}}}]}}]}})",
      json::write(json::Value(contents)));
}

/// Members of an Ignition config, each with a secret in it.
std::vector<std::string> ignition_members() {
  const std::string key =
      fmt::format("-----BEGIN OPENSSH PRIVATE KEY-----\n{}\n-----END OPENSSH PRIVATE KEY-----\n", kSecret);
  return {
      R"("passwd":{"users":[{"name":"core","passwordHash":"$6$rounds=1$S3CRETS3CRET"}]})",
      file("/etc/ssh/key", key),
      file("/var/lib/kubelet/config.json", R"({"auths":{"r.example":{"auth":"S3CRETS3CRET"}}})"),
      file("/etc/pull", R"({"auths":{"r.example":{"username":"u","password":"S3CRETS3CRET"}}})"),
      file("/etc/kubeconfig", "apiVersion: v1\nkind: Config\nusers:\n- name: a\n  user:\n    token: S3CRETS3CRET\n"),
      file("/etc/environment", "HTTPS_PROXY=http://user:S3CRETS3CRET@proxy.example:3128\n"),
      file("/etc/private", "S3CRETS3CRET", R"(,"mode":384)"),
      file("/etc/NetworkManager/system-connections/a.nmconnection", "[wifi-security]\npsk=S3CRETS3CRET\n",
           R"(,"mode":384)"),
      file("/etc/app.conf", "api_token = S3CRETS3CRET\n"),
      unit("[Service]\nEnvironment=TOKEN=S3CRETS3CRET\nExecStart=/bin/true\n"),
      unit("[Service]\nEnvironment=\"AWS_SECRET_ACCESS_KEY=S3CRETS3CRET\"\nExecStart=/bin/true\n"),
      unit("[Service]\nExecStart=/bin/x --password S3CRETS3CRET\n"),
      unit("[Service]\nEnvironment=HTTP_PROXY=http://u:S3CRETS3CRET@p.example\nExecStart=/bin/true\n"),
      R"("storage":{"luks":[{"name":"d","device":"/dev/sdb","keyFile":{"source":"data:,S3CRETS3CRET"}}]})",
      R"("storage":{"files":[{"path":"/etc/r","contents":{"source":"https://r.example/x","httpHeaders":[{"name":"Authorization","value":"Bearer S3CRETS3CRET"}]}}]})",
      R"("storage":{"files":[{"path":"/etc/r","contents":{"source":"https://u:S3CRETS3CRET@r.example/x"}}]})",
      // What is wrong with these is told, and not what they hold.
      R"("passwd":{"users":[{"name":"core","passwordHash":"$6$rounds=1$S3CRETS3CRET","uid":"x"}]})",
      file("etc/relative", key),
      file("/etc/ssh/key", key, R"(,"mode":99999)"),
      R"("storage":{"luks":[{"name":"d","device":"sdb","keyFile":{"source":"data:;base64,S3CRETS3CRET!"}}]})",
      unit("Environment=TOKEN=S3CRETS3CRET\n[Serv"),
  };
}

TEST(SecretTable, NoReportOfAnyVerbShowsOne) {
  const TempDir folder;
  const std::string with = folder / "with.yaml", without = folder / "without.yaml", ignition = folder / "config.ign";
  const auto machine_config = [](const std::string& spec) {
    return fmt::format(
        "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nmetadata:\n  name: 50-a\n"
        "  labels: {{machineconfiguration.openshift.io/role: worker}}\nspec: {}\n",
        spec);
  };
  std::ofstream(without) << machine_config("{}");
  std::vector<std::vector<std::string>> verbs{
      {"render", "-f", with, "-o", "name"}, {"ignition", "validate", ignition}, {"ignition", "show", ignition}};
  for (const char* format : {"text", "json", "markdown"}) {
    verbs.push_back({"diff", without, with, "-o", format});
    verbs.push_back({"diff", with, without, "-o", format});
  }
  for (const char* format : {"text", "json", "sarif", "github"})
    verbs.push_back({"config", "lint", "-f", with, "-o", format});
  for (const char* format : {"text", "json"}) {
    verbs.push_back({"explain", "worker", "--all", "-f", with, "-o", format});
    for (const char* what : {"a.service", "core", "/etc/private", "/etc/ssh/key", "/etc/r", "storage.luks"}) {
      verbs.push_back({"explain", "worker", what, "-f", with, "-o", format});
    }
  }
  std::vector<std::string> specs{R"({"kernelArguments":["rd.luks.key=S3CRETS3CRET"]})",
                                 R"({"kernelArguments":["a.password=S3CRETS3CRET"], "kernelType": "fast"})"};
  for (const std::string& members : ignition_members()) {
    specs.push_back(fmt::format(R"({{"config":{{"ignition":{{"version":"3.4.0"}},{}}}}})", members));
  }
  const std::string encoded = codec::encode_base64("S3CRETS3CRET").substr(0, 12);
  int shown = 0;  // who asks for them sees them: they are there to be hidden
  for (const std::string& spec : specs) {
    std::ofstream(with) << machine_config(spec);
    std::ofstream(ignition) << (spec.starts_with(R"({"config":)") ? spec.substr(10, spec.size() - 11) : "{}");
    if (run_in_process({"diff", without, with, "--show-secrets"}).out.find(kSecret) != std::string::npos) ++shown;
    for (const std::vector<std::string>& verb : verbs) {
      const InProcessOutput output = run_in_process(verb);
      const std::string said = output.out + output.err;
      for (const std::string& secret : {std::string(kSecret), escaped(kSecret), encoded}) {
        EXPECT_EQ(said.find(secret), std::string::npos) << fmt::format("{}\n", fmt::join(verb, " ")) << spec << "\n"
                                                        << said;
      }
    }
  }
  EXPECT_GE(shown, 12);
}

}  // namespace
}  // namespace strake::test
