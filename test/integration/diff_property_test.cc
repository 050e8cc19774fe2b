// Random sets of objects and random edits: whenever the rendered config of a pool, the pools, their nodes, a policy or
// an object that the platform makes configs of changes, `strake diff` says so; when it says nothing, nothing changes.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>

#include "api/kinds.h"
#include "api/node_annotations.h"
#include "base/random.h"
#include "codec/json_patch.h"
#include "integration/machine_config_generator.h"
#include "machineconfig/merge/comparable_spec.h"
#include "machineconfig/render/render_set.h"
#include "support/strake_in_process.h"
#include "support/temp_dir.h"

namespace strake::test {
namespace {

constexpr std::uint64_t kPairs = 240;

using World = std::vector<kube::Object>;

json::Value parsed_value(std::string_view text) { return *json::parse(text); }

kube::Object object_of(const kube::Resource& kind, const std::string& name, std::string_view spec) {
  kube::Object object(kind, {"", name});
  object.json().get_object()["spec"] = parsed_value(spec);
  return object;
}

/// Makes worlds and edits them.
class Editor {
 public:
  explicit Editor(std::uint64_t seed) : random_(seed), configs_(seed) {}

  World world() {
    World world{pool("worker"), pool("infra")};
    for (std::size_t i = 0; i < 3 + random_.below(3); ++i) world.push_back(config(i));
    // No pool without any.
    for (const char* role : {"worker", "infra"}) {
      world.push_back(object_of(api::kMachineConfig, fmt::format("00-{}", role), "{}"));
      world.back().set_label(api::label::kRole, role);
    }
    if (random_.chance(0.5)) world.push_back(fresh(settings(random_.below(kSettings)), world));
    return world;
  }

  void edit(World& world) {
    const std::size_t which = random_.below(world.size());
    switch (random_.below(8)) {
      case 0: world.push_back(fresh(config(10 + random_.below(90)), world)); break;
      case 1: world.erase(world.begin() + static_cast<std::ptrdiff_t>(which)); break;
      case 2: std::reverse(world.begin(), world.end()); break;
      case 3: world.push_back(fresh(settings(random_.below(kSettings)), world)); break;
      case 4: world[which].set_label(api::label::kRole, role()); break;
      default: mutate(json::ensure(world[which].json(), {"spec"})); break;
    }
  }

 private:
  static constexpr std::uint64_t kSettings = 6;

  std::string role() {
    constexpr std::string_view kRoles[] = {"worker", "worker", "infra", "wroker", "master"};
    return std::string(kRoles[random_.below(std::size(kRoles))]);
  }

  static kube::Object pool(const std::string& name) {
    kube::Object object = machineconfig::pool_of_role(name);
    json::ensure(object.json(), {"spec", "nodeSelector"}) = parsed_value(R"({"matchLabels":{"a":"b"}})");
    return object;
  }

  kube::Object config(std::size_t number) {
    kube::Object object = configs_.configs().front();
    json::ensure(object.json(), {"metadata", "name"}) = fmt::format("{:02}-config", number);
    object.set_label(api::label::kRole, role());
    return object;
  }

  kube::Object settings(std::uint64_t which) {
    const std::uint64_t value = random_.below(3);
    switch (which) {
      case 0: return object_of(api::kKubeletConfig, "k", fmt::format(R"({{"maxPods":{}}})", value));
      case 1: return object_of(api::kContainerRuntimeConfig, "c", fmt::format(R"({{"pidsLimit":{}}})", value));
      case 2: return object_of(api::kImageDigestMirrorSet, "m", fmt::format(R"({{"mirrors":["{}"]}})", value));
      case 3: return object_of(api::kMachineConfiguration, "cluster", fmt::format(R"({{"logLevel":"{}"}})", value));
      case 4:
        return object_of(api::kControllerConfig, "machine-config-controller",
                         fmt::format(R"({{"baseOSContainerImage":"os{}"}})", value));
      default: break;
    }
    kube::Object changed = pool(random_.chance(0.5) ? "worker" : "gpu");
    json::ensure(changed.json(), {"spec", "maxUnavailable"}) = value;
    if (value == 2) json::ensure(changed.json(), {"spec", "paused"}) = true;
    return changed;
  }

  /// In the place of the one with the same name.
  static kube::Object fresh(kube::Object object, World& world) {
    std::erase_if(world, [&](const kube::Object& known) {
      return known.kind() == object.kind() && known.name() == object.name();
    });
    return object;
  }

  /// Somewhere inside: a member or an item that goes, comes twice, changes places or has another value.
  void mutate(json::Value& value) {
    if (json::Object* object = value.if_object(); object != nullptr && !object->empty()) {
      auto member = object->begin() + static_cast<std::ptrdiff_t>(random_.below(object->size()));
      if (random_.chance(0.15)) {
        object->erase(member);
      } else {
        mutate(member->value());
      }
    } else if (json::Array* array = value.if_array(); array != nullptr && !array->empty()) {
      const std::size_t at = random_.below(array->size());
      switch (random_.below(4)) {
        case 0: array->erase(array->begin() + static_cast<std::ptrdiff_t>(at)); break;
        case 1: array->push_back(json::Value(array->at(at))); break;
        case 2: std::swap(array->at(at), array->back()); break;
        default: mutate(array->at(at)); break;
      }
    } else if (value.is_string()) {
      value = std::string(json::as_view(value.get_string())) + "x";
    } else if (value.is_bool()) {
      value = !value.get_bool();
    } else if (value.is_int64()) {
      value = value.get_int64() + 1;
    }
  }

