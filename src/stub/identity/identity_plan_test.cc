#include "stub/identity/identity_plan.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "codec/base64.h"
#include "kube/testing/fake_api.h"
#include "net/testing/test_authority.h"
#include "stub/identity/identity_effects.h"
#include "stub/managed_stub.h"
#include "stub/stub.h"

namespace strake::stub::identity_plan_test {

using namespace std::chrono_literals;

constexpr std::chrono::sys_seconds kNow{std::chrono::seconds(1'800'000'000)};

/// A cluster in memory on which plans are carried out until there is nothing to do.
struct IdentityBench {
  runtime::ThreadRuntime runtime;
  kube::testing::FakeServer server{runtime};
  kube::testing::FakeClient api{server};
  SeededRandom random{1};
  std::chrono::sys_seconds now = kNow;
  std::optional<ConfigServerPlace> place = *make_place("https://mcs.example:22623", {"192.0.2.1"});
  IdentityPolicy policy{.keys = net::KeyKind::kEcP256};
  std::vector<std::string> done;

  kube::Call call() { return runtime.call_within(30s); }

  IdentityInput input() {
    auto input = read_identity(api, place, now, call());
    EXPECT_TRUE(input.ok()) << input.error().to_string();
    input->policy = policy;
    return *std::move(input);
  }

  /// Until nothing is left to do; the plan that says so.
  IdentityPlan settle() {
    for (int round = 0; round < 10; ++round) {
      IdentityPlan plan = plan_identity(input());
      if (plan.actions.empty()) return plan;
      for (const IdentityAction& action : plan.actions) {
        const auto carried = carry_out(api, action, random, call());
        EXPECT_TRUE(carried.ok()) << carried.error().to_string();
        done.push_back(action.what);
      }
    }
    ADD_FAILURE() << "does not settle";
    return {};
  }

  void add_pool(const std::string& name) {
    EXPECT_TRUE(
        api.create(api::kMachineConfigPool, kube::Object(api::kMachineConfigPool, {"", name}), {}, call()).ok());
  }
  kube::Object secret(const std::string& ns, const std::string& name) {
    auto found = api.get(kube::core::kSecret, {ns, name}, call());
    EXPECT_TRUE(found.ok()) << name;
    return found.ok() ? *std::move(found) : kube::Object();
  }
  kube::Object identity(std::string_view name) {
    return secret(std::string(api::kMachineConfigNamespace), std::string(name));
  }
  Stub stub_of_pool(const std::string& pool) {
    const kube::Object found = secret(std::string(api::kMachineApiNamespace), managed_stub_name(pool));
    auto stub = read_stub(*codec::decode_base64(found.text({"data", "userData"})));
    EXPECT_TRUE(stub.ok()) << stub.error().to_string();
    return *std::move(stub);
  }
  void edit(const kube::Object& object, const kube::Resource& resource = kube::core::kSecret) {
    const auto written = api.update(resource, object, {}, call());
    EXPECT_TRUE(written.ok()) << written.error().to_string();
  }
};

TEST(IdentityPlan, MadeFromNothingAndThenLeftAlone) {
  IdentityBench bench;
  bench.add_pool("worker");
  bench.add_pool("master");
  EXPECT_TRUE(bench.settle().problems.empty());
  const auto signer = read_certified_key(bench.identity("machine-config-server-ca"));
  const auto serving = read_certified_key(bench.identity("machine-config-server-tls"));
  ASSERT_TRUE(signer.ok() && serving.ok());
  EXPECT_EQ(signer->certificate().info().common_name,
            "openshift-machine-config-operator_machine-config-server-ca@1800000000");
  EXPECT_EQ(serving->certificate().info().common_name, "192.0.2.1") << "the first of the hosts";
  EXPECT_TRUE(net::check_host(serving->certificate(), "mcs.example").ok());
  EXPECT_TRUE(net::check_host(serving->certificate(), "192.0.2.1").ok());
  const kube::Object tls = bench.identity("machine-config-server-tls");
  EXPECT_EQ(tls.annotation("auth.openshift.io/certificate-hostnames"), "192.0.2.1,mcs.example");
  EXPECT_EQ(tls.annotation("auth.openshift.io/certificate-issuer"), signer->certificate().info().common_name);
  EXPECT_EQ(tls.label("auth.openshift.io/managed-certificate-type"), "target");
  EXPECT_EQ(tls.text({"type"}), "kubernetes.io/tls");
  // A machine that has nothing but the stub accepts the server.
  for (const char* pool : {"worker", "master"}) {
    const Stub stub = bench.stub_of_pool(pool);
    EXPECT_EQ(ignition::to_string(stub.version), "3.1.0");
    ASSERT_EQ(stub.pointers.size(), 1U);
    EXPECT_EQ(stub.pointers[0].source, fmt::format("https://mcs.example:22623/config/{}", pool));
    EXPECT_TRUE(
        net::verify_chain(serving->certificate(), {}, stub.trusted(), kNow, net::CertificatePurpose::kServer).ok());
  }
  const kube::Object managed = bench.secret("openshift-machine-api", "worker-user-data-managed");
  EXPECT_EQ(managed.text({"data", "disableTemplating"}), "dHJ1ZQo=");
  EXPECT_TRUE(managed.label(api::label::kManagedStub).has_value());
  ASSERT_EQ(managed.owners().size(), 1U);
  EXPECT_EQ(managed.owners()[0].kind, "MachineConfigPool");
  const std::size_t writes = bench.done.size();
  bench.settle();
  EXPECT_EQ(bench.done.size(), writes) << "a settled state costs no write";
}

TEST(IdentityPlan, NobodySaidWhere) {
  IdentityBench bench;
  bench.place.reset();
  bench.add_pool("worker");
  const IdentityPlan plan = bench.settle();
  EXPECT_FALSE(plan.configured);
  EXPECT_TRUE(bench.done.empty());
}

TEST(IdentityPlan, AnotherSetOfNamesIsCertifiedByTheSameAuthority) {
  IdentityBench bench;
  bench.add_pool("worker");
  bench.settle();
  const std::string signer = bench.identity("machine-config-server-ca").text({"data", "tls.crt"});
  // The address that Azure's managed clusters keep elsewhere, and another name.
  bench.place = *make_place("https://new.example:22623", {"10.0.0.4", "2001:db8::1"});
  bench.settle();
  const auto serving = read_certified_key(bench.identity("machine-config-server-tls"));
  ASSERT_TRUE(serving.ok());
  EXPECT_EQ(serving->certificate().info().ip_addresses, (std::vector<std::string>{"10.0.0.4", "2001:db8::1"}));
  EXPECT_EQ(serving->certificate().info().dns_names, (std::vector<std::string>{"new.example"}));
  EXPECT_EQ(bench.identity("machine-config-server-ca").text({"data", "tls.crt"}), signer);
  EXPECT_EQ(bench.stub_of_pool("worker").pointers[0].host, "new.example");
}

TEST(IdentityPlan, TheServersCertificateIsRenewedWhenFourFifthsAreOver) {
  IdentityBench bench;
  bench.policy.serving_lifetime = 24h * 100;
  bench.settle();
  const std::string before = bench.identity("machine-config-server-tls").text({"data", "tls.crt"});
  bench.now += 24h * 79;
  bench.settle();
  EXPECT_EQ(bench.identity("machine-config-server-tls").text({"data", "tls.crt"}), before);
  bench.now += 24h * 2;
  bench.settle();
  EXPECT_NE(bench.identity("machine-config-server-tls").text({"data", "tls.crt"}), before);
}

TEST(IdentityPlan, StubsAreKeptAndGoWithTheirPool) {
  IdentityBench bench;
  bench.add_pool("worker");
  bench.settle();
  kube::Object stub = bench.secret("openshift-machine-api", "worker-user-data-managed");
  const std::string kept = stub.text({"data", "userData"});
  json::ensure(stub.json(), {"data", "userData"}) = "e30=";
  json::ensure(stub.json(), {"data", "more"}) = "e30=";
  bench.edit(stub);
  bench.settle();
  stub = bench.secret("openshift-machine-api", "worker-user-data-managed");
  EXPECT_EQ(stub.text({"data", "userData"}), kept);
  EXPECT_EQ(stub.text({"data", "more"}), "e30=") << "what else it has is somebody's";
  // Header fields stay: a token was put there.
  const auto headers = json::parse(R"([{"name":"Authorization","value":"Bearer abc"}])");
  const std::string with_header = managed_stub_text(
      {"https://mcs.example:22623", "worker", net::to_pem(bench.stub_of_pool("worker").trusted()), *headers});
  json::ensure(stub.json(), {"data", "userData"}) = codec::encode_base64(with_header);
  bench.edit(stub);
  bench.settle();
  EXPECT_TRUE(bench.stub_of_pool("worker").pointers[0].has_token);
  ASSERT_TRUE(bench.api.remove(api::kMachineConfigPool, {"", "worker"}, {}, bench.call()).ok());
  bench.settle();
  EXPECT_FALSE(bench.api.get(kube::core::kSecret, stub.key(), bench.call()).ok());
}

TEST(IdentityPlan, SomebodysOwnSecretIsNotTaken) {
  IdentityBench bench;
  bench.add_pool("worker");
  kube::Object own(kube::core::kSecret, {"openshift-machine-api", "worker-user-data-managed"});
  json::ensure(own.json(), {"data", "userData"}) = "e30=";
  ASSERT_TRUE(bench.api.create(kube::core::kSecret, own, {}, bench.call()).ok());
  const IdentityPlan plan = bench.settle();
  ASSERT_EQ(plan.problems.size(), 1U);
  EXPECT_EQ(plan.problems[0].object, "Secret worker-user-data-managed");
  EXPECT_EQ(bench.secret("openshift-machine-api", "worker-user-data-managed").text({"data", "userData"}), "e30=");
}

/// What cannot be used is named with the next step, and nothing is written over it.
TEST(IdentityPlan, WhatCannotBeReadIsNeverReplaced) {
  net::testing::TestAuthority stranger("stranger");
  const net::testing::TestIdentity foreign = stranger.server();
  const struct {
    const char* name;
    bool config_map;
    const char* object;
    std::function<void(kube::Object&)> harm;
    const char* what;
    const char* next;
  } cases[] = {
      {"a key of another certificate", false, "machine-config-server-tls",
       [&](kube::Object& o) { json::ensure(o.json(), {"data", "tls.key"}) = codec::encode_base64(foreign.key_pem); },
       "Secret machine-config-server-tls: tls.key is not the key of tls.crt", "remove the Secret"},
      {"no key", false, "machine-config-server-ca",
       [](kube::Object& o) { json::ensure(o.json(), {"data", "tls.key"}) = ""; },
       "Secret machine-config-server-ca: it has no tls.key", "backup"},
      {"a broken certificate in the bundle", true, "machine-config-server-ca",
       [](kube::Object& o) {
         json::ensure(o.json(), {"data", "ca-bundle.crt"}) =
             o.text({"data", "ca-bundle.crt"}) + "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n";
       },
       "ConfigMap machine-config-server-ca: ca-bundle.crt: certificate 2 of the bundle is damaged", "correct the text"},
      {"a certificate of a stranger", false, "machine-config-server-tls",
       [&](kube::Object& o) {
         json::ensure(o.json(), {"data", "tls.crt"}) = codec::encode_base64(foreign.certificate_pem);
         json::ensure(o.json(), {"data", "tls.key"}) = codec::encode_base64(foreign.key_pem);
       },
       "Secret machine-config-server-tls: the certificate was issued by 'CN=stranger'", "strake certs rotate"},
  };
  for (const auto& one : cases) {
    IdentityBench bench;
    bench.settle();
    const kube::Resource& resource = one.config_map ? kube::core::kConfigMap : kube::core::kSecret;
    const kube::ObjectKey key{"openshift-machine-config-operator", one.object};
    kube::Object object = *bench.api.get(resource, key, bench.call());
    one.harm(object);
    bench.edit(object, resource);
    bench.done.clear();
    const IdentityPlan plan = bench.settle();
    EXPECT_TRUE(bench.done.empty()) << one.name;
    ASSERT_EQ(plan.problems.size(), 1U) << one.name;
    EXPECT_NE(plan.problems[0].to_string().find(one.what), std::string::npos) << plan.problems[0].to_string();
    EXPECT_NE(plan.problems[0].next.find(one.next), std::string::npos) << plan.problems[0].to_string();
    EXPECT_EQ(json::write(*json::find(bench.api.get(resource, key, bench.call())->json(), {"data"})),
              json::write(*json::find(object.json(), {"data"})))
        << one.name;
  }
}

TEST(IdentityPlan, AnAuthorityThatEndedIssuesNothing) {
  IdentityBench bench;
  bench.policy.signer_lifetime = 24h * 10;
  bench.settle();
  bench.now += 24h * 11;
  bench.done.clear();
  const IdentityPlan plan = bench.settle();
  ASSERT_EQ(plan.problems.size(), 1U);
  EXPECT_NE(plan.problems[0].what.find("the authority ended 20"), std::string::npos) << plan.problems[0].to_string();
  EXPECT_TRUE(bench.done.empty());
}

TEST(IdentityPlan, ACertificateWhoseAuthorityIsElsewhereStays) {
  IdentityBench bench;
  net::testing::TestAuthority stranger("stranger");
  const net::testing::TestIdentity foreign = stranger.server();
  kube::Object tls(kube::core::kSecret, {"openshift-machine-config-operator", "machine-config-server-tls"});
  json::ensure(tls.json(), {"data", "tls.crt"}) = codec::encode_base64(foreign.certificate_pem);
  json::ensure(tls.json(), {"data", "tls.key"}) = codec::encode_base64(foreign.key_pem);
  ASSERT_TRUE(bench.api.create(kube::core::kSecret, tls, {}, bench.call()).ok());
  const IdentityPlan plan = bench.settle();
  EXPECT_TRUE(bench.done.empty());
  ASSERT_EQ(plan.problems.size(), 1U);
  EXPECT_NE(plan.problems[0].to_string().find("its authority 'CN=stranger' is not here"), std::string::npos);
}

}  // namespace strake::stub::identity_plan_test
