#include <algorithm>

#include "base/text_table.h"
#include "base/time.h"
#include "base/visible_text.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/stub_input.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "codec/base64.h"
#include "kube/patch.h"
#include "stub/access_store.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kTokenCreateOptions[] = {
    {"pool", "POOL", "whose config it opens (default, with a stub: the pool the stub points to)"},
    {"for", "DURATION", "how long it is good", "720h", kDurationValue},
    {"uses", "COUNT", "how many machines may use it (default: any number)", "", integer_from(1, 1'000'000)},
    {"comment", "TEXT", "kept with it, for whoever looks later"},
    {"into", "SECRET", "put it into this stub of the cluster instead of printing it"},
    {"f,filename", "FILE", "print this stub, - for standard input, with the token in it", "", kFileValue},
    kOutputOption,
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};
constexpr OptionSpec kTokenListOptions[] = {kOutputOption, kKubeconfigOption, kContextOption, kTimeoutOption};
constexpr ArgumentSpec kTokenRevokeArguments[] = {{"ID", "of the token, as `strake stub token list` shows it"}};
constexpr OptionSpec kTokenRevokeOptions[] = {kKubeconfigOption, kContextOption, kTimeoutOption};

std::chrono::sys_seconds token_clock() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// The stub a new token goes into, if any.
struct TokenTarget {
  std::optional<NamedStub> stub;
  bool in_cluster = false;
};

Result<TokenTarget> find_target(kube::KubeApi& api, const Invocation& invocation, const kube::Call& call) {
  TokenTarget target;
  if (invocation.has("into") && invocation.has("filename")) {
    return error(Code::kInvalidArgument, "--into and -f are two ways to name a stub: give one");
  }
  if (invocation.has("filename")) {
    STRAKE_TRY(target.stub, read_stub_file(invocation.value("filename")));
  } else if (invocation.has("into")) {
    STRAKE_TRY(ClusterStubs cluster, read_cluster_stubs(api, call));
    STRAKE_TRY(std::vector<NamedStub> chosen, chosen_stubs(std::move(cluster.stubs), {invocation.value("into")}));
    target.stub = std::move(chosen.front());
    target.in_cluster = true;
    if (target.stub->found.managed) {
      return error(Code::kConflict,
                   "Secret {} is written by a controller, which would undo the change; put the token into a stub of "
                   "your own",
                   target.stub->name)
          .with_verdict(Verdict::kBlocked);
    }
  }
  if (target.stub && !target.stub->stub.ok()) return Error(target.stub->stub.error()).context(target.stub->name);
  return target;
}

/// --pool, or the only pool the stub points to.
Result<std::string> wanted_pool(const Invocation& invocation, const TokenTarget& target) {
  if (invocation.has("pool")) return invocation.value("pool");
  if (!target.stub) return error(Code::kInvalidArgument, "--pool is missing: whose config the token opens");
  std::vector<std::string> pools;
  for (const stub::Pointer& pointer : target.stub->stub->pointers) {
    if (!pointer.pool.empty() && std::ranges::find(pools, pointer.pool) == pools.end()) pools.push_back(pointer.pool);
  }
  if (pools.size() == 1) return pools.front();
  return error(Code::kInvalidArgument, "{} points to {}; say which is meant with --pool", target.stub->name,
               pools.empty() ? "no pool's config" : "the configs of several pools");
}

Status write_into(kube::KubeApi& api, const NamedStub& named, const std::string& text, const kube::Call& call) {
  const kube::ObjectKey key{named.found.ns, named.found.secret};
  STRAKE_TRY_CONTEXT(const kube::Object secret, api.get(kube::core::kSecret, key, call), "reading Secret {}",
                     named.name);
  const auto present = stub::stub_text(secret, named.found.key);
  if (!present.ok() || *present != named.found.bytes) {
    return error(Code::kConflict, "Secret {} changed meanwhile; repeat", named.name);
  }
  const json::Value own = json::Object{{"data", json::Object{{named.found.key, codec::encode_base64(text)}}}};
  const auto written =
      kube::merge_patch_own_fields(api, kube::core::kSecret, secret, own, kube::IfChanged::kRefuse, {}, call);
  if (!written.ok()) return Error(written.error()).context(fmt::format("writing Secret {}", named.name));
  return {};
}

