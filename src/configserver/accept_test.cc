#include "configserver/accept.h"

#include <gtest/gtest.h>

namespace strake::configserver::accept_test {

std::string served(std::string_view accept) {
  const auto version = negotiate(accept);
  return version.ok() ? ignition::to_string(*version) : "refused";
}

TEST(Accept, WhatMachinesSend) {
  const std::pair<const char*, const char*> cases[] = {
      {"application/vnd.coreos.ignition+json;version=3.3.0, */*;q=0.1", "3.3.0"},
      {"application/vnd.coreos.ignition+json;version=2.4.0, application/vnd.coreos.ignition+json;version=1;q=0.5, "
       "*/*;q=0.1",
       "2.2.0"},
      {"application/vnd.coreos.ignition+json;version=2.2.0", "2.2.0"},
      {"application/vnd.coreos.ignition+json;version=2.1.0", "refused"},
      {"application/vnd.coreos.ignition+json;version=3.0.0", "3.0.0"},
      {"application/vnd.coreos.ignition+json;version=3.1.0", "3.1.0"},
      {"application/vnd.coreos.ignition+json;version=3.2.0", "3.2.0"},
      {"application/vnd.coreos.ignition+json;version=3.4.0", "3.4.0"},
      {"application/vnd.coreos.ignition+json;version=3.5.0", "3.5.0"},
      {"application/vnd.coreos.ignition+json;version=3.5.0-experimental", "3.5.0"},
      {"application/vnd.coreos.ignition+json;version=3.99.0", "3.5.0"},
      {"application/vnd.coreos.ignition+json;version=4.0.0", "refused"},
      {"application/vnd.coreos.ignition+json;version=18446744073709551615.0.0", "refused"},
      {"application/vnd.coreos.ignition+json;version=3.18446744073709551615.0", "3.5.0"},
  };
  for (const auto& [accept, version] : cases) EXPECT_EQ(served(accept), version) << accept;
}

TEST(Accept, WhoSaysNothingUsefulIsTakenForTheOldest) {
  for (const char* accept :
       {"", "*/*", "text/plain", "an-invalid-accept-header", "application/vnd.coreos.ignition+json",
        "application/vnd.coreos.ignition+json;version=1", "application/vnd.coreos.ignition+json;version =3.4.0",
        "application/vnd.coreos.ignition+json;version=\"3.4.0\"", "application/vnd.coreos.ignition+json;version",
        "application/vnd.coreos.ignition+json;version=3.4.0;q=often", "a/b;q=nan", ",",
        "application/vnd.coreos.ignition+json;version=3.4.0,broken"}) {
    EXPECT_EQ(served(accept), "2.2.0") << accept;
  }
}

TEST(Accept, TheHighestQualityDecidesAndTheOrderAmongEquals) {
  EXPECT_EQ(served("application/vnd.coreos.ignition+json;version=3.1.0;q=0.5, "
                   "application/vnd.coreos.ignition+json;version=3.4.0"),
            "3.4.0");
  EXPECT_EQ(served("x/vnd.coreos.ignition+json; version=3.2.0 , application/vnd.coreos.ignition+json;version=3.4.0"),
            "3.2.0");
  std::string many;
  for (int i = 0; i < 100; ++i) many += "a/b,";
  EXPECT_EQ(served(many + "application/vnd.coreos.ignition+json;version=3.4.0"), "2.2.0");
}

}  // namespace strake::configserver::accept_test
