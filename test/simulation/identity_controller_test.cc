// The identity controller through a whole rotation, with lost watches, conflicts, an API that goes away, a process that
// dies, and a second one that acts at the same time: at every moment machines with a stub of the cluster accept the
// server, and in the end everything is as planned.
#include "stub/identity/identity_controller.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "api/kinds.h"
#include "codec/base64.h"
#include "simulation/render_stage.h"
#include "simulation/seeds.h"
#include "stub/access_book.h"
#include "stub/managed_stub.h"

namespace strake::simulation::identity_controller_test {

using namespace std::chrono_literals;

constexpr std::string_view kCluster = R"(apiVersion: v1
kind: Namespace
metadata: {name: openshift-machine-config-operator}
---
apiVersion: v1
kind: Namespace
metadata: {name: openshift-machine-api}
---
apiVersion: strake.dev/v1alpha1
kind: StrakeConfig
metadata: {name: cluster}
spec: {configServer: {url: "https://mcs.example:22623"}}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: worker}
spec: {}
---
apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfigPool
metadata: {name: master}
spec: {}
)";

/// Four fifths are over after not quite two hours, and again so long after that.
constexpr std::chrono::seconds kSignerLife = 150min;
constexpr std::chrono::seconds kRetireAfter = 10min;

struct IdentityStage : RenderStage {
  explicit IdentityStage(std::uint64_t seed) : RenderStage(seed) { apply(kCluster); }

  /// So many processes at once; of several with a lease there is one, so two is the worst there can be.
  void start(int replicas, std::optional<std::uint64_t> calls = std::nullopt) {
    start_process(
        [this, replicas](kube::KubeApi& api, std::stop_token stop) {
          std::vector<std::unique_ptr<stub::IdentityController>> all;
          for (int i = 0; i < replicas; ++i) {
            all.push_back(std::make_unique<stub::IdentityController>(simulation(), api, options()));
            all.back()->start();
          }
          (void)simulation().sleep(24h * 365, stop);
          for (const auto& one : all) one->stop();
        },
        calls);
  }

  stub::IdentityOptions options() {
    stub::IdentityOptions options;
    options.policy.keys = net::KeyKind::kEcP256;
    options.policy.signer_lifetime = kSignerLife;
    options.policy.serving_lifetime = kSignerLife;
    options.policy.provision_grace = 2min;
    options.policy.retire_after = kRetireAfter;
    options.on_done = [this](stub::IdentityStep, const std::string&) { ++steps_done; };
    // A config server that has what is written.
    options.verify = [this](const stub::Handshake& handshake, const kube::Call&) -> Status {
      for (const std::string& pem : handshake.ca_pems) {
        const auto trusted = net::parse_bundle(pem);
        if (!trusted.ok() || !accepts(*trusted)) return error(Code::kDenied, "not accepted");
      }
      return {};
    };
    return options;
  }

  kube::Object one(const kube::Resource& resource, std::string_view name) {
    for (kube::Object& object : list(resource)) {
      if (object.name() == name) return std::move(object);
    }
    return kube::Object();
  }
  std::optional<stub::CertifiedKey> pair(std::string_view name) {
    auto read = stub::read_certified_key(one(kube::core::kSecret, name));
    return read.ok() ? std::optional(*std::move(read)) : std::nullopt;
  }
  std::chrono::sys_seconds wall() { return std::chrono::floor<std::chrono::seconds>(simulation().wall_now()); }
  bool accepts(const std::vector<net::Certificate>& trusted) {
    const auto serving = pair("machine-config-server-tls");
    return serving &&
           net::verify_chain(serving->certificate(), serving->chain, trusted, wall(), net::CertificatePurpose::kServer)
               .ok();
  }
  std::map<std::string, stub::Stub> stubs() {
    std::map<std::string, stub::Stub> found;
    for (const kube::Object& secret : list(kube::core::kSecret)) {
      const auto text = stub::stub_text(secret);
      auto stub = text.ok() ? stub::read_stub(*text) : Result<stub::Stub>(text.error());
      if (stub.ok()) found.emplace(secret.name(), *std::move(stub));
    }
    return found;
  }
  stub::AccessBook access() {
    auto book = stub::read_access(one(kube::core::kSecret, stub::access_key().name));
    return book.ok() ? *std::move(book) : stub::AccessBook();
  }
  /// Whether the token a stub carries opens its pool; true without one.
  bool token_is_good(const stub::Stub& stub) {
    const stub::AccessBook book = access();
    return std::ranges::all_of(stub.pointers, [&](const stub::Pointer& pointer) {
      if (pointer.token_sha256.empty()) return true;
      const stub::TokenRecord* record = book.find_by_hash(pointer.token_sha256);
      return record != nullptr && stub::judge_token(*record, pointer.pool, wall(), 0) == stub::Standing::kGood;
    });
  }

