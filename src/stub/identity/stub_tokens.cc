#include "stub/identity/stub_tokens.h"

#include <algorithm>

#include "api/node_annotations.h"
#include "codec/base64.h"
#include "kube/patch.h"
#include "stub/access_store.h"
#include "stub/managed_stub.h"
#include "stub/references.h"
#include "stub/stub.h"

namespace strake::stub {

namespace {

bool carries_good_token(const Stub& stub, const AccessBook& book, const std::string& pool,
                        std::chrono::sys_seconds now) {
  return std::ranges::any_of(stub.pointers, [&](const Pointer& pointer) {
    const TokenRecord* record = pointer.token_sha256.empty() ? nullptr : book.find_by_hash(pointer.token_sha256);
    return record != nullptr && judge_token(*record, pool, now, 0) == Standing::kGood && !renewal_due(*record, now);
  });
}

Result<kube::Object> write_token(kube::KubeApi& api, const TokenWanted& wanted, const Secret& token,
                                 const kube::Call& call) {
  STRAKE_TRY(const std::string before, stub_text(*wanted.secret));
  STRAKE_TRY(const std::string after, with_token(before, wanted.pool, token.reveal()));
  json::Value patch = json::Object{};
  json::ensure(patch, {"data", kUserDataKey}) = codec::encode_base64(after);
  return kube::merge_patch_own_fields(api, kube::core::kSecret, *wanted.secret, patch, kube::IfChanged::kRefuse, {},
                                      call);
}

}  // namespace

std::vector<TokenWanted> tokens_wanted(const AccessBook& book, std::span<const kube::ObjectPtr> secrets,
                                       std::chrono::sys_seconds now) {
  std::vector<TokenWanted> wanted;
  wanted.reserve(secrets.size());
  for (const kube::ObjectPtr& secret : secrets) {
    const std::string pool = pool_of_managed_stub(secret->name());
    if (pool.empty() || secret->deleting() || !secret->label(api::label::kManagedStub)) continue;
    const auto text = stub_text(*secret);
    const auto stub = text.ok() ? read_stub(*text) : Result<Stub>(text.error());
    if (stub.ok() && !carries_good_token(*stub, book, pool, now)) wanted.push_back({pool, secret});
  }
  return wanted;
}

Result<std::vector<kube::Object>> renew_stub_tokens(runtime::Runtime& runtime, kube::KubeApi& api,
                                                    std::span<const kube::ObjectPtr> secrets, const kube::Call& call) {
  const auto now = std::chrono::floor<std::chrono::seconds>(runtime.wall_now());
  STRAKE_TRY(AccessBook book, load_access(api, call));
  std::vector<kube::Object> written;
  const std::vector<TokenWanted> all_wanted = tokens_wanted(book, secrets, now);
  written.reserve(all_wanted.size());
  for (const TokenWanted& wanted : all_wanted) {
    STRAKE_TRY(
        const NewToken made,
        create_token(runtime.random(),
                     {wanted.pool, kStubTokenLife, {}, fmt::format("in the stub {}", wanted.secret->name())}, now));
    const auto record = [&](const AccessBook& present) -> Result<AccessBook> {
      return with_new_token(present, made.record, now);
    };
    STRAKE_TRY(book, change_access(runtime, api, record, call));
    auto changed = write_token(api, wanted, made.secret, call);
    if (changed.ok()) {
      written.push_back(*std::move(changed));
      continue;
    }
    take_back_token(runtime, api, made.record, changed.error(), call);
    return std::move(changed).error().context(fmt::format("putting a token into Secret {}", wanted.secret->name()));
  }
  return written;
}

}  // namespace strake::stub
