// A rotation from end to end on an API in memory: after every single write, machines with the old or the new authority
// (as the step says) accept the server; and a process that dies between any two writes is followed by one that ends
// well.
#include <gtest/gtest.h>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "codec/base64.h"
#include "codec/data_url.h"
#include "kube/testing/fake_api.h"
#include "net/testing/test_authority.h"
#include "stub/identity/identity_effects.h"
#include "stub/managed_stub.h"

namespace strake::stub::rotation_plan_test {

using namespace std::chrono_literals;

constexpr std::chrono::sys_seconds kNow{std::chrono::seconds(1'800'000'000)};
constexpr const char* kMachineNs = "openshift-machine-api";
constexpr const char* kMcoNs = "openshift-machine-config-operator";

struct RotationBench {
  runtime::ThreadRuntime runtime;
  kube::testing::FakeServer server{runtime};
  kube::testing::FakeClient api{server};
  SeededRandom random{1};
  std::chrono::sys_seconds now = kNow;
  ConfigServerPlace place = *make_place("https://mcs.example:22623", {});
  RotateWhen rotate = RotateWhen::kNever;
  std::chrono::seconds retire_after = 24h;
  Fingerprints ignored;
  std::vector<IdentityStep> done;
  int stub_updates = 0;  ///< of worker-user-data
  std::function<void()> after_write = [] {};
  /// Writes left before the process dies; negative: it lives.
  int writes_left = -1;

  kube::Call call() { return runtime.call_within(30s); }

  IdentityInput input() {
    auto input = read_identity(api, place, now, call());
    EXPECT_TRUE(input.ok()) << input.error().to_string();
    EXPECT_TRUE(read_rotation(api, *input, call()).ok());
    input->policy = {.keys = net::KeyKind::kEcP256, .retire_after = retire_after};
    input->rotate = rotate;
    input->ignored_stubs = ignored;
    return *std::move(input);
  }

  bool carry(const IdentityAction& action) {
    if (writes_left == 0) return false;
    if (writes_left > 0) --writes_left;
    const auto carried = carry_out(api, action, random, call());
    EXPECT_TRUE(carried.ok()) << carried.error().to_string();
    done.push_back(action.step);
    if (action.name == "worker-user-data") ++stub_updates;
    after_write();
    return true;
  }

  /// Until nothing is left to do now; nullopt when the process died.
  std::optional<IdentityPlan> settle() {
    for (int round = 0; round < 30; ++round) {
      const IdentityInput seen = input();
      IdentityPlan plan = plan_identity(seen);
      if (plan.actions.empty() && plan.rotation.verify) plan.actions = {verified_action(seen)};
      if (plan.actions.empty()) return plan;
      if (rotate == RotateWhen::kNow && seen.next_signer) rotate = RotateWhen::kNever;  // one, not one after the other
      for (const IdentityAction& action : plan.actions) {
        if (!carry(action)) return std::nullopt;
      }
    }
    ADD_FAILURE() << "does not settle";
    return IdentityPlan{};
  }

  void put_secret(const std::string& ns, const std::string& name, const std::string& key, std::string_view value) {
    kube::Object secret(kube::core::kSecret, {ns, name});
    if (auto present = api.get(kube::core::kSecret, {ns, name}, call()); present.ok()) secret = *std::move(present);
    json::ensure(secret.json(), {"data", key}) = codec::encode_base64(value);
    const bool there = !secret.resource_version().empty();
    EXPECT_TRUE((there ? api.update(kube::core::kSecret, secret, {}, call())
                       : api.create(kube::core::kSecret, secret, {}, call()))
                    .ok());
  }
  void add_pool(const std::string& name) {
    EXPECT_TRUE(
        api.create(api::kMachineConfigPool, kube::Object(api::kMachineConfigPool, {"", name}), {}, call()).ok());
  }
  std::string text_of(const std::string& ns, const std::string& name, const std::string& key) {
    const auto secret = api.get(kube::core::kSecret, {ns, name}, call());
    return secret.ok() ? *codec::decode_base64(secret->text({"data", key})) : "";
  }
  /// As an installer left it: with the server's authority, of spec 2.2.
  static std::string user_stub(const std::string& trusted_pem) {
    return fmt::format(
        R"({{"ignition":{{"config":{{"append":[{{"source":"https://mcs.example:22623/config/worker","verification":{{}}}}]}},)"
        R"("security":{{"tls":{{"certificateAuthorities":[{{"source":"data:text/plain;charset=utf-8;base64,{}",)"
        R"("verification":{{}}}}]}}}},"timeouts":{{}},"version":"2.2.0"}},"networkd":{{}},"passwd":{{}}}})",
        codec::encode_base64(trusted_pem));
  }
  std::vector<net::Certificate> trusted_by(const std::string& secret) {
    const auto stub = read_stub(text_of(kMachineNs, secret, "userData"));
    return stub.ok() ? stub->trusted() : std::vector<net::Certificate>{};
  }
  CertifiedKey serving() {
    auto pair = read_certified_key(*api.get(kube::core::kSecret, {kMcoNs, "machine-config-server-tls"}, call()));
    EXPECT_TRUE(pair.ok());
    return *std::move(pair);
  }
  net::Certificate authority(const char* name = "machine-config-server-ca") {
    return *net::Certificate::from_pem(text_of(kMcoNs, name, "tls.crt"));
  }
  bool accepts(const std::vector<net::Certificate>& trusted) {
    const CertifiedKey pair = serving();
    return net::verify_chain(pair.certificate(), pair.chain, trusted, now, net::CertificatePurpose::kServer).ok();
  }
  /// An identity of our own and a stub of the first years that trusts it.
  void begin() {
    add_pool("worker");
    settle();
    put_secret(kMachineNs, "worker-user-data", "userData", user_stub(authority().to_pem()));
    done.clear();
    stub_updates = 0;
  }
  bool rotating() { return api.get(kube::core::kSecret, {kMcoNs, "machine-config-server-ca-next"}, call()).ok(); }
};

TEST(Rotation, EveryMachineIsServedAfterEveryStep) {
  RotationBench bench;
  bench.begin();
  const net::Certificate old_authority = bench.authority();
  const std::string old_stub = bench.text_of(kMachineNs, "worker-user-data", "userData");
  bool dropped = false;
  bench.after_write = [&] {
    dropped = dropped || bench.done.back() == IdentityStep::kDropOld;
    EXPECT_EQ(bench.accepts({old_authority}), !dropped) << to_string(bench.done.back());
    EXPECT_TRUE(bench.accepts(bench.trusted_by("worker-user-data"))) << to_string(bench.done.back());
    EXPECT_TRUE(bench.accepts(bench.trusted_by("worker-user-data-managed"))) << to_string(bench.done.back());
  };
  bench.rotate = RotateWhen::kNow;
  const auto waiting = bench.settle();
  ASSERT_TRUE(waiting);
  EXPECT_TRUE(waiting->problems.empty());
  EXPECT_EQ(waiting->rotation.stage, RotationStage::kKeepOld);
  EXPECT_EQ(waiting->rotation.until, kNow + 24h);
  const net::Certificate next = bench.authority("machine-config-server-ca-next");
  EXPECT_TRUE(bench.accepts({next})) << "who was given only the new one";
  EXPECT_TRUE(bench.accepts({old_authority})) << "who has only the old one, over what the old one signed";
  // The version, the order and all else of the old stub stay.
  const std::string new_stub = bench.text_of(kMachineNs, "worker-user-data", "userData");
  EXPECT_EQ(new_stub, RotationBench::user_stub(net::to_pem(std::vector{next, old_authority})));
  // Somebody changes a name meanwhile: both are still served.
  bench.place = *make_place("https://mcs.example:22623", {"10.0.0.4"});
  bench.settle();
  EXPECT_TRUE(net::check_host(bench.serving().certificate(), "10.0.0.4").ok());
  bench.now += 25h;
  const auto end = bench.settle();
  ASSERT_TRUE(end);
  EXPECT_TRUE(end->settled());
  EXPECT_FALSE(bench.rotating());
  EXPECT_EQ(bench.authority().info().sha256, next.info().sha256);
  EXPECT_EQ(bench.trusted_by("worker-user-data").size(), 1U);
  EXPECT_EQ(bench.trusted_by("worker-user-data-managed").size(), 1U);
  EXPECT_TRUE(bench.accepts({next}));
  EXPECT_EQ(bench.stub_updates, 2) << "both, then only the new one";
}

/// Every life of the process ends after one write: each place where it can die is seen.
TEST(Rotation, AProcessThatDiesAfterEachWriteIsFollowedByOneThatGoesOn) {
  RotationBench bench;
  bench.begin();
  const net::Certificate old_authority = bench.authority();
  bool dropped = false;
  bench.after_write = [&] {
    dropped = dropped || bench.done.back() == IdentityStep::kDropOld;
    EXPECT_EQ(bench.accepts({old_authority}), !dropped);
    EXPECT_TRUE(bench.accepts(bench.trusted_by("worker-user-data")));
  };
  bench.rotate = RotateWhen::kNow;
  std::optional<IdentityPlan> end;
  for (int life = 0; life < 40 && !(end && end->settled()); ++life) {
    bench.writes_left = 1;
    end = bench.settle();
    if (bench.rotating()) bench.rotate = RotateWhen::kNever;
    if (end && end->rotation.until) bench.now = *end->rotation.until;
  }
  ASSERT_TRUE(end && end->settled());
  EXPECT_GE(bench.done.size(), 12U) << "every step was seen";
  EXPECT_NE(bench.authority().info().sha256, old_authority.info().sha256);
  EXPECT_TRUE(bench.accepts({bench.authority()}));
}

/// Reads only; before the n-th read somebody else is at work.
class InterruptedReads final : public kube::KubeApi {
 public:
  InterruptedReads(kube::KubeApi& inner, int n, std::function<void()> other) : inner_(inner), n_(n), other_(other) {}
  int reads() const { return reads_; }

  Result<kube::Object> get(const kube::Resource& resource, const kube::ObjectKey& key,
                           const kube::Call& call) override {
    count();
    return inner_.get(resource, key, call);
  }
  Result<kube::ListPage> list(const kube::Resource& resource, const std::string& ns, const kube::ListOptions& options,
                              const kube::Call& call) override {
    count();
    return inner_.list(resource, ns, options, call);
  }
  Result<std::unique_ptr<kube::WatchStream>> watch(const kube::Resource&, const std::string&, const kube::WatchOptions&,
                                                   const kube::Call&) override {
    return kNoWrites;
  }
  Result<kube::Object> create(const kube::Resource&, const kube::Object&, const kube::WriteOptions&,
                              const kube::Call&) override {
    return kNoWrites;
  }
  Result<kube::Object> update(const kube::Resource&, const kube::Object&, const kube::WriteOptions&,
                              const kube::Call&) override {
    return kNoWrites;
  }
  Result<kube::Object> patch(const kube::Resource&, const kube::ObjectKey&, kube::PatchType, const json::Value&,
                             const kube::WriteOptions&, const kube::Call&) override {
    return kNoWrites;
  }
  Result<kube::Object> remove(const kube::Resource&, const kube::ObjectKey&, const kube::DeleteOptions&,
                              const kube::Call&) override {
    return kNoWrites;
  }
  Status remove_collection(const kube::Resource&, const std::string&, const kube::ListOptions&,
                           const kube::DeleteOptions&, const kube::Call&) override {
    return kNoWrites;
  }
  Status evict(const kube::ObjectKey&, const kube::DeleteOptions&, const kube::Call&) override { return kNoWrites; }

 private:
  static inline const Error kNoWrites{Code::kUnsupported, "reads only"};
  void count() {
    if (reads_++ == n_) other_();
  }
  kube::KubeApi& inner_;
  int n_;
  std::function<void()> other_;
  int reads_ = 0;
};

/// A verb beside a controller: whatever the other one does between two reads, nothing is written that undoes it.
TEST(Rotation, WhoReadsWhileAnotherFinishesUndoesNothing) {
  const auto read = [](RotationBench& bench, kube::KubeApi& reads) {
    auto input = read_identity(reads, bench.place, bench.now, bench.call());
    EXPECT_TRUE(input.ok() && read_rotation(reads, *input, bench.call()).ok());
    input->policy = {.keys = net::KeyKind::kEcP256, .retire_after = 24h};
    return *std::move(input);
  };
  // The last five: stubs, bundle, certificate, both authorities.
  for (int i = 0; i < 10; ++i) {
    const bool at_the_start = i % 2 == 0;
    RotationBench bench;
    bench.begin();
    const net::Certificate old_authority = bench.authority();
    const auto begin_one = [&] {
      bench.rotate = RotateWhen::kNow;
      bench.settle();
      bench.rotate = RotateWhen::kNever;
    };
    if (!at_the_start) begin_one();
    InterruptedReads all(bench.api, -1, [] {});
    read(bench, all);
    InterruptedReads reads(bench.api, all.reads() - 1 - i / 2, [&] {
      if (at_the_start) return begin_one();
      bench.now += 25h;
      EXPECT_TRUE(bench.settle()->settled());
    });
    for (const IdentityAction& action : plan_identity(read(bench, reads)).actions) {
      (void)carry_out(bench.api, action, bench.random, bench.call());
    }
    const std::string when = fmt::format("{} reads before the last", i / 2);
    for (const char* stub : {"worker-user-data", "worker-user-data-managed"}) {
      EXPECT_EQ(bench.trusted_by(stub).size(), at_the_start ? 2U : 1U) << stub << ", " << when;
      EXPECT_TRUE(bench.accepts(bench.trusted_by(stub))) << stub << ", " << when;
    }
    const auto bundle =
        read_bundle(*bench.api.get(kube::core::kConfigMap, {kMcoNs, "machine-config-server-ca"}, bench.call()));
    ASSERT_TRUE(bundle.ok());
    EXPECT_EQ(contains(*bundle, old_authority), at_the_start) << when;
  }
}

TEST(Rotation, MachinesUnderWayAreWaitedForButNotForEver) {
  RotationBench bench;
  bench.begin();
  kube::Object machine(api::kMachine, {kMachineNs, "worker-a-1"});
  json::ensure(machine.json(), {"status", "phase"}) = "Provisioning";
  json::ensure(machine.json(), {"metadata", "creationTimestamp"}) = "2020-01-01T00:00:00Z";
  ASSERT_TRUE(bench.api.create(api::kMachine, machine, {}, bench.call()).ok());
  bench.rotate = RotateWhen::kNow;
  auto plan = bench.settle();
  EXPECT_EQ(plan->rotation.stage, RotationStage::kMachines);
  EXPECT_NE(plan->rotation.waits_for.find("worker-a-1"), std::string::npos);
  EXPECT_EQ(plan->rotation.until, kNow + 1h);
  bench.now += 59min;
  EXPECT_EQ(bench.settle()->rotation.stage, RotationStage::kMachines);
  bench.now += 2min;
  EXPECT_EQ(bench.settle()->rotation.stage, RotationStage::kKeepOld);
}

TEST(Rotation, WithoutTheOldKeyItStopsUntilSomebodySaysSo) {
  RotationBench bench;
  bench.add_pool("worker");
  net::testing::TestAuthority installer("root-ca");
  net::LeafRequest request;
  request.common_name = "system:machine-config-server";
  request.dns_names = {"mcs.example"};
  request.server_auth = true;
  request.validity = {kNow - 24h, kNow + 24h * 365};
  request.serial = "serial-1";
  const net::testing::TestIdentity identity = installer.issue(request);
  bench.now = installer.certificate().info().not_before + 1h;
  request.validity = {installer.certificate().info().not_before, installer.certificate().info().not_after};
  const net::testing::TestIdentity now_valid = installer.issue(request);
  bench.put_secret(kMcoNs, "machine-config-server-tls", "tls.crt", now_valid.certificate_pem);
  bench.put_secret(kMcoNs, "machine-config-server-tls", "tls.key", now_valid.key_pem);
  bench.put_secret(kMachineNs, "worker-user-data", "userData", RotationBench::user_stub(installer.pem()));
  EXPECT_EQ(bench.settle()->problems.size(), 1U) << "the authority is not here";
  EXPECT_TRUE(bench.done.empty());
  bench.rotate = RotateWhen::kNow;
  auto plan = bench.settle();
  EXPECT_EQ(plan->rotation.stage, RotationStage::kServe);
  ASSERT_EQ(plan->problems.size(), 1U);
  EXPECT_NE(plan->problems[0].to_string().find("--outside-stubs-done"), std::string::npos);
  EXPECT_NE(plan->problems[0].what.find("root-ca"), std::string::npos);
  EXPECT_TRUE(bench.accepts({installer.certificate()})) << "nothing has changed for them";
  EXPECT_EQ(bench.trusted_by("worker-user-data").size(), 2U);
  ASSERT_TRUE(bench.carry(outside_done_action(bench.input())));
  EXPECT_EQ(bench.settle()->rotation.stage, RotationStage::kKeepOld);
  EXPECT_TRUE(bench.accepts(bench.trusted_by("worker-user-data")));
  bench.now += 25h;
  EXPECT_TRUE(bench.settle()->actions.empty());
  EXPECT_FALSE(bench.rotating());
  EXPECT_EQ(bench.trusted_by("worker-user-data").size(), 1U);
}

TEST(Rotation, AStubThatCannotBeChangedWithCertaintyBlocksAndIsNamed) {
  const std::pair<const char*, const char*> cases[] = {
      {"#!ps1_sysnative\nwindows", "no Ignition config"},
      {R"({"ignition":{"version":"3.1.0","config":{"merge":[{"source":"https://mcs.example:22623/config/w"}]},"security":)"
       R"({"tls":{"certificateAuthorities":[{"source":"OLD"},{"source":"data:,OTHER"}]}}}})",
       "2 entries of authorities"},
  };
  for (const auto& [text, named] : cases) {
    RotationBench bench;
    bench.begin();
    std::string stub = text;
    const std::string url = "data:;base64," + codec::encode_base64(bench.authority().to_pem());
    for (std::size_t at = stub.find("OLD"); at != std::string::npos; at = stub.find("OLD")) stub.replace(at, 3, url);
    if (const std::size_t at = stub.find("OTHER"); at != std::string::npos) {
      stub.replace(at - 6, 11, codec::encode_data_url(net::testing::TestAuthority("other").pem()));
    }
    bench.put_secret(kMachineNs, "odd-user-data", "userData", stub);
    bench.rotate = RotateWhen::kNow;
    auto plan = bench.settle();
    ASSERT_EQ(plan->problems.size(), 1U) << named;
    EXPECT_NE(plan->problems[0].to_string().find("odd-user-data"), std::string::npos);
    EXPECT_NE(plan->problems[0].to_string().find(named), std::string::npos) << plan->problems[0].to_string();
    EXPECT_EQ(bench.text_of(kMachineNs, "odd-user-data", "userData"), stub) << "nothing is destroyed";
    EXPECT_EQ(plan->rotation.stage, RotationStage::kTrustBoth);
    ASSERT_TRUE(bench.api.remove(kube::core::kSecret, {kMachineNs, "odd-user-data"}, {}, bench.call()).ok());
    EXPECT_EQ(bench.settle()->rotation.stage, RotationStage::kKeepOld);
  }
  RotationBench bench;
  bench.begin();
  bench.put_secret(kMachineNs, "odd-user-data", "userData", "#!ps1_sysnative\n");
  bench.ignored = {"openshift-machine-api/odd-user-data"};
  bench.rotate = RotateWhen::kNow;
  EXPECT_EQ(bench.settle()->rotation.stage, RotationStage::kKeepOld);
}

TEST(Rotation, BeginsByItselfWhenFourFifthsOfTheAuthoritysLifeAreOver) {
  RotationBench bench;
  bench.begin();
  bench.rotate = RotateWhen::kWhenDue;
  bench.now += 24h * 365 * 8 - 24h;
  EXPECT_TRUE(bench.settle()->settled());
  bench.now += 48h;
  EXPECT_EQ(bench.settle()->rotation.stage, RotationStage::kKeepOld);
  bench.now += 25h;
  EXPECT_TRUE(bench.settle()->settled());
}

/// How often a stub that is somebody's is written: when an authority is made, and twice for a rotation.
TEST(Rotation, AStubThatDoesNotTrustTheServerGetsItsAuthority) {
  net::testing::TestAuthority stranger("stranger");
  RotationBench bench;
  bench.put_secret(kMachineNs, "worker-user-data", "userData", RotationBench::user_stub(stranger.pem()));
  bench.put_secret(kMachineNs, "broken-user-data", "userData", "{\"not\": \"a stub\"}");
  bench.settle();
  EXPECT_EQ(bench.stub_updates, 1);
  EXPECT_TRUE(bench.accepts(bench.trusted_by("worker-user-data")));
  EXPECT_EQ(bench.text_of(kMachineNs, "broken-user-data", "userData"), "{\"not\": \"a stub\"}");
  ASSERT_TRUE(bench.api.remove(kube::core::kSecret, {kMachineNs, "broken-user-data"}, {}, bench.call()).ok());
  bench.rotate = RotateWhen::kNow;
  bench.settle();
  bench.now += 25h;
  bench.settle();
  EXPECT_EQ(bench.stub_updates, 3);
  EXPECT_EQ(bench.trusted_by("worker-user-data").size(), 2U) << "what it trusted for other reasons stays";
}

}  // namespace strake::stub::rotation_plan_test
