#include "machineconfig/generate/registries.h"

#include <algorithm>
#include <map>

#include "api/kinds.h"
#include "api/mirror_policy.h"
#include "codec/toml.h"
#include "codec/yaml.h"
#include "machineconfig/generate/image_policy.h"
#include "machineconfig/generate/mirror_merge.h"
#include "machineconfig/impact/registries_change.h"

namespace strake::machineconfig {

namespace {

/// What the platform's base file says; an OS image's own list is replaced together with its file.
constexpr std::string_view kSmallRegistriesConf =
    "unqualified-search-registries = [\"registry.access.redhat.com\", \"docker.io\"]\n";
constexpr std::string_view kSmallPolicy = R"({"default":[{"type":"insecureAcceptAnything"}],)"
                                          R"("transports":{"docker-daemon":{"":[{"type":"insecureAcceptAnything"}]}}})";

struct RegistryEntry {
  struct MirrorPlace {
    std::string location;
    std::string_view use;  ///< of pull-from-mirror
    bool insecure = false;
  };
  std::string scope;
  bool insecure = false;
  bool blocked = false;
  std::vector<MirrorPlace> mirrors{};
};

/// What several mirror sets say about one source.
struct MirroredSource {
  std::vector<std::vector<std::string>> digest_lists{};
  std::vector<std::vector<std::string>> tag_lists{};
  std::string policy{};
  std::string named_by{};  ///< the object that decided the policy
};
using MirroredSources = std::map<std::string, MirroredSource>;

bool is_registry_text(std::string_view text) {
  return !text.empty() && text.size() <= 512 && text.find_first_of(" \t\r\n\"'\\#@") == std::string_view::npos;
}

Status check_scope(std::string_view scope, std::string_view field) {
  const bool wildcard = scope.find('*') != std::string_view::npos;
  const bool fits =
      is_registry_text(scope) &&
      (!wildcard || (scope.starts_with("*.") && scope.substr(2).find_first_of("/:*") == std::string_view::npos));
  if (fits) return {};
  return error(Code::kInvalidArgument,
               "{}: '{}' is not a registry, a path in one (without a scheme, tag or digest) or *.domain", field, scope);
}

Status check_scopes(const std::vector<std::string>& scopes, std::string_view field) {
  if (scopes.size() > kMaxRegistryNames) {
    return error(Code::kExhausted, "{}: {} entries, the limit is {}", field, scopes.size(), kMaxRegistryNames);
  }
  for (const std::string& scope : scopes) STRAKE_CHECK_OK(check_scope(scope, field));
  return {};
}

Status add_mirror_entry(MirroredSources& sources, const api::MirrorEntry& entry, bool by_tag,
                        const std::string& named_by) {
  STRAKE_CHECK_OK(check_scope(entry.source, "source"));
  const std::string policy = entry.policy.empty() ? std::string(api::kAllowContactingSource) : entry.policy;
  for (const std::string& mirror : entry.mirrors) {
    if (!is_registry_text(mirror) || mirror.find('*') != std::string::npos) {
      return error(Code::kInvalidArgument, "mirrors: '{}' is not a registry with an optional path", mirror);
    }
    if (mirror == entry.source && policy == api::kNeverContactSource) {
      return error(Code::kInvalidArgument, "mirrorSourcePolicy is {}, but source {} is one of its own mirrors", policy,
                   entry.source);
    }
  }
  // A set that only repeats the source mirrors nothing, and its policy means nothing.
  if (std::ranges::all_of(entry.mirrors, [&](const std::string& mirror) { return mirror == entry.source; })) return {};
  const auto [known, is_new] = sources.try_emplace(entry.source);
  if (is_new) {
    known->second.policy = policy;
    known->second.named_by = named_by;
  } else if (known->second.policy != policy) {
    return error(Code::kConflict, "source {} has mirrorSourcePolicy {} here and {} in {}: decide for one", entry.source,
                 policy, known->second.policy, known->second.named_by);
  }
  (by_tag ? known->second.tag_lists : known->second.digest_lists).push_back(entry.mirrors);
  return {};
}

Result<MirroredSources> mirrored_sources(const std::vector<kube::ObjectPtr>& policies) {
  MirroredSources sources;
  for (const kube::ObjectPtr& object : policies) {
    const std::string who = fmt::format("{} {}", object->kind(), object->name());
    const bool by_tag = object->kind() == api::kImageTagMirrorSet.kind;
    for (const api::MirrorEntry& entry : api::mirror_entries(object->json())) {
      STRAKE_CHECK_OK(add_mirror_entry(sources, entry, by_tag, who).context("{}", who));
    }
  }
  return sources;
}

class RegistryList {
 public:
  RegistryEntry& at(const std::string& scope) {
    const auto [known, is_new] = places_.try_emplace(scope, entries_.size());
    if (is_new) entries_.push_back({.scope = scope});
    return entries_[known->second];
  }
  const std::vector<RegistryEntry>& entries() const { return entries_; }

