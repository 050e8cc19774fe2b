// Every verb of the program; each is defined in the file of its name.
#pragma once

#include "cmd/cli/command.h"

namespace strake::cmd {

/// In the order `strake --help` lists them.
std::span<const CommandSpec* const> all_commands();
std::span<const VerbGroup> verb_groups();

extern const CommandSpec kUpCommand;
extern const CommandSpec kReleaseApplyCommand;
extern const CommandSpec kReleaseInfoCommand;
extern const CommandSpec kReleaseImagesCommand;
extern const CommandSpec kReleaseVerifyCommand;
extern const CommandSpec kReleaseBootimagesCommand;
extern const CommandSpec kReleaseDiffCommand;
extern const CommandSpec kReleaseExtractCommand;
extern const CommandSpec kReleaseMirrorCommand;
extern const CommandSpec kReleaseTrustAddCommand;
extern const CommandSpec kReleaseTrustListCommand;
extern const CommandSpec kReleaseTrustRemoveCommand;
extern const CommandSpec kPlanCommand;
extern const CommandSpec kRenderCommand;
extern const CommandSpec kDiffCommand;
extern const CommandSpec kExplainCommand;
extern const CommandSpec kConfigLintCommand;
extern const CommandSpec kModeShowCommand;
extern const CommandSpec kModeSetCommand;
extern const CommandSpec kControllerCommand;
extern const CommandSpec kConfigServerCommand;
extern const CommandSpec kConfigServerAuthShowCommand;
extern const CommandSpec kConfigServerAuthSetCommand;
extern const CommandSpec kStubListCommand;
extern const CommandSpec kStubShowCommand;
extern const CommandSpec kStubCheckCommand;
extern const CommandSpec kStubConvertCommand;
extern const CommandSpec kStubTokenCreateCommand;
extern const CommandSpec kStubTokenListCommand;
extern const CommandSpec kStubTokenRevokeCommand;
extern const CommandSpec kCertsCheckCommand;
extern const CommandSpec kCertsRotateCommand;
extern const CommandSpec kAgentCommand;
extern const CommandSpec kAgentJoinCommand;
extern const CommandSpec kAccessIssueTokenCommand;
extern const CommandSpec kAccessIssueJoinTokenCommand;
extern const CommandSpec kAccessIssueCertificateCommand;
extern const CommandSpec kAccessListCommand;
extern const CommandSpec kAccessRevokeCommand;
extern const CommandSpec kAccessRenewCommand;
extern const CommandSpec kAccessCaShowCommand;
extern const CommandSpec kAccessCaRotateCommand;
extern const CommandSpec kBootimageCheckCommand;
extern const CommandSpec kStreamShowCommand;
extern const CommandSpec kStreamGetCommand;
extern const CommandSpec kOsInspectCommand;
extern const CommandSpec kOsLsCommand;
extern const CommandSpec kOsCatCommand;
extern const CommandSpec kOsDiffCommand;
extern const CommandSpec kOsExtractCommand;
extern const CommandSpec kImageVerifyCommand;
extern const CommandSpec kIgnitionValidateCommand;
extern const CommandSpec kIgnitionShowCommand;
extern const CommandSpec kIgnitionConvertCommand;
extern const CommandSpec kIgnitionMergeCommand;
extern const CommandSpec kVersionCommand;
extern const CommandSpec kCompletionCommand;
extern const CommandSpec kManCommand;

}  // namespace strake::cmd
