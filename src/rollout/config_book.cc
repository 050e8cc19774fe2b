#include "rollout/config_book.h"

#include "api/machine_config.h"
#include "machineconfig/render/rendered_name.h"

namespace strake::rollout {

void ConfigBook::put(const std::string& name, kube::ObjectPtr config) {
  kube::ObjectPtr& known = configs_[name];
  const bool same = known && config && known->uid() == config->uid() &&
                    known->resource_version() == config->resource_version() && !known->resource_version().empty();
  if (same || (!known && !config)) return;
  known = std::move(config);
  forget(name);
}

void ConfigBook::keep_only(const std::set<std::string>& names) {
  for (auto entry = configs_.begin(); entry != configs_.end();) {
    if (names.contains(entry->first)) {
      ++entry;
      continue;
    }
    forget(entry->first);
    entry = configs_.erase(entry);
  }
}

void ConfigBook::set_policy(machineconfig::DisruptionPolicy policy) {
  if (policy_ == policy) return;
  policy_ = std::move(policy);
  consequences_.clear();
}

void ConfigBook::forget(const std::string& name) {
  genuine_.erase(name);
  std::erase_if(consequences_,
                [&](const auto& entry) { return entry.first.first == name || entry.first.second == name; });
}

const json::Value* ConfigBook::spec_of(const std::string& name) const {
  const auto found = configs_.find(name);
  return found == configs_.end() || !found->second ? nullptr : api::spec_of(*found->second);
}

bool ConfigBook::exists(const std::string& name) const { return spec_of(name) != nullptr; }

bool ConfigBook::is_genuine(const std::string& name) const {
  const auto known = genuine_.find(name);
  if (known != genuine_.end()) return known->second;
  const json::Value* spec = spec_of(name);
  const auto matches = spec == nullptr ? Result<bool>(false) : machineconfig::name_matches_spec(name, *spec);
  return genuine_[name] = matches.ok() && *matches;
}

const ConsequencePtr& no_consequence() {
  static const ConsequencePtr kNone = std::make_shared<const machineconfig::Consequence>();
  return kNone;
}

Result<ConsequencePtr> ConfigBook::consequence(const std::string& from, const std::string& to) const {
  if (from == to) return no_consequence();
  const auto known = consequences_.find({from, to});
  if (known != consequences_.end()) return known->second;
  const json::Value* before = from.empty() ? nullptr : spec_of(from);
  const json::Value* after = spec_of(to);
  STRAKE_INVARIANT(after != nullptr);
  if (before == nullptr && !from.empty()) {
    return error(Code::kNotFound, "its current config {} no longer exists to compare with", from);
  }
  auto compared = machineconfig::consequence_of(before, *after, policy_).context("comparing {} with {}", from, to);
  Result<ConsequencePtr> shared =
      compared.ok() ? Result<ConsequencePtr>(std::make_shared<const machineconfig::Consequence>(*std::move(compared)))
                    : Result<ConsequencePtr>(std::move(compared).error());
  return consequences_.emplace(std::pair(from, to), std::move(shared)).first->second;
}

}  // namespace strake::rollout
