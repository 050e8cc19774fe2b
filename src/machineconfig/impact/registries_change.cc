#include "machineconfig/impact/registries_change.h"

#include <map>
#include <vector>

#include "codec/toml.h"
#include "machineconfig/merge/comparable_spec.h"

namespace strake::machineconfig {

namespace {

struct Mirror {
  std::string location;
  std::string pull_from_mirror;  ///< "digest-only", "tag-only", "all" or ""
  bool digest_only() const { return pull_from_mirror == "digest-only"; }
};

struct Registry {
  std::string prefix;
  std::string location;
  bool blocked = false;
  bool insecure = false;
  bool mirror_by_digest_only = false;
  std::vector<Mirror> mirrors;

  const Mirror* find_mirror(const std::string& wanted) const {
    for (const Mirror& mirror : mirrors) {
      if (mirror.location == wanted) return &mirror;
    }
    return nullptr;
  }
};

struct Registries {
  std::vector<std::string> search;           ///< unqualified-search-registries: asked in this order
  std::map<std::string, Registry> by_scope;  ///< by prefix, else by location; of equal ones the last
};

Registries read_registries(const json::Value& document) {
  const auto text = [](const json::Value& table, std::string_view key) {
    return json::find_string(table, {key}).value_or("");
  };
  const auto flag = [](const json::Value& table, std::string_view key) {
    return json::find_bool(table, {key}).value_or(false);
  };
  Registries registries;
  for (const json::Value& name : items_at(document, {"unqualified-search-registries"})) {
    registries.search.push_back(name.is_string() ? std::string(json::as_view(name.get_string())) : "");
  }
  for (const json::Value& table : items_at(document, {"registry"})) {
    Registry registry{text(table, "prefix"),
                      text(table, "location"),
                      flag(table, "blocked"),
                      flag(table, "insecure"),
                      flag(table, "mirror-by-digest-only"),
                      {}};
    for (const json::Value& mirror : items_at(table, {"mirror"})) {
      registry.mirrors.push_back({text(mirror, "location"), text(mirror, "pull-from-mirror")});
    }
    std::string scope = registry.prefix.empty() ? registry.location : registry.prefix;
    registries.by_scope.insert_or_assign(std::move(scope), std::move(registry));
  }
  return registries;
}

/// Why pods must leave when a registry known before changed so; empty when they may stay.
std::string why_unsafe(const std::string& scope, const Registry& before, const Registry& after) {
  const auto changed = [&](std::string_view what) { return fmt::format("registry {} has another {}", scope, what); };
  if (before.prefix != after.prefix) return changed("prefix");
  if (before.location != after.location) return changed("location");
  if (before.blocked != after.blocked) return changed("blocked flag");
  if (before.insecure != after.insecure) return changed("insecure flag");
  for (const Mirror& mirror : before.mirrors) {
    if (after.find_mirror(mirror.location) == nullptr) {
      return fmt::format("mirror {} of registry {} was removed", mirror.location, scope);
    }
  }
  for (const Mirror& mirror : after.mirrors) {
    const Mirror* known = before.find_mirror(mirror.location);
    if (known == nullptr && !mirror.digest_only() && !after.mirror_by_digest_only) {
      return fmt::format("mirror {} was added to registry {} and serves tags too", mirror.location, scope);
    }
    if (known != nullptr && known->pull_from_mirror != mirror.pull_from_mirror && !mirror.digest_only()) {
      return fmt::format("mirror {} of registry {} has another pull-from-mirror", mirror.location, scope);
    }
  }
  return {};
}

/// mirror-by-digest-only speaks for a new registry only when it has no mirrors to speak for themselves.
bool serves_digests_only(const Registry& registry) {
  if (registry.mirrors.empty()) return registry.mirror_by_digest_only;
  for (const Mirror& mirror : registry.mirrors) {
    if (!mirror.digest_only()) return false;
  }
  return true;
}

std::string why_unsafe(const Registries& before, const Registries& after) {
  if (before.search.size() > after.search.size()) return "an unqualified-search registry was removed";
  for (std::size_t i = 0; i < before.search.size(); ++i) {
    if (before.search[i] != after.search[i]) return "the order of the unqualified-search registries changed";
  }
  for (const auto& [scope, registry] : before.by_scope) {
    if (!after.by_scope.contains(scope)) return fmt::format("registry {} was removed", scope);
  }
  for (const auto& [scope, registry] : after.by_scope) {
    const auto known = before.by_scope.find(scope);
    if (known == before.by_scope.end()) {
      if (!serves_digests_only(registry)) return fmt::format("registry {} was added and serves tags too", scope);
    } else if (std::string why = why_unsafe(scope, known->second, registry); !why.empty()) {
      return why;
    }
  }
  return {};
}

}  // namespace

Result<RegistriesChange> judge_registries_change(std::string_view before, std::string_view after) {
  STRAKE_TRY_CONTEXT(const json::Value new_document, toml::parse(after), "{} of the new config", kRegistriesConfPath);
  const auto old_document = toml::parse(before);
  if (!old_document.ok()) {
    return RegistriesChange{false, fmt::format("the old {} is not TOML, so nobody can tell", kRegistriesConfPath)};
  }
  std::string why = why_unsafe(read_registries(*old_document), read_registries(new_document));
  if (!why.empty()) return RegistriesChange{false, std::move(why)};
  return RegistriesChange{true, "it only adds what is pulled by digest or asked last"};
}

}  // namespace strake::machineconfig
