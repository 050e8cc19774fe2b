#include "base/text_table.h"
#include "base/time.h"
#include "cmd/cli/commands.h"
#include "cmd/input/access_input.h"
#include "codec/yaml.h"
#include "controlplane/enrolment.h"
#include "kube/kubeconfig.h"

namespace strake::cmd {

namespace {

enum class AccessFormat { kText, kWide, kJson, kYaml };
constexpr std::string_view kAccessFormatWords[] = {"text", "wide", "json", "yaml"};
constexpr OptionSpec kAccessListOptions[] = {
    {"o,output", "FORMAT", "text, wide (also serial numbers and reasons), json or yaml", "text",
     one_of(kAccessFormatWords)},
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};
constexpr ArgumentSpec kAccessRevokeArguments[] = {
    {"ID", "of the credential, as `strake access list` shows it", false}};
constexpr OptionSpec kAccessRevokeOptions[] = {{"user", "NAME", "every credential of this user"},
                                               {"node", "NAME", "every credential of this node's agent"},
                                               {"reason", "TEXT", "kept with it, for whoever looks later"},
                                               kKubeconfigOption,
                                               kContextOption,
                                               kTimeoutOption};
constexpr OptionSpec kAccessRenewOptions[] = {
    {"kubeconfig", "FILE", "the kubeconfig whose certificate is renewed, in this file", "", kFileValue},
    kTimeoutOption};

constexpr std::string_view kNoListInKubernetes = "keeps no list of the certificates it signed";
constexpr std::string_view kNoRevocationInKubernetes = "cannot take back a certificate before it ends";

std::vector<std::string> list_row(const json::Value& item, bool wide) {
  const auto text = [&](std::string_view field) {
    const std::string value = answer_text(item, field);
    return value.empty() ? std::string("-") : value;
  };
  std::vector<std::string> row{
      text("id"),     text("kind"),    text("role"),  answer_text(item, "node").empty() ? text("user") : text("node"),
      text("issued"), text("expires"), text("state"), text("renewed")};
  if (wide) {
    row.push_back(text("user"));
    row.push_back(text("serial"));
    row.push_back(text("reason"));
  }
  return row;
}

Result<int> run_access_list(const Invocation& invocation) {
  const auto format = invocation.choice<AccessFormat>("output");
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const AccessServer server, connect_access(runtime, invocation, call));
  if (!server.issues) {
    return kubernetes_has_its_own_way(kNoListInKubernetes,
                                      "`kubectl get csr` shows requests of the last hour, `kubectl get "
                                      "clusterrolebindings -o wide` who is bound to which role");
  }
  STRAKE_TRY(const json::Value answer, server.get("credentials", call));
  if (format == AccessFormat::kJson) {
    invocation.out().document(json::write_pretty(answer));
    return kExitOk;
  }
  if (format == AccessFormat::kYaml) {
    STRAKE_TRY(const std::string text, yaml::emit(answer));
    invocation.out().document(text);
    return kExitOk;
  }
  const bool wide = format == AccessFormat::kWide;
  std::vector<std::vector<std::string>> rows{
      {"ID", "KIND", "ROLE", "USER OR NODE", "ISSUED", "EXPIRES", "STATE", "RENEWED"}};
  if (wide) rows.front().insert(rows.front().end(), {"USER", "SERIAL", "REASON"});
  if (const json::Value* items = json::find(answer, {"credentials"}); items != nullptr && items->is_array()) {
    for (const json::Value& item : items->get_array()) rows.push_back(list_row(item, wide));
  }
  if (rows.size() == 1) {
    invocation.out().text("nothing has been issued yet\n");
    return kExitOk;
  }
  invocation.out().text(align_columns(rows));
  return kExitOk;
}

Result<int> run_access_revoke(const Invocation& invocation) {
  json::Object body;
  for (const auto& [field, name] : {std::pair("id", "ID"), std::pair("user", "user"), std::pair("node", "node")}) {
    if (const std::string& value = invocation.value(name); !value.empty()) body[field] = value;
  }
  if (body.size() != 1) return error(Code::kInvalidArgument, "say what to revoke: ID, --user NAME or --node NAME");
  if (const std::string& reason = invocation.value("reason"); !reason.empty()) body["reason"] = reason;
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const AccessServer server, connect_access(runtime, invocation, call));
  if (!server.issues) {
    return kubernetes_has_its_own_way(
        kNoRevocationInKubernetes,
        "take the rights away instead: remove the user, or its group, from the bindings of deploy/rbac (`kubectl edit "
        "clusterrolebinding ...`); the certificate ends by itself, which is why they are short");
  }
  STRAKE_TRY(const json::Value answer, blocked_when_absent(server.post("revocations", body, call)));
  const json::Value* revoked = json::find(answer, {"revoked"});
  if (revoked == nullptr || !revoked->is_array() || revoked->get_array().empty()) {
    invocation.out().text("none of them counted any more\n");
    return kExitOk;
  }
  for (const json::Value& item : revoked->get_array()) {
    invocation.out().text(fmt::format("revoked {} {} of {}\n", answer_text(item, "kind"), answer_text(item, "id"),
                                      answer_text(item, "user")));
  }
  return kExitOk;
}

