#include "stub/callers.h"

#include <gtest/gtest.h>

#include "codec/base64.h"
#include "codec/compress.h"

namespace strake::stub::callers_test {

using namespace std::chrono_literals;

constexpr std::chrono::sys_seconds kNow{1'800'000'000s};

Caller caller(const std::string& address, std::chrono::sys_seconds last) {
  return {address, "worker", true, "served", "good", "bq7f2xk9wd", "3.2.0", last, 7};
}

kube::Object map_of(const CallerPages& pages) {
  kube::Object map(kube::core::kConfigMap, callers_key());
  for (const auto& [server, page] : pages) {
    json::ensure(map.json(), {"binaryData", server}) = codec::encode_base64(encode_page(page));
  }
  return map;
}

TEST(Callers, APageIsReadAsItWasWritten) {
  const CallerPage page{kNow, {caller("192.0.2.1", kNow), caller("2001:db8::1", kNow - 1h)}, {{"a", 3}, {"b", 1}}};
  const auto again = decode_page(encode_page(page));
  ASSERT_TRUE(again.ok()) << again.error().to_string();
  EXPECT_EQ(*again, page);
}

TEST(Callers, AThousandFitAndAreCutThere) {
  CallerPage page{kNow, {}, {}};
  for (int i = 0; i < 3000; ++i) page.callers.push_back(caller(fmt::format("10.0.{}.{}", i / 250, i % 250), kNow));
  EXPECT_EQ(decode_page(encode_page(page))->callers.size(), kMaxCallers);
  page.callers.resize(kMaxCallers);
  for (std::size_t i = 0; i < kMaxCallers; ++i) page.callers[i].pool = fmt::format("{:0120}", i * 7919);
  EXPECT_LT(encode_page(page).size(), 60'000U);
}

TEST(Callers, WhatIsNoPageIsPassedOver) {
  EXPECT_FALSE(decode_page("nonsense").ok());
  EXPECT_FALSE(decode_page(codec::gzip("[1]")).ok());
  EXPECT_FALSE(decode_page(codec::gzip(std::string(8 << 20, ' '))).ok()) << "a bomb";
  const auto odd = decode_page(codec::gzip(
      R"({"written":7,"callers":[7,{"address":9,"times":-1}],"uses":{"a":-3,"b":18446744073709551615,"c":"x"}})"));
  ASSERT_TRUE(odd.ok());
  EXPECT_EQ(odd->callers.size(), 2U);
  EXPECT_EQ(odd->uses.at("a"), 0U);
  kube::Object map = map_of({{"good", {kNow, {caller("a", kNow)}, {{"b", 1}}}}, {"odd", *odd}});
  json::ensure(map.json(), {"binaryData", "broken"}) = "*";
  json::ensure(map.json(), {"binaryData", "number"}) = 7;
  EXPECT_EQ(read_pages(map).size(), 2U);
  EXPECT_EQ(uses_of(read_pages(map)).at("b"), UINT64_MAX) << "a sum does not wrap";
  EXPECT_TRUE(read_pages(kube::Object()).empty());
}

TEST(Callers, TheNewestOfAllServers) {
  const CallerPages pages{{"a", {kNow, {caller("one", kNow), caller("three", kNow - 2h)}, {{"t", 1}}}},
                          {"b", {kNow, {caller("two", kNow - 1h)}, {{"t", 2}}}}};
  const std::vector<Caller> newest = newest_callers(pages);
  ASSERT_EQ(newest.size(), 3U);
  EXPECT_EQ(newest[0].address + newest[1].address + newest[2].address, "onetwothree");
  EXPECT_EQ(uses_of(pages).at("t"), 3U);
}

TEST(Callers, OldPagesMakeRoomAndTheirUsesStayCounted) {
  CallerPages pages;
  for (int i = 0; i < 40; ++i) {
    pages[fmt::format("server-{:02}", i)] = {kNow - std::chrono::hours(i), {caller("x", kNow)}, {{"t", 1}}};
  }
  kube::Object map = map_of(pages);
  json::ensure(map.json(), {"binaryData", "garbage"}) = "AAAA";
  json::ensure(map.json(), {"metadata", "resourceVersion"}) = "7";
  const PagePatch patch = page_patch(map, "server-39", {kNow, {}, {{"t", 5}}});
  EXPECT_EQ(patch.patch.at("metadata").at("resourceVersion"), "7");
  const json::Object& data = patch.patch.at("binaryData").as_object();
  EXPECT_TRUE(data.at("garbage").is_null());
  EXPECT_TRUE(data.at("server-38").is_null());
  EXPECT_FALSE(data.contains("server-00"));
  std::uint64_t kept = patch.own.uses.at("t");
  for (const auto& [server, page] : pages) {
    if (!data.contains(server)) kept += page.uses.at("t");
  }
  EXPECT_EQ(kept, 39U + 5U) << "no use is lost and none counted twice";
}

TEST(Callers, AServersNameIsAKey) {
  EXPECT_EQ(server_key("node-1.example:22623"), "node-1.example_22623");
  EXPECT_EQ(server_key(""), "config-server");
  EXPECT_EQ(server_key(".."), "config-server");
  EXPECT_EQ(server_key("a/b\n"), "a_b_");
  EXPECT_EQ(server_key(std::string(1000, 'a')).size(), 200U);
}

}  // namespace strake::stub::callers_test
