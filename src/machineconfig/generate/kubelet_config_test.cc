#include "machineconfig/generate/kubelet_config.h"

#include <gtest/gtest.h>

#include <map>

#include "api/kinds.h"
#include "codec/yaml.h"
#include "machineconfig/generate/quantity.h"
#include "machineconfig/testing/builders.h"
#include "machineconfig/testing/kubelet_cases.h"

namespace strake::machineconfig::kubelet_config_test {

using builders::from_text;

struct KubeletOutcome {
  std::string refusal{};
  std::map<std::string, std::string> files{};

  json::Value conf() const {
    const auto found = files.find(std::string(kKubeletConfPath));
    STRAKE_INVARIANT(found != files.end());
    auto parsed = yaml::parse(found->second);
    STRAKE_INVARIANT(parsed.ok());
    return *std::move(parsed);
  }
  std::string text(std::string_view path) const {
    const auto found = files.find(std::string(path));
    return found == files.end() ? "" : found->second;
  }
};

struct KubeletRequest {
  kube::Object config{api::kKubeletConfig, {"", "small"}};
  kube::Object pool{api::kMachineConfigPool, {"", "worker"}};
  std::optional<std::string> base = std::string(builders::kKubeletBase);

  explicit KubeletRequest(const char* spec) { json::ensure(config.json(), {"spec"}) = from_text(spec); }