  SeededRandom random_;
  MachineConfigGenerator configs_;
};

machineconfig::ConfigSet set_of(const World& world) {
  machineconfig::ConfigSet set;
  for (const kube::Object& object : world) {
    const auto shared = std::make_shared<const kube::Object>(object);
    if (object.kind() == api::kMachineConfig.kind) {
      set.configs.push_back(shared);
    } else if (object.kind() == api::kMachineConfigPool.kind) {
      set.pools.push_back(shared);
    } else if (object.kind() == api::kControllerConfig.kind) {
      set.controller_config = shared;
    }
  }
  return set;
}

std::string labels_of(const kube::Object& object) {
  std::string text;
  for (const auto& [name, value] : object.labels()) text += fmt::format("{}={},", name, value);
  return text;
}

/// What nodes get, now or later, by whom it is decided: rendered names, and everything nobody renders.
std::map<std::string, std::string> facts_of(const World& world) {
  std::map<std::string, std::string> facts;
  const machineconfig::ConfigSet set = set_of(world);
  for (const kube::ObjectPtr& pool : machineconfig::pools_of(set)) {
    machineconfig::RenderInput input = machineconfig::render_input(set, pool);
    input.size_limit = std::nullopt;
    const auto plan = machineconfig::render_pool(input);
    // Some sets come to a config that no node takes, although each part of it is right.
    const bool usable = plan.ok() && machineconfig::comparable_spec(*json::find(plan->rendered.json(), {"spec"})).ok();
    facts["rendered " + pool->name()] = usable ? plan->rendered.name() : "";
    facts["labels " + pool->name()] = labels_of(*pool);
    for (const auto& [setting, by_default] : {std::pair{"paused", "false"},
                                              {"maxUnavailable", "1"},
                                              {"nodeSelector", "null"},
                                              {"machineConfigSelector", "null"}}) {
      const json::Value* value = json::find(pool->json(), {"spec", setting});
      facts[fmt::format("{} {}", pool->name(), setting)] =
          value == nullptr ? by_default : json::write_canonical(*value);
    }
  }
  for (const kube::Object& object : world) {
    const bool is_shown_otherwise = object.kind() == api::kMachineConfig.kind ||
                                    object.kind() == api::kMachineConfigPool.kind ||
                                    object.kind() == api::kControllerConfig.kind;
    if (is_shown_otherwise) continue;
    facts[fmt::format("{} {}", object.kind(), object.name())] =
        json::write_canonical(*json::find(object.json(), {"spec"})) + labels_of(object);
  }
  return facts;
}

std::string text_of(const World& world) {
  json::Array items;
  for (const kube::Object& object : world) items.push_back(object.json());
  return json::write(json::Object{{"apiVersion", "v1"}, {"kind", "List"}, {"items", std::move(items)}});
}

std::string expected_verdict(const std::map<std::string, std::string>& before,
                             const std::map<std::string, std::string>& after) {
  for (const auto& [fact, value] : after) {
    if (fact.starts_with("rendered ") && value.empty()) return "refused";
  }
  for (const auto& [fact, value] : before) {
    if (fact.starts_with("rendered ") && value.empty()) return "differs";  // what there was is not known
  }
  return before == after ? "same" : "differs";
}

TEST(DiffProperty, SaysSomethingExactlyWhenSomethingChanges) {
  const TempDir folder;
  std::map<std::string, int> counted;
  for (std::uint64_t seed = 0; seed < kPairs; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    Editor editor(seed);
    const World before = editor.world();
    World after = before;
    for (std::uint64_t edits = 0; edits < seed % 3; ++edits) editor.edit(after);
    std::ofstream(folder / "a.yaml") << text_of(before);
    std::ofstream(folder / "b.yaml") << text_of(after);
    const InProcessOutput output =
        run_in_process({"diff", (folder / "a.yaml").string(), (folder / "b.yaml").string(), "-o", "json"});
    const std::string said = output.exit_code == 0 ? "same" : output.exit_code == 2 ? "differs" : "refused";
    const std::string expected = expected_verdict(facts_of(before), facts_of(after));
    ++counted[expected];
    EXPECT_EQ(said, expected) << output.out << output.err << text_of(before) << "\n\n" << text_of(after);
  }
  // Each of them often enough to mean something.
  for (const auto& [verdict, least] : {std::pair{"same", 60}, {"differs", 60}, {"refused", 5}}) {
    EXPECT_GE(counted[verdict], least) << verdict;
  }
}

}  // namespace
}  // namespace strake::test
