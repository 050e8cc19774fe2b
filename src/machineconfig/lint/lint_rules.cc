#include "machineconfig/lint/lint_rules.h"

#include <algorithm>
#include <array>

namespace strake::machineconfig {

namespace {

using ignition::Severity;

constexpr std::array kLintRules = {
    LintRule{LintRuleId::kInvalid, "invalid", Severity::kError, "the MachineConfig is refused",
             "A refused MachineConfig keeps every pool that takes it at its old config: nothing else reaches those "
             "nodes any more.",
             "correct the field that is named"},
    LintRule{LintRuleId::kUnrenderable, "unrenderable", Severity::kError,
             "the MachineConfigs of a pool do not go together, or are too large",
             "The pool cannot be rendered, so its nodes stay at their old config.",
             "change or remove one of the MachineConfigs that are named"},
    LintRule{LintRuleId::kDecimalMode, "decimal-mode", Severity::kError, "a mode that was meant to be octal",
             "Ignition takes decimal numbers: 644 is 01204 there, which is refused or gives the file to the wrong "
             "people. YAML reads 0644 as octal, JSON has no octal numbers.",
             "write the decimal value: 420 for 0644, 493 for 0755, 384 for 0600; in YAML also 0644"},
    LintRule{LintRuleId::kRefusedByNodes, "refused-by-nodes", Severity::kError,
             "every node refuses the config, also one that has it already",
             "What is appended to a file cannot be told from what is there, and the file that forces an update would "
             "force it for ever; a pool with such a config is degraded and takes nothing more.",
             "set the whole contents of the file"},
    LintRule{LintRuleId::kRemoteSource, "remote-source", Severity::kError,
             "contents that a running node would have to fetch",
             "Running nodes take contents from data: URLs alone; with any other they are degraded. What is behind a "
             "URL may also change without anybody seeing it.",
             "put the contents into the MachineConfig as a data: URL"},
    LintRule{LintRuleId::kReadOnlyPath, "read-only-path", Severity::kError,
             "a path that the booted image keeps read-only",
             "The OS of an image-based machine is mounted read-only and replaced as a whole; writing there fails and "
             "degrades the node. /etc and /var are writable, and so are /usr/local, /opt, /home, /root, /srv and /mnt, "
             "which are links into /var.",
             "put it below /etc, /var or /usr/local, or build it into the OS image"},
    LintRule{
        LintRuleId::kKernelArgument, "kernel-argument", Severity::kError,
        "a kernel argument that no boot loader can hold",
        "Kernel arguments become one line of the boot loader's entry: a line break, a NUL or an open quote damages "
        "that entry, and the machine may not boot.",
        "write one argument an item, without control characters and with its quotes closed"},
    LintRule{LintRuleId::kPlainPassword, "plain-password", Severity::kError, "a passwordHash that is no hash",
             "The text is put into /etc/shadow as it is: nobody can log in with it, and everybody who may read the "
             "MachineConfig has read the password. An empty one lets everybody in.",
             "put in what mkpasswd --method=yescrypt prints, and take the password out of use"},
    LintRule{LintRuleId::kMountName, "mount-name", Severity::kError,
             "a mount unit whose name does not match its Where=",
             "systemd refuses a .mount or .automount unit unless its name is the escaped path of Where=.",
             "name the unit as systemd-escape --path --suffix=mount WHERE prints it"},
    LintRule{
        LintRuleId::kUnitSyntax, "unit-syntax", Severity::kError, "a unit that systemd refuses to load",
        "The file is written and the unit never starts; what waits for it fails with it. Read as systemd 252 reads "
        "it.",
        "correct what is named; systemd-analyze verify says the same"},
    LintRule{LintRuleId::kGeneratorRefused, "generator-refused", Severity::kError,
             "a KubeletConfig, ContainerRuntimeConfig, mirror set or image policy that is refused",
             "MachineConfigs are made of it by whoever manages the cluster; this one is refused, its pools are not "
             "rendered, or registries stay as they were.",
             "correct the field that is named"},
    LintRule{LintRuleId::kSuspicious, "suspicious", Severity::kWarning,
             "something in it does nothing: a member nobody reads, a unit without contents, an unknown extension",
             "It is taken, and whoever wrote it expects something that will not happen.",
             "correct or remove what is named"},
    LintRule{LintRuleId::kNoPool, "no-pool", Severity::kWarning, "no pool takes it",
             "A MachineConfig reaches nodes through the pools whose machineConfigSelector matches its labels; this one "
             "reaches none.",
             "set the label machineconfiguration.openshift.io/role to the role of a pool"},
    LintRule{
        LintRuleId::kRoleTypo, "role-typo", Severity::kWarning, "a role that looks like a slip of the finger",
        "A role nobody has reaches no node, or makes a pool of its own that has none.",
        "correct the label machineconfiguration.openshift.io/role; if the role is meant, add its MachineConfigPool to "
        "the input"},
    LintRule{LintRuleId::kNoEffect, "no-effect", Severity::kWarning, "other MachineConfigs override all of it",
             "Of two MachineConfigs of one role the one whose name sorts last wins; nothing of this one is left in any "
             "rendered config.",
             "remove it, or give it a name that sorts behind the other"},
    LintRule{LintRuleId::kConflict, "conflict", Severity::kWarning,
             "two MachineConfigs of one role set the same thing differently",
             "The one whose name sorts last wins, and a new name decides anew; nobody who reads one of them sees the "
             "other. What a custom pool sets over the workers' is no conflict.",
             "leave it to one of the two"},
    LintRule{LintRuleId::kStaleHash, "stale-hash", Severity::kWarning,
             "contents were replaced while the hash of the old ones stays",
             "Files are merged member by member: new contents without verification.hash keep the hash of the old ones, "
             "and a first boot fails on it.",
             "set contents.verification.hash of the new contents"},
    LintRule{LintRuleId::kNoContents, "no-contents", Severity::kWarning, "a file without contents",
             "The merge gives every file overwrite: true, and nodes refuse that for a file without contents.",
             "set contents, or overwrite: false"},
    LintRule{LintRuleId::kRepeatedItem, "repeated-item", Severity::kWarning,
             "a kernel argument or extension that is set twice",
             "Lists are joined, not merged: the argument stands twice on the command line, and taking it out of one "
             "MachineConfig does not take it away.",
             "leave it in one MachineConfig"},
    LintRule{LintRuleId::kImageByTag, "image-by-tag", Severity::kWarning, "an OS image named by tag",
             "What a tag stands for may change unseen: two nodes of one pool may run different systems under one name.",
             "name the image by digest, with @sha256:"},
    LintRule{LintRuleId::kLarge, "large", Severity::kWarning, "near the size that API servers take",
             "The rendered config is one object, and API servers refuse larger ones: the next file that is added stops "
             "the pool.",
             "put large contents into the OS image, or compress them"},
    LintRule{
        LintRuleId::kFirstBootOnly, "first-boot-only", Severity::kWarning,
        "a part of Ignition that only the first boot applies",
        "Running nodes cannot follow a change of directories, links, disks, file systems, RAID, groups or Ignition's "
        "kernelArguments: their pool is degraded and takes nothing more. Other parts they ignore. Machines "
        "installed later get all of it.",
        "set it before the cluster is installed and leave it alone then, or use files and units instead"},
    LintRule{LintRuleId::kFips, "fips", Severity::kWarning, "FIPS mode, which cannot be switched on later",
             "FIPS mode is a matter of installation: running nodes refuse a config that changes it, and their pool is "
             "degraded.",
             "set it before the cluster is installed, for all pools alike"},
    LintRule{
        LintRuleId::kOtherUser, "other-user", Severity::kWarning, "a user other than core",
        "Running nodes manage the user core alone: with another one every change of users is refused, and the pool "
        "is degraded.",
        "use the user core, or make the user with a unit or in the OS image"},
    LintRule{LintRuleId::kCoreUser, "core-user", Severity::kWarning, "the user core with more than keys and a password",
             "Of the user core running nodes can change sshAuthorizedKeys and passwordHash, and want one of them; "
             "anything else is refused, and the pool is degraded.",
             "set sshAuthorizedKeys or passwordHash, and nothing else"},
    LintRule{LintRuleId::kPlatformPath, "platform-path", Severity::kWarning, "a path that somebody else writes",
             "The platform, its daemon on the node or the OS writes this file too: whoever writes last wins, and the "
             "difference is drift, which degrades the node.",
             "use the object that the file is made of"},
    LintRule{
        LintRuleId::kVolatilePath, "volatile-path", Severity::kWarning, "a path that is empty after a boot",
        "What is below /run and /tmp is gone after a boot: the node finds its config not in place and is degraded.",
        "put it below /etc or /var, or have it made by a unit or by tmpfiles.d"},
    LintRule{
        LintRuleId::kScriptMode, "script-mode", Severity::kWarning, "a program without the executable bit",
        "It is run from where it lies, by a unit of the same pool or because of its folder, and the kernel refuses "
        "to run it: files have mode 0644 unless they say otherwise.",
        "set mode: 493, which is 0755"},
    LintRule{
        LintRuleId::kClearSecret, "clear-secret", Severity::kWarning, "a credential in clear text",
        "MachineConfigs are readable for many in a cluster, are served to every machine that boots, and stay in the "
        "history of the repository.",
        "take it out and put it out of use; let the machine fetch it, or give it by a secret that is mounted"},
    LintRule{
        LintRuleId::kUnitIgnored, "unit-ignored", Severity::kWarning,
        "a line of a unit or drop-in that systemd ignores",
        "A misspelt section, key or value is only logged when the unit is loaded, and the unit runs without it. Read "
        "as systemd 252 reads it.",
        "correct or remove the line; names that begin with X- are for others and stay"},
    LintRule{LintRuleId::kGeneratedOutdated, "generated-outdated", Severity::kWarning,
             "a generated MachineConfig that a cluster would change or remove",
             "It is made of other objects (KubeletConfig, mirror sets and their like), and those in the input ask for "
             "something else: what is linted and rendered is not what nodes will get.",
             "take it from the cluster again, or leave it out and use --generated"},
    LintRule{LintRuleId::kUnknownRule, "unknown-rule", Severity::kWarning, "a comment strake:ignore that names no rule",
             "The comment silences nothing, and nobody would notice.", "take a name from strake config lint --rules"},
};

constexpr bool is_in_order() {
  for (std::size_t i = 0; i < kLintRules.size(); ++i) {
    if (static_cast<std::size_t>(kLintRules[i].id) != i) return false;
  }
  return true;
}
static_assert(is_in_order(), "the table of rules is in the order of LintRuleId");
static_assert(kLintRules.back().id == LintRuleId::kUnknownRule, "every rule is in the table");

}  // namespace

std::span<const LintRule> lint_rules() { return kLintRules; }

const LintRule& lint_rule(LintRuleId id) { return kLintRules[static_cast<std::size_t>(id)]; }

const LintRule* find_lint_rule(std::string_view name) {
  const auto* found = std::ranges::find(kLintRules, name, &LintRule::name);
  return found == kLintRules.end() ? nullptr : found;
}

std::string lint_rule_names() {
  std::string names;
  for (const LintRule& rule : kLintRules) names += fmt::format("{}{}", names.empty() ? "" : ", ", rule.name);
  return names;
}

}  // namespace strake::machineconfig
