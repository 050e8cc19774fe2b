#include <algorithm>

#include "base/fd.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/stub_input.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "cmd/output/stub_text.h"
#include "stub/access_store.h"

namespace strake::cmd {

namespace {

constexpr std::size_t kMaxClientCaBytes = std::size_t{256} << 10;

constexpr OptionSpec kAuthShowOptions[] = {kOutputOption, kKubeconfigOption, kContextOption, kTimeoutOption};
constexpr ArgumentSpec kAuthSetArguments[] = {{"MODE", "open or require", true, false, one_of(stub::kAccessModeWords)}};
constexpr OptionSpec kAuthSetOptions[] = {
    {"yes", "", "require although stubs would stop working"},
    {"client-ca", "FILE", "PEM: client certificates of these authorities count; O=strake:pool:POOL names the pool", "",
     kFileValue},
    {"no-client-ca", "", "no client certificates count"},
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};

std::chrono::sys_seconds auth_clock() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

std::size_t good_tokens(const stub::AccessBook& book) {
  return static_cast<std::size_t>(std::ranges::count_if(book.tokens(), [](const stub::TokenRecord& record) {
    return stub::judge_token(record, record.pool, auth_clock(), 0) == stub::Standing::kGood;
  }));
}

std::size_t callers_without(const stub::CallerPages& pages) {
  const std::vector<stub::Caller> callers = stub::newest_callers(pages);
  return static_cast<std::size_t>(std::ranges::count_if(
      callers, [](const stub::Caller& caller) { return caller.standing != "good" && caller.reason == "served"; }));
}

Result<int> run_auth_show(const Invocation& invocation) {
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_TRY(const stub::AccessBook book, stub::load_access(*api, call));
  STRAKE_TRY(const stub::CallerPages pages, read_callers(*api, call));
  const bool certificates = !book.client_ca_pem().empty();
  if (wants_json(invocation)) {
    invocation.out().report(result_document("ConfigServerAccess", kResultOk,
                                            {{"mode", stub::to_string(book.mode())},
                                             {"tokens", book.tokens().size()},
                                             {"goodTokens", good_tokens(book)},
                                             {"clientCertificates", certificates},
                                             {"servedWithoutCredential", callers_without(pages)}}));
    return kExitOk;
  }
  invocation.out().text(fmt::format("mode          {}\ntokens        {}, {} of them good\ncertificates  {}\n",
                                    stub::to_string(book.mode()), book.tokens().size(), good_tokens(book),
                                    certificates ? "of the authorities in client-ca.crt" : "do not count"));
  if (const std::size_t without = callers_without(pages); without > 0) {
    invocation.out().text(fmt::format(
        "callers       {} got a config without a good credential; `strake stub list --callers` names them\n", without));
  }
  return kExitOk;
}

/// Stubs whose machines would be refused.
std::vector<CheckedStub> would_stop(const ClusterStubs& cluster, const stub::AccessBook& required) {
  std::vector<CheckedStub> stopped;
  for (const NamedStub& named : cluster.stubs) {
    if (!named.stub.ok()) continue;  // no machine gets anywhere with it today
    stub::StubCheckInput input{*named.stub, auth_clock()};
    input.access = &required;
    input.uses = &cluster.uses;
    std::vector<stub::StubFinding> findings = stub::check_stub(input);
    std::erase_if(findings, [](const stub::StubFinding& finding) {
      return !stub::is_about_tokens(finding.rule) || finding.severity != stub::Severity::kError;
    });
    if (!findings.empty()) stopped.push_back({&named, std::move(findings), &required});
  }
  return stopped;
}

Result<std::optional<std::string>> wanted_client_ca(const Invocation& invocation) {
  if (invocation.has("client-ca") && invocation.is_set("no-client-ca")) {
    return error(Code::kInvalidArgument, "--client-ca and --no-client-ca exclude each other");
  }
  if (invocation.is_set("no-client-ca")) return std::optional<std::string>("");
  if (!invocation.has("client-ca")) return std::optional<std::string>();
  STRAKE_TRY_CONTEXT(std::string pem, read_file(invocation.path("client-ca"), kMaxClientCaBytes), "--client-ca");
  const auto bundle = net::parse_bundle(pem);
  if (!bundle.ok()) return Error(bundle.error()).context("--client-ca");
  if (!std::ranges::all_of(*bundle, [](const net::Certificate& one) { return one.info().is_ca; })) {
    return error(Code::kInvalidArgument, "--client-ca: a certificate in it is no authority");
  }
  return std::optional(std::move(pem));
}

Status warn_of_stubs(kube::KubeApi& api, const Invocation& invocation, const kube::Call& call) {
  STRAKE_TRY(const ClusterStubs cluster, read_cluster_stubs(api, call));
  if (!cluster.access) return error(Code::kCorrupt, "{}", cluster.access_problem);
  const stub::AccessBook required(stub::AccessMode::kRequire, cluster.access->tokens(), "");
  const std::vector<CheckedStub> stopped = would_stop(cluster, required);
  if (!stopped.empty()) invocation.out().text("these stubs would stop working:\n" + findings_text(stopped));
  if (const std::size_t without = callers_without(cluster.callers); without > 0) {
    invocation.out().warn(fmt::format(
        "{} of the newest callers got a config without a good credential; `strake stub list --callers` names them",
        without));
  }
  if (stopped.empty() || invocation.is_set("yes")) return {};
  return error(Code::kConflict,
               "{} {} would stop working, so nothing was changed; give them tokens, or repeat with --yes",
               stopped.size(), stopped.size() == 1 ? "stub" : "stubs")
      .with_verdict(Verdict::kBlocked);
}

Result<int> run_auth_set(const Invocation& invocation) {
  const auto mode = invocation.choice<stub::AccessMode>("MODE");
  STRAKE_TRY(const std::optional<std::string> client_ca, wanted_client_ca(invocation));
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  if (mode == stub::AccessMode::kRequire) STRAKE_CHECK_OK(warn_of_stubs(*api, invocation, call));
  std::string_view before;
  STRAKE_CHECK_OK(stub::change_access(
      runtime, *api,
      [&](const stub::AccessBook& book) -> Result<stub::AccessBook> {
        before = stub::to_string(book.mode());
        return stub::AccessBook(mode, book.tokens(), client_ca.value_or(book.client_ca_pem()));
      },
      call));
  invocation.out().text(fmt::format("{} -> {}\n", before, stub::to_string(mode)));
  return kExitOk;
}

constexpr ExitMeaning kAuthShowExits[] = {{kExitOk, "shown"}, kServerUnreachable};
constexpr ExitMeaning kAuthSetExits[] = {
    {kExitOk, "set"}, {kExitBlocked, "stubs would stop working; nothing was changed"}, kServerUnreachable};

}  // namespace

const CommandSpec kConfigServerAuthShowCommand{
    "config-server auth show",
    "Show who may ask the config server.",
    "open: whoever reaches its port. require: who shows a token (`strake stub token`) or a client certificate for the "
    "pool.\n\n"
    "  strake config-server auth show",
    {},
    kAuthShowOptions,
    run_auth_show,
    kAuthShowExits};

const CommandSpec kConfigServerAuthSetCommand{
    "config-server auth set",
    "Say who may ask the config server: anybody, or who shows a credential.",
    "Before credentials are required every stub that would stop working is listed with what to do: no token, a spec "
    "that cannot carry one (2.x and 3.0), a token that ended or is for another pool. Then nothing is changed, unless "
    "--yes says so. Stubs outside the cluster are not seen: `strake stub list --callers` shows who asks with them. "
    "Running config servers follow within seconds.\n\n"
    "  strake config-server auth set require\n"
    "  strake config-server auth set require --client-ca clients.pem\n"
    "  strake config-server auth set open",
    kAuthSetArguments,
    kAuthSetOptions,
    run_auth_set,
    kAuthSetExits};

}  // namespace strake::cmd
