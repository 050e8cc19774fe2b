#include "machineconfig/diff/set_diff.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "api/machine_config.h"
#include "api/node_annotations.h"
#include "base/visible_text.h"
#include "codec/json_patch.h"
#include "machineconfig/generate/generate_set.h"
#include "machineconfig/merge/select.h"

namespace strake::machineconfig {

namespace {

using ObjectsByName = std::map<std::string, kube::ObjectPtr>;

/// What a member of a pool's spec means for nodes. Being absent is the same as having the default.
struct PoolSetting {
  std::string_view member;
  std::string_view default_value;  ///< as JSON
  std::string_view consequence;
  bool may_reboot;
};
constexpr PoolSetting kPoolSettings[] = {
    {"paused", "false", "", false},  // depends on the direction
    {"maxUnavailable", "1", "so many of its nodes are disturbed at once from then on", false},
    {"nodeSelector", "null",
     "nodes change pools although no MachineConfig changes; each gets the configuration of its new pool", true},
    {"machineConfigSelector", "null", "it takes other MachineConfigs; what that comes to is shown with the pool",
     false},
    {"osImageStream", "null", "its nodes may get another OS image; what that comes to is shown with the pool", false},
};
constexpr std::string_view kPauseConsequence =
    "nothing more reaches its nodes, certificates included, until it is resumed";
constexpr std::string_view kResumeConsequence = "whatever waited is rolled out at once, with the disruption it has";
constexpr std::string_view kUnknownConsequence = "what it does to nodes is not known here";
constexpr std::size_t kMaxShownValue = 120;

ObjectsByName by_name(const std::vector<kube::ObjectPtr>& objects) {
  ObjectsByName named;
  for (const kube::ObjectPtr& object : objects)
    named.emplace(fmt::format("{} {}", object->kind(), object->key().to_string()), object);
  return named;
}

json::Value spec_member(const kube::Object& object, std::string_view member) {
  const json::Value* value = json::find(object.json(), {"spec", member});
  return value == nullptr ? json::Value() : *value;
}

std::string shown(const json::Value& value) {
  if (value.is_null()) return "(none)";
  std::string text = json::write(value);
  if (text.size() > kMaxShownValue) text = text.substr(0, kMaxShownValue) + "...";
  return text;
}

/// Everything a reader could have changed by hand: what the server keeps does not count.
json::Value written_part(const kube::Object& object) {
  json::Object part;
  for (const auto& member : object.json().get_object()) {
    if (member.key() != "metadata" && member.key() != "status") part[member.key()] = member.value();
  }
  for (const std::string_view kept : {"labels", "annotations"}) {
    if (const json::Value* value = json::find(object.json(), {"metadata", kept}))
      part[fmt::format("metadata.{}", kept)] = *value;
  }
  return part;
}

/// Generators choose pools by label.
void compare_labels(const kube::Object& before, const kube::Object& after, std::vector<SetChange>& changes) {
  const auto labels_of = [](const kube::Object& pool) {
    const json::Value* labels = json::find(pool.json(), {"metadata", "labels"});
    return labels == nullptr || labels->is_null() ? json::Value(json::Object{}) : *labels;
  };
  const json::Value old_labels = labels_of(before), new_labels = labels_of(after);
  if (json::same_value(old_labels, new_labels)) return;
  changes.push_back(
      {"pool " + after.name(), fmt::format("labels: {} -> {}", shown(old_labels), shown(new_labels)),
       "KubeletConfigs and ContainerRuntimeConfigs choose pools by label: it may get others, and its nodes "
       "may reboot",
       true});
}

void compare_settings(const kube::Object& before, const kube::Object& after, std::vector<SetChange>& changes) {
  compare_labels(before, after, changes);
  const std::string subject = "pool " + after.name();
  std::set<std::string> members;
  for (const kube::Object* pool : {&before, &after}) {
    const json::Value* spec = json::find(pool->json(), {"spec"});
    if (spec == nullptr || !spec->is_object()) continue;
    for (const auto& member : spec->get_object()) members.insert(std::string(member.key()));
  }
  for (const std::string& member : members) {
    // "configuration" is written by the render controller; what it comes to is the rendered config.
    if (member == "configuration") continue;
    const auto* known = std::ranges::find(kPoolSettings, member, &PoolSetting::member);
    json::Value old_value = spec_member(before, member), new_value = spec_member(after, member);
    if (known != std::end(kPoolSettings)) {
      const json::Value by_default = json::parse(known->default_value).value_or(json::Value());
      if (old_value.is_null()) old_value = by_default;
      if (new_value.is_null()) new_value = by_default;
    }
    if (json::same_value(old_value, new_value)) continue;
    SetChange change{subject, fmt::format("{}: {} -> {}", member, shown(old_value), shown(new_value)),
                     std::string(known == std::end(kPoolSettings) ? kUnknownConsequence : known->consequence),
                     known == std::end(kPoolSettings) || known->may_reboot};
    if (member == "paused") {
      const bool pauses = new_value.is_bool() && new_value.get_bool();
      change.consequence = pauses ? kPauseConsequence : kResumeConsequence;
      change.may_reboot = !pauses;
    }
    changes.push_back(std::move(change));
  }
}

void compare_pools(const ConfigSet& before, const ConfigSet& after, std::vector<SetChange>& changes) {
  const ObjectsByName old_pools = by_name(pools_of(before)), new_pools = by_name(pools_of(after));
  for (const auto& [name, pool] : new_pools) {
    const auto old_pool = old_pools.find(name);
    if (old_pool != old_pools.end() && before.pools.empty() != after.pools.empty()) {
      // Without pools in a set there is one for every role, of which nothing else is known.
      changes.push_back({"pool " + pool->name(), after.pools.empty() ? "no longer described" : "described from now on",
                         "what is set about it on the other side is not known: compare with the cluster", false});
    } else if (old_pool != old_pools.end()) {
      compare_settings(*old_pool->second, *pool, changes);
    } else {
      changes.push_back({"pool " + pool->name(), "added",
                         "nodes its nodeSelector takes leave the pool they are in and get its configuration, and new "
                         "machines of its role do so when they join",
                         true});
    }
  }
  for (const auto& [name, pool] : old_pools) {
    if (new_pools.contains(name)) continue;
    changes.push_back({"pool " + pool->name(), "removed",
                       "its nodes fall to the pool whose nodeSelector takes them, mostly worker, and get its "
                       "configuration; a node no pool takes gets no more updates",
                       true});
  }
}

void compare_single(const kube::ObjectPtr& before, const kube::ObjectPtr& after, std::string_view consequence,
                    std::vector<SetChange>& changes) {
  if (!before && !after) return;
  const kube::Object& any = after ? *after : *before;
  if (before && after && json::same_value(written_part(*before), written_part(*after))) return;
  changes.push_back({fmt::format("{} {}", any.kind(), any.name()), !before ? "added" : (after ? "changed" : "removed"),
                     std::string(consequence), false});
}

/// Besides the images, which are in the rendered configs.
void compare_controller_config(const kube::ObjectPtr& before, const kube::ObjectPtr& after,
                               std::vector<SetChange>& changes) {
  const auto rest_of = [](const kube::ObjectPtr& config) {
    json::Value rest = config ? written_part(*config) : json::Value(json::Object{});
    for (const std::string_view member : {"apiVersion", "kind"}) rest.get_object().erase(member);
    json::Value* spec = rest.get_object().if_contains("spec");
    if (spec == nullptr || !spec->is_object()) return rest;
    for (const std::string_view image : {"baseOSContainerImage", "baseOSExtensionsContainerImage"}) {
      spec->get_object().erase(image);
    }
    if (spec->get_object().empty()) rest.get_object().erase("spec");
    return rest;
  };
  if (json::same_value(rest_of(before), rest_of(after))) return;
  changes.push_back(
      {fmt::format("ControllerConfig {}", after ? after->name() : before->name()),
       !before ? "added" : (after ? "changed" : "removed"),
       "the platform makes the MachineConfigs of its own (00-*, 01-*) of it, which are not rendered here: "
       "names and contents of all pools will differ from what is shown, and nodes may reboot",
       true});
}

/// `is_shown`: of a kind, whether what is made of its objects is among the MachineConfigs.
void compare_lists(const std::vector<kube::ObjectPtr>& before, const std::vector<kube::ObjectPtr>& after,
                   const std::function<bool(std::string_view)>& is_shown, std::vector<SetChange>& changes) {
  constexpr std::string_view kGenerated =
      "the platform makes MachineConfigs, or an OS image, of it, which is not rendered here: names and contents of the "
      "pools it is for will differ from what is shown, and their nodes may reboot";
  const ObjectsByName old_objects = by_name(before), new_objects = by_name(after);
  constexpr std::string_view kShownWithPools = "what is made of it is shown with the pools it is for";
  const auto add = [&](const std::string& name, std::string_view what) {
    const bool shown = is_shown(std::string_view(name).substr(0, name.find(' ')));
    changes.push_back({name, std::string(what), std::string(shown ? kShownWithPools : kGenerated), !shown});
  };
  for (const auto& [name, object] : new_objects) {
    const auto old_object = old_objects.find(name);
    if (old_object == old_objects.end()) {
      add(name, "added");
    } else if (!json::same_value(written_part(*old_object->second), written_part(*object))) {
      add(name, "changed");
    }
  }
  for (const auto& [name, object] : old_objects) {
    if (!new_objects.contains(name)) add(name, "removed");
  }
}

}  // namespace

std::vector<SetChange> diff_sets(const ConfigSet& before, const ConfigSet& after, GeneratedConfigs generated) {
  std::vector<SetChange> changes;
  compare_pools(before, after, changes);
  compare_single(before.machine_configuration, after.machine_configuration,
                 "what later changes do to nodes is decided by another policy", changes);
  compare_controller_config(before.controller_config, after.controller_config, changes);
  const auto is_shown = [&](std::string_view kind) {
    return generated == GeneratedConfigs::kShown && shows_generated(before, kind) && shows_generated(after, kind);
  };
  compare_lists(before.generators, after.generators, is_shown, changes);
  compare_lists(before.mirror_policies, after.mirror_policies, is_shown, changes);
  return changes;
}

std::vector<UnusedConfig> unused_configs(const ConfigSet& set) {
  std::set<std::string> taken;
  for (const kube::ObjectPtr& pool : pools_of(set)) {
    const auto selected = select_configs(*pool, set.configs);
    if (!selected.ok()) continue;
    for (const kube::ObjectPtr& config : *selected) taken.insert(config->name());
  }
  std::vector<UnusedConfig> unused;
  for (const kube::ObjectPtr& config : set.configs) {
    // Rendered configs are made for a pool, not chosen by one.
    if (taken.contains(config->name()) || config->name().starts_with(api::kRenderedPrefix)) continue;
    unused.push_back({config->name(), config->label(api::label::kRole).value_or("")});
  }
  std::ranges::sort(unused, {}, &UnusedConfig::name);
  return unused;
}

json::Array to_json(const std::vector<SetChange>& changes) {
  json::Array list;
  for (const SetChange& change : changes) {
    list.push_back(
        json::Object{{"subject", change.subject}, {"change", change.change}, {"consequence", change.consequence}});
  }
  return list;
}

std::string to_text(const std::vector<SetChange>& changes) {
  std::string text;
  for (const SetChange& change : changes) {
    text +=
        fmt::format("~ {} {}\n    {}\n", visible_line(change.subject), visible_line(change.change), change.consequence);
  }
  return text;
}

}  // namespace strake::machineconfig
