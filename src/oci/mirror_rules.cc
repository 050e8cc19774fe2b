#include <algorithm>
#include <cstdlib>
#include <system_error>

#include "base/fd.h"
#include "codec/toml.h"
#include "oci/mirrors.h"

namespace strake::oci {

namespace {

constexpr std::size_t kMaxRegistriesConfBytes = 2u << 20;
constexpr std::size_t kMaxDropIns = 1000;

Result<std::string> text_member(const json::Value& table, std::string_view name) {
  const json::Value* value = json::find(table, {name});
  if (value == nullptr) return std::string();
  if (!value->is_string()) {
    return error(Code::kInvalidArgument, "{}: expected a string, found {}", name, json::type_name(*value));
  }
  return std::string(json::as_view(value->get_string()));
}

Result<bool> bool_member(const json::Value& table, std::string_view name) {
  const json::Value* value = json::find(table, {name});
  if (value == nullptr) return false;
  if (!value->is_bool()) {
    return error(Code::kInvalidArgument, "{}: expected true or false, found {}", name, json::type_name(*value));
  }
  return value->get_bool();
}

Status check_location(std::string_view text, std::string_view what) {
  const std::size_t slash = text.find('/');
  const bool path_fits = slash == std::string_view::npos || is_repository_path(text.substr(slash + 1));
  if (is_registry_host(text.substr(0, slash)) && path_fits) return {};
  return error(Code::kInvalidArgument, "{}: '{}' is not a registry with an optional path (without a scheme)", what,
               text);
}

Result<Mirror> parse_mirror(const json::Value& table, bool digest_only) {
  Mirror mirror;
  STRAKE_TRY(mirror.location, text_member(table, "location"));
  STRAKE_CHECK_OK(check_location(mirror.location, "location"));
  STRAKE_TRY(mirror.insecure, bool_member(table, "insecure"));
  STRAKE_TRY(const std::string use, text_member(table, "pull-from-mirror"));
  mirror.use = digest_only ? MirrorUse::kDigestOnly : MirrorUse::kAll;
  if (!use.empty()) {
    if (digest_only) {
      return error(Code::kInvalidArgument, "pull-from-mirror stands beside mirror-by-digest-only: keep one");
    }
    STRAKE_TRY(mirror.use, parse_mirror_use(use));
  }
  return mirror;
}

Result<RegistryRule> parse_rule(const json::Value& table) {
  RegistryRule rule;
  STRAKE_TRY(rule.prefix, text_member(table, "prefix"));
  STRAKE_TRY(rule.location, text_member(table, "location"));
  if (rule.prefix.empty()) rule.prefix = rule.location;
  if (rule.prefix.starts_with("*.")) {
    STRAKE_CHECK_OK(check_location(std::string_view(rule.prefix).substr(2), "prefix"));
    if (rule.prefix.find('/') != std::string::npos) {
      return error(Code::kInvalidArgument, "prefix '{}': a wildcard stands for hosts, without a path", rule.prefix);
    }
  } else {
    STRAKE_CHECK_OK(check_location(rule.prefix, rule.location.empty() ? "prefix" : "prefix or location"));
  }
  if (!rule.location.empty()) STRAKE_CHECK_OK(check_location(rule.location, "location"));
  if (rule.location == rule.prefix) rule.location.clear();
  STRAKE_TRY(rule.insecure, bool_member(table, "insecure"));
  STRAKE_TRY(rule.blocked, bool_member(table, "blocked"));
  STRAKE_TRY(const bool digest_only, bool_member(table, "mirror-by-digest-only"));
  const json::Value* mirrors = json::find(table, {"mirror"});
  if (mirrors == nullptr) return rule;
  if (!mirrors->is_array() || mirrors->get_array().size() > kMaxMirrorsOfRule) {
    return error(Code::kInvalidArgument, "mirror: expected at most {} [[registry.mirror]] tables", kMaxMirrorsOfRule);
  }
  for (std::size_t i = 0; i < mirrors->get_array().size(); ++i) {
    STRAKE_TRY_CONTEXT(Mirror mirror, parse_mirror(mirrors->get_array()[i], digest_only), "mirror[{}]", i);
    rule.mirrors.push_back(std::move(mirror));
  }
  return rule;
}

struct MirrorSetForm {
  std::string_view kind;
  std::string_view group;  ///< of apiVersion
  std::string_view list;   ///< member of spec
  MirrorUse use;
};

constexpr MirrorSetForm kMirrorSetForms[] = {
    {"ImageDigestMirrorSet", "config.openshift.io/", "imageDigestMirrors", MirrorUse::kDigestOnly},
    {"ImageTagMirrorSet", "config.openshift.io/", "imageTagMirrors", MirrorUse::kTagOnly},
    {"ImageContentSourcePolicy", "operator.openshift.io/", "repositoryDigestMirrors", MirrorUse::kDigestOnly},
};

/// nullptr: the object is something else.
const MirrorSetForm* form_of(const json::Value& object) {
  const std::string kind = json::find_string(object, {"kind"}).value_or("");
  const std::string version = json::find_string(object, {"apiVersion"}).value_or("");
  for (const MirrorSetForm& form : kMirrorSetForms) {
    if (form.kind == kind && version.starts_with(form.group)) return &form;
  }
  return nullptr;
}

/// What has been said about one source so far.
struct MergedSource {
  RegistryRule rule;
  std::string policy;
};

Result<bool> never_contact_source(const json::Value& entry, std::string& policy) {
  STRAKE_TRY(policy, text_member(entry, "mirrorSourcePolicy"));
  if (policy.empty()) policy = "AllowContactingSource";
  if (policy == "NeverContactSource") return true;
  if (policy == "AllowContactingSource") return false;
  return error(Code::kInvalidArgument,
               "mirrorSourcePolicy is '{}', expected AllowContactingSource or NeverContactSource", policy);
}

Status merge_entry(std::vector<MergedSource>& merged, const json::Value& entry, const MirrorSetForm& form) {
  STRAKE_TRY(const std::string source, text_member(entry, "source"));
  const bool wildcard = source.starts_with("*.");
  STRAKE_CHECK_OK(check_location(std::string_view(source).substr(wildcard ? 2 : 0), "source"));
  std::string policy;
  STRAKE_TRY(const bool blocked, never_contact_source(entry, policy));
  auto known = std::find_if(merged.begin(), merged.end(),
                            [&](const MergedSource& other) { return other.rule.prefix == source; });
  if (known == merged.end()) {
    if (merged.size() == kMaxMirrorRules) return error(Code::kExhausted, "more than {} sources", kMaxMirrorRules);
    known = merged.insert(merged.end(), MergedSource{{source, {}, false, blocked, {}}, policy});
  } else if (known->policy != policy) {
    return error(Code::kConflict, "source '{}' has mirrorSourcePolicy {} here and {} in another entry: decide for one",
                 source, policy, known->policy);
  }
  const json::Value* mirrors = json::find(entry, {"mirrors"});
  if (mirrors == nullptr || mirrors->is_null()) return {};
  if (!mirrors->is_array()) return error(Code::kInvalidArgument, "mirrors: expected a list");
  for (const json::Value& item : mirrors->get_array()) {
    if (!item.is_string()) return error(Code::kInvalidArgument, "mirrors: expected strings");
    Mirror mirror{std::string(json::as_view(item.get_string())), false, form.use};
    STRAKE_CHECK_OK(check_location(mirror.location, "mirrors"));
    auto& list = known->rule.mirrors;
    if (std::find(list.begin(), list.end(), mirror) != list.end()) continue;
    if (list.size() == kMaxMirrorsOfRule) {
      return error(Code::kExhausted, "source '{}' has more than {} mirrors", source, kMaxMirrorsOfRule);
    }
    list.push_back(std::move(mirror));
  }
  return {};
}

Result<std::vector<std::filesystem::path>> conf_files(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code failure;
  for (std::filesystem::directory_iterator it(folder, failure), end; !failure && it != end; it.increment(failure)) {
    if (it->path().extension() == ".conf") files.push_back(it->path());
    if (files.size() > kMaxDropIns) return error(Code::kExhausted, "more than {} files", kMaxDropIns);
  }
  if (failure && failure != std::errc::no_such_file_or_directory) return errno_error(failure.value(), folder.string());
  std::sort(files.begin(), files.end());
  return files;
}

std::filesystem::path environment_path(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::filesystem::path() : std::filesystem::path(value);
}

}  // namespace

Result<MirrorRules> parse_registries_conf(std::string_view text) {
  STRAKE_TRY(const json::Value document, toml::parse(text));
  if (json::find(document, {"registries"}) != nullptr) {
    return error(Code::kUnsupported, "this is version 1 of registries.conf; rewrite it with [[registry]] tables");
  }
  MirrorRules rules;
  const json::Value* list = json::find(document, {"registry"});
  if (list == nullptr) return rules;
  if (!list->is_array() || list->get_array().size() > kMaxMirrorRules) {
    return error(Code::kInvalidArgument, "registry: expected at most {} [[registry]] tables", kMaxMirrorRules);
  }
  for (std::size_t i = 0; i < list->get_array().size(); ++i) {
    STRAKE_TRY_CONTEXT(RegistryRule rule, parse_rule(list->get_array()[i]), "registry[{}]", i);
    const auto same = [&](const RegistryRule& other) { return other.prefix == rule.prefix; };
    if (std::any_of(rules.rules.begin(), rules.rules.end(), same)) {
      return error(Code::kInvalidArgument, "registry[{}]: a second rule for '{}'", i, rule.prefix);
    }
    rules.rules.push_back(std::move(rule));
  }
  return rules;
}

Result<MirrorRules> load_registries_conf(const std::filesystem::path& file, const std::filesystem::path& drop_ins) {
  STRAKE_TRY_CONTEXT(std::vector<std::filesystem::path> files, conf_files(drop_ins), "reading {}", drop_ins.string());
  files.insert(files.begin(), file);
  MirrorRules rules;
  for (const std::filesystem::path& path : files) {
    Result<std::string> text = read_file(path, kMaxRegistriesConfBytes);
    if (!text.ok() && text.error().code() == Code::kNotFound) continue;
    if (!text.ok()) return std::move(text).error();
    STRAKE_TRY_CONTEXT(MirrorRules own, parse_registries_conf(*text), "{}", path.string());
    rules.override_with(std::move(own));
  }
  return rules;
}

Result<MirrorRules> load_registries_conf_of_process() {
  if (const auto named = environment_path("CONTAINERS_REGISTRIES_CONF"); !named.empty()) {
    return load_registries_conf(named, named.string() + ".d");
  }
  std::filesystem::path config = environment_path("XDG_CONFIG_HOME");
  if (const auto home = environment_path("HOME"); config.empty() && !home.empty()) config = home / ".config";
  std::error_code ignored;
  if (const auto own = config / "containers/registries.conf";
      !config.empty() && std::filesystem::exists(own, ignored)) {
    return load_registries_conf(own, config / "containers/registries.conf.d");
  }
  return load_registries_conf("/etc/containers/registries.conf", "/etc/containers/registries.conf.d");
}

bool is_mirror_set(const json::Value& object) { return form_of(object) != nullptr; }

Result<MirrorRules> rules_from_mirror_sets(const std::vector<json::Value>& objects) {
  std::vector<MergedSource> merged;
  for (const json::Value& object : objects) {
    const std::string kind = json::find_string(object, {"kind"}).value_or("");
    const std::string name = json::find_string(object, {"metadata", "name"}).value_or("");
    const MirrorSetForm* form = form_of(object);
    if (form == nullptr) {
      return error(Code::kInvalidArgument,
                   "'{}' of kind {} ({}) is no mirror set: expected ImageDigestMirrorSet, ImageTagMirrorSet or "
                   "ImageContentSourcePolicy",
                   name, kind, json::find_string(object, {"apiVersion"}).value_or(""));
    }
    const json::Value* list = json::find(object, {"spec", form->list});
    if (list == nullptr || list->is_null()) continue;
    if (!list->is_array())
      return error(Code::kInvalidArgument, "{} '{}': spec.{}: expected a list", kind, name, form->list);
    for (std::size_t i = 0; i < list->get_array().size(); ++i) {
      STRAKE_CHECK_OK(
          merge_entry(merged, list->get_array()[i], *form).context("{} '{}': spec.{}[{}]", kind, name, form->list, i));
    }
  }
  MirrorRules rules;
  for (MergedSource& source : merged) rules.rules.push_back(std::move(source.rule));
  return rules;
}

}  // namespace strake::oci
