#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <set>

#include "ignition/config.h"
#include "ignition/schema.h"

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

/// The definition the merge is measured against: two configs, item by item, nothing shared between steps.
json::Value plain_merge(const json::Value& parent, const json::Value& child, const StructSchema& schema);

json::Array plain_merge_list(const json::Array& parent, const json::Value& child_object, const StructSchema& schema,
                             const Member& member) {
  const auto items_of = [&](const Member& list) {
    const json::Value* items = json::find(child_object, {list.name});
    return items == nullptr ? json::Array{} : items->get_array();
  };
  const auto find_in = [](const json::Array& items, const std::string& key, const Member& list) {
    const json::Value* found = nullptr;
    for (const json::Value& item : items) {
      if (item_key(item, list.element) == key) found = &item;
    }
    return found;
  };
  const json::Array child = items_of(member);
  json::Array merged = member.list_merge == ListMerge::kConcatenate ? parent : json::Array{};
  if (member.list_merge == ListMerge::kConcatenate) {
    merged.insert(merged.end(), child.begin(), child.end());
    return merged;
  }
  for (const json::Value& item : parent) {
    const std::string key = item_key(item, member.element);
    bool moved = false;
    for (const Member& other : schema.members) {
      if (other.name == member.name || member.key_group.empty() || other.key_group != member.key_group) continue;
      moved = moved || find_in(items_of(other), key, other) != nullptr;
    }
    const json::Value* over = find_in(child, key, member);
    if (moved) continue;
    if (over == nullptr) {
      merged.push_back(item);
    } else if (member.name == "httpHeaders" && json::find(*over, {"value"}) == nullptr) {
      continue;
    } else {
      merged.push_back(item.is_object() ? plain_merge(item, *over, *member.element) : *over);
    }
  }
  for (const json::Value& item : child) {
    if (find_in(parent, item_key(item, member.element), member) == nullptr) merged.push_back(item);
  }
  return merged;
}

json::Value plain_merge(const json::Value& parent, const json::Value& child, const StructSchema& schema) {
  json::Object merged;
  for (const Member& member : schema.members) {
    const json::Value* below = json::find(parent, {member.name});
    const json::Value* above = json::find(child, {member.name});
    if (member.type == MemberType::kObjectList || member.type == MemberType::kStringList) {
      merged[member.name] =
          plain_merge_list(below == nullptr ? json::Array{} : below->get_array(), child, schema, member);
    } else if (member.type == MemberType::kObject && below != nullptr && above != nullptr) {
      merged[member.name] = plain_merge(*below, *above, *member.element);
    } else if (above != nullptr || below != nullptr) {
      merged[member.name] = above != nullptr ? *above : *below;
    }
  }
  return merged;
}

/// Anything the table of members allows, valid or not; few keys, so that layers often meet. A key occurs once in the
/// lists that share it, as validation sees to.
json::Value any_object(const StructSchema& schema);

json::Value any_scalar(const Member& member) {
  if (member.type == MemberType::kBool) return *rc::gen::arbitrary<bool>();
  if (member.type == MemberType::kInteger) return *rc::gen::inRange(0, 3);
  return json::Value(*rc::gen::element<std::string>("a", "b", "c"));
}

json::Array any_list(const Member& member, std::set<std::string>& keys) {
  json::Array items;
  for (int left = *rc::gen::inRange(0, 4); left > 0; --left) {
    json::Value item = member.element == nullptr ? any_scalar(member) : any_object(*member.element);
    const bool is_new = keys.insert(item_key(item, member.element)).second;
    if (is_new || member.list_merge == ListMerge::kConcatenate) items.push_back(std::move(item));
  }
  return items;
}

json::Value any_object(const StructSchema& schema) {
  std::map<std::string_view, std::set<std::string>> keys;
  json::Object object;
  for (const Member& member : schema.members) {
    const bool is_key = member.name == schema.key;
    if (!is_key && *rc::gen::inRange(0, 3) == 0) continue;
    switch (member.type) {
      case MemberType::kObject: object[member.name] = any_object(*member.element); break;
      case MemberType::kObjectList:
      case MemberType::kStringList:
        object[member.name] = any_list(member, keys[member.key_group.empty() ? member.name : member.key_group]);
        break;
      case MemberType::kString:
      case MemberType::kInteger:
      case MemberType::kBool: object[member.name] = any_scalar(member); break;
    }
  }
  return object;
}

TEST(IgnitionMergeLaws, ManyAtOnceIsOneAfterTheOther) {
  EXPECT_TRUE(rc::check([] {
    std::vector<json::Value> configs;
    for (int left = *rc::gen::inRange(1, 6); left > 0; --left) {
      configs.push_back(any_object(config_schema()));
      normalise(configs.back());
    }
    json::Value expected = configs.front();
    for (std::size_t i = 1; i < configs.size(); ++i) {
      expected = plain_merge(expected, configs[i], config_schema());
      normalise(expected);
    }
    RC_ASSERT(json::write_canonical(merge_all(configs)) == json::write_canonical(expected));
  }));
}

}  // namespace strake::ignition::merge_property_test