Result<int> run_access_renew(const Invocation& invocation) {
  const std::filesystem::path file = invocation.path("kubeconfig");
  if (file.empty()) return error(Code::kInvalidArgument, "--kubeconfig FILE is missing: the file to renew in");
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const auto renewal, controlplane::renew_kubeconfig(runtime, file, call));
  if (!renewal) return error(Code::kInvalidArgument, "{}: holds no client certificate to renew", file.string());
  invocation.out().text(fmt::format("{}: {}, good until {}\n", renewal->user,
                                    renewal->renewed ? "renewed" : "not due yet", format_rfc3339(renewal->expires)));
  return kExitOk;
}

constexpr ExitMeaning kAccessListExits[] = {
    {kExitOk, "shown"}, {kExitBlocked, "the API server is Kubernetes, which keeps no such list"}, kServerUnreachable};
constexpr ExitMeaning kAccessRevokeExits[] = {
    {kExitOk, "revoked, or it did not count any more"},
    {kExitBlocked, "there is no such credential; or the API server is Kubernetes, which revokes none"},
    kServerUnreachable};
constexpr ExitMeaning kAccessRenewExits[] = {{kExitOk, "renewed, or not due yet"}, kServerUnreachable};

}  // namespace

const CommandSpec kAccessListCommand{
    "access list",
    "List the credentials an API server of `strake up` has issued.",
    "Certificates with their state and last renewal, tokens with their end. Tokens themselves are shown once, when "
    "they "
    "are issued, and kept nowhere; a revoked token leaves the list. The administrator's own certificate "
    "(DIR/kubeconfig "
    "of `strake up`) is not in it: it belongs to whoever owns that folder. Needs an administrator's kubeconfig.\n\n"
    "  strake access list -o wide",
    {},
    kAccessListOptions,
    run_access_list,
    kAccessListExits};

const CommandSpec kAccessRevokeCommand{
    "access revoke",
    "Take back a credential: a token, a certificate, or all of a user or node.",
    "It counts at once: the next request with it is refused. A node's join tokens go with its certificate, so that it "
    "cannot come back by itself. On Kubernetes nothing can be revoked; the message says what to do there.\n\n"
    "  strake access revoke bq7f2xk9wd --reason \"laptop lost\"\n"
    "  strake access revoke --node worker-3",
    kAccessRevokeArguments,
    kAccessRevokeOptions,
    run_access_revoke,
    kAccessRevokeExits};

const CommandSpec kAccessRenewCommand{
    "access renew",
    "Renew the certificate of a kubeconfig, in the file, when it is time.",
    "With the certificate itself as proof and a new key made here. It is time when less than a third of its life is "
    "left, or when the server's authorities have changed, whose list is written along. Agents do the same by "
    "themselves.\n\n"
    "  strake access renew --kubeconfig ann.kubeconfig",
    {},
    kAccessRenewOptions,
    run_access_renew,
    kAccessRenewExits};

}  // namespace strake::cmd
