// How verbs find their API server: the kubeconfig as kubectl finds it, else the one `strake up` left in the state
// folder.
#pragma once

#include <filesystem>
#include <memory>

#include "base/runtime.h"
#include "cmd/cli/command.h"
#include "kube/cluster_access.h"
#include "kube/https_api.h"

namespace strake::cmd {

inline constexpr OptionSpec kKubeconfigOption{
    "kubeconfig", "FILE", "kubeconfig to use instead of $KUBECONFIG, ~/.kube/config or the one of `strake up`", "",
    kFileValue};
inline constexpr OptionSpec kContextOption{"context", "NAME", "context of the kubeconfig to use"};
/// For verbs that ask something and end.
inline constexpr OptionSpec kTimeoutOption{
    "timeout", "DURATION", "how long the API server may take for all that is asked of it", "1m", kDurationValue};

inline constexpr ExitMeaning kServerUnreachable{kExitUnreachable, "the API server does not answer"};

/// $XDG_STATE_HOME/strake, else ~/.local/state/strake.
std::filesystem::path default_state_dir();

/// Where the server is and who we are there; contacts nobody.
Result<kube::ClusterAccess> find_cluster(const Invocation& invocation);
/// Finds the server; the first question contacts it.
Result<std::unique_ptr<kube::KubeApi>> connect(runtime::Runtime& runtime, const Invocation& invocation);
/// The same, for questions that only a server behind HTTPS can be asked.
Result<std::unique_ptr<kube::HttpsApi>> connect_https(runtime::Runtime& runtime, const Invocation& invocation);

/// As long as --timeout allows, and until the user stops the program.
kube::Call cluster_call(runtime::Runtime& runtime, const Invocation& invocation);

}  // namespace strake::cmd