  /// A machine may have been born with any list that a stub had lately.
  void look() {
    const auto now = wall();
    for (const auto& [name, stub] : stubs()) {
      EXPECT_TRUE(token_is_good(stub)) << "a machine born now with the stub " << name << " would be refused";
      born[net::to_pem(stub.trusted())] = {name, stub.trusted(), now};
    }
    std::erase_if(born, [&](const auto& one) { return now - one.second.seen > kRetireAfter; });
    for (const auto& [pem, machine] : born) {
      EXPECT_TRUE(accepts(machine.trusted))
          << "a machine with the stub " << machine.stub << " of " << (now - machine.seen).count() << " s ago";
    }
  }

  /// Looks after everything that is written, until `reached` or the time is over.
  bool go_on(std::chrono::seconds within, const std::function<bool()>& reached = [] { return false; }) {
    auto clock = simulation().spawn("clock", [&](std::stop_token stop) { (void)simulation().sleep(within, stop); });
    bool there = false;
    sim::RunLimits limits;
    limits.virtual_time = within * 2;
    (void)simulation().run(limits, [&] {
      if (calls_made() == seen_calls) return clock.done();
      seen_calls = calls_made();
      if (std::string version = store_version(); version != seen_version) {
        seen_version = std::move(version);
        look();
        there = reached();
      }
      return there || clock.done();
    });
    clock.stop_and_join();
    return there || reached();
  }

  /// One authority, and everything in the cluster trusts that one alone.
  bool is_settled() {
    const auto signer = pair("machine-config-server-ca");
    if (!signer || pair("machine-config-server-ca-next") || !pair("machine-config-server-tls")) return false;
    const auto only_it = [&](const std::vector<net::Certificate>& trusted) {
      return trusted.size() == 1 && trusted.front().info().sha256 == signer->certificate().info().sha256;
    };
    const auto bundle = stub::read_bundle(one(kube::core::kConfigMap, "machine-config-server-ca"));
    const auto all = stubs();
    return bundle.ok() && only_it(*bundle) && accepts({signer->certificate()}) && all.size() == 3 &&
           std::ranges::all_of(all, [&](const auto& stub) { return only_it(stub.second.trusted()); });
  }
  /// Of everything but Events, which come and go.
  std::vector<std::string> versions() {
    std::vector<std::string> all;
    for (const kube::Resource* resource : {&kube::core::kSecret, &kube::core::kConfigMap, &api::kStrakeConfig}) {
      for (const kube::Object& object : list(*resource)) all.push_back(object.name() + " " + object.resource_version());
    }
    return all;
  }
  std::string authority() { return secret_text("machine-config-server-ca"); }
  std::string secret_text(std::string_view name) {
    const auto found = pair(name);
    return found ? found->certificate().info().sha256 : "";
  }
  /// Somebody's own, as an installer left it.
  void put_foreign_stub() {
    const stub::ManagedStub stub{"https://mcs.example:22623", "worker",
                                 pair("machine-config-server-ca")->certificate().to_pem(), std::nullopt};
    apply(
        fmt::format("{{apiVersion: v1, kind: Secret, metadata: {{name: worker-user-data, namespace: "
                    "openshift-machine-api}}, data: {{userData: \"{}\"}}}}",
                    codec::encode_base64(stub::managed_stub_text(stub))));
  }

