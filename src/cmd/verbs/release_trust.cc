#include "base/text_table.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "release/signature/kept_keyrings.h"

namespace strake::cmd {

namespace {

constexpr std::string_view kReleaseTrustKind = "ReleaseTrust";
constexpr ArgumentSpec kTrustAddArguments[] = {
    {"NAME", "a name of your choice: lower-case letters, digits, dots and dashes"},
    {"FILE", "OpenPGP public keys, armoured or not; - reads standard input", true, false, kFileValue}};
constexpr ArgumentSpec kTrustRemoveArguments[] = {{"NAME", "as `strake release trust list` shows it"}};
constexpr OptionSpec kTrustOptions[] = {kKubeconfigOption, kContextOption, kTimeoutOption};
constexpr OptionSpec kTrustListOptions[] = {kOutputOption, kKubeconfigOption, kContextOption, kTimeoutOption};

std::vector<std::string> fingerprints_of(const release::Keyring& keyring) {
  std::vector<std::string> all;
  all.reserve(keyring.entities.size());
  for (const release::OpenPgpEntity& entity : keyring.entities) {
    all.push_back(entity.primary.fingerprint + (entity.primary.revoked ? " (revoked)" : ""));
  }
  return all;
}

Result<int> run_trust_add(const Invocation& invocation) {
  const std::string& file = invocation.value("FILE");
  STRAKE_TRY(const std::string text, read_text_input(file, release::kMaxKeyringBytes));
  STRAKE_TRY_CONTEXT(release::Keyring keyring, release::parse_keyring(invocation.value("NAME"), text), "{}",
                     shown_path(file));
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_CHECK_OK(release::keep_keyring(runtime, *api, keyring, cluster_call(runtime, invocation)));
  invocation.out().text(fmt::format(
      "releases signed by these keys are taken from now on; compare them with what their owner publishes:\n"));
  for (const std::string& fingerprint : fingerprints_of(keyring)) {
    invocation.out().text(fmt::format("  {}\n", fingerprint));
  }
  return kExitOk;
}

Result<int> run_trust_list(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_TRY(const std::vector<release::Keyring> kept,
             release::read_kept_keyrings(*api, cluster_call(runtime, invocation)));
  if (wants_json(invocation)) {
    json::Array items;
    for (const release::Keyring& keyring : kept) {
      json::Array keys;
      for (const release::OpenPgpEntity& entity : keyring.entities) {
        keys.push_back(json::Object{{"fingerprint", entity.primary.fingerprint}, {"revoked", entity.primary.revoked}});
      }
      items.push_back(json::Object{{"name", keyring.name}, {"keys", std::move(keys)}});
    }
    invocation.out().document(
        json::write_pretty(result_document(kReleaseTrustKind, kResultOk, {{"keyrings", std::move(items)}})));
    return kExitOk;
  }
  if (kept.empty()) {
    invocation.out().text("No keyring is kept: no release is taken without --keyring or --unsigned.\n");
    return kExitOk;
  }
  std::vector<std::vector<std::string>> rows{{"NAME", "KEY"}};
  for (const release::Keyring& keyring : kept) {
    for (const std::string& fingerprint : fingerprints_of(keyring)) rows.push_back({keyring.name, fingerprint});
  }
  invocation.out().text(align_columns(rows));
  return kExitOk;
}

Result<int> run_trust_remove(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_CHECK_OK(release::forget_keyring(runtime, *api, invocation.value("NAME"), cluster_call(runtime, invocation)));
  return kExitOk;
}

constexpr ExitMeaning kTrustAddExits[] = {{kExitOk, "kept"}, kServerUnreachable};
constexpr ExitMeaning kTrustListExits[] = {{kExitOk, "listed"}, kServerUnreachable};
constexpr ExitMeaning kTrustRemoveExits[] = {
    {kExitOk, "removed"},
    {kExitBlocked, "no keyring has this name; the message lists those there are"},
    kServerUnreachable};

}  // namespace

const CommandSpec kReleaseTrustAddCommand{
    "release trust add",
    "Keep a keyring in the cluster: releases its keys signed are taken from now on.",
    "`strake release apply` wants a signature by a key of any keyring kept here, unless it is given one with "
    "--keyring. "
    "Nothing is kept at first, and a release cannot add its own keys. The keyrings are in StrakeConfig/cluster, which "
    "only administrators may write: not agents, not viewers, not the controllers. To replace one, add the new one "
    "under another name and remove the old one.\n\n"
    "  strake release trust add vendor ./release-key.asc",
    kTrustAddArguments,
    kTrustOptions,
    run_trust_add,
    kTrustAddExits};

const CommandSpec kReleaseTrustListCommand{"release trust list",
                                           "Show whose releases the cluster takes.",
                                           "One line a key, by the name its keyring was added under.\n\n"
                                           "  strake release trust list",
                                           {},
                                           kTrustListOptions,
                                           run_trust_list,
                                           kTrustListExits};

const CommandSpec kReleaseTrustRemoveCommand{
    "release trust remove",
    "Take no more releases of a keyring's keys.",
    "What was published before stays; the next `strake release apply` needs a signature by one of the keyrings left. "
    "Without any left nothing is taken, unless --keyring or --unsigned is given.\n\n"
    "  strake release trust remove vendor",
    kTrustRemoveArguments,
    kTrustOptions,
    run_trust_remove,
    kTrustRemoveExits};

}  // namespace strake::cmd
