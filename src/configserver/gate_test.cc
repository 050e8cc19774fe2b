#include "configserver/gate.h"

#include <gtest/gtest.h>

#include "base/simulation.h"

namespace strake::configserver::gate_test {

using namespace std::chrono_literals;

struct Door {
  explicit Door(GateOptions options = {}) : gate(simulation, options) {}

  std::chrono::sys_seconds now() { return std::chrono::floor<std::chrono::seconds>(simulation.wall_now()); }
  stub::TokenRecord record(const std::string& id, const std::string& token) {
    return {id, "worker", stub::token_sha256(token), now(), now() + 100h};
  }
  void put(stub::AccessMode mode, std::vector<stub::TokenRecord> tokens) {
    gate.set_book(std::make_shared<const stub::AccessBook>(mode, std::move(tokens), ""));
  }
  Pass ask(const std::string& token, const std::string& peer = "192.0.2.7:1000", const std::string& method = "GET",
           const std::string& pool = "worker") {
    net::ServerRequest request;
    request.method = method;
    request.peer_address = peer;
    if (!token.empty()) request.headers.add("Authorization", "Bearer " + token);
    return gate.check(request, pool);
  }
  static std::string said(const Pass& pass) {
    return std::string(pass.refusal ? to_string(*pass.refusal) : "passes") + "/" +
           std::string(to_string(pass.standing));
  }

