#include "stub/identity/place.h"

#include <gtest/gtest.h>

#include "api/kinds.h"
#include "net/testing/test_authority.h"
#include "stub/managed_stub.h"

namespace strake::stub::place_test {

kube::Object parsed(std::string_view text) {
  auto value = json::parse(text);
  EXPECT_TRUE(value.ok()) << text;
  return kube::Object(*std::move(value));
}

TEST(Place, NamesAndAddressesEachOnceInOneSpelling) {
  const auto place = make_place("https://API-INT.example:22623/", {"192.0.2.5", "2001:DB8:0::1", "api-int.example"});
  ASSERT_TRUE(place.ok()) << place.error().to_string();
  EXPECT_EQ(place->url, "https://api-int.example:22623");
  EXPECT_EQ(place->hosts, (std::vector<std::string>{"192.0.2.5", "2001:db8::1", "api-int.example"}));
  EXPECT_EQ(make_place("https://[2001:db8::1]:22623", {})->url, "https://[2001:db8::1]:22623");
}

TEST(Place, WhatCannotBeMeantIsRefusedWithTheWayToWriteIt) {
  for (const char* url : {"http://a:22623", "https://a", "https://a:22623/config/worker", "https://u:p@a:22623",
                          "https://a:22623?x=1", "https://a b:1", "a:22623", "https://-a:22623"}) {
    const auto place = make_place(url, {});
    EXPECT_FALSE(place.ok()) << url;
  }
  EXPECT_NE(make_place("https://a", {}).error().to_string().find("https://HOST:PORT"), std::string::npos);
  const auto name = make_place("https://a:1", {"[::1]"});
  ASSERT_FALSE(name.ok());
  EXPECT_NE(name.error().to_string().find("without brackets"), std::string::npos) << name.error().to_string();
  EXPECT_FALSE(make_place("https://a:1", {"a,DNS:evil"}).ok());
}

TEST(Place, FromThePlatformWhereNobodySaysOtherwise) {
  const struct {
    const char* name;
    const char* infrastructure;
    const char* url;
    std::vector<std::string> hosts;
  } cases[] = {
      {"a cloud",
       R"({"status":{"apiServerInternalURI":"https://api-int.c.example:6443","platformStatus":{"aws":{}}}})",
       "https://api-int.c.example:22623",
       {"api-int.c.example"}},
      {"bare metal asks by address",
       R"({"status":{"apiServerInternalURI":"https://api-int.c.example:6443",
           "platformStatus":{"baremetal":{"apiServerInternalIPs":["192.0.2.1","2001:db8::1"]}}}})",
       "https://192.0.2.1:22623",
       {"192.0.2.1", "2001:db8::1", "api-int.c.example"}},
      {"an IPv6 address stands in brackets",
       R"({"status":{"apiServerInternalURI":"https://api-int.c.example:6443",
           "platformStatus":{"vsphere":{"apiServerInternalIPs":["2001:db8::1"]}}}})",
       "https://[2001:db8::1]:22623",
       {"2001:db8::1", "api-int.c.example"}},
      {"one address, as older releases write it",
       R"({"status":{"apiServerInternalURI":"https://api-int.c.example:6443",
           "platformStatus":{"openstack":{"apiServerInternalIP":"192.0.2.7"}}}})",
       "https://192.0.2.7:22623",
       {"192.0.2.7", "api-int.c.example"}},
      {"Nutanix asks by name",
       R"({"status":{"apiServerInternalURI":"https://api-int.c.example:6443",
           "platformStatus":{"nutanix":{"apiServerInternalIPs":["192.0.2.9"]}}}})",
       "https://api-int.c.example:22623",
       {"192.0.2.9", "api-int.c.example"}},
      {"without platform addresses",
       R"({"status":{"apiServerInternalURI":"https://api-int.c.example:6443","platformStatus":{"vsphere":{}}}})",
       "https://api-int.c.example:22623",
       {"api-int.c.example"}},
  };
  for (const auto& one : cases) {
    const kube::Object infrastructure = parsed(one.infrastructure);
    const auto place = place_of(nullptr, &infrastructure);
    ASSERT_TRUE(place.ok() && *place) << one.name;
    EXPECT_EQ((*place)->url, one.url) << one.name;
    EXPECT_EQ((*place)->hosts, one.hosts) << one.name;
  }
  const kube::Object silent = parsed(R"({"status":{}})");
  EXPECT_FALSE((*place_of(nullptr, &silent)).has_value());
  EXPECT_FALSE((*place_of(nullptr, nullptr)).has_value());
}

TEST(Place, WhatAnAdministratorSaysWins) {
  const kube::Object infrastructure = parsed(R"({"status":{"apiServerInternalURI":"https://api-int.c.example:6443"}})");
  const kube::Object config =
      parsed(R"({"spec":{"configServer":{"url":"https://mcs.example:443","names":["10.0.0.4"]}}})");
  const auto place = place_of(&config, &infrastructure);
  EXPECT_EQ((*place)->url, "https://mcs.example:443");
  EXPECT_EQ((*place)->hosts, (std::vector<std::string>{"10.0.0.4", "mcs.example"}));
  const kube::Object only_modes = parsed(R"({"spec":{"modes":{}}})");
  EXPECT_EQ((*place_of(&only_modes, &infrastructure))->url, "https://api-int.c.example:22623");
  const kube::Object wrong = parsed(R"({"spec":{"configServer":{"url":"https://mcs.example"}}})");
  const auto refused = place_of(&wrong, &infrastructure);
  ASSERT_FALSE(refused.ok()) << "a mistake must not fall back to another server";
  EXPECT_NE(refused.error().to_string().find("spec.configServer"), std::string::npos);
}

TEST(Place, WhereMachinesAreSentAlreadyIsReadFromTheStubs) {
  const kube::Object pool(api::kMachineConfigPool, {"", "worker"});
  net::testing::TestAuthority authority;
  const auto stub = std::make_shared<const kube::Object>(
      *managed_stub_secret(pool, {"https://[::1]:7623", "worker", authority.pem(), {}}, nullptr));
  kube::Object foreign = *stub;
  foreign.json().as_object()["metadata"].as_object().erase("labels");
  const std::vector<kube::ObjectPtr> mine{stub}, others{std::make_shared<const kube::Object>(foreign)};
  const auto place = place_in_use(mine, nullptr);
  ASSERT_TRUE(place);
  EXPECT_EQ(place->url, "https://[::1]:7623");
  EXPECT_EQ(place->hosts, std::vector<std::string>{"::1"});
  EXPECT_FALSE(place_in_use(others, nullptr)) << "somebody else's";
  EXPECT_FALSE(place_in_use({}, nullptr));
}

}  // namespace strake::stub::place_test