  struct Born {
    std::string stub;
    std::vector<net::Certificate> trusted;
    std::chrono::sys_seconds seen;
  };
  std::map<std::string, Born> born;
  std::string seen_version;
  std::uint64_t seen_calls = 0;
  int steps_done = 0;
};

void expect_rotation(std::uint64_t seed) {
  IdentityStage stage(seed);
  const int replicas = seed % 2 == 0 ? 2 : 1;
  stage.faults() = apistore::FaultPlan::rough();
  stage.start(replicas);
  ASSERT_TRUE(stage.go_on(1h, [&] { return stage.stubs().size() == 2; })) << "nothing is made";
  stage.put_foreign_stub();
  ASSERT_TRUE(stage.go_on(2h, [&] { return stage.is_settled(); }));
  const std::string old = stage.authority();

  ASSERT_TRUE(stage.go_on(6h, [&] { return !stage.secret_text("machine-config-server-ca-next").empty(); }));
  // A process that dies somewhere on the way, and an API that is away for a while.
  stage.start(replicas, 20 + seed * 7 % 150);
  stage.go_on(5min);
  const apistore::FaultPlan rough = stage.faults();
  stage.faults().lost_request = 1;
  const std::uint64_t calls = stage.calls_made();
  stage.go_on(5min);
  EXPECT_LT(stage.calls_made() - calls, 1000U) << "nobody answers, and it asks without end";
  stage.faults() = rough;
  stage.start(replicas);
  ASSERT_TRUE(stage.go_on(3h, [&] { return stage.is_settled(); })) << "the rotation does not end";
  EXPECT_NE(stage.authority(), old);

  // Nothing to do, nothing written.
  stage.faults() = apistore::FaultPlan::none();
  stage.go_on(5min);
  const std::vector<std::string> before = stage.versions();
  stage.go_on(30min);
  EXPECT_EQ(stage.versions(), before);
  EXPECT_TRUE(stage.is_settled());
  EXPECT_LT(stage.steps_done, 120) << "done again and again";
  EXPECT_LT(stage.access().tokens().size(), 30U) << "a token for each attempt";
  const auto stubs = stage.stubs();
  for (const char* name : {"worker-user-data-managed", "master-user-data-managed"}) {
    ASSERT_TRUE(stubs.contains(name) && !stubs.at(name).pointers.empty());
    EXPECT_FALSE(stubs.at(name).pointers.front().token_sha256.empty()) << name;
  }
}

/// What was written may have been written although nobody heard of it.
TEST(IdentityControllerSimulation, ALostAnswerLeavesNoStubWithATokenThatDoesNotCount) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    IdentityStage stage(seed);
    stage.faults().lost_answer = 0.2;
    stage.start(1);
    ASSERT_TRUE(stage.go_on(3h, [&] {
      const auto stubs = stage.stubs();
      return stubs.size() == 2 && std::ranges::all_of(stubs, [](const auto& stub) {
               return !stub.second.pointers.front().token_sha256.empty();
             });
    }));
    stage.go_on(2min);
  }
}

TEST(IdentityControllerSimulation, MachinesAreLetInAtEveryMomentOfARotation) {
  const char* one = std::getenv("STRAKE_SEED");
  const std::uint64_t first = one == nullptr ? 1 : std::strtoull(one, nullptr, 10);
  const std::uint64_t last = one == nullptr ? seeds_of_share(kIdentityShare) : first;
  for (std::uint64_t seed = first; seed <= last && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    expect_rotation(seed);
  }
}

}  // namespace strake::simulation::identity_controller_test
