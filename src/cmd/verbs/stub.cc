#include <algorithm>

#include "base/time.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/stub_input.h"
#include "cmd/input/text_input.h"
#include "cmd/output/format.h"
#include "cmd/output/result_document.h"
#include "cmd/output/stub_text.h"
#include "net/http_client.h"
#include "stub/identity/identity_effects.h"

namespace strake::cmd {

namespace {

enum class StubFormat { kText, kWide, kJson };
constexpr std::string_view kStubFormatWords[] = {"text", "wide", "json"};
constexpr OptionSpec kStubFormatOption{"o,output", "FORMAT",
                                       "text, wide (also authorities, sizes, who writes it) or json", "text",
                                       one_of(kStubFormatWords)};
constexpr OptionSpec kStubFileOption{"f,filename", "FILE",
                                     "a stub in a file, - for standard input, instead of a cluster", "", kFileValue};
constexpr ArgumentSpec kStubName[] = {{"SECRET", "name of the stub's Secret, or NAMESPACE/NAME", false}};
constexpr ArgumentSpec kStubNames[] = {
    {"SECRET", "names of the stubs' Secrets, or NAMESPACE/NAME; all without names", false, true}};
constexpr OptionSpec kStubListOptions[] = {
    kStubFormatOption,
    {"callers", "",
     "instead of stubs the newest 1,000 callers of the config servers: who asked, for what, with what result"},
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};
constexpr OptionSpec kStubShowOptions[] = {kStubFileOption, kOutputOption, kKubeconfigOption, kContextOption,
                                           kTimeoutOption};
constexpr OptionSpec kStubCheckOptions[] = {
    kStubFileOption,
    {"ask", "", "also ask every config server a stub names, with the stub's own authorities"},
    {"connect", "HOST:PORT", "with --ask: where to ask, instead of where the stub's host leads from here", "",
     kEndpointValue},
    kOutputOption,
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};
constexpr OptionSpec kCertsCheckOptions[] = {
    {"connect", "HOST:PORT", "also ask the config server here, as a machine with each stub would", "", kEndpointValue},
    kOutputOption,
    kKubeconfigOption,
    kContextOption,
    kTimeoutOption};

std::chrono::sys_seconds present() {
  return std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now());
}

/// A stub that cannot be read is one finding.
std::vector<stub::StubFinding> check_one(const NamedStub& named, const ClusterStubs* cluster) {
  if (!named.stub.ok()) {
    return {{stub::Severity::kError, stub::stub_rule::kUnreadable, named.stub.error().to_string(),
             "put a stub there: `strake stub show` on one that works is an example"}};
  }
  stub::StubCheckInput input{*named.stub, present()};
  if (cluster != nullptr) {
    if (!cluster->server.chain.empty()) input.server = &cluster->server;
    input.pools = cluster->pools;
    if (cluster->access) input.access = &*cluster->access;
    input.uses = &cluster->uses;
  }
  return stub::check_stub(input);
}

std::vector<CheckedStub> check_all_of(std::span<const NamedStub> stubs, const ClusterStubs* cluster) {
  std::vector<CheckedStub> checked;
  const stub::AccessBook* access = cluster != nullptr && cluster->access ? &*cluster->access : nullptr;
  checked.reserve(stubs.size());
  for (const NamedStub& named : stubs) checked.push_back({&named, check_one(named, cluster), access});
  return checked;
}

/// What a machine with this stub would be told: the handshake and nothing that needs a token.
std::optional<stub::StubFinding> ask_server(const stub::Stub& stub, const std::optional<net::Endpoint>& where,
                                            const kube::Call& call) {
  for (const stub::Pointer& pointer : stub.pointers) {
    if (pointer.pool.empty() || pointer.scheme != "https") continue;
    net::ClientOptions options;
    options.ca_pem = net::to_pem(stub.trusted());
    options.also_trust_system_roots = stub.authorities.empty();
    options.proxy = net::ProxySettings{};
    net::Endpoint server{pointer.host, pointer.port};
    const std::string url = fmt::format("https://{}/healthz", server.to_string());
    if (where) options.known_addresses[server.to_string()] = where->to_string();
    const auto client = net::HttpClient::create(options);
    if (!client.ok()) return std::nullopt;  // authorities that cannot be read were said already
    const auto answer = client->send({"GET", url, {}, {}},
                                     {.timeout = std::chrono::seconds(10), .idle_timeout = {}, .stop = call.stop});
    if (answer.ok() && answer->status == 200) continue;
    const bool distrust = !answer.ok() && answer.error().code() == Code::kDenied;
    return stub::StubFinding{
        stub::Severity::kError, distrust ? stub::stub_rule::kUntrusted : stub::stub_rule::kNoAnswer,
        answer.ok() ? fmt::format("{} answers {}", url, answer->status)
                    : fmt::format("{}: {}", url, answer.error().to_string()),
        distrust ? "put the server's authority into the stub, or a certificate for that host on the server"
                 : "look whether the config server runs there and can be reached from here"};
  }
  return std::nullopt;
}

void ask_servers(std::vector<CheckedStub>& checked, const std::optional<net::Endpoint>& where, const kube::Call& call) {
  for (CheckedStub& one : checked) {
    if (!one.stub->stub.ok()) continue;
    if (auto finding = ask_server(*one.stub->stub, where, call)) {
      one.findings.insert(one.findings.begin(), *std::move(finding));
    }
  }
}

std::optional<net::Endpoint> connect_option(const Invocation& invocation) {
  return invocation.has("connect") ? std::optional(invocation.endpoint("connect")) : std::nullopt;
}

json::Value stubs_json(std::string_view kind, std::span<const CheckedStub> checked, json::Object body = {}) {
  json::Array list;
  stub::Severity worst = stub::Severity::kFine;
  for (const CheckedStub& one : checked) {
    list.push_back(stub_json(one));
    worst = std::max(worst, worst_of(one.findings));
  }
  body["stubs"] = std::move(list);
  return result_document(kind, worst == stub::Severity::kError ? "found" : kResultOk, std::move(body));
}

bool any_error(std::span<const CheckedStub> checked) {
  return std::ranges::any_of(checked,
                             [](const CheckedStub& one) { return worst_of(one.findings) == stub::Severity::kError; });
}

/// Where it is not known who may ask, nothing can be said about tokens.
void warn_of_access(const ClusterStubs& cluster, const Invocation& invocation) {
  if (!cluster.access_problem.empty()) invocation.out().warn(cluster.access_problem);
}

Result<int> list_callers(kube::KubeApi& api, const Invocation& invocation, const kube::Call& call, bool as_json) {
  STRAKE_TRY(const stub::CallerPages pages, read_callers(api, call));
  const std::vector<stub::Caller> callers = stub::newest_callers(pages);
  if (as_json) {
    json::Array list;
    list.reserve(callers.size());
    for (const stub::Caller& caller : callers) list.push_back(caller_json(caller));
    invocation.out().report(result_document("StubCallerList", kResultOk, {{"callers", std::move(list)}}));
  } else if (callers.empty()) {
    invocation.out().text(
        "no config server has told of a caller; each does within ten seconds, into ConfigMap "
        "strake-config-server-callers\n");
  } else {
    invocation.out().text(callers_table(callers));
  }
  return kExitOk;
}

Result<int> run_stub_list(const Invocation& invocation) {
  const auto format = invocation.choice<StubFormat>("output");
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  if (invocation.is_set("callers")) {
    return list_callers(*api, invocation, cluster_call(runtime, invocation), format == StubFormat::kJson);
  }
  STRAKE_TRY(const ClusterStubs cluster, read_cluster_stubs(*api, cluster_call(runtime, invocation)));
  warn_of_access(cluster, invocation);
  const std::vector<CheckedStub> checked = check_all_of(cluster.stubs, &cluster);
  if (format == StubFormat::kJson) {
    invocation.out().report(stubs_json("StubList", checked));
  } else if (checked.empty()) {
    invocation.out().text("there are no stubs: no machine set or machine names one, and no Secret has a known name\n");
  } else {
    invocation.out().text(stub_table(checked, format == StubFormat::kWide));
  }
  return kExitOk;
}

Result<int> run_stub_show(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  std::vector<NamedStub> stubs;
  std::optional<stub::AccessBook> access;
  if (invocation.has("filename") == !invocation.value("SECRET").empty()) {
    return error(Code::kInvalidArgument, "say which stub: SECRET, or -f FILE");
  }
  if (invocation.has("filename")) {
    STRAKE_TRY(NamedStub named, read_stub_file(invocation.value("filename")));
    stubs.push_back(std::move(named));
  } else {
    runtime::ThreadRuntime runtime;
    STRAKE_TRY(const auto api, connect(runtime, invocation));
    STRAKE_TRY(ClusterStubs cluster, read_cluster_stubs(*api, cluster_call(runtime, invocation)));
    warn_of_access(cluster, invocation);
    STRAKE_TRY(stubs, chosen_stubs(std::move(cluster.stubs), {invocation.value("SECRET")}));
    access = std::move(cluster.access);
  }
  const CheckedStub checked{&stubs.front(), check_one(stubs.front(), nullptr), access ? &*access : nullptr};
  if (as_json) {
    invocation.out().report(result_document("Stub", kResultOk, {{"stub", stub_json(checked)}}));
  } else {
    invocation.out().text(stub_details(checked));
  }
  return stubs.front().stub.ok() ? kExitOk : kExitError;
}

Result<int> run_stub_check(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  const auto where = connect_option(invocation);
  if (where && !invocation.is_set("ask")) {
    return error(Code::kInvalidArgument, "--connect says where to --ask: give both");
  }
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  std::vector<NamedStub> stubs;
  std::optional<ClusterStubs> cluster;
  if (invocation.has("filename")) {
    STRAKE_TRY(NamedStub named, read_stub_file(invocation.value("filename")));
    stubs.push_back(std::move(named));
  } else {
    STRAKE_TRY(const auto api, connect(runtime, invocation));
    STRAKE_TRY(cluster, read_cluster_stubs(*api, call));
    warn_of_access(*cluster, invocation);
    STRAKE_TRY(stubs, chosen_stubs(cluster->stubs, invocation.list("SECRET")));
  }
  std::vector<CheckedStub> checked = check_all_of(stubs, cluster ? &*cluster : nullptr);
  if (invocation.is_set("ask")) ask_servers(checked, where, call);
  if (as_json) {
    invocation.out().report(stubs_json("StubCheck", checked));
  } else {
    const std::string findings = findings_text(checked);
    invocation.out().text(findings.empty() ? fmt::format("{} stubs, nothing against them\n", checked.size())
                                           : findings);
  }
  return any_error(checked) ? kExitDiffers : kExitOk;
}

/// What is wrong with the server's certificate by itself.
std::vector<stub::StubFinding> check_server(const ClusterStubs& cluster) {
  std::vector<stub::StubFinding> findings;
  if (cluster.server.chain.empty() && cluster.server_problem.empty()) {
    findings.push_back({stub::Severity::kError, stub::stub_rule::kNoCertificate,
                        "there is no Secret machine-config-server-tls in openshift-machine-config-operator",
                        "make one, or start the config server with --tls-cert and --tls-key"});
    return findings;
  }
  if (!cluster.server_problem.empty()) {
    findings.push_back({stub::Severity::kError, stub::stub_rule::kNoCertificate,
                        "Secret machine-config-server-tls: " + cluster.server_problem,
                        "put a certificate and its key there"});
  }
  if (!cluster.server.chain.empty()) {
    for (stub::StubFinding& finding : stub::check_server_certificate(cluster.server.chain.front(), present())) {
      findings.push_back(std::move(finding));
    }
  }
  return findings;
}

/// When the authority is to be replaced, or how far that is; "" where nobody can say.
std::string rotation_text(kube::KubeApi& api, const kube::Call& call) {
  auto input = stub::read_identity(api, std::nullopt, present(), call);
  if (!input.ok() || !stub::read_rotation(api, *input, call).ok()) return "";
  const stub::IdentityPlan plan = stub::plan_identity(*input);
  if (plan.rotation.stage != stub::RotationStage::kNone) {
    return fmt::format("under way ({}); `strake certs rotate` goes on with it", stub::to_string(plan.rotation.stage));
  }
  return plan.rotation_due ? fmt::format("due {}", format_rfc3339(*plan.rotation_due)) : "";
}

Result<int> run_certs_check(const Invocation& invocation) {
  const bool as_json = wants_json(invocation);
  runtime::ThreadRuntime runtime;
  const kube::Call call = cluster_call(runtime, invocation);
  STRAKE_TRY(const auto api, connect(runtime, invocation));
  STRAKE_TRY(const ClusterStubs cluster, read_cluster_stubs(*api, call));
  std::vector<CheckedStub> checked = check_all_of(cluster.stubs, &cluster);
  for (CheckedStub& one : checked) {
    std::erase_if(one.findings, [](const stub::StubFinding& finding) { return !stub::is_about_trust(finding.rule); });
  }
  if (const auto where = connect_option(invocation)) ask_servers(checked, where, call);
  const std::vector<stub::StubFinding> server = check_server(cluster);
  const std::string rotation = rotation_text(*api, call);
  if (as_json) {
    invocation.out().report(stubs_json("CertificateCheck", checked,
                                       {{"server", server_json(cluster.server, server)}, {"rotation", rotation}}));
  } else {
    invocation.out().text(server_text(cluster.server, server) +
                          (rotation.empty() ? "" : fmt::format("rotation   {}\n", rotation)) + "\n" +
                          stub_table(checked, true) + findings_text(checked));
  }
  return any_error(checked) || worst_of(server) == stub::Severity::kError ? kExitDiffers : kExitOk;
}

constexpr ExitMeaning kStubListExits[] = {{kExitOk, "shown"}, kServerUnreachable};
constexpr ExitMeaning kStubShowExits[] = {
    {kExitOk, "shown"}, {kExitBlocked, "there is no such stub"}, kServerUnreachable};
constexpr ExitMeaning kStubCheckExits[] = {{kExitOk, "machines can read them, and are answered; there may be warnings"},
                                           {kExitDiffers, "a stub would keep a machine from joining"},
                                           {kExitBlocked, "there is no such stub"},
                                           kServerUnreachable};
constexpr ExitMeaning kCertsCheckExits[] = {
    {kExitOk, "every stub trusts the config server's certificate"},
    {kExitDiffers, "the certificate or a stub would keep machines from joining"},
    kServerUnreachable};

}  // namespace

