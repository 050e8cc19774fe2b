// How verbs find their API server: the kubeconfig as kubectl finds it, else the one `strake up` left in the state
// folder.
#pragma once

#include <filesystem>
#include <memory>

#include "base/runtime.h"
#include "cmd/cli/cli.h"
#include "kube/kube_api.h"

namespace strake::cmd {

inline constexpr OptionSpec kKubeconfigOption{
    "kubeconfig", "FILE", "kubeconfig to use instead of $KUBECONFIG, ~/.kube/config or the one of `strake up`"};
inline constexpr OptionSpec kContextOption{"context", "NAME", "context of the kubeconfig to use"};
inline constexpr OptionSpec kOutputOption{"o,output", "FORMAT", "text or json", "text"};

/// $XDG_STATE_HOME/strake, else ~/.local/state/strake.
std::filesystem::path default_state_dir();

Result<std::unique_ptr<kube::KubeApi>> connect(runtime::Runtime& runtime, const Invocation& invocation);

/// True for json, false for text; anything else is an error.
Result<bool> wants_json(const Invocation& invocation);

}  // namespace strake::cmd
