#include "base/text.h"
#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/input/text_input.h"
#include "cmd/output/shell_words.h"
#include "controlplane/enrolment.h"

namespace strake::cmd {

namespace {

constexpr std::size_t kMaxTokenFileText = 4096;
constexpr std::size_t kMaxAuthorityFile = 4u << 20;
constexpr std::string_view kHashPrefix = "sha256:";

constexpr ArgumentSpec kAgentJoinArguments[] = {{"URL", "of the API server, as in https://192.0.2.1:7443"}};
constexpr OptionSpec kAgentJoinOptions[] = {
    {"token", "TOKEN", "the join token; other users of this machine see it in the list of processes"},
    {"token-file", "FILE", "a file with the join token, `-` for standard input", "", kFileValue},
    {"ca-hash", "sha256:HEX", "fingerprint of the server's authority, as `strake access issue join-token` prints it"},
    {"certificate-authority", "FILE", "the server's authority (PEM), instead of its fingerprint", "", kFileValue},
    {"root", "DIR", "folder that stands for the machine's root; the kubeconfig goes to DIR/var/lib/strake/agent", "",
     kFolderValue},
    kTimeoutOption};

Result<std::string> given_token(const Invocation& invocation) {
  const std::string &token = invocation.value("token"), &file = invocation.value("token-file");
  if (token.empty() == file.empty()) {
    return error(
        Code::kInvalidArgument,
        "give the join token with --token-file FILE or --token TOKEN; `strake access issue join-token` makes one");
  }
  if (!token.empty()) return token;
  STRAKE_TRY_CONTEXT(const std::string text, read_text_input(file, kMaxTokenFileText), "--token-file");
  if (trimmed(text).empty()) return error(Code::kInvalidArgument, "--token-file {}: holds no token", file);
  return std::string(trimmed(text));
}

Result<int> run_agent_join(const Invocation& invocation) {
  controlplane::JoinOptions options;
  options.server = invocation.value("URL");
  options.root = invocation.path("root");
  if (!options.server.starts_with("https://")) {
    return error(Code::kInvalidArgument, "'{}' is no https URL; write it as https://HOST:7443", options.server);
  }
  if (options.root.empty())
    return error(Code::kInvalidArgument, "--root DIR is missing; the agent works on a sandbox folder");
  std::error_code failure;
  if (!std::filesystem::is_directory(options.root, failure))
    return error(Code::kNotFound, "--root {}: no such folder; create it first", options.root.string());
  STRAKE_TRY(options.token, given_token(invocation));
  invocation.out().conceal(options.token);
  const std::string &hash = invocation.value("ca-hash"), &file = invocation.value("certificate-authority");
  if (hash.empty() == file.empty()) {
    return error(Code::kInvalidArgument,
                 "say whom to trust: --ca-hash sha256:HEX (`strake access issue join-token` prints it) or "
                 "--certificate-authority FILE");
  }
  if (!hash.empty()) {
    if (!hash.starts_with(kHashPrefix))
      return error(Code::kInvalidArgument, "--ca-hash: '{}' does not begin with sha256:", hash);
    options.ca_sha256 = lower_case(std::string_view(hash).substr(kHashPrefix.size()));
  } else {
    STRAKE_TRY_CONTEXT(options.ca_pem, read_text_input(file, kMaxAuthorityFile), "--certificate-authority");
  }
  runtime::ThreadRuntime runtime;
  STRAKE_TRY(const controlplane::Joined joined,
             controlplane::join_machine(runtime, options, cluster_call(runtime, invocation)));
  invocation.out().text(fmt::format(
      "joined as node {}; certificate good until {}, renewed by the agent before: {}\nnext: {} agent --root {}\n",
      joined.node, joined.expires, joined.kubeconfig.string(), program_to_paste(invocation.program),
      shell_word(options.root.string())));
  return kExitOk;
}

constexpr ExitMeaning kAgentJoinExits[] = {
    {kExitOk, "joined"},
    {kExitBlocked, "a node of that name exists, or this machine has joined already; the message says what to do"},
    {kExitUnreachable, "the API server does not answer"}};

}  // namespace

const CommandSpec kAgentJoinCommand{
    "agent join",
    "Make this machine a node of a control plane of `strake up`.",
    "The key is made on this machine and never leaves it; the server signs a certificate for the node the token names, "
    "and makes the Node. The result is a kubeconfig (mode 0600) that `strake agent --root DIR` takes by itself and "
    "renews before it ends. Killed halfway, it can be repeated with the same token. The server is verified from "
    "the first byte on.\n\n"
    "  strake agent join https://192.0.2.1:7443 --ca-hash sha256:... --token-file w3.token --root /srv/w3",
    kAgentJoinArguments,
    kAgentJoinOptions,
    run_agent_join,
    kAgentJoinExits};

}  // namespace strake::cmd