Status revoke_token(runtime::Runtime& runtime, kube::KubeApi& api, const std::string& id, const kube::Call& call) {
  const auto changed = stub::change_access(
      runtime, api, [&](const stub::AccessBook& book) { return stub::with_revoked(book, id, token_clock()); }, call);
  return changed.ok() ? Status() : Status(changed.error());
}

json::Object token_json(const stub::TokenRecord& record) {
  json::Object object{{"id", record.id},
                      {"pool", record.pool},
                      {"created", format_rfc3339(record.created)},
                      {"expires", format_rfc3339(record.expires)},
                      {"comment", record.comment}};
  if (record.max_uses) object["maxUses"] = *record.max_uses;
  if (record.revoked) object["revoked"] = format_rfc3339(*record.revoked);
  return object;
}

/// Where the token goes when it is on record: into the stub, or out.
Status hand_over(kube::KubeApi& api, const Invocation& invocation, const TokenTarget& target,
                 const stub::NewToken& token, const kube::Call& call) {
  const bool as_json = wants_json(invocation);
  const std::string said = fmt::format("token {} for pool {}, good until {}", token.record.id, token.record.pool,
                                       format_rfc3339(token.record.expires));
  json::Object document = token_json(token.record);
  if (!target.stub) {
    if (as_json) {
      document["token"] = token.secret.reveal();
      invocation.out().document(json::write_pretty(result_document("StubToken", kResultOk, std::move(document))));
      return {};
    }
    invocation.out().progress(said + "; it is shown this once:");
    invocation.out().document(token.secret.reveal() + "\n");
    return {};
  }
  STRAKE_TRY_CONTEXT(const std::string text,
                     stub::with_token(target.stub->found.bytes, token.record.pool, token.secret.reveal()), "{}",
                     target.stub->name);
  if (!target.in_cluster) {
    invocation.out().progress(said);
    invocation.out().document(text);
    return {};
  }
  STRAKE_CHECK_OK(write_into(api, *target.stub, text, call));
  if (as_json) {
    document["stub"] = target.stub->name;
    invocation.out().report(result_document("StubToken", kResultOk, std::move(document)));
  } else {
    invocation.out().text(fmt::format("{}: in Secret {}\n", said, target.stub->name));
  }
  return {};
}

Result<int> run_token_create(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_TRY(const TokenTarget target, find_target(*api, invocation, call));
  stub::TokenWish wish;
  STRAKE_TRY(wish.pool, wanted_pool(invocation, target));
  wish.life = std::chrono::floor<std::chrono::seconds>(invocation.duration("for"));
  if (invocation.has("uses")) wish.max_uses = static_cast<std::uint64_t>(invocation.integer("uses"));
  wish.comment = invocation.value("comment");
  // What the stub cannot carry is said before there is a token.
  if (target.stub) {
    STRAKE_CHECK_OK(stub::with_token(target.stub->found.bytes, wish.pool, "x").context("{}", target.stub->name));
  }
  STRAKE_TRY(const stub::NewToken token, stub::create_token(runtime.random(), wish, token_clock()));
  // On record first: a stub must never carry a token nobody knows.
  STRAKE_CHECK_OK(stub::change_access(
      runtime, *api,
      [&](const stub::AccessBook& book) -> Result<stub::AccessBook> {
        return stub::with_new_token(book, token.record, token_clock());
      },
      call));
  if (const Status handed = hand_over(*api, invocation, target, token, call); !handed.ok()) {
    stub::take_back_token(runtime, *api, token.record, handed.error(), call);
    return handed.error();
  }
  return kExitOk;
}

std::string token_state(const stub::TokenRecord& record, std::uint64_t uses) {
  const stub::Standing standing = stub::judge_token(record, record.pool, token_clock(), uses);
  if (standing != stub::Standing::kGood) return std::string(stub::to_string(standing));
  return stub::renewal_due(record, token_clock()) ? "ends soon" : "good";
}

