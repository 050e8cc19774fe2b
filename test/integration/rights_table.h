// Who may do what, as data: the users, who reads which kind, and the calls with their answers. Run on both servers by
// rights_table_test.cc.
#pragma once

#include <string>
#include <vector>

namespace strake::rights_table_test {

struct User {
  std::string name;
  std::vector<std::string> groups;
};
inline const User kAgent{"strake:agent:rights-a", {"strake:agents"}};
inline const User kNewAgent{"strake:agent:rights-new", {"strake:agents"}};    // of a Node that names no config yet
inline const User kLostAgent{"strake:agent:rights-none", {"strake:agents"}};  // without a Node
inline const User kGroupOnly{"mallory", {"strake:agents"}};                   // no agent's name
inline const User kNameOnly{"strake:agent:rights-a", {}};                     // no agent's group
inline const User kViewer{"ann", {"strake:viewers"}};
inline const User kConfigViewer{"sue", {"strake:viewers", "strake:config-viewers"}};
inline const User kConfigServer{"rights-mcs", {"strake:config-servers"}};
inline const User kStranger{"eve", {}};
inline const User kAdmin{"root", {"system:masters"}};

/// A kind and who reads it. All writes are the administrator's; agents have no kind as a whole.
struct KindRow {
  const char* resource;  ///< plural.group
  bool viewer;
  bool config_viewer;
};

inline constexpr KindRow kKinds[] = {
    {"configmaps", false, false},
    {"events", true, true},
    {"leases.coordination.k8s.io", true, true},
    {"namespaces", true, true},
    {"nodes", true, true},
    {"pods", false, false},
    {"poddisruptionbudgets.policy", true, true},
    {"secrets", false, false},
    {"clusterimagepolicies.config.openshift.io", true, true},
    {"clusteroperators.config.openshift.io", true, true},
    {"clusterversions.config.openshift.io", true, true},
    {"imagedigestmirrorsets.config.openshift.io", true, true},
    {"imagepolicies.config.openshift.io", true, true},
    {"images.config.openshift.io", true, true},
    {"imagetagmirrorsets.config.openshift.io", true, true},
    {"infrastructures.config.openshift.io", true, true},
    {"controlplanemachinesets.machine.openshift.io", true, true},
    {"machines.machine.openshift.io", true, true},
    {"machinesets.machine.openshift.io", true, true},
    {"containerruntimeconfigs.machineconfiguration.openshift.io", true, true},
    {"controllerconfigs.machineconfiguration.openshift.io", false, true},
    {"kubeletconfigs.machineconfiguration.openshift.io", true, true},
    {"machineconfignodes.machineconfiguration.openshift.io", true, true},
    {"machineconfigpools.machineconfiguration.openshift.io", true, true},
    {"machineconfigs.machineconfiguration.openshift.io", false, true},
    {"machineosbuilds.machineconfiguration.openshift.io", true, true},
    {"machineosconfigs.machineconfiguration.openshift.io", true, true},
    {"osimagestreams.machineconfiguration.openshift.io", true, true},
    {"imagecontentsourcepolicies.operator.openshift.io", true, true},
    {"machineconfigurations.operator.openshift.io", true, true},
    {"strakeconfigs.strake.dev", true, true},
};

enum class Answer {
  kYes,
  kNo,
  kEmbeddedOnly,  ///< a row of "Where the two differ" in docs/security.md
};

/// One call. Writes are dry runs.
struct CallRow {
  const User* user;
  const char* verb;
  const char* resource;  ///< plural[/subresource][.group]
  const char* ns;
  const char* name;
  const char* body;
  Answer answer;
};

inline constexpr const char* kNone = "";
inline constexpr const char* kConfig = "machineconfigs.machineconfiguration.openshift.io";
inline constexpr const char* kPool = "machineconfigpools.machineconfiguration.openshift.io";
inline constexpr const char* kMcn = "machineconfignodes.machineconfiguration.openshift.io";
inline constexpr const char* kMcnStatus = "machineconfignodes/status.machineconfiguration.openshift.io";
inline constexpr const char* kSettings = "machineconfigurations.operator.openshift.io";
inline constexpr const char* kLease = "leases.coordination.k8s.io";
inline constexpr Answer kYes = Answer::kYes;
inline constexpr Answer kNo = Answer::kNo;

#define STRAKE_NOTE(key, value) R"({"metadata":{"annotations":{")" key R"(":")" value R"("}}})"
#define STRAKE_MCO "machineconfiguration.openshift.io/"
#define STRAKE_MCO_NAMESPACE "openshift-machine-config-operator"

// rights-a names rights-c1 as current and rights-c2 as desired, rights-b names rights-c3.
inline const CallRow kCalls[] = {
    // An agent reads its own Node,
    {&kAgent, "get", "nodes", kNone, "rights-a", kNone, kYes},
    {&kAgent, "list", "nodes", kNone, "rights-a", kNone, kYes},
    {&kAgent, "get", "nodes", kNone, "rights-b", kNone, kNo},
    {&kAgent, "list", "nodes", kNone, "rights-b", kNone, kNo},
    {&kAgent, "list", "nodes", kNone, kNone, kNone, kNo},
    {&kAgent, "get", "nodes/status", kNone, "rights-a", kNone, kNo},
    {&kNameOnly, "get", "nodes", kNone, "rights-a", kNone, kYes},
    {&kGroupOnly, "get", "nodes", kNone, "rights-a", kNone, kNo},
    {&kGroupOnly, "get", "nodes", kNone, "mallory", kNone, kNo},
    {&kLostAgent, "list", "nodes", kNone, kNone, kNone, kNo},
    // the configs it names,
    {&kAgent, "get", kConfig, kNone, "rights-c1", kNone, kYes},
    {&kAgent, "get", kConfig, kNone, "rights-c2", kNone, kYes},
    {&kAgent, "get", kConfig, kNone, "rights-c3", kNone, kNo},
    {&kAgent, "get", kConfig, kNone, "rights-none", kNone, kNo},
    {&kAgent, "list", kConfig, kNone, kNone, kNone, kNo},
    {&kAgent, "list", kConfig, kNone, "rights-c1", kNone, kNo},
    {&kNameOnly, "get", kConfig, kNone, "rights-c2", kNone, kYes},
    {&kGroupOnly, "get", kConfig, kNone, "rights-c2", kNone, kNo},
    {&kNewAgent, "get", kConfig, kNone, "rights-c1", kNone, kNo},
    {&kLostAgent, "get", kConfig, kNone, "rights-c1", kNone, kNo},
    // and what a change costs;
    {&kAgent, "get", kSettings, kNone, "cluster", kNone, kYes},
    {&kAgent, "get", kSettings, kNone, "other", kNone, kNo},
    {&kAgent, "list", kSettings, kNone, kNone, kNone, kNo},
    {&kGroupOnly, "get", kSettings, kNone, "cluster", kNone, kYes},
    {&kNameOnly, "get", kSettings, kNone, "cluster", kNone, kNo},
    // nothing else that exists.
    {&kAgent, "get", kPool, kNone, "worker", kNone, kNo},
    {&kAgent, "list", kPool, kNone, kNone, kNone, kNo},
    {&kAgent, "get", "controllerconfigs.machineconfiguration.openshift.io", kNone, "machine-config-controller", kNone,
     kNo},
    {&kAgent, "get", "osimagestreams.machineconfiguration.openshift.io", kNone, "cluster", kNone, kNo},
    {&kAgent, "get", kMcn, kNone, "rights-a", kNone, kNo},
    {&kAgent, "get", "secrets", "openshift-machine-api", "worker-user-data", kNone, kNo},
    {&kAgent, "list", "secrets", kNone, kNone, kNone, kNo},
    {&kAgent, "get", "configmaps", "strake-system", "x", kNone, kNo},
    {&kAgent, "get", kLease, "strake-system", "strake-controller", kNone, kNo},
    {&kAgent, "list", "pods", kNone, kNone, kNone, kNo},
    {&kAgent, "list", "events", kNone, kNone, kNone, kNo},
    // It reports through the status of its Node,
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "state", "Working"), kYes},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "reason", "because"), kYes},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE("strake.dev/executed-class", "none"), kYes},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "currentConfig", "rights-c2"), kYes},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a",
     R"([{"op":"add","path":"/metadata/annotations/machineconfiguration.openshift.io~1state","value":"Done"}])", kYes},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", R"({"status":{"phase":"Running"}})", Answer::kEmbeddedOnly},
    {&kNameOnly, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "state", "Working"), kYes},
    // of no other Node,
    {&kAgent, "patch", "nodes/status", kNone, "rights-b", STRAKE_NOTE(STRAKE_MCO "state", "Done"), kNo},
    {&kGroupOnly, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "state", "Done"), kNo},
    {&kLostAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "state", "Done"), kNo},
    // and decides nothing by it:
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "currentConfig", "rights-c3"), kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a",
     R"({"metadata":{"annotations":{"machineconfiguration.openshift.io/currentConfig":null}}})", kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "desiredConfig", "rights-c3"), kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a",
     R"({"metadata":{"annotations":{"machineconfiguration.openshift.io/desiredConfig":null}}})", kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a",
     R"([{"op":"replace","path":"/metadata/annotations/machineconfiguration.openshift.io~1desiredConfig","value":"x"}])",
     kNo},
    {&kNewAgent, "patch", "nodes/status", kNone, "rights-new", STRAKE_NOTE(STRAKE_MCO "desiredConfig", "rights-c3"),
     kNo},
    {&kNewAgent, "patch", "nodes/status", kNone, "rights-new", STRAKE_NOTE(STRAKE_MCO "currentConfig", "rights-c3"),
     kNo},
    {&kNewAgent, "patch", "nodes/status", kNone, "rights-new", STRAKE_NOTE(STRAKE_MCO "state", "Done"), kYes},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "desiredImage", "x"), kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "currentImage", "x"), kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "desiredDrain", "uncordon-x"), kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "lastAppliedDrain", "drain-x"), kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "firstPivotConfig", "x"), kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE("strake.dev/planned-class", "none"), kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE("example.com/mine", "1"), kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a",
     R"({"metadata":{"labels":{"node-role.kubernetes.io/master":""}}})", kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a",
     R"({"metadata":{"labels":{"node-role.kubernetes.io/worker":null}}})", kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a",
     R"({"metadata":{"labels":{"machineconfiguration.openshift.io/x":"1"}}})", kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a", R"({"metadata":{"finalizers":["example.com/stay"]}})", kNo},
    {&kAgent, "patch", "nodes/status", kNone, "rights-a",
     R"({"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Node","name":"rights-b","uid":"u"}]}})", kNo},
    // nor through any other door.
    {&kAgent, "patch", "nodes", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "state", "Done"), kNo},
    {&kAgent, "patch", "nodes", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "desiredConfig", "rights-c3"), kNo},
    {&kAgent, "patch", "nodes", kNone, "rights-a", R"({"spec":{"unschedulable":false}})", kNo},
    {&kAgent, "patch", "nodes", kNone, "rights-a", R"({"spec":{"taints":null}})", kNo},
    {&kAgent, "patch", "nodes", kNone, "rights-a", R"({"metadata":{"labels":{"node-role.kubernetes.io/master":""}}})",
     kNo},
    {&kAgent, "update", "nodes", kNone, "rights-a", "{}", kNo},
    {&kAgent, "update", "nodes/status", kNone, "rights-a", "{}", kNo},
    {&kAgent, "delete", "nodes", kNone, "rights-a", kNone, kNo},
    {&kAgent, "deletecollection", "nodes", kNone, kNone, kNone, kNo},
    {&kAgent, "create", "nodes", kNone, kNone, R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"rights-z"}})",
     kNo},
    {&kLostAgent, "create", "nodes", kNone, kNone,
     R"({"apiVersion":"v1","kind":"Node","metadata":{"name":"rights-none"}})", kNo},
    {&kAgent, "create", "nodes/proxy", kNone, "rights-a", "{}", kNo},
    {&kAgent, "patch", "nodes/scale", kNone, "rights-a", "{}", kNo},
    {&kAgent, "create", "pods/eviction", "default", "p",
     R"({"apiVersion":"policy/v1","kind":"Eviction","metadata":{"name":"p","namespace":"default"}})", kNo},
    {&kAgent, "create", "pods/binding", "default", "p", "{}", kNo},
    {&kAgent, "create", "pods", "default", kNone, R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"p"}})", kNo},
    {&kAgent, "create", kMcn, kNone, kNone, "{}", kNo},
    {&kAgent, "patch", kMcn, kNone, "rights-a", R"({"spec":{"configVersion":{"desired":"rights-c3"}}})", kNo},
    {&kAgent, "patch", kMcnStatus, kNone, "rights-a", "{}", kNo},
    {&kAgent, "create", kConfig, kNone, kNone, "{}", kNo},
    {&kAgent, "patch", kConfig, kNone, "rights-c2", R"({"spec":{"osImageURL":"x"}})", kNo},
    {&kAgent, "delete", kConfig, kNone, "rights-c2", kNone, kNo},
    {&kAgent, "patch", kPool, kNone, "worker", R"({"spec":{"paused":true}})", kNo},
    {&kAgent, "patch", "machineconfigpools/status.machineconfiguration.openshift.io", kNone, "worker", "{}", kNo},
    {&kAgent, "patch", kSettings, kNone, "cluster", "{}", kNo},
    {&kAgent, "create", kLease, "strake-system", kNone, "{}", kNo},
    {&kAgent, "patch", kLease, "strake-system", "strake-controller", R"({"spec":{"holderIdentity":"me"}})", kNo},
    {&kAgent, "patch", kLease, "strake-system", "rights-a", "{}", kNo},
    {&kAgent, "create", "events", "default", kNone,
     R"({"apiVersion":"v1","kind":"Event","metadata":{"name":"e"},"involvedObject":{"kind":"Node","name":"rights-a"}})",
     kNo},
    {&kAgent, "patch", "events", "default", "e", R"({"count":2})", kNo},
    {&kAgent, "create", "secrets", "strake-system", kNone, "{}", kNo},
    {&kAgent, "create", "namespaces", kNone, kNone, "{}", kNo},
    {&kAgent, "patch", "strakeconfigs.strake.dev", kNone, "cluster", R"({"spec":{"modes":{}}})", kNo},
    // Viewers see what cannot hold a secret,
    {&kViewer, "list", "nodes", kNone, kNone, kNone, kYes},
    {&kViewer, "get", "nodes", kNone, "rights-a", kNone, kYes},
    {&kViewer, "list", kPool, kNone, kNone, kNone, kYes},
    {&kViewer, "list", "events", kNone, kNone, kNone, kYes},
    {&kViewer, "list", kConfig, kNone, kNone, kNone, kNo},
    {&kViewer, "get", kConfig, kNone, "rights-c1", kNone, kNo},
    {&kViewer, "list", "secrets", kNone, kNone, kNone, kNo},
    {&kViewer, "list", "configmaps", kNone, kNone, kNone, kNo},
    {&kViewer, "get", "nodes/status", kNone, "rights-a", kNone, kNo},
    // those of configurations see them too, and neither writes.
    {&kConfigViewer, "list", kConfig, kNone, kNone, kNone, kYes},
    {&kConfigViewer, "get", kConfig, kNone, "rights-c1", kNone, kYes},
    {&kConfigViewer, "list", "controllerconfigs.machineconfiguration.openshift.io", kNone, kNone, kNone, kYes},
    {&kConfigViewer, "get", "secrets", "openshift-machine-api", "x", kNone, kNo},
    {&kViewer, "patch", "nodes/status", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "state", "Done"), kNo},
    {&kViewer, "patch", "nodes", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "desiredConfig", "rights-c3"), kNo},
    {&kViewer, "patch", kPool, kNone, "worker", R"({"spec":{"paused":true}})", kNo},
    {&kConfigViewer, "patch", kConfig, kNone, "rights-c1", "{}", kNo},
    {&kConfigViewer, "deletecollection", kConfig, kNone, kNone, kNone, kNo},
    // A stranger sees nothing, an administrator everything.
    {&kStranger, "list", "nodes", kNone, kNone, kNone, kNo},
    {&kStranger, "list", kPool, kNone, kNone, kNone, kNo},
    {&kStranger, "get", kSettings, kNone, "cluster", kNone, kNo},
    {&kAdmin, "list", "secrets", kNone, kNone, kNone, kYes},
    {&kAdmin, "patch", "nodes", kNone, "rights-a", STRAKE_NOTE(STRAKE_MCO "desiredConfig", "rights-c2"), kYes},
    {&kAdmin, "delete", kConfig, kNone, "rights-c1", kNone, kYes},
    // A config server reads what it serves,
    {&kConfigServer, "list", kPool, kNone, kNone, kNone, kYes},
    {&kConfigServer, "list", kConfig, kNone, kNone, kNone, kYes},
    {&kConfigServer, "list", "controllerconfigs.machineconfiguration.openshift.io", kNone, kNone, kNone, kYes},
    {&kConfigServer, "list", "machineosconfigs.machineconfiguration.openshift.io", kNone, kNone, kNone, kYes},
    {&kConfigServer, "list", "machineosbuilds.machineconfiguration.openshift.io", kNone, kNone, kNone, kYes},
    {&kConfigServer, "list", "secrets", STRAKE_MCO_NAMESPACE, "machine-config-server-tls", kNone, kYes},
    {&kConfigServer, "list", "secrets", STRAKE_MCO_NAMESPACE, "node-bootstrapper-token", kNone, kYes},
    {&kConfigServer, "list", "configmaps", STRAKE_MCO_NAMESPACE, "kubeconfig-data", kNone, kYes},
    {&kConfigServer, "list", "secrets", STRAKE_MCO_NAMESPACE, "strake-config-server-access", kNone, kYes},
    // no other secret,
    {&kConfigServer, "list", "secrets", STRAKE_MCO_NAMESPACE, kNone, kNone, kNo},
    {&kConfigServer, "list", "secrets", kNone, kNone, kNone, kNo},
    {&kConfigServer, "list", "secrets", kNone, "machine-config-server-tls", kNone, kNo},
    {&kConfigServer, "get", "secrets", STRAKE_MCO_NAMESPACE, "machine-config-server-ca", kNone, kNo},
    {&kConfigServer, "get", "secrets", "default", "machine-config-server-tls", kNone, kNo},
    {&kConfigServer, "list", "configmaps", STRAKE_MCO_NAMESPACE, kNone, kNone, kNo},
    {&kConfigServer, "list", "nodes", kNone, kNone, kNone, kNo},
    // says who asked, in one place,
    {&kConfigServer, "patch", "secrets", STRAKE_MCO_NAMESPACE, "strake-config-server-access", R"({"data":{}})", kNo},
    {&kConfigServer, "patch", "configmaps", STRAKE_MCO_NAMESPACE, "kubeconfig-data", R"({"data":{}})", kNo},
    {&kConfigServer, "create", "configmaps", STRAKE_MCO_NAMESPACE, kNone, "{}", kNo},
    {&kConfigServer, "delete", "configmaps", STRAKE_MCO_NAMESPACE, "strake-config-server-callers", kNone, kNo},
    // and changes nothing it serves.
    {&kConfigServer, "patch", kPool, kNone, "worker", R"({"spec":{"paused":true}})", kNo},
    {&kConfigServer, "create", kConfig, kNone, kNone, "{}", kNo},
    {&kConfigServer, "delete", kConfig, kNone, "rights-c1", kNone, kNo},
    {&kConfigServer, "patch", "secrets", STRAKE_MCO_NAMESPACE, "machine-config-server-tls", R"({"data":{}})", kNo},
};
static_assert(std::size(kCalls) >= 80);

#undef STRAKE_NOTE
#undef STRAKE_MCO
#undef STRAKE_MCO_NAMESPACE

}  // namespace strake::rights_table_test
