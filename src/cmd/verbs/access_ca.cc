#include "base/text_table.h"
#include "cmd/cli/commands.h"
#include "cmd/input/access_input.h"
#include "cmd/output/format.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kCaShowOptions[] = {kOutputOption, kKubeconfigOption, kContextOption, kTimeoutOption};
constexpr OptionSpec kCaRotateOptions[] = {
    {"leave-behind", "",
     "take the step although credentials are not ready for it: each has to be issued or joined again"},
    {"dry-run", "", "only say which step is next and who is not ready for it"},
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};

Error no_ca_in_kubernetes() {
  return kubernetes_has_its_own_way("has authorities of its own", "rotate them as your distribution says");
}

std::string_view what_is_now(std::string_view step) {
  if (step == "announced") return "the new authority is trusted, the old one still signs";
  if (step == "signing") return "the new authority signs, the old one is still trusted";
  return "one authority, nothing under way";
}

std::string_view what_is_next(std::string_view step) {
  if (step == "announced") return "let the new authority sign";
  if (step == "signing") return "retire the old authority";
  return "make a new authority, to be trusted beside the old one";
}

std::size_t print_missing(const json::Value& authority, Output& out) {
  const json::Value* missing = json::find(authority, {"missing"});
  if (missing == nullptr || !missing->is_array() || missing->get_array().empty()) return 0;
  std::vector<std::vector<std::string>> rows{{"ID", "USER OR NODE", "WHY"}};
  for (const json::Value& item : missing->get_array()) {
    const std::string node = answer_text(item, "node");
    rows.push_back(
        {answer_text(item, "id"), node.empty() ? answer_text(item, "user") : node, answer_text(item, "why")});
  }
  out.text("not ready for the next step:\n" + align_columns(rows));
  return missing->get_array().size();
}

void print_authority(const json::Value& authority, Output& out) {
  const std::string step = answer_text(authority, "rotation");
  out.text(fmt::format("{}: {}\n", step, what_is_now(step)));
  if (const json::Value* trusted = json::find(authority, {"trusted"}); trusted != nullptr && trusted->is_array()) {
    for (const json::Value& item : trusted->get_array()) {
      out.text(fmt::format("  sha256:{}  until {}  {}\n", answer_text(item, "sha256"), answer_text(item, "notAfter"),
                           json::find_bool(item, {"signs"}).value_or(false) ? "signs" : "trusted"));
    }
  }
}

Result<int> run_ca_show(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const AccessServer server, connect_access(runtime, invocation, call));
  if (!server.issues) return no_ca_in_kubernetes();
  if (wants_json(invocation)) {
    invocation.out().document(json::write_pretty(server.authority));
    return kExitOk;
  }
  print_authority(server.authority, invocation.out());
  const std::size_t missing = print_missing(server.authority, invocation.out());
  const std::string step = answer_text(server.authority, "rotation");
  if (step != "settled" && missing == 0) {
    invocation.out().text(
        fmt::format("everybody is ready; next: {} (`strake access ca rotate`)\n", what_is_next(step)));
  }
  return kExitOk;
}

Result<int> run_ca_rotate(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const AccessServer server, connect_access(runtime, invocation, call));
  if (!server.issues) return no_ca_in_kubernetes();
  const std::string step = answer_text(server.authority, "rotation");
  invocation.out().text(fmt::format("next step: {}\n", what_is_next(step)));
  const std::size_t missing = print_missing(server.authority, invocation.out());
  if (invocation.is_set("dry-run")) return kExitOk;
  const bool leave_behind = invocation.is_set("leave-behind");
  if (missing > 0 && !leave_behind) {
    return error(Code::kConflict,
                 "{} credentials are not ready for this step and would stop working; agents renew within ten minutes, "
                 "kubeconfigs of people with `strake access renew`, tokens are issued again; or revoke them, or give "
                 "--leave-behind",
                 missing)
        .with_verdict(Verdict::kBlocked);
  }
  auto done = server.post("authority", {{"from", step}, {"leaveBehind", leave_behind}}, call);
  if (!done.ok()) {
    if (done.error().code() == Code::kConflict) return std::move(done).error().with_verdict(Verdict::kBlocked);
    return std::move(done).error();
  }
  print_authority(*done, invocation.out());
  print_missing(*done, invocation.out());
  return kExitOk;
}

constexpr ExitMeaning kCaShowExits[] = {
    {kExitOk, "shown"}, {kExitBlocked, "the API server is Kubernetes"}, kServerUnreachable};
constexpr ExitMeaning kCaRotateExits[] = {
    {kExitOk, "the step was taken; with --dry-run: shown"},
    {kExitBlocked, "credentials are not ready for the step, and are named; or the API server is Kubernetes"},
    kServerUnreachable};

}  // namespace

const CommandSpec kAccessCaShowCommand{
    "access ca show",
    "Show the authorities an API server of `strake up` trusts, and how far a rotation is.",
    "With an administrator's kubeconfig also who is not ready for the next step, and why.\n\n"
    "  strake access ca show",
    {},
    kCaShowOptions,
    run_ca_show,
    kCaShowExits};

const CommandSpec kAccessCaRotateCommand{
    "access ca rotate",
    "Take the next step towards a new authority; run it three times, some minutes apart.",
    "1. A new authority is made and trusted beside the old one. Agents learn of it and renew within ten minutes.\n\n"
    "2. The new one signs, for the server too; agents renew once more.\n\n"
    "3. The old one is retired.\n\n"
    "A step is refused while somebody is not ready for it, and names them. The running server takes each step without "
    "a restart, and writes its administrator's kubeconfig again. Connections that are open at the third step stay "
    "until "
    "they end: where the old key was stolen, restart `strake up` after it.\n\n"
    "  strake access ca rotate --dry-run\n"
    "  strake access ca rotate",
    {},
    kCaRotateOptions,
    run_ca_rotate,
    kCaRotateExits};

}  // namespace strake::cmd