  void add_mirrors(const MirroredSources& sources, bool by_tag) {
    for (const auto& [source, said] : sources) {
      const auto& lists = by_tag ? said.tag_lists : said.digest_lists;
      if (lists.empty()) continue;
      RegistryEntry& entry = at(source);
      if (said.policy == api::kNeverContactSource) entry.blocked = true;
      for (std::string& mirror : merge_mirrors(lists, source)) {
        entry.mirrors.push_back({std::move(mirror), by_tag ? "tag-only" : "digest-only"});
      }
    }
  }

  void add_scopes(const std::vector<std::string>& scopes) {
    for (const std::string& scope : scopes) at(scope);
  }

  /// A registry that is only named for a flag would hide the mirrors of the one around it, and open a source that may
  /// not be asked.
  void inherit_mirrors() {
    const std::vector<RegistryEntry> sources = entries_;
    for (RegistryEntry& entry : entries_) {
      if (!entry.mirrors.empty()) continue;
      const RegistryEntry* nearest = nullptr;
      for (const RegistryEntry& source : sources) {
        if (source.mirrors.empty() || source.scope.starts_with("*.")) continue;
        if (!is_within_scope(entry.scope, source.scope)) continue;
        if (nearest == nullptr || source.scope.size() > nearest->scope.size()) nearest = &source;
      }
      if (nearest == nullptr) continue;
      entry.blocked = nearest->blocked;
      entry.mirrors = nearest->mirrors;
      for (RegistryEntry::MirrorPlace& mirror : entry.mirrors) {
        mirror.location += entry.scope.substr(nearest->scope.size());
      }
    }
  }

  void set_flags(const std::vector<std::string>& insecure, const std::vector<std::string>& blocked) {
    const auto is_in_one = [](const std::string& scope, const std::vector<std::string>& outer_scopes) {
      return std::ranges::any_of(outer_scopes, [&](const std::string& outer) { return is_within_scope(scope, outer); });
    };
    for (RegistryEntry& entry : entries_) {
      if (is_in_one(entry.scope, insecure)) entry.insecure = true;
      if (is_in_one(entry.scope, blocked)) entry.blocked = true;
      for (RegistryEntry::MirrorPlace& mirror : entry.mirrors) {
        if (is_in_one(mirror.location, insecure)) mirror.insecure = true;
      }
    }
  }

