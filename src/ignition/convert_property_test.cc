#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "ignition/config.h"

namespace strake::ignition::convert_property_test {

constexpr SpecVersion kWritten[] = {{2, 2}, {3, 1}, {3, 2}, {3, 3}, {3, 4}, {3, 5}};

std::string any_name() { return *rc::gen::element<std::string>("a", "b", "c", "d"); }
bool maybe() { return *rc::gen::arbitrary<bool>(); }

/// Items with names of their own, in any order.
template <typename Make>
json::Array any_list(Make make) {
  json::Array list;
  std::set<std::string> taken;
  for (int left = *rc::gen::inRange(0, 4); left > 0; --left) {
    const std::string name = any_name();
    if (taken.insert(name).second) list.push_back(make(name));
  }
  return list;
}

/// A valid config of spec 3.1 made of what every spec that is written can express.
json::Value any_common_config() {
  json::Value config = json::Object{{"ignition", json::Object{{"version", "3.1.0"}}}};
  const auto put = [&](std::string_view section, std::string_view list, json::Array items) {
    if (!items.empty()) json::ensure(config, {section, list}) = std::move(items);
  };
  put("storage", "files", any_list([](const std::string& name) {
        json::Object file{{"path", "/etc/" + name}, {"overwrite", maybe()}};
        json::Object contents{{"source", maybe() ? "data:," + name : "https://h/" + name}};
        if (maybe()) contents["compression"] = "gzip";
        file["contents"] = std::move(contents);
        if (maybe()) file["mode"] = *rc::gen::inRange(0, 512);
        if (maybe()) file["user"] = json::Object{{"id", 7}};
        if (maybe()) file["group"] = json::Object{{"name", name}};
        return file;
      }));
  put("storage", "directories", any_list([](const std::string& name) {
        json::Object directory{{"path", "/var/" + name}};
        if (maybe()) directory["mode"] = 493;
        return directory;
      }));
  put("storage", "links", any_list([](const std::string& name) {
        return json::Object{{"path", "/opt/" + name}, {"target", "/etc/" + name}};
      }));
  put("storage", "raid", any_list([](const std::string& name) {
        json::Object raid{{"name", name}, {"level", "raid1"}, {"devices", json::Array{"/dev/x", "/dev/y"}}};
        if (maybe()) raid["spares"] = 1;
        return raid;
      }));
  put("systemd", "units", any_list([](const std::string& name) {
        json::Object unit{{"name", name + ".service"}};
        if (maybe()) unit["enabled"] = maybe();
        if (maybe()) unit["mask"] = true;
        if (maybe()) unit["contents"] = "[Unit]\nA=" + name;
        if (maybe()) unit["dropins"] = json::Array{json::Object{{"name", name + ".conf"}, {"contents", "[A]\nB=c"}}};
        return unit;
      }));
  put("passwd", "users", any_list([](const std::string& name) {
        json::Object user{{"name", name}};
        if (maybe()) user["uid"] = 1000;
        if (maybe()) user["sshAuthorizedKeys"] = json::Array{"k1", "k2"};
        if (maybe()) user["passwordHash"] = "";
        return user;
      }));
  if (maybe()) {
    json::ensure(config, {"ignition", "config", "merge"}) = json::Array{json::Object{{"source", "https://h/c"}}};
  }
  return config;
}

json::Value converted(const json::Value& config, SpecVersion to) {
  auto made = convert(config, to);
  if (!made.ok()) RC_FAIL(made.error().to_string());
  return *std::move(made);
}

TEST(IgnitionConvertLaws, ThereAndBackIsTheSame) {
  EXPECT_TRUE(rc::check([] {
    const SpecVersion one = *rc::gen::elementOf(std::vector<SpecVersion>(std::begin(kWritten), std::end(kWritten)));
    const SpecVersion other = *rc::gen::elementOf(std::vector<SpecVersion>(std::begin(kWritten), std::end(kWritten)));
    const json::Value config = converted(any_common_config(), one);
    RC_ASSERT(json::write_canonical(converted(converted(config, other), one)) == json::write_canonical(config));
  }));
}

TEST(IgnitionConvertLaws, StepsLeadWhereTheLeapLeads) {
  EXPECT_TRUE(rc::check([] {
    const json::Value config = any_common_config();
    json::Value step = config;
    for (const SpecVersion to : {SpecVersion{3, 2}, SpecVersion{3, 3}, SpecVersion{3, 4}, SpecVersion{3, 5}}) {
      step = converted(step, to);
      RC_ASSERT(json::write_canonical(step) == json::write_canonical(converted(config, to)));
    }
  }));
}

TEST(IgnitionConvertLaws, WhatIsConvertedIsValidInItsSpec) {
  EXPECT_TRUE(rc::check([] {
    const json::Value config = any_common_config();
    for (const SpecVersion to : kWritten) {
      const Checked checked = check_text(json::write_pretty(converted(config, to)));
      RC_ASSERT(!checked.report.is_fatal());
      RC_ASSERT(checked.version == to);
    }
  }));
}

}  // namespace strake::ignition::convert_property_test