const CommandSpec kStubListCommand{
    "stub list",
    "List the stubs new machines are born with, and who uses them.",
    "A stub is the small Ignition config in a machine's user data: where the rest is, and whom to trust for it. Found "
    "by what MachineSets, ControlPlaneMachineSets, Machines and Cluster API objects name, and by the names the "
    "platform gives (*-user-data, *-user-data-managed). STATE is what `strake stub check` would say; TOKEN the id of "
    "the "
    "token it shows the config server.\n\n"
    "With --callers: who asked the config servers, newest first. SHOWED is the token's id or the certificate's name, "
    "or "
    "what would be held against it once credentials are required.\n\n"
    "  strake stub list -o wide\n"
    "  strake stub list --callers -o json",
    {},
    kStubListOptions,
    run_stub_list,
    kStubListExits};

const CommandSpec kStubShowCommand{"stub show",
                                   "Show what a stub says: version, server, pool, authorities, token, size.",
                                   "From a cluster by the name of its Secret, or from a file in any form machines are "
                                   "given it: JSON, gzipped JSON, or "
                                   "that in base64. A token is named, never shown.\n\n"
                                   "  strake stub show worker-user-data\n"
                                   "  strake stub show -f worker.ign",
                                   kStubName,
                                   kStubShowOptions,
                                   run_stub_show,
                                   kStubShowExits};

const CommandSpec kStubCheckCommand{
    "stub check",
    "Say whether a machine born with a stub could join.",
    "Can an image of today read it, does it name a pool that is there, does the server's certificate (Secret "
    "machine-config-server-tls) carry the stub's host and come from an authority the stub trusts, and how long do both "
    "live; does the config server know its token, for this pool, and until when. Each finding comes with what to do. "
    "With --ask the server itself is asked, as the machine would.\n\n"
    "  strake stub check\n"
    "  strake stub check worker-user-data --ask --connect 192.0.2.10:22623\n"
    "  strake stub check -f worker.ign --ask",
    kStubNames,
    kStubCheckOptions,
    run_stub_check,
    kStubCheckExits};

const CommandSpec kCertsCheckCommand{
    "certs check",
    "Check the config server's certificate against every stub.",
    "The certificate in Secret machine-config-server-tls: its names (a common name alone counts for nothing any more), "
    "its key, its end; then one row a stub: does it trust that certificate, for the host it names. With --connect the "
    "server is asked as well, with each stub's own authorities.\n\n"
    "  strake certs check --connect 192.0.2.10:22623",
    {},
    kCertsCheckOptions,
    run_certs_check,
    kCertsCheckExits};

}  // namespace strake::cmd
