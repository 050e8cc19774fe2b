#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "ignition/config.h"

namespace strake::ignition::merge_property_test {

/// A small valid config; few names, so that two of them often meet.
json::Value any_config() {
  const auto name = [] { return *rc::gen::element<std::string>("a", "b", "c"); };
  const auto maybe = [] { return *rc::gen::arbitrary<bool>(); };
  json::Value config = empty_config();
  json::Object files;
  json::Object units;
  for (int left = *rc::gen::inRange(0, 4); left > 0; --left) {
    const std::string path = "/etc/" + name();
    json::Object file{{"path", path}};
    if (maybe()) file["mode"] = *rc::gen::inRange(0, 512);
    if (maybe()) file["contents"] = json::Object{{"source", "data:," + name()}};
    files[path] = std::move(file);
  }
  for (int left = *rc::gen::inRange(0, 4); left > 0; --left) {
    const std::string unit_name = name() + ".service";
    json::Object unit{{"name", unit_name}};
    if (maybe()) unit["enabled"] = maybe();
    if (maybe()) unit["dropins"] = json::Array{json::Object{{"name", name() + ".conf"}, {"contents", "[A]\n"}}};
    units[unit_name] = std::move(unit);
  }
  const auto values = [](const json::Object& object) {
    json::Array list;
    for (const auto& [key, value] : object) list.push_back(value);
    return list;
  };
  if (!files.empty()) json::ensure(config, {"storage", "files"}) = values(files);
  if (!units.empty()) json::ensure(config, {"systemd", "units"}) = values(units);
  return config;
}

TEST(IgnitionMergeLaws, NothingIsNeutral) {
  EXPECT_TRUE(rc::check([] {
    const json::Value config = any_config();
    RC_ASSERT(merge(config, empty_config()) == config);
    RC_ASSERT(merge(empty_config(), config) == config);
  }));
}

TEST(IgnitionMergeLaws, MergingTwiceIsMergingOnce) {
  EXPECT_TRUE(rc::check([] {
    const json::Value parent = any_config();
    const json::Value child = any_config();
    const json::Value merged = merge(parent, child);
    RC_ASSERT(merge(merged, child) == merged);
  }));
}

TEST(IgnitionMergeLaws, OrderOfGroupingDoesNotMatter) {
  EXPECT_TRUE(rc::check([] {
    const json::Value a = any_config();
    const json::Value b = any_config();
    const json::Value c = any_config();
    RC_ASSERT(merge(merge(a, b), c) == merge(a, merge(b, c)));
  }));
}

TEST(IgnitionMergeLaws, WhatIsMergedIsValid) {
  EXPECT_TRUE(rc::check([] {
    const json::Value merged = merge(any_config(), any_config());
    const auto again = parse(merged);
    RC_ASSERT(again.ok());
    RC_ASSERT(json::write_canonical(*again) == json::write_canonical(merged));
  }));
}

}  // namespace strake::ignition::merge_property_test
