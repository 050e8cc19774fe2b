// The merge of any number of configs at once: every list is indexed by key one time and every value is moved to its
// place, so the work grows with the size of the configs and not with their number times the size of the result.
#include <algorithm>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "ignition/config.h"
#include "ignition/schema.h"

namespace strake::ignition {

namespace {

/// What the layers say about one member or item, lowest layer first. The values are taken apart.
using Layers = std::vector<json::Value*>;

json::Value merge_objects(const Layers& layers, const StructSchema& schema);

bool is_list(const Member& member) {
  return member.type == MemberType::kObjectList || member.type == MemberType::kStringList;
}

json::Array concatenate(const Layers& layers) {
  json::Array all;
  for (json::Value* layer : layers) {
    for (json::Value& item : layer->get_array()) all.push_back(std::move(item));
  }
  return all;
}

/// The lists of one object that share a space of keys; most share it with no other.
class KeyedLists {
 public:
  explicit KeyedLists(std::span<const Member* const> members) : members_(members), entries_(members.size()) {}

  void add_layer(json::Object& layer) {
    for (std::size_t list = 0; list < members_.size(); ++list) {
      json::Value* items = layer.if_contains(members_[list]->name);
      if (items == nullptr) continue;
      for (json::Value& item : items->get_array()) add(list, item);
    }
  }

  json::Array take(std::size_t list) {
    json::Array merged;
    merged.reserve(entries_[list].size());
    for (const Layers& layers : entries_[list]) {
      if (layers.empty()) continue;
      const bool is_object = layers.back()->is_object();
      merged.push_back(is_object ? merge_objects(layers, *members_[list]->element) : std::move(*layers.back()));
    }
    return merged;
  }

 private:
  struct Place {
    std::size_t list;
    std::size_t entry;
  };

  void add(std::size_t list, json::Value& item) {
    const auto [known, is_new] =
        places_.try_emplace(item_key(item, members_[list]->element), Place{list, entries_[list].size()});
    Place& place = known->second;
    if (!is_new && removes_header(*members_[list], item)) {
      entries_[place.list][place.entry].clear();
      places_.erase(known);
      return;
    }
    if (!is_new && place.list != list) {
      // A layer above defines the same key in another list of the group: what was there is gone, position included.
      entries_[place.list][place.entry].clear();
      place = {list, entries_[list].size()};
    }
    if (place.entry == entries_[list].size()) entries_[list].emplace_back();
    entries_[list][place.entry].push_back(&item);
  }

  /// An HTTP header without a value takes away the one below it.
  static bool removes_header(const Member& member, const json::Value& item) {
    return member.name == "httpHeaders" && !item.get_object().contains("value");
  }

  std::span<const Member* const> members_;
  std::vector<std::vector<Layers>> entries_;  ///< per list, in order of first appearance; emptied where dropped
  std::unordered_map<std::string, Place> places_;
};

json::Value merge_member(const Layers& layers, const Member& member) {
  if (member.type == MemberType::kObject) return merge_objects(layers, *member.element);
  if (is_list(member)) return concatenate(layers);
  return std::move(*layers.back());
}

/// The members whose lists share their keys with `first`, itself included.
std::vector<const Member*> key_group_of(const Member& first, const StructSchema& schema) {
  if (first.key_group.empty()) return {&first};
  std::vector<const Member*> group;
  for (const Member& member : schema.members) {
    if (member.key_group == first.key_group) group.push_back(&member);
  }
  return group;
}

bool is_empty(const json::Value& value) {
  return (value.is_array() && value.get_array().empty()) || (value.is_object() && value.get_object().empty());
}

json::Value merge_objects(const Layers& layers, const StructSchema& schema) {
  if (layers.size() == 1) return std::move(*layers.front());
  json::Object merged;
  const auto keep = [&](const Member& member, json::Value value) {
    if (!is_empty(value)) merged.insert_or_assign(member.name, std::move(value));
  };
  for (const Member& member : schema.members) {
    if (is_list(member) && member.list_merge == ListMerge::kByKey) {
      const std::vector<const Member*> group = key_group_of(member, schema);
      if (group.front() != &member) continue;  // done with the first of its group
      KeyedLists lists(group);
      for (json::Value* layer : layers) lists.add_layer(layer->get_object());
      for (std::size_t list = 0; list < group.size(); ++list) keep(*group[list], lists.take(list));
      continue;
    }
    Layers values;
    for (json::Value* layer : layers) {
      if (json::Value* value = layer->get_object().if_contains(member.name)) values.push_back(value);
    }
    if (!values.empty()) keep(member, merge_member(values, member));
  }
  return merged;
}

}  // namespace

json::Value merge_all(std::vector<json::Value> configs) {
  Layers layers;
  layers.reserve(configs.size());
  for (json::Value& config : configs) layers.push_back(&config);
  if (layers.empty()) return empty_config();
  return merge_objects(layers, config_schema());
}

json::Value merge(const json::Value& parent, const json::Value& child) { return merge_all({parent, child}); }

}  // namespace strake::ignition
