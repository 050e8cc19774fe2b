#include "cmd/cli/completion.h"

#include "cmd/cli/commands.h"

namespace strake::cmd {

namespace {

constexpr ArgumentSpec kCompletionArguments[] = {{"SHELL", "bash, zsh or fish", true, false, one_of(kShellWords)}};
constexpr ExitMeaning kCompletionExits[] = {{kExitOk, "printed"}};

Result<int> run_completion(const Invocation& invocation) {
  invocation.out().document(completion_script(invocation.choice<Shell>("SHELL"), all_commands()));
  return kExitOk;
}

}  // namespace

const CommandSpec kCompletionCommand{
    "completion",
    "Print a completion script for a shell.",
    "The script knows every verb, option and word of this version; nothing is asked of a cluster.\n\n"
    "  source <(strake completion bash)                                    in ~/.bashrc\n"
    "  source <(strake completion zsh)                                     in ~/.zshrc, behind compinit\n"
    "  strake completion fish > ~/.config/fish/completions/strake.fish",
    kCompletionArguments,
    {},
    run_completion,
    kCompletionExits};

}  // namespace strake::cmd
