#include "cmd/cli/commands.h"

namespace strake::cmd {

namespace {

// One a line, so that a new verb is a new line; verbs of one group stand together.
constexpr const CommandSpec* kCommands[] = {
    &kUpCommand,
    &kReleaseApplyCommand,
    &kReleaseInfoCommand,
    &kReleaseImagesCommand,
    &kReleaseVerifyCommand,
    &kReleaseBootimagesCommand,
    &kReleaseDiffCommand,
    &kReleaseExtractCommand,
    &kReleaseMirrorCommand,
    &kReleaseTrustAddCommand,
    &kReleaseTrustListCommand,
    &kReleaseTrustRemoveCommand,
    &kPlanCommand,
    &kRenderCommand,
    &kDiffCommand,
    &kExplainCommand,
    &kConfigLintCommand,
    &kModeShowCommand,
    &kModeSetCommand,
    &kControllerCommand,
    &kConfigServerCommand,
    &kConfigServerAuthShowCommand,
    &kConfigServerAuthSetCommand,
    &kStubListCommand,
    &kStubShowCommand,
    &kStubCheckCommand,
    &kStubConvertCommand,
    &kStubTokenCreateCommand,
    &kStubTokenListCommand,
    &kStubTokenRevokeCommand,
    &kCertsCheckCommand,
    &kCertsRotateCommand,
    &kAgentCommand,
    &kAgentJoinCommand,
    &kAccessIssueTokenCommand,
    &kAccessIssueJoinTokenCommand,
    &kAccessIssueCertificateCommand,
    &kAccessListCommand,
    &kAccessRevokeCommand,
    &kAccessRenewCommand,
    &kAccessCaShowCommand,
    &kAccessCaRotateCommand,
    &kBootimageCheckCommand,
    &kStreamShowCommand,
    &kStreamGetCommand,
    &kOsInspectCommand,
    &kOsLsCommand,
    &kOsCatCommand,
    &kOsDiffCommand,
    &kOsExtractCommand,
    &kImageVerifyCommand,
    &kIgnitionValidateCommand,
    &kIgnitionShowCommand,
    &kIgnitionConvertCommand,
    &kIgnitionMergeCommand,
    &kVersionCommand,
    &kCompletionCommand,
    &kManCommand,
};

constexpr VerbGroup kVerbGroups[] = {
    {"release",
     "A release: what is in it, whether it is genuine, its boot images; mirror it, publish it to a cluster."},
    {"release trust", "Whose releases a cluster takes: the keyrings it keeps."},
    {"config", "MachineConfigs as files: check them before they reach a cluster."},
    {"mode", "How far Strake may act in a cluster: observe, assist or own."},
    {"access", "Who may use the API server: tokens and certificates issued, listed, revoked; its authority rotated."},
    {"config-server auth", "Who may ask the config server: anybody, or who shows a token or certificate."},
    {"stub", "Stubs, which new machines are born with: who uses them, whether machines could join, conversion."},
    {"stub token", "Tokens of stubs: what a machine shows to be given its config."},
    {"certs", "The certificates machines trust when they fetch their config."},
    {"bootimage", "The images new machines boot from."},
    {"stream", "Boot image metadata: which image for which platform, architecture, region."},
    {"os", "Inside an OS image: what it is, its files, what differs between two."},
    {"image", "Any container image: who signed it."},
    {"ignition", "Ignition configs: validate, show, convert, merge."},
};

}  // namespace

std::span<const CommandSpec* const> all_commands() { return kCommands; }

std::span<const VerbGroup> verb_groups() { return kVerbGroups; }

}  // namespace strake::cmd
