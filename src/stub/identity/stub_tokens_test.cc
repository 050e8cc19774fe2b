#include "stub/identity/stub_tokens.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "base/simulation.h"
#include "codec/base64.h"
#include "kube/testing/fake_api.h"
#include "net/testing/test_authority.h"
#include "stub/access_store.h"
#include "stub/managed_stub.h"
#include "stub/stub.h"

namespace strake::stub::stub_tokens_test {

using namespace std::chrono_literals;

kube::Object managed_secret(const std::string& pool, const std::string& trusted_pem) {
  kube::Object owner(api::kMachineConfigPool, {"", pool});
  return *managed_stub_secret(owner, {"https://127.0.0.1:22623", pool, trusted_pem, {}}, nullptr);
}

Stub stub_in(const kube::Object& secret) {
  return *read_stub(*codec::decode_base64(secret.text({"data", "userData"})));
}

TEST(StubTokens, EveryManagedStubCarriesAGoodOneAndTheOldOneCountsOn) {
  sim::Simulation simulation(1);
  kube::testing::FakeServer server(simulation);
  kube::testing::FakeClient api(server);
  net::testing::TestAuthority authority;
  runtime::Task task = simulation.spawn("test", [&](std::stop_token) {
    kube::Object foreign = managed_secret("infra", authority.pem());
    foreign.json().as_object()["metadata"].as_object().erase("labels");
    EXPECT_TRUE(api.create(kube::core::kSecret, foreign, {}, {}).ok());
    EXPECT_TRUE(api.create(kube::core::kSecret, managed_secret("worker", authority.pem()), {}, {}).ok());
    const auto all = [&] {
      std::vector<kube::ObjectPtr> secrets;
      const auto page = api.list(kube::core::kSecret, std::string(api::kMachineApiNamespace), {}, {});
      for (const kube::Object& one : page->items) secrets.push_back(std::make_shared<const kube::Object>(one));
      return secrets;
    };
    const auto renew = [&] {
      const auto renewed = renew_stub_tokens(simulation, api, all(), {});
      EXPECT_TRUE(renewed.ok()) << renewed.error().to_string();
      return renewed.ok() ? *renewed : std::vector<kube::Object>{};
    };
    const auto first = renew();
    ASSERT_EQ(first.size(), 1U) << "and not what is somebody else's";
    const std::string first_token = stub_in(first.front()).pointers.front().token_sha256;
    EXPECT_EQ(load_access(api, {})->find_by_hash(first_token)->pool, "worker");
    EXPECT_TRUE(renew().empty()) << "it has one";
    // Four fifths of its life later another takes its place; machines that were born with the old one are let in.
    EXPECT_TRUE(simulation.sleep(kStubTokenLife * 4 / 5 + 1h, {}).ok());
    const auto second = renew();
    ASSERT_EQ(second.size(), 1U);
    const std::string second_token = stub_in(second.front()).pointers.front().token_sha256;
    EXPECT_NE(second_token, first_token);
    const auto now = std::chrono::floor<std::chrono::seconds>(simulation.wall_now());
    const AccessBook book = *load_access(api, {});
    EXPECT_EQ(judge_token(*book.find_by_hash(first_token), "worker", now, 0), Standing::kGood);
    // A revoked one is replaced at once.
    const std::string id = book.find_by_hash(second_token)->id;
    EXPECT_TRUE(
        change_access(simulation, api, [&](const AccessBook& present) { return with_revoked(present, id, now); }, {})
            .ok());
    EXPECT_EQ(renew().size(), 1U);
    // What was written over meanwhile is left for the next look, and nobody has the token made for it.
    std::vector<kube::ObjectPtr> old = all();
    kube::Object edited = *api.get(kube::core::kSecret, second.front().key(), {});
    json::ensure(edited.json(), {"data", "userData"}) =
        managed_secret("worker", authority.pem()).text({"data", "userData"});
    EXPECT_TRUE(api.update(kube::core::kSecret, edited, {}, {}).ok());
    for (kube::ObjectPtr& one : old) {
      if (one->name() != edited.name()) continue;
      kube::Object stale = edited;
      json::ensure(stale.json(), {"metadata", "resourceVersion"}) = one->resource_version();
      one = std::make_shared<const kube::Object>(std::move(stale));
    }
    EXPECT_EQ(renew_stub_tokens(simulation, api, old, {}).error().code(), Code::kConflict);
    std::size_t revoked = 0;
    const AccessBook after = *load_access(api, {});
    for (const TokenRecord& record : after.tokens()) revoked += record.revoked ? 1 : 0;
    EXPECT_EQ(revoked, 2U);
    EXPECT_EQ(renew().size(), 1U);
  });
  simulation.run();
}

}  // namespace strake::stub::stub_tokens_test
