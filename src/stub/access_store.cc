#include "stub/access_store.h"

#include "api/kinds.h"
#include "api/roles.h"
#include "kube/patch.h"
#include "kube/unknown_effect.h"

namespace strake::stub {

namespace {

Result<std::optional<kube::Object>> get_access(kube::KubeApi& api, const kube::Call& call) {
  auto secret = api.get(kube::core::kSecret, access_key(), call);
  if (secret.ok()) return std::optional(*std::move(secret));
  if (secret.error().code() == Code::kNotFound) return std::optional<kube::Object>();
  return std::move(secret).error().context(fmt::format("reading Secret {}", access_key().to_string()));
}

Result<AccessBook> book_in(const std::optional<kube::Object>& secret) {
  if (!secret) return AccessBook();
  auto book = read_access(*secret);
  if (book.ok()) return book;
  return std::move(book).error().context(fmt::format(
      "Secret {} cannot be read; repair it, or remove it and make the tokens anew", access_key().to_string()));
}

Result<AccessBook> change_once(kube::KubeApi& api, const std::function<Result<AccessBook>(const AccessBook&)>& change,
                               const kube::Call& call) {
  STRAKE_TRY(const std::optional<kube::Object> secret, get_access(api, call));
  STRAKE_TRY(const AccessBook before, book_in(secret));
  STRAKE_TRY(AccessBook after, change(before));
  STRAKE_TRY(json::Value data, access_data(after));
  if (!secret) {
    kube::Object made(kube::core::kSecret, access_key());
    if (after.client_ca_pem().empty()) data.as_object().erase("client-ca.crt");
    made.json().as_object()["data"] = std::move(data);
    const auto created = api.create(kube::core::kSecret, made, {}, call);
    if (created.ok()) return after;
    const Error& why = created.error();
    // Somebody else made it meanwhile: his tokens are not to be lost.
    if (why.code() == Code::kExists) return Error(Code::kConflict, why.message());
    return Error(why).context(fmt::format("making Secret {}", access_key().to_string()));
  }
  const auto written = kube::merge_patch_own_fields(
      api, kube::core::kSecret, *secret, json::Object{{"data", std::move(data)}}, kube::IfChanged::kRefuse, {}, call);
  if (!written.ok()) return Error(written.error()).context(fmt::format("writing Secret {}", access_key().to_string()));
  return after;
}

}  // namespace

Status ensure_callers(kube::KubeApi& api, const kube::Call& call) {
  const kube::ObjectKey key{std::string(api::kMachineConfigNamespace), std::string(api::serving_object::kCallers)};
  const auto made = api.create(kube::core::kConfigMap, kube::Object(kube::core::kConfigMap, key), {}, call);
  if (made.ok() || made.error().code() == Code::kExists) return {};
  return Error(made.error()).context(fmt::format("making ConfigMap {}", key.to_string()));
}

Result<AccessBook> load_access(kube::KubeApi& api, const kube::Call& call) {
  STRAKE_TRY(const std::optional<kube::Object> secret, get_access(api, call));
  return book_in(secret);
}

Result<AccessBook> change_access(runtime::Runtime& runtime, kube::KubeApi& api,
                                 const std::function<Result<AccessBook>(const AccessBook&)>& change,
                                 const kube::Call& call) {
  STRAKE_TRY(AccessBook book, kube::retry_on_conflict(runtime, call, [&] { return change_once(api, change, call); }));
  STRAKE_CHECK_OK(ensure_callers(api, call));
  return book;
}

void take_back_token(runtime::Runtime& runtime, kube::KubeApi& api, const TokenRecord& record, const Error& why,
                     const kube::Call& call) {
  if (kube::effect_is_unknown(why.code())) return;
  const auto now = std::chrono::floor<std::chrono::seconds>(runtime.wall_now());
  const auto revoke = [&](const AccessBook& present) { return with_revoked(present, record.id, now); };
  (void)change_access(runtime, api, revoke, call);  // nobody has it: whether this is written harms nobody
}

}  // namespace strake::stub
