#include "apistore/guard/user_guard.h"

#include <gtest/gtest.h>

#include "apistore/guard/connection_register.h"

namespace strake::apistore::user_guard_test {

using namespace std::chrono_literals;
using runtime::TimePoint;

const TimePoint kStart = TimePoint() + 1h;
const Caller kAgent{"strake:agent:n1", {"strake:agents"}};
const Caller kOther{"strake:agent:n2", {"strake:agents"}};
const Caller kAdmin{"root", {"strake:admins"}};

TEST(UserGuard, RequestsASecondButNotOfAdministrators) {
  UserGuard guard;
  const auto answered = [&](const Caller& user, std::size_t bytes, int tries) {
    int count = 0;
    for (int i = 0; i < tries; ++i) count += guard.admit_request(user, bytes, kStart).ok() ? 1 : 0;
    return count;
  };
  EXPECT_EQ(answered(kAgent, 0, 1000), 200);
  const Status refused = guard.admit_request(kAgent, 0, kStart);
  EXPECT_EQ(refused.error().reason(), "TooManyRequests");
  EXPECT_EQ(refused.error().retry_after(), 20ms);
  EXPECT_EQ(answered(kAdmin, 3 << 20, 1000), 1000);
  EXPECT_EQ(answered(kOther, 3 << 20, 1000), 1) << "a body of 3 MiB counts as 193 requests";
  guard.charge_stored(kOther, 16 << 10, kStart);
  EXPECT_EQ(answered(kOther, 0, 1000), 6);
}

TEST(UserGuard, ListsAndWatchesAreGivenBack) {
  UserGuard guard({.watches = 3, .lists_in_flight = 2});
  std::vector<UserGuard::Hold> open;
  for (int i = 0; i < 3; ++i) open.push_back(*guard.begin_watch(kAgent));
  EXPECT_EQ(guard.begin_watch(kAgent).error().reason(), "TooManyRequests");
  EXPECT_TRUE(guard.begin_watch(kOther).ok());
  EXPECT_TRUE(guard.begin_list(kAgent).ok()) << "counted apart, and given back at once";
  std::vector<UserGuard::Hold> unlimited;
  for (int i = 0; i < 1000; ++i) unlimited.push_back(*guard.begin_watch(kAdmin));
  open.pop_back();
  EXPECT_TRUE(guard.begin_watch(kAgent).ok());
}

TEST(UserGuard, AnswersThatWaitForOneUserAndForAllWhoAreNoAdministrators) {
  UserGuard guard({.queued_bytes = 10, .others_queued_bytes = 15});
  EXPECT_EQ(guard.queue_share(kAdmin), nullptr);
  const auto share = guard.queue_share(kAgent);
  EXPECT_EQ(guard.queue_share(kAgent), share);
  net::ByteBudget::Hold first(share);
  net::ByteBudget::Hold second(share);
  EXPECT_TRUE(first.grow(8));
  EXPECT_FALSE(second.grow(3));
  net::ByteBudget::Hold other(guard.queue_share(kOther));
  EXPECT_FALSE(other.grow(8)) << "all together have 15";
  EXPECT_TRUE(other.grow(7));
}

TEST(UserGuard, RemembersNobodyWhoHasNothing) {
  UserGuard guard;
  for (int i = 0; i < 30'000; ++i) {
    const Caller user{fmt::format("u{}", i), {}};
    (void)guard.admit_request(user, 0, kStart + i * 1ms);
    (void)guard.queue_share(user);
    (void)guard.begin_list(user);
  }
  EXPECT_LE(guard.remembered(), 10'000U);
}

class FakeConnection final : public net::ConnectionHandle {
 public:
  explicit FakeConnection(std::int64_t idle = 0) : idle_(idle) {}
  std::int64_t idle_since() const override { return idle_; }
  void cut() override { ++cuts; }
  void on_gone(std::function<void()> callback) override { gone_ = std::move(callback); }
  void go() { gone_(); }

  int cuts = 0;

 private:
  std::int64_t idle_;
  std::function<void()> gone_;
};

Credential certificate(const std::string& serial) { return {Credential::Kind::kCertificate, serial, std::nullopt}; }

TEST(ConnectionRegister, TheLongestIdleOfAUserMakesRoom) {
  ConnectionRegister connections;
  const auto busy = std::make_shared<FakeConnection>();
  const auto idle = std::make_shared<FakeConnection>(20);
  const auto longer_idle = std::make_shared<FakeConnection>(10);
  for (const auto& connection : {busy, idle, longer_idle}) {
    ASSERT_TRUE(connections.admit(connection, "ann", certificate("1"), 3).ok());
    ASSERT_TRUE(connections.admit(connection, "ann", certificate("1"), 3).ok()) << "known: every further request";
  }
  const auto others = std::make_shared<FakeConnection>(5);
  ASSERT_TRUE(connections.admit(others, "bob", certificate("2"), 3).ok());
  const auto fourth = std::make_shared<FakeConnection>();
  EXPECT_TRUE(connections.admit(fourth, "ann", certificate("1"), 3).ok());
  EXPECT_EQ(longer_idle->cuts, 1);
  const auto fifth = std::make_shared<FakeConnection>();
  EXPECT_TRUE(connections.admit(fifth, "ann", certificate("1"), 3).ok());
  EXPECT_EQ(idle->cuts, 1);
  const auto sixth = std::make_shared<FakeConnection>();
  EXPECT_EQ(connections.admit(sixth, "ann", certificate("1"), 3).error().reason(), "TooManyRequests");
  EXPECT_EQ(busy->cuts + others->cuts + sixth->cuts, 0);
  busy->go();
  EXPECT_TRUE(connections.admit(sixth, "ann", certificate("1"), 3).ok());
  const auto seventh = std::make_shared<FakeConnection>();
  EXPECT_TRUE(connections.admit(seventh, "ann", certificate("1"), 0).ok()) << "no limit";
  EXPECT_EQ(connections.connections(), 5U);
}

TEST(ConnectionRegister, CutsWhoDoesNotCount) {
  ConnectionRegister connections;
  const auto good = std::make_shared<FakeConnection>();
  const auto bad = std::make_shared<FakeConnection>();
  Credential token{Credential::Kind::kToken, "abc", std::chrono::system_clock::time_point(5s)};
  ASSERT_TRUE(connections.admit(good, "ann", certificate("1"), 3).ok());
  ASSERT_TRUE(connections.admit(bad, "ann", certificate("2"), 3).ok());
  EXPECT_EQ(connections.next_expiry(), std::nullopt);
  ASSERT_TRUE(connections.admit(bad, "ann", token, 3).ok()) << "a connection may change its credential";
  EXPECT_EQ(connections.next_expiry(), token.expires);
  EXPECT_EQ(connections.cut_unless([](const Credential& credential) { return credential.id == "1"; }), 1U);
  EXPECT_EQ(bad->cuts, 1);
  EXPECT_EQ(good->cuts, 0);
  EXPECT_EQ(connections.next_expiry(), std::nullopt);
  bad->go();
  good->go();
  EXPECT_EQ(connections.connections(), 0U);
}

}  // namespace strake::apistore::user_guard_test