Result<int> run_token_list(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_TRY(const stub::AccessBook book, stub::load_access(*api, call));
  STRAKE_TRY(const stub::CallerPages pages, read_callers(*api, call));
  const auto uses = stub::uses_of(pages);
  const auto uses_of = [&](const stub::TokenRecord& record) {
    const auto known = uses.find(record.id);
    return known == uses.end() ? std::uint64_t{0} : known->second;
  };
  json::Array list;
  std::vector<std::vector<std::string>> rows{{"ID", "POOL", "STATE", "CREATED", "EXPIRES", "USES", "COMMENT"}};
  rows.reserve(book.tokens().size() + 1);
  for (const stub::TokenRecord& record : book.tokens()) {
    const std::uint64_t used = uses_of(record);
    json::Object item = token_json(record);
    item["state"] = token_state(record, used);
    if (record.max_uses) item["uses"] = used;
    list.push_back(std::move(item));
    rows.push_back({record.id, record.pool, token_state(record, used), format_rfc3339(record.created),
                    format_rfc3339(record.expires),
                    record.max_uses ? fmt::format("{} of {}", used, *record.max_uses) : "any",
                    visible_line(record.comment)});
  }
  if (wants_json(invocation)) {
    invocation.out().report(result_document("StubTokenList", kResultOk, {{"tokens", std::move(list)}}));
  } else if (book.tokens().empty()) {
    invocation.out().text("there are no tokens; `strake stub token create` makes one\n");
  } else {
    invocation.out().text(align_columns(rows));
  }
  return kExitOk;
}

Result<int> run_token_revoke(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  const std::string& id = invocation.value("ID");
  if (const Status revoked = revoke_token(runtime, *api, id, call); !revoked.ok()) {
    Error why = revoked.error();
    if (why.code() == Code::kNotFound) return std::move(why).with_verdict(Verdict::kAbsent);
    return why;
  }
  invocation.out().text(fmt::format("revoked token {}\n", id));
  return kExitOk;
}

constexpr ExitMeaning kTokenCreateExits[] = {
    {kExitOk, "made"}, {kExitBlocked, "there is no such stub, or a controller writes it"}, kServerUnreachable};
constexpr ExitMeaning kTokenListExits[] = {{kExitOk, "shown"}, kServerUnreachable};
constexpr ExitMeaning kTokenRevokeExits[] = {
    {kExitOk, "revoked"}, {kExitBlocked, "there is no such token"}, kServerUnreachable};

}  // namespace

const CommandSpec kStubTokenCreateCommand{
    "stub token create",
    "Make a token that opens one pool's config, and put it into a stub.",
    "A machine shows it to the config server in the stub's httpHeaders (spec 3.1 and later). Only its hash is kept, in "
    "Secret strake-config-server-access; the token itself is printed once, or goes into the stub and is not printed. A "
    "token the stub had before stays good to its own end.\n\n"
    "  strake stub token create --into worker-user-data\n"
    "  strake stub token create -f worker.ign --for 48h --uses 3 > rack7.ign\n"
    "  strake stub token create --pool infra --comment \"rack 7\"",
    {},
    kTokenCreateOptions,
    run_token_create,
    kTokenCreateExits};

const CommandSpec kStubTokenListCommand{
    "stub token list",
    "List the tokens of stubs: pool, end, uses; never the tokens.",
    "Ended and revoked ones stay in the list for 30 days. USES are counted by the config servers, which tell them "
    "within seconds.\n\n"
    "  strake stub token list -o json",
    {},
    kTokenListOptions,
    run_token_list,
    kTokenListExits};

const CommandSpec kStubTokenRevokeCommand{
    "stub token revoke",
    "Take a token back: config servers refuse it within seconds.",
    "Machines that have their config keep it. Stubs that carry it are named by `strake stub check`.\n\n"
    "  strake stub token revoke bq7f2xk9wd",
    kTokenRevokeArguments,
    kTokenRevokeOptions,
    run_token_revoke,
    kTokenRevokeExits};

}  // namespace strake::cmd