  KubeletOutcome run() const {
    const auto files = generate_kubelet_config({&config, &pool, base});
    KubeletOutcome outcome;
    if (!files.ok()) {
      outcome.refusal = files.error().to_string();
      return outcome;
    }
    for (const GeneratedFile& file : *files) outcome.files[file.path] = file.contents;
    return outcome;
  }
};

KubeletOutcome with_settings(const char* settings, const char* pool = "worker") {
  KubeletRequest request("{}");
  request.pool = kube::Object(api::kMachineConfigPool, {"", pool});
  json::ensure(request.config.json(), {"spec", "kubeletConfig"}) = from_text(settings);
  return request.run();
}

TEST(GeneratedKubelet, TakenAndRefused) {
  for (const builders::KubeletCase& c : builders::kKubeletCases) {
    const KubeletOutcome outcome = with_settings(c.settings);
    if (std::string_view(c.refusal).empty()) {
      EXPECT_EQ(outcome.refusal, "") << c.name;
    } else {
      EXPECT_NE(outcome.refusal.find(c.refusal), std::string::npos) << c.name << ": " << outcome.refusal;
    }
  }
}

TEST(GeneratedKubelet, SettingsAreLaidOverTheBase) {
  const KubeletOutcome outcome = with_settings(
      R"({"maxPods":100,"authentication":{"x509":{"clientCAFile":""}},"enforceNodeAllocatable":["pods"],"syncFrequency":null})");
  const json::Value conf = outcome.conf();
  EXPECT_EQ(json::find_int(conf, {"maxPods"}), 100);
  EXPECT_EQ(json::find_string(conf, {"authentication", "x509", "clientCAFile"}), "") << "empty text overrides";
  EXPECT_EQ(json::find_bool(conf, {"authentication", "anonymous", "enabled"}), false) << "what is unset stays";
  EXPECT_EQ(json::write(*json::find(conf, {"enforceNodeAllocatable"})), R"(["pods"])") << "lists are replaced";
  EXPECT_EQ(json::find_string(conf, {"clusterDomain"}), "cluster.local");
  EXPECT_EQ(json::find(conf, {"syncFrequency"}), nullptr);
  EXPECT_EQ(outcome.files.size(), 1u) << "nothing beside it was asked for";
}

TEST(GeneratedKubelet, ReservedCpusTakeThePlaceOfAnAmount) {
  const json::Value conf = with_settings(R"({"reservedSystemCPUs":"0,1"})").conf();
  EXPECT_EQ(json::find(conf, {"systemReservedCgroup"}), nullptr);
  EXPECT_EQ(json::write(*json::find(conf, {"enforceNodeAllocatable"})), R"(["pods"])");
}

TEST(GeneratedKubelet, StaticPodsOfTheControlPlaneStay) {
  EXPECT_EQ(with_settings(R"({"staticPodPath":""})").refusal, "");
  for (const char* pool : {"master", "arbiter"}) {
    EXPECT_NE(with_settings(R"({"staticPodPath":""})", pool).refusal.find("is of the control plane"),
              std::string::npos);
  }
  kube::Object named_otherwise(api::kMachineConfigPool, {"", "big-masters"});
  EXPECT_FALSE(is_control_plane_pool(named_otherwise));
  json::ensure(named_otherwise.json(), {"spec", "nodeSelector", "matchLabels", "node-role.kubernetes.io/master"}) = "";
  EXPECT_TRUE(is_control_plane_pool(named_otherwise));
}

TEST(GeneratedKubelet, FilesBesideIt) {
  const KubeletOutcome logging = KubeletRequest(R"({"logLevel":4})").run();
  EXPECT_EQ(logging.text(kKubeletLoggingPath), "[Service]\nEnvironment=\"KUBELET_LOG_LEVEL=4\"\n");
  EXPECT_NE(KubeletRequest(R"({"logLevel":11})").run().refusal, "");
  EXPECT_EQ(KubeletRequest(R"({"autoSizingReserved":true})").run().text(kNodeSizingPath),
            "NODE_SIZING_ENABLED=true\nSYSTEM_RESERVED_MEMORY=1Gi\nSYSTEM_RESERVED_CPU=500m\nSYSTEM_RESERVED_ES=1Gi\n");
  const KubeletOutcome reserved =
      KubeletRequest(R"({"kubeletConfig":{"systemReserved":{"memory":"3Gi","pid":"1000"}}})").run();
  EXPECT_EQ(
      reserved.text(kNodeSizingPath),
      "NODE_SIZING_ENABLED=false\nSYSTEM_RESERVED_MEMORY=3Gi\nSYSTEM_RESERVED_CPU=500m\nSYSTEM_RESERVED_ES=1Gi\n");
  EXPECT_EQ(json::write(*json::find(reserved.conf(), {"systemReserved"})),
            R"({"ephemeral-storage":"1Gi","pid":"1000"})")
      << "what the environment file says is said once";
  EXPECT_NE(KubeletRequest(R"({"autoSizingReserved":true,"kubeletConfig":{"systemReserved":{"cpu":"1"}}})")
                .run()
                .refusal.find("stands beside autoSizingReserved"),
            std::string::npos);
}

TEST(GeneratedKubelet, TlsProfiles) {
  const json::Value modern = KubeletRequest(R"({"tlsSecurityProfile":{"type":"Modern","modern":{}}})").run().conf();
  EXPECT_EQ(json::find_string(modern, {"tlsMinVersion"}), "VersionTLS13");
  EXPECT_EQ(json::find(modern, {"tlsCipherSuites"})->get_array().size(), 3u);
  const json::Value overridden =
      KubeletRequest(R"({"tlsSecurityProfile":{"type":"Old"},"kubeletConfig":{"tlsMinVersion":"VersionTLS12"}})")
          .run()
          .conf();
  EXPECT_EQ(json::find_string(overridden, {"tlsMinVersion"}), "VersionTLS12") << "the user's own value wins";
  EXPECT_EQ(json::find(overridden, {"tlsCipherSuites"})->get_array().size(), 21u);
  const json::Value custom =
      KubeletRequest(R"({"tlsSecurityProfile":{"type":"Custom","custom":{"minTLSVersion":"VersionTLS12",)"
                     R"("ciphers":["ECDHE-RSA-AES128-GCM-SHA256","DHE-RSA-AES128-GCM-SHA256"]}}})")
          .run()
          .conf();
  EXPECT_EQ(json::write(*json::find(custom, {"tlsCipherSuites"})), R"(["TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"])");
  EXPECT_NE(KubeletRequest(R"({"tlsSecurityProfile":{"type":"Best"}})").run().refusal.find("'Best' is none of Old"),
            std::string::npos);
  EXPECT_NE(KubeletRequest(R"({"tlsSecurityProfile":{"type":"Custom","custom":{"minTLSVersion":"VersionTLS12"}}})")
                .run()
                .refusal.find("names no cipher"),
            std::string::npos);
}

TEST(GeneratedKubelet, WithoutABaseNobodyOverwritesTheKubeletsCredentials) {
  KubeletRequest request(R"({"kubeletConfig":{"maxPods":100,"systemReserved":{"memory":"2Gi"}}})");
  request.base = std::nullopt;
  EXPECT_NE(
      request.run().refusal.find("no base MachineConfig (00-*, 01-*) of pool worker has /etc/kubernetes/kubelet."),
      std::string::npos)
      << request.run().refusal;
  request.config.set_annotation(kKubeletBaseAnnotation, kSmallKubeletBase);
  const KubeletOutcome outcome = request.run();
  EXPECT_EQ(outcome.refusal, "");
  EXPECT_EQ(json::find_int(outcome.conf(), {"maxPods"}), 100);
  EXPECT_EQ(json::find_string(outcome.conf(), {"systemReserved", "memory"}), "2Gi")
      << "no service of the small base reads another file";
  EXPECT_EQ(outcome.text(kNodeSizingPath), "");
  json::ensure(request.config.json(), {"spec"}) = from_text(R"({"autoSizingReserved":true})");
  EXPECT_NE(request.run().refusal.find("spec.autoSizingReserved: the small base has no service"), std::string::npos);
  request.base = "- a list";
  EXPECT_NE(request.run().refusal.find("is not a map"), std::string::npos) << request.run().refusal;
}

TEST(Quantity, Values) {
  const std::pair<const char*, std::int64_t> good[] = {{"0", 0},
                                                       {"10k", 10'000},
                                                       {"8Gi", 8ll << 30},
                                                       {"-1", -1},
                                                       {"+5", 5},
                                                       {"500m", 1},
                                                       {"1.5Ki", 1536},
                                                       {"1e3", 1000},
                                                       {"2E3", 2000},
                                                       {".5", 1},
                                                       {"1E", 1'000'000'000'000'000'000},
                                                       {"3k", 3000},
                                                       {"0k", 0},
                                                       {"100M", 100'000'000}};
  for (const auto& [text, value] : good) {
    const auto parsed = parse_quantity(text);
    ASSERT_TRUE(parsed.ok()) << text;
    EXPECT_EQ(*parsed, value) << text;
  }
  for (const char* text : {"", "k", "1 k", "1K", "1.2.3", "--1", "1e", "1ei", "0x1", "10E", "many",
                           "9999999999999999999", "1e99999999999"}) {
    EXPECT_FALSE(parse_quantity(text).ok()) << text;
  }
}

}  // namespace strake::machineconfig::kubelet_config_test