  sim::Simulation simulation{1};
  Gate gate;
};

TEST(Gate, NobodyPassesBeforeItIsKnownWhoMay) {
  Door door;
  EXPECT_EQ(door.ask("a").refusal, Outcome::kAccessUnknown);
  EXPECT_EQ(status_of(Outcome::kAccessUnknown), 500);
}

TEST(Gate, OpenOrNotTheReasonIsKnown) {
  Door door;
  std::vector<stub::TokenRecord> tokens{door.record("good", "a"), door.record("old", "b"), door.record("back", "c"),
                                        door.record("other", "d"), door.record("spent", "e")};
  tokens[1].expires = door.now();
  tokens[2].revoked = door.now();
  tokens[3].pool = "infra";
  tokens[4].max_uses = 1;
  door.gate.set_other_uses({{"spent", 1}});
  struct Case {
    const char* token;
    const char* standing;
    int status;
  };
  const Case cases[] = {{"a", "good", 200},          {"", "no-token", 401},       {"x", "bad-token", 401},
                        {"b", "token-expired", 401}, {"c", "token-revoked", 401}, {"d", "wrong-pool", 403},
                        {"e", "token-used-up", 401}};
  for (const Case& c : cases) {
    door.put(stub::AccessMode::kOpen, tokens);
    EXPECT_EQ(Door::said(door.ask(c.token)), std::string("passes/") + c.standing);
    door.put(stub::AccessMode::kRequire, tokens);
    const Pass pass = door.ask(c.token);
    EXPECT_EQ(to_string(pass.standing), c.standing);
    EXPECT_EQ(pass.refusal ? status_of(*pass.refusal) : 200, c.status) << c.standing;
    EXPECT_EQ(pass.refusal ? to_string(*pass.refusal) : "good", c.standing);
  }
}

TEST(Gate, ThisServerMayRequireWhateverTheClusterSays) {
  Door door({.always_require = true});
  door.put(stub::AccessMode::kOpen, {door.record("good", "a")});
  EXPECT_EQ(door.ask("").refusal, Outcome::kNoToken);
  EXPECT_FALSE(door.ask("a").refusal.has_value());
  EXPECT_EQ(door.gate.mode(), stub::AccessMode::kRequire);
}

TEST(Gate, UsesAreCountedOncePerMachine) {
  Door door;
  stub::TokenRecord twice = door.record("twice", "a");
  twice.max_uses = 2;
  door.put(stub::AccessMode::kRequire, {twice});
  EXPECT_FALSE(door.ask("a", "192.0.2.1:1", "HEAD").refusal.has_value());
  EXPECT_TRUE(door.gate.own_uses().empty()) << "a HEAD takes nothing";
  EXPECT_EQ(door.ask("a", "192.0.2.1:1").counted_token, "twice");
  EXPECT_EQ(door.ask("a", "192.0.2.1:2").counted_token, "") << "the answer was lost, and it asks again";
  EXPECT_FALSE(door.ask("a", "192.0.2.2:1").refusal.has_value());
  EXPECT_EQ(door.ask("a", "192.0.2.3:1").refusal, Outcome::kTokenUsedUp);
  EXPECT_EQ(door.ask("a", "192.0.2.3:1", "HEAD").refusal, Outcome::kTokenUsedUp);
  EXPECT_FALSE(door.ask("a", "192.0.2.2:9").refusal.has_value()) << "of its own use it may still have the answer";
  EXPECT_EQ(door.gate.own_uses().at("twice"), 2U);
}

TEST(Gate, AUseThatBroughtNoConfigIsGivenBack) {
  Door door;
  stub::TokenRecord once = door.record("once", "a");
  once.max_uses = 1;
  door.put(stub::AccessMode::kRequire, {once});
  door.gate.give_back(door.ask("a", "192.0.2.1:1"));
  EXPECT_FALSE(door.ask("a", "192.0.2.2:1").refusal.has_value());
  EXPECT_EQ(door.ask("a", "192.0.2.3:1").refusal, Outcome::kTokenUsedUp);
  door.put(stub::AccessMode::kRequire, {});
  EXPECT_TRUE(door.gate.own_uses().empty()) << "of tokens that are gone nothing is kept";
}

TEST(Gate, WhatOneGivesBackTakesNothingFromAnother) {
  Door door;
  stub::TokenRecord twice = door.record("twice", "a");
  twice.max_uses = 2;
  door.put(stub::AccessMode::kRequire, {twice});
  EXPECT_EQ(door.ask("a", "192.0.2.1:1").counted_token, "twice");
  door.gate.give_back(door.ask("a", "192.0.2.2:1"));
  EXPECT_EQ(door.ask("a", "192.0.2.1:2").counted_token, "") << "its answer was lost, and it asks again";
  EXPECT_EQ(door.gate.own_uses().at("twice"), 1U);
}

TEST(Gate, WhatOtherServersCountedCounts) {
  Door door;
  stub::TokenRecord three = door.record("three", "a");
  three.max_uses = 3;
  door.put(stub::AccessMode::kRequire, {three});
  door.gate.set_other_uses({{"three", 2}});
  EXPECT_FALSE(door.ask("a", "192.0.2.1:1").refusal.has_value());
  EXPECT_EQ(door.ask("a", "192.0.2.2:1").refusal, Outcome::kTokenUsedUp);
}

TEST(Gate, AFloodIsTurnedAwayAndTheGoodOnesBehindTheSameAddressAreNot) {
  Door door({.refused = {.per_second = 1, .burst = 5}});
  door.put(stub::AccessMode::kRequire, {door.record("good", "a")});
  int refused = 0, too_many = 0;
  for (int i = 0; i < 1000; ++i) {
    const Pass pass = door.ask(fmt::format("guess{}", i));
    ++(pass.refusal == Outcome::kTooManyRefused ? too_many : refused);
    EXPECT_EQ(pass.retry_after >= 1s, pass.refusal == Outcome::kTooManyRefused);
    EXPECT_FALSE(door.ask("a").refusal.has_value());
  }
  EXPECT_EQ(refused, 5);
  EXPECT_EQ(too_many, 995);
  EXPECT_EQ(door.ask("x", "192.0.2.8:1").refusal, Outcome::kBadToken) << "another address";
  // Who owns a /64 has one account; memory stays bounded whoever comes.
  for (int i = 0; i < 5; ++i) (void)door.ask("x", fmt::format("[2001:db8::{:x}]:1", i));
  EXPECT_EQ(door.ask("x", "[2001:db8::ffff]:1").refusal, Outcome::kTooManyRefused);
  EXPECT_EQ(door.ask("x", "[2001:db8:0:1::1]:1").refusal, Outcome::kBadToken);
}

TEST(Gate, ACertificateOpensItsPool) {
  Door door;
  door.put(stub::AccessMode::kRequire, {door.record("good", "a")});
  net::ServerRequest request;
  request.method = "GET";
  request.peer_address = "192.0.2.7:1";
  request.client_certificate = net::PeerCertificate{"rack-7", {"strake:pool:worker"}, {}, "", ""};
  const Pass pass = door.gate.check(request, "worker");
  EXPECT_FALSE(pass.refusal.has_value());
  EXPECT_EQ(pass.credential, "rack-7");
  EXPECT_EQ(door.gate.check(request, "master").refusal, Outcome::kWrongPool);
  request.headers.add("Authorization", "Bearer nonsense");
  EXPECT_FALSE(door.gate.check(request, "worker").refusal.has_value()) << "one of the two is enough";
  EXPECT_EQ(door.gate.check(request, "master").refusal, Outcome::kBadToken);
  request.headers = {};
  request.client_certificate.reset();
  request.client_certificate_problem = "it has ended";
  EXPECT_EQ(door.gate.check(request, "worker").refusal, Outcome::kBadCertificate);
}

TEST(Address, WithoutPortAndAsOneOwnerHasThem) {
  EXPECT_EQ(address_of("192.0.2.7:40312"), "192.0.2.7");
  EXPECT_EQ(address_of("[::ffff:192.0.2.7]:40312"), "192.0.2.7");
  EXPECT_EQ(address_of("[2001:db8::1]:1"), "2001:db8::1");
  EXPECT_EQ(address_of("garbage"), "garbage");
  EXPECT_EQ(address_group("192.0.2.7"), "192.0.2.7");
  EXPECT_EQ(address_group("2001:db8:1:2:3:4:5:6"), "2001:db8:1:2::/64");
  EXPECT_EQ(address_group("fe80::1%eth0"), "fe80::/64");
}

}  // namespace strake::configserver::gate_test
