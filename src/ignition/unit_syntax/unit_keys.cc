// The keys of each section as systemd 252 knows them: what `systemd --dump-configuration-items` lists.
#include "ignition/unit_syntax/unit_keys.h"

#include <array>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"

namespace strake::ignition {

namespace {

// What every unit that starts processes has: how they run and how they are killed.
constexpr std::string_view kProcessKeys =
    "WorkingDirectory RootDirectory RootImage RootImageOptions RootHash RootHashSignature RootVerity "
    "ExtensionDirectories ExtensionImages MountImages User Group SupplementaryGroups Nice OOMScoreAdjust "
    "CoredumpFilter IOSchedulingClass IOSchedulingPriority CPUSchedulingPolicy CPUSchedulingPriority "
    "CPUSchedulingResetOnFork CPUAffinity NUMAPolicy NUMAMask UMask Environment EnvironmentFile "
    "PassEnvironment UnsetEnvironment DynamicUser RemoveIPC StandardInput StandardOutput StandardError "
    "StandardInputText StandardInputData TTYPath TTYReset TTYVHangup TTYVTDisallocate TTYRows TTYColumns "
    "SyslogIdentifier SyslogFacility SyslogLevel SyslogLevelPrefix LogLevelMax LogRateLimitIntervalSec "
    "LogRateLimitBurst LogExtraFields SecureBits CapabilityBoundingSet AmbientCapabilities TimerSlackNSec "
    "NoNewPrivileges KeyringMode ProtectProc ProcSubset SystemCallFilter SystemCallArchitectures "
    "SystemCallErrorNumber SystemCallLog MemoryDenyWriteExecute RestrictNamespaces RestrictRealtime "
    "RestrictSUIDSGID RestrictAddressFamilies LockPersonality RestrictFileSystems LimitCPU LimitFSIZE "
    "LimitDATA LimitSTACK LimitCORE LimitRSS LimitNOFILE LimitAS LimitNPROC LimitMEMLOCK LimitLOCKS "
    "LimitSIGPENDING LimitMSGQUEUE LimitNICE LimitRTPRIO LimitRTTIME ReadWriteDirectories "
    "ReadOnlyDirectories InaccessibleDirectories ReadWritePaths ReadOnlyPaths InaccessiblePaths ExecPaths "
    "NoExecPaths ExecSearchPath BindPaths BindReadOnlyPaths TemporaryFileSystem PrivateTmp PrivateDevices "
    "ProtectKernelTunables ProtectKernelModules ProtectKernelLogs ProtectClock ProtectControlGroups "
    "NetworkNamespacePath IPCNamespacePath LogNamespace PrivateNetwork PrivateUsers PrivateMounts PrivateIPC "
    "ProtectSystem ProtectHome MountFlags MountAPIVFS Personality RuntimeDirectoryPreserve "
    "RuntimeDirectoryMode RuntimeDirectory StateDirectoryMode StateDirectory CacheDirectoryMode "
    "CacheDirectory LogsDirectoryMode LogsDirectory ConfigurationDirectoryMode ConfigurationDirectory "
    "SetCredential SetCredentialEncrypted LoadCredential LoadCredentialEncrypted TimeoutCleanSec PAMName "
    "IgnoreSIGPIPE UtmpIdentifier UtmpMode SELinuxContext AppArmorProfile SmackProcessLabel ProtectHostname "
    "SendSIGKILL SendSIGHUP KillMode KillSignal RestartKillSignal FinalKillSignal WatchdogSignal ";

// What every unit with a control group has.
constexpr std::string_view kResourceKeys =
    "Slice AllowedCPUs StartupAllowedCPUs AllowedMemoryNodes StartupAllowedMemoryNodes CPUAccounting "
    "CPUWeight StartupCPUWeight CPUShares StartupCPUShares CPUQuota CPUQuotaPeriodSec MemoryAccounting "
    "MemoryMin DefaultMemoryMin DefaultMemoryLow MemoryLow MemoryHigh MemoryMax MemorySwapMax MemoryLimit "
    "DeviceAllow DevicePolicy IOAccounting IOWeight StartupIOWeight IODeviceWeight IOReadBandwidthMax "
    "IOWriteBandwidthMax IOReadIOPSMax IOWriteIOPSMax IODeviceLatencyTargetSec BlockIOAccounting "
    "BlockIOWeight StartupBlockIOWeight BlockIODeviceWeight BlockIOReadBandwidth BlockIOWriteBandwidth "
    "TasksAccounting TasksMax Delegate DisableControllers IPAccounting IPAddressAllow IPAddressDeny "
    "IPIngressFilterPath IPEgressFilterPath ManagedOOMSwap ManagedOOMMemoryPressure "
    "ManagedOOMMemoryPressureLimit ManagedOOMPreference BPFProgram SocketBindAllow SocketBindDeny "
    "RestrictNetworkInterfaces ";

constexpr std::string_view kUnitKeys =
    "Description Documentation SourcePath Requires Requisite Wants BindsTo BindTo Upholds Conflicts Before "
    "After OnSuccess OnFailure PropagatesReloadTo PropagateReloadTo ReloadPropagatedFrom PropagateReloadFrom "
    "PropagatesStopTo StopPropagatedFrom PartOf JoinsNamespaceOf RequiresOverridable RequisiteOverridable "
    "RequiresMountsFor StopWhenUnneeded RefuseManualStart RefuseManualStop AllowIsolate DefaultDependencies "
    "OnSuccessJobMode OnFailureJobMode OnFailureIsolate IgnoreOnIsolate JobTimeoutSec JobRunningTimeoutSec "
    "JobTimeoutAction JobTimeoutRebootArgument StartLimitIntervalSec StartLimitInterval StartLimitBurst "
    "StartLimitAction FailureAction SuccessAction FailureActionExitStatus SuccessActionExitStatus "
    "RebootArgument ConditionPathExists ConditionPathExistsGlob ConditionPathIsDirectory "
    "ConditionPathIsSymbolicLink ConditionPathIsMountPoint ConditionPathIsReadWrite ConditionPathIsEncrypted "
    "ConditionDirectoryNotEmpty ConditionFileNotEmpty ConditionFileIsExecutable ConditionNeedsUpdate "
    "ConditionFirstBoot ConditionArchitecture ConditionFirmware ConditionVirtualization ConditionHost "
    "ConditionKernelCommandLine ConditionKernelVersion ConditionCredential ConditionSecurity "
    "ConditionCapability ConditionACPower ConditionMemory ConditionCPUFeature ConditionCPUs "
    "ConditionEnvironment ConditionUser ConditionGroup ConditionControlGroupController ConditionOSRelease "
    "ConditionMemoryPressure ConditionCPUPressure ConditionIOPressure AssertPathExists AssertPathExistsGlob "
    "AssertPathIsDirectory AssertPathIsSymbolicLink AssertPathIsMountPoint AssertPathIsReadWrite "
    "AssertPathIsEncrypted AssertDirectoryNotEmpty AssertFileNotEmpty AssertFileIsExecutable "
    "AssertNeedsUpdate AssertFirstBoot AssertArchitecture AssertVirtualization AssertHost "
    "AssertKernelCommandLine AssertKernelVersion AssertCredential AssertSecurity AssertCapability "
    "AssertACPower AssertMemory AssertCPUFeature AssertCPUs AssertEnvironment AssertUser AssertGroup "
    "AssertControlGroupController AssertOSRelease AssertMemoryPressure AssertCPUPressure AssertIOPressure "
    "CollectMode ";

constexpr std::string_view kServiceKeys =
    "PIDFile ExecCondition ExecStartPre ExecStart ExecStartPost ExecReload ExecStop ExecStopPost RestartSec "
    "TimeoutSec TimeoutStartSec TimeoutStopSec TimeoutAbortSec TimeoutStartFailureMode "
    "TimeoutStopFailureMode RuntimeMaxSec RuntimeRandomizedExtraSec WatchdogSec StartLimitInterval "
    "StartLimitBurst StartLimitAction FailureAction RebootArgument Type ExitType Restart "
    "PermissionsStartOnly RootDirectoryStartOnly RemainAfterExit GuessMainPID RestartPreventExitStatus "
    "RestartForceExitStatus SuccessExitStatus NonBlocking BusName FileDescriptorStoreMax NotifyAccess "
    "Sockets USBFunctionDescriptors USBFunctionStrings OOMPolicy ";

constexpr std::string_view kSocketKeys =
    "ListenStream ListenDatagram ListenSequentialPacket ListenFIFO ListenNetlink ListenSpecial "
    "ListenMessageQueue ListenUSBFunction SocketProtocol BindIPv6Only Backlog BindToDevice ExecStartPre "
    "ExecStartPost ExecStopPre ExecStopPost TimeoutSec SocketUser SocketGroup SocketMode DirectoryMode "
    "Accept FlushPending Writable MaxConnections MaxConnectionsPerSource KeepAlive KeepAliveTimeSec "
    "KeepAliveIntervalSec KeepAliveProbes DeferAcceptSec NoDelay Priority ReceiveBuffer SendBuffer IPTOS "
    "IPTTL Mark PipeSize FreeBind Transparent Broadcast PassCredentials PassSecurity PassPacketInfo "
    "Timestamping TCPCongestion ReusePort MessageQueueMaxMessages MessageQueueMessageSize RemoveOnStop "
    "Symlinks FileDescriptorName Service TriggerLimitIntervalSec TriggerLimitBurst SmackLabel SmackLabelIPIn "
    "SmackLabelIPOut SELinuxContextFromNet ";

constexpr std::string_view kMountKeys =
    "What Where Options Type TimeoutSec DirectoryMode SloppyOptions LazyUnmount ForceUnmount ReadWriteOnly ";

constexpr std::string_view kAutomountKeys = "Where ExtraOptions DirectoryMode TimeoutIdleSec ";

constexpr std::string_view kSwapKeys = "What Priority Options TimeoutSec ";

constexpr std::string_view kTimerKeys =
    "OnCalendar OnActiveSec OnBootSec OnStartupSec OnUnitActiveSec OnUnitInactiveSec OnClockChange "
    "OnTimezoneChange Persistent WakeSystem RemainAfterElapse FixedRandomDelay AccuracySec "
    "RandomizedDelaySec Unit ";

constexpr std::string_view kPathKeys =
    "PathExists PathExistsGlob PathChanged PathModified DirectoryNotEmpty Unit MakeDirectory DirectoryMode "
    "TriggerLimitIntervalSec TriggerLimitBurst ";

constexpr std::string_view kSliceKeys = "";

constexpr std::string_view kScopeKeys =
    "SendSIGKILL SendSIGHUP KillMode KillSignal RestartKillSignal FinalKillSignal WatchdogSignal "
    "RuntimeMaxSec RuntimeRandomizedExtraSec TimeoutStopSec OOMPolicy ";

constexpr std::string_view kInstallKeys = "Alias WantedBy RequiredBy Also DefaultInstance ";

struct SectionKeys {
  std::string_view section;
  std::string_view own;
  bool has_processes = false;
  bool has_resources = false;
};

constexpr std::array kSections{SectionKeys{"Unit", kUnitKeys},
                               SectionKeys{"Install", kInstallKeys},
                               SectionKeys{"Service", kServiceKeys, true, true},
                               SectionKeys{"Socket", kSocketKeys, true, true},
                               SectionKeys{"Mount", kMountKeys, true, true},
                               SectionKeys{"Swap", kSwapKeys, true, true},
                               SectionKeys{"Automount", kAutomountKeys},
                               SectionKeys{"Timer", kTimerKeys},
                               SectionKeys{"Path", kPathKeys},
                               SectionKeys{"Slice", kSliceKeys, false, true},
                               SectionKeys{"Scope", kScopeKeys, false, true},
                               SectionKeys{"Target", ""},
                               SectionKeys{"Device", ""}};

struct TypedKeys {
  UnitValue type;
  std::string_view keys;
};

constexpr std::array kTypedKeys{
    TypedKeys{UnitValue::kAction, "JobTimeoutAction StartLimitAction FailureAction SuccessAction "},
    TypedKeys{UnitValue::kBoolean,
              "StopWhenUnneeded RefuseManualStart RefuseManualStop AllowIsolate DefaultDependencies OnFailureIsolate "
              "IgnoreOnIsolate PermissionsStartOnly RootDirectoryStartOnly RemainAfterExit GuessMainPID NonBlocking "
              "CPUSchedulingResetOnFork DynamicUser RemoveIPC TTYReset TTYVHangup TTYVTDisallocate SyslogLevelPrefix "
              "NoNewPrivileges MemoryDenyWriteExecute RestrictRealtime RestrictSUIDSGID LockPersonality PrivateTmp "
              "PrivateDevices ProtectKernelTunables ProtectKernelModules ProtectKernelLogs ProtectClock "
              "ProtectControlGroups PrivateNetwork PrivateUsers PrivateMounts PrivateIPC IgnoreSIGPIPE ProtectHostname "
              "CPUAccounting MemoryAccounting IOAccounting BlockIOAccounting TasksAccounting IPAccounting SendSIGKILL "
              "SendSIGHUP Accept FlushPending Writable KeepAlive NoDelay FreeBind Transparent Broadcast "
              "PassCredentials PassSecurity PassPacketInfo ReusePort RemoveOnStop SELinuxContextFromNet SloppyOptions "
              "LazyUnmount ForceUnmount ReadWriteOnly OnClockChange OnTimezoneChange Persistent WakeSystem "
              "RemainAfterElapse FixedRandomDelay MakeDirectory "},
    TypedKeys{UnitValue::kCollectMode, "CollectMode "},
    TypedKeys{UnitValue::kCommand,
              "ExecCondition ExecStartPre ExecStart ExecStartPost ExecReload ExecStop ExecStopPost ExecStopPre "},
    TypedKeys{UnitValue::kConditionPath,
              "ConditionPathExists ConditionPathExistsGlob ConditionPathIsDirectory ConditionPathIsSymbolicLink "
              "ConditionPathIsMountPoint ConditionPathIsReadWrite ConditionPathIsEncrypted ConditionDirectoryNotEmpty "
              "ConditionFileNotEmpty ConditionFileIsExecutable AssertPathExists AssertPathExistsGlob "
              "AssertPathIsDirectory AssertPathIsSymbolicLink AssertPathIsMountPoint AssertPathIsReadWrite "
              "AssertPathIsEncrypted AssertDirectoryNotEmpty AssertFileNotEmpty AssertFileIsExecutable "},
    TypedKeys{UnitValue::kEnvironment, "Environment "},
    TypedKeys{UnitValue::kInteger, "Priority IPTTL Mark "},
    TypedKeys{UnitValue::kJobMode, "OnSuccessJobMode OnFailureJobMode "},
    TypedKeys{UnitValue::kKillMode, "KillMode "},
    TypedKeys{UnitValue::kOctalMode,
              "UMask RuntimeDirectoryMode StateDirectoryMode CacheDirectoryMode LogsDirectoryMode "
              "ConfigurationDirectoryMode SocketMode DirectoryMode "},
    TypedKeys{UnitValue::kPath, "Where PathExists PathExistsGlob PathChanged PathModified DirectoryNotEmpty "},
    TypedKeys{UnitValue::kPathList, "RequiresMountsFor "},
    TypedKeys{UnitValue::kProtectHome, "ProtectHome "},
    TypedKeys{UnitValue::kProtectSystem, "ProtectSystem "},
    TypedKeys{UnitValue::kRestart, "Restart "},
    TypedKeys{UnitValue::kServiceType, "Type "},
    TypedKeys{UnitValue::kSignal, "KillSignal RestartKillSignal FinalKillSignal WatchdogSignal "},
    TypedKeys{UnitValue::kTimeSpan,
              "JobTimeoutSec JobRunningTimeoutSec StartLimitIntervalSec StartLimitInterval RestartSec TimeoutSec "
              "TimeoutStartSec TimeoutStopSec TimeoutAbortSec RuntimeMaxSec RuntimeRandomizedExtraSec WatchdogSec "
              "LogRateLimitIntervalSec TimeoutCleanSec KeepAliveTimeSec KeepAliveIntervalSec DeferAcceptSec "
              "TriggerLimitIntervalSec TimeoutIdleSec OnActiveSec OnBootSec OnStartupSec OnUnitActiveSec "
              "OnUnitInactiveSec AccuracySec RandomizedDelaySec "},
    TypedKeys{UnitValue::kUnsigned,
              "StartLimitBurst FileDescriptorStoreMax LogRateLimitBurst Backlog MaxConnections MaxConnectionsPerSource "
              "KeepAliveProbes TriggerLimitBurst "},
    TypedKeys{UnitValue::kUrlList, "Documentation "},
    TypedKeys{UnitValue::kWorkingFolder, "WorkingDirectory "}};

using Names = std::unordered_set<std::string_view>;

void add_names(Names& names, std::string_view list) {
  for (const std::string_view name : split(list, ' ')) {
    if (!name.empty()) names.insert(name);
  }
}

std::unordered_map<std::string_view, Names> make_sections() {
  std::unordered_map<std::string_view, Names> sections;
  for (const SectionKeys& section : kSections) {
    Names& names = sections[section.section];
    add_names(names, section.own);
    if (section.has_processes) add_names(names, kProcessKeys);
    if (section.has_resources) add_names(names, kResourceKeys);
  }
  return sections;
}

std::unordered_map<std::string_view, UnitValue> make_types() {
  std::unordered_map<std::string_view, UnitValue> types;
  for (const TypedKeys& typed : kTypedKeys) {
    for (const std::string_view name : split(typed.keys, ' ')) {
      if (!name.empty()) types.emplace(name, typed.type);
    }
  }
  return types;
}

}  // namespace

bool is_unit_key(std::string_view section, std::string_view key) {
  static const std::unordered_map<std::string_view, Names> sections = make_sections();
  const auto found = sections.find(section);
  return found != sections.end() && found->second.contains(key);
}

UnitValue unit_value_type(std::string_view key) {
  static const std::unordered_map<std::string_view, UnitValue> types = make_types();
  const auto found = types.find(key);
  return found == types.end() ? UnitValue::kAnything : found->second;
}

}  // namespace strake::ignition
