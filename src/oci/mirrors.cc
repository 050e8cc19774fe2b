#include "oci/mirrors.h"

#include <algorithm>

namespace strake::oci {

namespace {

constexpr std::string_view kWildcard = "*.";

/// Whether the prefix covers the name, ending where a component of it ends.
bool covers(std::string_view prefix, std::string_view name) {
  if (prefix.starts_with(kWildcard)) {
    std::string_view host = name.substr(0, name.find('/'));
    const std::string_view domain = prefix.substr(1);  // ".example.com"
    if (domain.find(':') == std::string_view::npos) host = host.substr(0, host.find(':'));
    return host.size() > domain.size() && host.ends_with(domain);
  }
  return name.starts_with(prefix) && (name.size() == prefix.size() || name[prefix.size()] == '/');
}

/// Longer prefixes are more specific; any exact one is more specific than a wildcard.
std::size_t weight(std::string_view prefix) {
  return prefix.starts_with(kWildcard) ? prefix.size() : prefix.size() + kMaxReferenceBytes;
}

const RegistryRule* find_rule(const MirrorRules& rules, std::string_view name) {
  const RegistryRule* best = nullptr;
  for (const RegistryRule& rule : rules.rules) {
    if (covers(rule.prefix, name) && (best == nullptr || weight(rule.prefix) > weight(best->prefix))) best = &rule;
  }
  return best;
}

/// The same image below another location.
Result<Reference> moved(const Reference& reference, std::string_view prefix, std::string_view location) {
  std::string name = reference.name();
  if (!location.empty() && prefix.starts_with(kWildcard)) {
    name = fmt::format("{}/{}", location, reference.repository);
  } else if (!location.empty()) {
    name = fmt::format("{}{}", location, std::string_view(name).substr(prefix.size()));
  }
  const std::size_t slash = name.find('/');
  Reference place{name.substr(0, slash), slash == std::string::npos ? "" : name.substr(slash + 1), reference.tag,
                  reference.digest};
  if (!is_registry_host(place.registry) || !is_repository_path(place.repository)) {
    return error(Code::kInvalidArgument, "'{}' below '{}' gives '{}', which names no repository", reference.to_string(),
                 location, name);
  }
  return place;
}

bool serves(const Mirror& mirror, const Reference& reference) {
  switch (mirror.use) {
    case MirrorUse::kAll: return true;
    case MirrorUse::kDigestOnly: return reference.digest.has_value();
    case MirrorUse::kTagOnly: return !reference.digest.has_value();
  }
  return false;
}

}  // namespace

std::string_view to_string(MirrorUse use) {
  switch (use) {
    case MirrorUse::kAll: return "all";
    case MirrorUse::kDigestOnly: return "digest-only";
    case MirrorUse::kTagOnly: return "tag-only";
  }
  return "unknown";
}

Result<MirrorUse> parse_mirror_use(std::string_view text) {
  for (const MirrorUse use : {MirrorUse::kAll, MirrorUse::kDigestOnly, MirrorUse::kTagOnly}) {
    if (text == to_string(use)) return use;
  }
  return error(Code::kInvalidArgument, "pull-from-mirror is '{}', expected all, digest-only or tag-only", text);
}

void MirrorRules::override_with(MirrorRules later) {
  for (RegistryRule& rule : later.rules) {
    const auto same =
        std::find_if(rules.begin(), rules.end(), [&](const RegistryRule& own) { return own.prefix == rule.prefix; });
    if (same == rules.end()) {
      rules.push_back(std::move(rule));
    } else {
      *same = std::move(rule);
    }
  }
}

Result<std::vector<Place>> places_to_try(const MirrorRules& rules, const Reference& reference) {
  const RegistryRule* rule = find_rule(rules, reference.name());
  if (rule == nullptr) return std::vector<Place>{{reference}};
  std::vector<Place> places;
  const auto add = [&](std::string_view location, bool insecure, bool is_mirror) -> Status {
    STRAKE_TRY(Reference target, moved(reference, rule->prefix, location));
    // Where a rule leads may itself be blocked; the rewriting of a second rule does not apply.
    const RegistryRule* own = find_rule(rules, target.name());
    if (own != nullptr && own->blocked) return {};
    places.push_back(Place{std::move(target), insecure || (own != nullptr && own->insecure), is_mirror});
    return {};
  };
  for (const Mirror& mirror : rule->mirrors) {
    if (!serves(mirror, reference)) continue;
    STRAKE_CHECK_OK(add(mirror.location, mirror.insecure, true).context("mirror {}", mirror.location));
  }
  if (!rule->blocked) STRAKE_CHECK_OK(add(rule->location, rule->insecure, false));
  if (!places.empty()) return places;
  return error(Code::kDenied, "{} is blocked by the rule for '{}', and no mirror of it serves references by {}",
               reference.name(), rule->prefix, reference.digest ? "digest" : "tag")
      .with_verdict(Verdict::kBlocked);
}

}  // namespace strake::oci
