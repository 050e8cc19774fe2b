#include <algorithm>
#include <set>
#include <string>

#include "ignition/config.h"
#include "ignition/schema.h"

namespace strake::ignition {

namespace {

template <typename Unwanted>
void erase_items(json::Array& list, Unwanted unwanted) {
  list.erase(std::remove_if(list.begin(), list.end(), unwanted), list.end());
}

json::Value merge_struct(const json::Value& parent, const json::Value& child, const StructSchema& schema);

json::Array merge_list(const json::Array& parent, const json::Array& child, const Member& member) {
  json::Array merged;
  if (member.list_merge == ListMerge::kConcatenate) {
    merged = parent;
    merged.insert(merged.end(), child.begin(), child.end());
    return merged;
  }
  std::map<std::string, const json::Value*> by_key;
  for (const json::Value& item : child) by_key.emplace(item_key(item, member.element), &item);
  std::set<std::string> taken;
  for (const json::Value& item : parent) {
    const std::string key = item_key(item, member.element);
    taken.insert(key);
    const auto over = by_key.find(key);
    if (over == by_key.end()) {
      merged.push_back(item);
    } else if (item.is_object()) {
      merged.push_back(merge_struct(item, *over->second, *member.element));
    } else {
      merged.push_back(*over->second);
    }
  }
  for (const json::Value& item : child) {
    if (!taken.contains(item_key(item, member.element))) merged.push_back(item);
  }
  if (member.name == "httpHeaders") {
    // A child's header without a value takes the parent's header of that name away.
    erase_items(merged, [](const json::Value& header) { return json::find(header, {"value"}) == nullptr; });
  }
  return merged;
}

/// Where lists share one space of keys, an entry the child moves to another list of the group leaves the parent's.
void drop_moved(json::Value& parent, const json::Value& child, const StructSchema& schema) {
  for (const Member& list : schema.members) {
    if (list.key_group.empty()) continue;
    json::Value* items = json::find(parent, {list.name});
    if (items == nullptr) continue;
    std::set<std::string> elsewhere;
    for (const Member& other : schema.members) {
      if (other.key_group != list.key_group || other.name == list.name) continue;
      const json::Value* others = json::find(child, {other.name});
      if (others == nullptr) continue;
      for (const json::Value& item : others->get_array()) elsewhere.insert(item_key(item, other.element));
    }
    if (elsewhere.empty()) continue;
    erase_items(items->get_array(),
                [&](const json::Value& item) { return elsewhere.contains(item_key(item, list.element)); });
  }
}

json::Value merge_struct(const json::Value& parent, const json::Value& child, const StructSchema& schema) {
  json::Value base = parent;
  drop_moved(base, child, schema);
  json::Object& merged = base.get_object();
  for (const auto& [name, item] : child.get_object()) {
    const Member* member = schema.find(name);
    STRAKE_INVARIANT(member != nullptr);  // both sides went through parse()
    json::Value* own = merged.if_contains(name);
    if (own == nullptr) {
      merged[name] = item;
      if (name == "httpHeaders") merged[name] = merge_list({}, item.get_array(), *member);
    } else if (member->type == MemberType::kObject) {
      *own = merge_struct(*own, item, *member->element);
    } else if (member->type == MemberType::kObjectList || member->type == MemberType::kStringList) {
      *own = merge_list(own->get_array(), item.get_array(), *member);
    } else {
      *own = item;
    }
  }
  return base;
}

}  // namespace

json::Value merge(const json::Value& parent, const json::Value& child) {
  json::Value merged = merge_struct(parent, child, config_schema());
  normalise(merged);
  return merged;
}

}  // namespace strake::ignition
