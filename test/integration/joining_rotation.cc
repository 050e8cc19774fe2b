// The config server's authority is replaced while the real Ignition asks with the old one, the new one and both.
#include <gtest/gtest.h>

#include "api/kinds.h"
#include "codec/base64.h"
#include "integration/joining_stage.h"
#include "net/url.h"
#include "support/strake_command.h"

namespace strake::test {

namespace {

const std::string kIdentityNamespace(api::kMachineConfigNamespace);

std::string secret_text(JoiningStage& stage, const std::string& ns, const std::string& name, std::string_view key) {
  const auto secret = stage.admin().get(kube::core::kSecret, {ns, name}, stage.call());
  EXPECT_TRUE(secret.ok()) << name;
  return secret.ok() ? codec::decode_base64(secret->text({"data", key})).value_or("") : "";
}

std::string stub_trusting(JoiningStage& stage, const std::string& ca_pem) {
  return fmt::format(
      R"({{"ignition":{{"version":"3.1.0","config":{{"merge":[{{"source":"{}/config/joiner"}}]}},"security":{{"tls":)"
      R"({{"certificateAuthorities":[{{"source":"data:text/plain;charset=utf-8;base64,{}"}}]}}}}}}}})",
      stage.url(), codec::encode_base64(ca_pem));
}

}  // namespace

void expect_authority_rotated(JoiningStage& stage, const std::filesystem::path& admin) {
  for (const char* name : {"machine-config-server-tls", "machine-config-server-ca", "machine-config-server-ca-next"}) {
    static_cast<void>(stage.admin().remove(kube::core::kSecret, {kIdentityNamespace, name}, {}, stage.call()));
  }
  stage.put_token("BOOTSTRAP-TOKEN");
  stage.put_config("rendered-joiner-9", "nine\n");
  stage.put_pool("joiner", "rendered-joiner-9", "rendered-joiner-9", 1);
  kube::Object config(api::kStrakeConfig, {"", "cluster"});
  json::ensure(config.json(), {"spec", "configServer"}) = json::Object{{"url", "https://127.0.0.1:22623"}};
  stage.put(api::kStrakeConfig, config);
  stage.start();
  const auto rotate = [&](std::vector<std::string> more) {
    std::vector<std::string> arguments{"certs", "rotate", "--kubeconfig", admin.string()};
    arguments.insert(arguments.end(), more.begin(), more.end());
    return run_strake(std::move(arguments));
  };
  // From nothing: the authority, the certificate and the stubs are made, and there is nothing to replace.
  const ProcessOutput made = rotate({});
  ASSERT_EQ(made.exit.exit_code, 0) << made.stdout_bytes << made.stderr_bytes;
  const std::string old_ca = secret_text(stage, kIdentityNamespace, "machine-config-server-ca", "tls.crt");
  ASSERT_TRUE(stage.daemon().says({"get this config", "pool=joiner", "rendered-joiner-9"})) << stage.daemon().log();
  ASSERT_TRUE(stage.fetch_with(stub_trusting(stage, old_ca)).ok);

  const std::string where = stage.url().substr(std::string_view("https://").size());
  const ProcessOutput under_way = rotate({"--again", "--retire-after", "1h", "--connect", where});
  ASSERT_EQ(under_way.exit.exit_code, 2) << under_way.stdout_bytes << under_way.stderr_bytes;
  EXPECT_NE(under_way.stdout_bytes.find("keep-old"), std::string::npos) << under_way.stdout_bytes;
  const std::string new_ca = secret_text(stage, kIdentityNamespace, "machine-config-server-ca-next", "tls.crt");
  for (const std::string& trusted : {old_ca, new_ca, old_ca + new_ca}) {
    const auto fetched = stage.fetch_with(stub_trusting(stage, trusted));
    EXPECT_TRUE(fetched.ok) << fetched.log;
  }
  const json::Value now =
      json::Object{{"metadata", json::Object{{"annotations", json::Object{{"strake.dev/retire-after-seconds", "0"}}}}}};
  ASSERT_TRUE(stage.admin()
                  .patch(kube::core::kSecret, {kIdentityNamespace, "machine-config-server-ca-next"},
                         kube::PatchType::kMerge, now, {}, stage.call())
                  .ok());
  const ProcessOutput done = rotate({"--wait"});
  EXPECT_EQ(done.exit.exit_code, 0) << done.stdout_bytes << done.stderr_bytes;
  EXPECT_EQ(secret_text(stage, kIdentityNamespace, "machine-config-server-ca", "tls.crt"), new_ca);
  const auto fetched = stage.fetch_with(stub_trusting(stage, new_ca));
  EXPECT_TRUE(fetched.ok) << fetched.log;
  EXPECT_TRUE(comes_true([&] { return !stage.fetch_with(stub_trusting(stage, old_ca)).ok; })) << "the old one is gone";
  EXPECT_EQ(secret_text(stage, "openshift-machine-api", "joiner-user-data-managed", "userData").find(old_ca),
            std::string::npos);
  EXPECT_EQ(stage.daemon().stop(), 0);
  const json::Value unset = json::Object{{"spec", json::Object{{"configServer", nullptr}}}};
  EXPECT_TRUE(
      stage.admin().patch(api::kStrakeConfig, {"", "cluster"}, kube::PatchType::kMerge, unset, {}, stage.call()).ok());
}

}  // namespace strake::test