 private:
  std::vector<RegistryEntry> entries_;
  std::map<std::string, std::size_t> places_;  ///< by scope
};

struct RegistrySources {
  std::vector<std::string> insecure{};
  std::vector<std::string> blocked{};
  std::vector<std::string> allowed{};
  std::vector<std::string> search{};
};

Result<RegistrySources> registry_sources(const std::vector<kube::ObjectPtr>& policies) {
  RegistrySources sources;
  for (const kube::ObjectPtr& object : policies) {
    if (object->kind() != api::kImageConfig.kind || object->name() != api::kImageConfigName) continue;
    const api::ImageConfigView view(object->json());
    sources = {view.insecure(), view.blocked(), view.allowed(), view.search()};
  }
  const auto field = [](std::string_view list) {
    return fmt::format("Image {}: spec.registrySources.{}", api::kImageConfigName, list);
  };
  STRAKE_CHECK_OK(check_scopes(sources.insecure, field("insecureRegistries")));
  STRAKE_CHECK_OK(check_scopes(sources.blocked, field("blockedRegistries")));
  STRAKE_CHECK_OK(check_scopes(sources.allowed, field("allowedRegistries")));
  STRAKE_CHECK_OK(check_scopes(sources.search, field("containerRuntimeSearchRegistries")));
  if (!sources.allowed.empty() && !sources.blocked.empty()) {
    return error(Code::kInvalidArgument,
                 "{} stands beside blockedRegistries: only one of the two may be there; remove one",
                 field("allowedRegistries"));
  }
  return sources;
}

/// "quay.io/org/release@sha256:..." without tag and digest.
std::string repository_of(std::string_view image) {
  image = image.substr(0, image.find('@'));
  const std::size_t colon = image.rfind(':');
  const std::size_t slash = image.rfind('/');
  const bool has_tag = colon != std::string_view::npos && (slash == std::string_view::npos || colon > slash);
  return std::string(has_tag ? image.substr(0, colon) : image);
}

/// Whether a digest of `repository` can still be had from a mirror that nobody blocks.
bool has_open_mirror(const std::string& repository, const RegistryList& registries,
                     const std::vector<std::string>& blocked) {
  const RegistryEntry* best = nullptr;
  for (const RegistryEntry& entry : registries.entries()) {
    if (!is_within_scope(repository, entry.scope)) continue;
    if (best == nullptr || entry.scope.size() > best->scope.size()) best = &entry;
  }
  if (best == nullptr || best->scope.starts_with("*.")) return false;
  return std::ranges::any_of(best->mirrors, [&](const RegistryEntry::MirrorPlace& mirror) {
    if (mirror.use != "digest-only") return false;
    const std::string place = mirror.location + repository.substr(best->scope.size());
    return std::ranges::none_of(blocked, [&](const std::string& scope) { return is_within_scope(place, scope); });
  });
}

/// A node that cannot pull the release cannot be repaired by a release either.
Status check_release_stays_open(const std::string& release_image, const RegistryList& registries,
                                const RegistrySources& sources, bool& keep_release_allowed) {
  const std::string repository = repository_of(release_image);
  if (repository.empty()) return {};
  const auto blocks = [&](const std::string& scope) { return is_within_scope(repository, scope); };
  const auto blocking = std::ranges::find_if(sources.blocked, blocks);
  if (blocking == sources.blocked.end()) return {};
  if (!has_open_mirror(repository, registries, sources.blocked)) {
    return error(Code::kInvalidArgument,
                 "Image {}: spec.registrySources.blockedRegistries: '{}' blocks {}, from where nodes pull the release; "
                 "first give it a mirror that is not blocked, by an ImageDigestMirrorSet",
                 api::kImageConfigName, *blocking, repository);
  }
  keep_release_allowed = true;
  return {};
}

json::Object registry_table(const RegistryEntry& entry) {
  const bool wildcard = entry.scope.starts_with("*.");
  json::Object table{{"prefix", wildcard ? entry.scope : ""}};
  if (!wildcard) table["location"] = entry.scope;
  if (entry.insecure) table["insecure"] = true;
  if (entry.blocked) table["blocked"] = true;
  json::Array mirrors;
  for (const RegistryEntry::MirrorPlace& mirror : entry.mirrors) {
    json::Object place{{"location", mirror.location}};
    if (mirror.insecure) place["insecure"] = true;
    place["pull-from-mirror"] = mirror.use;
    mirrors.push_back(std::move(place));
  }
  if (!mirrors.empty()) table["mirror"] = std::move(mirrors);
  return table;
}

Result<std::string> registries_conf_text(const std::string& base, const RegistryList& registries) {
  STRAKE_TRY_CONTEXT(json::Value document, toml::parse(base.empty() ? kSmallRegistriesConf : base),
                     "{} of the base configs", kRegistriesConfPath);
  json::Object& file = document.get_object();
  file.insert({{"short-name-mode", ""}});
  json::Array tables;
  for (const RegistryEntry& entry : registries.entries()) tables.push_back(registry_table(entry));
  file["registry"] = std::move(tables);
  return toml::emit(file);
}

json::Object policy_scopes_json(const ScopeRequirements& scopes, std::ptrdiff_t most_slashes) {
  json::Object written;
  for (const auto& [scope, requirements] : scopes) {
    if (std::ranges::count(scope, '/') <= most_slashes) written[scope] = requirements;
  }
  return written;
}

constexpr std::string_view kAccept = "insecureAcceptAnything";
constexpr std::string_view kReject = "reject";

json::Array only_rule(std::string_view type) { return json::Array{json::Object{{"type", type}}}; }

/// What the Image config says by scope; what an image policy says of the same scope takes its place.
ScopeRequirements source_requirements(const RegistrySources& sources, const std::string& release_kept_open) {
  ScopeRequirements scopes;
  for (const std::string& scope : sources.blocked) scopes[scope] = only_rule(kReject);
  for (const std::string& scope : sources.allowed) scopes[scope] = only_rule(kAccept);
  // Its registry is closed by registries.conf; its name stays good for the mirrors.
  if (!release_kept_open.empty()) scopes[release_kept_open] = only_rule(kAccept);
  return scopes;
}

/// `otherwise`: what holds for all else; "" leaves it to the base, and its scopes too.
Result<std::string> policy_text(const std::string& base, std::string_view otherwise, const ScopeRequirements& scopes) {
  STRAKE_TRY_CONTEXT(json::Value policy, json::parse(base.empty() ? kSmallPolicy : base), "{} of the base configs",
                     kPolicyJsonPath);
  if (!policy.is_object()) {
    return error(Code::kInvalidArgument, "{} of the base configs is not an object", kPolicyJsonPath);
  }
  if (!otherwise.empty()) json::ensure(policy, {"default"}) = only_rule(otherwise);
  constexpr std::ptrdiff_t kAnyDepth = 1'000;
  constexpr std::ptrdiff_t kMostSlashesOfAtomic = 2;  // the transport knows no deeper names
  for (const auto& [transport, most_slashes] : {std::pair{"docker", kAnyDepth}, {"atomic", kMostSlashesOfAtomic}}) {
    json::Value& present = json::ensure(policy, {"transports", transport});
    if (!otherwise.empty() || !present.is_object()) present = json::Object();
    for (auto& member : policy_scopes_json(scopes, most_slashes)) {
      present.get_object()[member.key()] = std::move(member.value());
    }
  }
  return json::write_pretty(policy);
}

/// The scopes of policies, and where the mirrors of what lies in them are: a signature is looked for beside the image
/// that is pulled.
Result<std::string> sigstore_text(const ImagePolicies& policies, const RegistryList& registries) {
  std::map<std::string, bool> places;
  for (const std::string& scope : policies.scopes()) {
    places[scope] = true;
    for (const RegistryEntry& entry : registries.entries()) {
      const bool inside = is_within_scope(scope, entry.scope) && !entry.scope.starts_with("*.");
      if (!inside && !is_within_scope(entry.scope, scope)) continue;
      for (const RegistryEntry::MirrorPlace& mirror : entry.mirrors) {
        places[inside ? mirror.location + scope.substr(entry.scope.size()) : mirror.location] = true;
      }
    }
  }
  json::Object docker;
  for (const auto& [place, attached] : places) docker[place] = json::Object{{"use-sigstore-attachments", attached}};
  return yaml::emit(json::Object{{"docker", std::move(docker)}});
}

/// policy.json for the cluster, one for each namespace with policies of its own, and where signatures are.
Status add_policy_files(const RegistriesInput& input, const RegistrySources& sources, const ImagePolicies& policies,
                        const RegistryList& registries, bool keep_release_allowed, std::vector<GeneratedFile>& files) {
  const bool has_sources = !sources.allowed.empty() || !sources.blocked.empty();
  if (!has_sources && policies.empty()) return {};
  const std::string_view otherwise = !has_sources ? "" : (sources.blocked.empty() ? kReject : kAccept);
  ScopeRequirements scopes =
      source_requirements(sources, keep_release_allowed ? repository_of(input.release_image) : "");
  for (const auto& [scope, requirements] : policies.cluster) scopes[scope] = requirements;
  if (!scopes.empty()) {
    STRAKE_TRY(std::string text, policy_text(input.base_policy, otherwise, scopes));
    files.push_back({std::string(kPolicyJsonPath), std::move(text)});
  }
  for (const auto& [ns, of_namespace] : policies.namespaces) {
    ScopeRequirements inherited = scopes;
    for (const auto& [scope, requirements] : of_namespace) inherited[scope] = requirements;
    STRAKE_TRY(std::string text, policy_text(input.base_policy, otherwise, inherited));
    files.push_back({fmt::format("{}{}.json", kNamespacePoliciesPath, ns), std::move(text)});
  }
  if (policies.empty()) return {};
  STRAKE_TRY(std::string text, sigstore_text(policies, registries));
  files.push_back({std::string(kSigstoreRegistriesPath), std::move(text)});
  return {};
}

}  // namespace

bool is_within_scope(std::string_view scope, std::string_view outer) {
  if (scope == outer) return true;
  if (outer.starts_with("*.")) return scope.substr(0, scope.find_first_of(":/")).ends_with(outer.substr(1));
  return scope.size() > outer.size() && scope.starts_with(outer) && scope[outer.size()] == '/';
}

Result<std::vector<GeneratedFile>> generate_registries(const RegistriesInput& input) {
  STRAKE_TRY(const MirroredSources mirrored, mirrored_sources(input.policies));
  STRAKE_TRY(const RegistrySources sources, registry_sources(input.policies));
  STRAKE_TRY(const ImagePolicies policies, read_image_policies(input.policies, sources.allowed, sources.blocked));
  if (mirrored.size() > kMaxGeneratedRegistries) {
    return error(Code::kExhausted, "the mirror sets name {} sources, the limit is {}", mirrored.size(),
                 kMaxGeneratedRegistries);
  }
  RegistryList registries;
  registries.add_mirrors(mirrored, false);
  registries.add_mirrors(mirrored, true);
  registries.add_scopes(sources.blocked);
  registries.add_scopes(sources.insecure);
  registries.inherit_mirrors();
  registries.set_flags(sources.insecure, sources.blocked);
  bool keep_release_allowed = false;
  STRAKE_CHECK_OK(check_release_stays_open(input.release_image, registries, sources, keep_release_allowed));

  std::vector<GeneratedFile> files;
  if (!registries.entries().empty()) {
    STRAKE_TRY(std::string conf, registries_conf_text(input.base_conf, registries));
    files.push_back({std::string(kRegistriesConfPath), std::move(conf)});
  }
  STRAKE_CHECK_OK(add_policy_files(input, sources, policies, registries, keep_release_allowed, files));
  if (!sources.search.empty()) {
    json::Array names;
    for (const std::string& name : sources.search) names.emplace_back(name);
    files.push_back({std::string(kSearchRegistriesPath),
                     toml::emit({{"unqualified-search-registries", std::move(names)}, {"short-name-mode", ""}})});
  }
  return files;
}

}  // namespace strake::machineconfig
