#include "release/signature/kept_keyrings.h"

#include <algorithm>

#include "api/kinds.h"
#include "api/strake_config.h"
#include "base/text.h"
#include "kube/patch.h"

namespace strake::release {

namespace {

const kube::ObjectKey kStrakeConfigKey{"", std::string(api::kStrakeConfigName)};
constexpr std::size_t kMaxKeptNameBytes = 63;

Result<std::optional<kube::Object>> read_strake_config(kube::KubeApi& api, const kube::Call& call) {
  Result<kube::Object> found = api.get(api::kStrakeConfig, kStrakeConfigKey, call);
  if (found.ok()) return std::optional(*std::move(found));
  if (found.error().code() == Code::kNotFound) return std::optional<kube::Object>();
  return std::move(found).error().context("reading StrakeConfig cluster");
}

/// As deploy/crds/strake.dev_strakeconfigs.yaml has it, said in words.
Status check_kept_name(std::string_view name) {
  const bool fits =
      !name.empty() && name.size() <= kMaxKeptNameBytes &&
      std::ranges::all_of(name, [](char c) { return is_digit(c) || (c >= 'a' && c <= 'z') || c == '.' || c == '-'; }) &&
      name.front() != '.' && name.front() != '-';
  if (fits) return {};
  return error(Code::kInvalidArgument,
               "the name of a keyring is lower-case letters, digits, dots and dashes, at most {} of them",
               kMaxKeptNameBytes);
}

}  // namespace

Result<std::vector<Keyring>> read_kept_keyrings(kube::KubeApi& api, const kube::Call& call) {
  STRAKE_TRY(const std::optional<kube::Object> config, read_strake_config(api, call));
  std::vector<Keyring> keyrings;
  if (!config) return keyrings;
  for (const auto& [name, text] : api::StrakeConfigView(config->json()).release_keyrings()) {
    STRAKE_TRY_CONTEXT(Keyring keyring, parse_keyring(name, text), "StrakeConfig cluster, spec.releaseKeyrings");
    keyrings.push_back(std::move(keyring));
  }
  return keyrings;
}

Status keep_keyring(runtime::Runtime& runtime, kube::KubeApi& api, const Keyring& keyring, const kube::Call& call) {
  STRAKE_CHECK_OK(check_kept_name(keyring.name));
  if (keyring.packets.size() > kMaxKeptKeyringBytes) {
    return error(Code::kExhausted,
                 "keyring '{}' has {}: a cluster keeps at most {} of each; leave out what does not sign", keyring.name,
                 human_bytes(keyring.packets.size()), human_bytes(kMaxKeptKeyringBytes));
  }
  const std::string armoured = armour_keyring(keyring.packets);
  return kube::retry_on_conflict(runtime, call, [&]() -> Status {
    STRAKE_TRY(const std::optional<kube::Object> config, read_strake_config(api, call));
    if (!config) {
      kube::Object created(api::kStrakeConfig, kStrakeConfigKey);
      api::StrakeConfigEdit(created.json()).set_release_keyring(keyring.name, armoured);
      Result<kube::Object> written = api.create(api::kStrakeConfig, created, {}, call);
      if (written.ok()) return {};
      if (written.error().code() == Code::kExists) return error(Code::kConflict, "StrakeConfig cluster was just made");
      return std::move(written).error().context("creating StrakeConfig cluster");
    }
    const auto kept = api::StrakeConfigView(config->json()).release_keyrings();
    if (const auto same = kept.find(keyring.name); same != kept.end()) {
      if (same->second == armoured) return {};
      return error(Code::kExists, "another keyring is kept as '{0}'; `strake release trust remove {0}` comes first",
                   keyring.name);
    }
    json::Value own = json::Object{};
    api::StrakeConfigEdit(own).set_release_keyring(keyring.name, armoured);
    Result<kube::Object> written =
        kube::merge_patch_own_fields(api, api::kStrakeConfig, *config, own, kube::IfChanged::kRefuse, {}, call);
    return written.ok() ? Status() : Status(std::move(written).error().context("writing StrakeConfig cluster"));
  });
}

Status forget_keyring(runtime::Runtime& runtime, kube::KubeApi& api, const std::string& name, const kube::Call& call) {
  return kube::retry_on_conflict(runtime, call, [&]() -> Status {
    STRAKE_TRY(const std::optional<kube::Object> config, read_strake_config(api, call));
    std::map<std::string, std::string> kept;
    if (config) kept = api::StrakeConfigView(config->json()).release_keyrings();
    if (!kept.contains(name)) {
      return error(Code::kNotFound, "no keyring is kept as '{}' (there are: {})", name,
                   kept.empty() ? "none" : names_in(kept))
          .with_verdict(Verdict::kAbsent);
    }
    json::Value own = json::Object{};
    api::StrakeConfigEdit(own).set_release_keyring(name, std::nullopt);
    Result<kube::Object> written =
        kube::merge_patch_own_fields(api, api::kStrakeConfig, *config, own, kube::IfChanged::kRefuse, {}, call);
    return written.ok() ? Status() : Status(std::move(written).error().context("writing StrakeConfig cluster"));
  });
}

}  // namespace strake::release
