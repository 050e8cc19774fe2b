#include "cmd/version.h"

#include "cmd/cli/commands.h"
#include "cmd/input/connection.h"
#include "cmd/output/format.h"

namespace strake::cmd {

namespace {

constexpr OptionSpec kVersionOptions[] = {{"server", "", "ask the API server for its version too"},
                                          kOutputOption,
                                          kKubeconfigOption,
                                          kContextOption,
                                          kTimeoutOption};
constexpr ExitMeaning kVersionExits[] = {{kExitOk, "printed"}, kServerUnreachable};

Result<int> run_version(const Invocation& invocation) {
  json::Object versions{{"client", json::Object{{"version", kVersion}}}};
  std::string text = fmt::format("strake {}\n", kVersion);
  if (invocation.is_set("server")) {
    runtime::ThreadRuntime runtime;
    STRAKE_TRY(const auto api, connect_https(runtime, invocation));
    STRAKE_TRY_CONTEXT(json::Value server, api->get_raw({"version"}, cluster_call(runtime, invocation)),
                       "asking the API server for its version");
    text += fmt::format("API server {}\n", json::find_string(server, {"gitVersion"}).value_or("of unknown version"));
    versions["server"] = std::move(server);
  }
  wants_json(invocation) ? invocation.out().document(json::write_pretty(versions)) : invocation.out().text(text);
  return kExitOk;
}

}  // namespace

const CommandSpec kVersionCommand{
    "version",
    "Print the version of this program, and of the API server if asked.",
    "-o json prints an object with client.version and, with --server, what the server says about itself under "
    "server.\n\n"
    "  strake version\n"
    "  kubectl strake version --server -o json",
    {},
    kVersionOptions,
    run_version,
    kVersionExits};

}  // namespace strake::cmd
