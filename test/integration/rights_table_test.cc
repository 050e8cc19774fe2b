// Who may do what: one table of calls, and the same answers from the embedded API server and from kube-apiserver with
// deploy/rbac and the roles the rollout controller keeps. What is meant to differ is in docs/security.md.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "api/kinds.h"
#include "api/node.h"
#include "apistore/schema/registry.h"
#include "conformance.h"
#include "kube/cluster_access.h"
#include "kube/https_api.h"
#include "rollout/rollout_controller.h"
#include "support/places.h"
#include "support/servers.h"

namespace strake::rights_table_test {

using namespace std::chrono_literals;
using conformance::Backend;

struct User {
  std::string name;
  std::vector<std::string> groups;
};
const User kAgent{"strake:agent:rights-a", {"strake:agents"}};
const User kNewAgent{"strake:agent:rights-new", {"strake:agents"}};    // of a Node that names no config yet
const User kLostAgent{"strake:agent:rights-none", {"strake:agents"}};  // without a Node
const User kGroupOnly{"mallory", {"strake:agents"}};                   // no agent's name
const User kNameOnly{"strake:agent:rights-a", {}};                     // no agent's group
const User kViewer{"ann", {"strake:viewers"}};
const User kConfigViewer{"sue", {"strake:viewers", "strake:config-viewers"}};
const User kStranger{"eve", {}};
const User kAdmin{"root", {"system:masters"}};

/// A kind and who reads it. All writes are the administrator's; agents have no kind as a whole.
struct KindRow {
  const char* resource;  ///< plural.group
  bool viewer;
  bool config_viewer;
};

constexpr KindRow kKinds[] = {
    {"configmaps", false, false},
    {"events", true, true},
    {"leases.coordination.k8s.io", true, true},
    {"namespaces", true, true},
    {"nodes", true, true},
    {"pods", false, false},
    {"poddisruptionbudgets.policy", true, true},
    {"secrets", false, false},
    {"clusteroperators.config.openshift.io", true, true},
    {"clusterversions.config.openshift.io", true, true},
    {"imagedigestmirrorsets.config.openshift.io", true, true},
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

constexpr const char* kNone = "";
constexpr const char* kConfig = "machineconfigs.machineconfiguration.openshift.io";
constexpr const char* kPool = "machineconfigpools.machineconfiguration.openshift.io";
constexpr const char* kMcn = "machineconfignodes.machineconfiguration.openshift.io";
constexpr const char* kMcnStatus = "machineconfignodes/status.machineconfiguration.openshift.io";
constexpr const char* kSettings = "machineconfigurations.operator.openshift.io";
constexpr const char* kLease = "leases.coordination.k8s.io";
constexpr Answer kYes = Answer::kYes;
constexpr Answer kNo = Answer::kNo;

#define STRAKE_NOTE(key, value) R"({"metadata":{"annotations":{")" key R"(":")" value R"("}}})"
#define STRAKE_MCO "machineconfiguration.openshift.io/"

// rights-a names rights-c1 as current and rights-c2 as desired, rights-b names rights-c3.
const CallRow kCalls[] = {
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
};
static_assert(std::size(kCalls) >= 80);

#undef STRAKE_NOTE
#undef STRAKE_MCO

struct Asked {
  std::string plural, subresource, group;
};

Asked asked_of(std::string_view resource) {
  Asked asked;
  const std::size_t dot = resource.find('.');
  if (dot != std::string_view::npos) asked.group = resource.substr(dot + 1);
  const std::string_view name = resource.substr(0, dot);
  const std::size_t slash = name.find('/');
  asked.plural = name.substr(0, slash);
  if (slash != std::string_view::npos) asked.subresource = name.substr(slash + 1);
  return asked;
}

std::string version_of(const Asked& asked) {
  for (const kube::Resource& kind : api::all_kinds()) {
    if (kind.group == asked.group && kind.plural == asked.plural) return kind.version;
  }
  return "v1";
}

kube::ApiRequest request_for(const CallRow& row) {
  const Asked asked = asked_of(row.resource);
  const std::string verb = row.verb;
  kube::ApiRequest request;
  request.path = asked.group.empty() ? std::vector<std::string>{"api", "v1"}
                                     : std::vector<std::string>{"apis", asked.group, version_of(asked)};
  if (*row.ns != '\0') request.path.insert(request.path.end(), {"namespaces", row.ns});
  request.path.push_back(asked.plural);
  if (verb == "list" || verb == "deletecollection") {
    if (*row.name != '\0') request.query.add("fieldSelector", std::string("metadata.name=") + row.name);
  } else if (*row.name != '\0') {
    request.path.emplace_back(row.name);
  }
  if (!asked.subresource.empty()) request.path.push_back(asked.subresource);
  const bool is_read = verb == "get" || verb == "list";
  if (!is_read) request.query.add("dryRun", "All");
  request.method = is_read            ? "GET"
                   : verb == "create" ? "POST"
                   : verb == "update" ? "PUT"
                   : verb == "patch"  ? "PATCH"
                                      : "DELETE";
  request.body = row.body;
  if (verb == "patch") {
    request.content_type = *row.body == '[' ? "application/json-patch+json" : "application/merge-patch+json";
  } else if (!request.body.empty()) {
    request.content_type = "application/json";
  }
  return request;
}

/// Refused is what may not be, and what is not there at all: a door that does not exist lets nobody in.
bool is_refused(const Result<json::Value>& answer) {
  if (answer.ok()) return false;
  const Error& error = answer.error();
  if (error.code() == Code::kDenied || error.code() == Code::kUnsupported) return true;
  return error.code() == Code::kNotFound && error.to_string().find("\" not found") == std::string::npos;
}

class RightsTable : public testing::TestWithParam<Backend> {
 protected:
  static void TearDownTestSuite() {
    if (controller_) controller_->stop();
    controller_.reset();
    controller_api_.reset();
    prepared_.clear();
  }

  void SetUp() override {
    const auto started = conformance::shared_server(GetParam());
    ASSERT_TRUE(started.ok()) << started.error().to_string();
    server_ = *started;
    if (prepared_.insert(GetParam()).second) prepare();
  }

  static runtime::Runtime& runtime() {
    static runtime::ThreadRuntime runtime;
    return runtime;
  }
  static kube::Call call() { return runtime().call_within(30s); }
  bool on_kubernetes() const { return GetParam() == Backend::kKubernetes; }

  void prepare() {
    if (on_kubernetes()) start_controller();
    kube::KubeApi& admin = server_->api();
    for (const char* name : {"rights-c1", "rights-c2", "rights-c3"}) {
      kube::Object config(api::kMachineConfig, {"", name});
      config.json().get_object()["spec"] = json::Object{};
      conformance::expect_ok(admin.create(api::kMachineConfig, config, {}, call()));
    }
    const auto node = [&](const char* name, const char* current, const char* desired) {
      kube::Object object(kube::core::kNode, {"", name});
      object.set_label("node-role.kubernetes.io/worker", "");
      if (*current != '\0') object.set_annotation(api::node_annotation::kCurrentConfig, current);
      if (*desired != '\0') object.set_annotation(api::node_annotation::kDesiredConfig, desired);
      conformance::expect_ok(admin.create(kube::core::kNode, object, {}, call()));
    };
    node("rights-a", "rights-c1", "rights-c2");
    node("rights-b", "rights-c3", "rights-c3");
    node("rights-new", "", "");
    if (!on_kubernetes()) return;
    for (const User* agent : {&kAgent, &kNewAgent}) {
      const std::string node_name = agent->name.substr(api::kAgentUserPrefix.size());
      ASSERT_TRUE(eventually([&] {
        return may(*agent, "patch", "nodes/status", "", node_name) && may(*agent, "get", "nodes", "", node_name);
      })) << agent->name;
    }
    ASSERT_TRUE(eventually([&] { return may(kAgent, "get", kConfig, "", "rights-c2"); }));
  }

  /// As deploy/rbac has it: the controller's own rights must be enough.
  static void start_controller() {
    const auto cluster = test::shared_cluster();
    ASSERT_TRUE(cluster.ok());
    conformance::expect_ok(
        (*cluster)->kubectl_checked({"apply", "--server-side", "-f", test::source_folder() / "deploy/rbac"}));
    ASSERT_TRUE((*cluster)->collect_leftovers().ok());
    const auto kubeconfig =
        (*cluster)->client_kubeconfig("system:serviceaccount:strake-system:strake-controller",
                                      {"system:serviceaccounts", "system:serviceaccounts:strake-system"});
    ASSERT_TRUE(kubeconfig.ok());
    controller_access_ = *kube::resolve_access(*kube::load_kubeconfig(kube::kubeconfig_locations(*kubeconfig)));
    controller_api_ = *kube::HttpsApi::create(runtime(), controller_access_);
    rollout::RolloutOptions options;
    options.keep_agent_rights = true;
    controller_ = std::make_unique<rollout::RolloutController>(runtime(), *controller_api_, options);
    controller_->start();
  }

  /// The administrator acting as somebody else.
  kube::HttpsTransport& as(const User& user) {
    auto& transport = transports_[{GetParam(), fmt::format("{}|{}", user.name, fmt::join(user.groups, ","))}];
    if (!transport) {
      kube::ClusterAccess access = server_->wire()->access();
      access.impersonate_user = user.name;
      access.impersonate_groups = user.groups;
      access.impersonate_groups.emplace_back("system:authenticated");
      transport = *kube::HttpsTransport::create(runtime(), std::move(access), {});
    }
    return *transport;
  }

  bool may(const User& user, std::string_view verb, std::string_view resource, std::string_view ns,
           std::string_view name) {
    const Asked asked = asked_of(resource);
    const json::Object attributes{
        {"verb", verb},    {"group", asked.group}, {"resource", asked.plural}, {"subresource", asked.subresource},
        {"namespace", ns}, {"name", name}};
    kube::ApiRequest request;
    request.method = "POST";
    request.path = {"apis", "authorization.k8s.io", "v1", "selfsubjectaccessreviews"};
    request.content_type = "application/json";
    request.body = json::write(json::Object{{"apiVersion", "authorization.k8s.io/v1"},
                                            {"kind", "SelfSubjectAccessReview"},
                                            {"spec", json::Object{{"resourceAttributes", attributes}}}});
    const auto answer = as(user).call(request, call());
    EXPECT_TRUE(answer.ok()) << conformance::outcome(answer);
    return answer.ok() && json::find_bool(*answer, {"status", "allowed"}).value_or(false);
  }

  bool eventually(const std::function<bool()>& holds) {
    const auto limit = runtime().now() + 20s;
    while (!holds()) {
      if (runtime().now() > limit) return false;
      (void)runtime().sleep(20ms, {});
    }
    return true;
  }

  conformance::Server* server_ = nullptr;
  static inline std::set<Backend> prepared_;
  static inline std::map<std::pair<Backend, std::string>, std::shared_ptr<kube::HttpsTransport>> transports_;
  static inline kube::ClusterAccess controller_access_;
  static inline std::unique_ptr<kube::HttpsApi> controller_api_;
  static inline std::unique_ptr<rollout::RolloutController> controller_;
};

TEST_P(RightsTable, EveryKindIsReadByWhomItMayBeReadAndWrittenByAdministrators) {
  for (const KindRow& row : kKinds) {
    for (const char* verb : {"get", "list", "watch", "create", "patch", "delete"}) {
      const bool is_read = std::string_view("get list watch").find(verb) != std::string_view::npos;
      const auto expect = [&](const User& user, bool expected) {
        EXPECT_EQ(may(user, verb, row.resource, "default", ""), expected)
            << user.name << " " << verb << " " << row.resource;
      };
      expect(kViewer, is_read && row.viewer);
      expect(kConfigViewer, is_read && row.config_viewer);
      expect(kAgent, false);
      expect(kStranger, false);
    }
  }
}

TEST_P(RightsTable, EveryCallIsAnsweredAsTheTableSays) {
  for (const CallRow& row : kCalls) {
    const bool expected = row.answer == kYes || (row.answer == Answer::kEmbeddedOnly && !on_kubernetes());
    const auto answer = as(*row.user).call(request_for(row), call());
    const std::string what = fmt::format("{} ({}) {} {} {} {}", row.user->name, fmt::join(row.user->groups, ","),
                                         row.verb, row.resource, row.name, row.body);
    EXPECT_EQ(!is_refused(answer), expected) << what << "\n" << conformance::outcome(answer);
    // Who asks beforehand learns of no right that is missing.
    EXPECT_TRUE(!expected || may(*row.user, row.verb, row.resource, row.ns, row.name)) << what;
    EXPECT_TRUE(!expected || answer.ok() || answer.error().code() == Code::kNotFound) << conformance::outcome(answer);
  }
}

TEST_P(RightsTable, AReportIsShort) {
  CallRow row{&kAgent, "patch", "nodes/status", "", "rights-a", "", kNo};
  const auto reason = [](std::size_t bytes) {
    return fmt::format(R"({{"metadata":{{"annotations":{{"machineconfiguration.openshift.io/reason":"{}"}}}}}})",
                       std::string(bytes, 'x'));
  };
  for (const std::size_t bytes : {4000, 4001, 200'000}) {
    const std::string body = reason(bytes);
    row.body = body.c_str();
    const auto answer = as(kAgent).call(request_for(row), call());
    EXPECT_EQ(is_refused(answer), bytes > 4000) << bytes << ": " << conformance::outcome(answer);
  }
}

/// With a certificate of their own, not with the administrator's.
TEST_P(RightsTable, CertificatesMeanTheSame) {
  const auto client = [&](const User& user, const User* acting_as = nullptr) {
    auto access = server_->client(user.name, user.groups);
    EXPECT_TRUE(access.ok()) << conformance::outcome(access);
    if (acting_as != nullptr) {
      access->impersonate_user = acting_as->name;
      access->impersonate_groups = acting_as->groups;
    }
    return *kube::HttpsTransport::create(runtime(), *std::move(access), {});
  };
  for (const User* user : {&kAgent, &kViewer, &kConfigViewer}) {
    const auto transport = client(*user);
    std::set<std::string> seen;
    for (const CallRow& row : kCalls) {
      if (row.user != user || row.answer == Answer::kEmbeddedOnly || !seen.insert(row.resource).second) continue;
      const auto answer = transport->call(request_for(row), call());
      EXPECT_EQ(!is_refused(answer), row.answer == kYes) << user->name << " " << row.verb << " " << row.resource << "\n"
                                                         << conformance::outcome(answer);
    }
    // And nobody becomes somebody else by saying so.
    for (const User* other : {&kAdmin, &kConfigViewer, &kNewAgent}) {
      const CallRow row{user, "list", kConfig, "", "", "", kNo};
      const auto answer = client(*user, other)->call(request_for(row), call());
      conformance::expect_refused(answer, Code::kDenied, "Forbidden", {"impersonate"});
    }
  }
}

/// What `kubectl auth can-i --list` shows is what may be done.
TEST_P(RightsTable, TheListOfRulesKeepsItsPromises) {
  for (const User* user : {&kAgent, &kNewAgent, &kViewer, &kConfigViewer, &kStranger}) {
    kube::ApiRequest request;
    request.method = "POST";
    request.path = {"apis", "authorization.k8s.io", "v1", "selfsubjectrulesreviews"};
    request.content_type = "application/json";
    request.body = R"({"apiVersion":"authorization.k8s.io/v1","kind":"SelfSubjectRulesReview",)"
                   R"("spec":{"namespace":"default"}})";
    const json::Value answer = conformance::expect_ok(as(*user).call(request, call()));
    const json::Value* rules = json::find(answer, {"status", "resourceRules"});
    ASSERT_NE(rules, nullptr);
    bool reads_configs = false;
    for (const json::Value& rule : rules->get_array()) {
      const json::Value* names = json::find(rule, {"resourceNames"});
      for (const json::Value& resource : rule.at("resources").get_array()) {
        const bool configs = resource == "machineconfigs";
        reads_configs = reads_configs || configs;
        if (configs && user == &kAgent) {
          ASSERT_NE(names, nullptr);
          EXPECT_EQ(json::write(*names), R"(["rights-c1","rights-c2"])");
        }
      }
    }
    EXPECT_EQ(reads_configs, user == &kAgent || user == &kConfigViewer) << user->name;
  }
}

INSTANTIATE_TEST_SUITE_P(Servers, RightsTable, testing::Values(Backend::kEmbeddedHttps, Backend::kKubernetes),
                         [](const auto& backend) { return conformance::backend_name(backend); });

TEST(RightsOfKinds, EveryKindIsInTheTable) {
  const auto registry = apistore::Registry::standard();
  ASSERT_TRUE(registry.ok());
  std::set<std::string> served, decided;
  for (const apistore::Kind& kind : registry->kinds()) served.insert(kind.qualified_name());
  for (const KindRow& row : kKinds) decided.insert(row.resource);
  EXPECT_EQ(served, decided) << "who may read a new kind? say so here, in rules/authorization.cc and in deploy/rbac";
}

/// What only Kubernetes has: the roles of the nodes, and who may touch them.
class RightsOfNodes : public RightsTable {
 protected:
  std::string configs_of(const std::string& node) {
    const auto role = server_->api().get(rollout::kClusterRole, {"", "strake:agent:" + node}, call());
    if (!role.ok()) return std::string(to_string(role.error().code()));
    for (const json::Value& rule : json::find(role->json(), {"rules"})->get_array()) {
      if (json::write(rule.at("resources")) == R"(["machineconfigs"])") return json::write(rule.at("resourceNames"));
    }
    return "none";
  }
};

TEST_P(RightsOfNodes, FollowTheNodeAndEndWithIt) {
  kube::KubeApi& admin = server_->api();
  kube::Object node(kube::core::kNode, {"", "rights-short"});
  conformance::expect_ok(admin.create(kube::core::kNode, node, {}, call()));
  EXPECT_TRUE(eventually([&] { return configs_of("rights-short") == "none"; })) << configs_of("rights-short");
  const auto patch = api::NodePatch().set_desired_config("rights-c1").to_json();
  conformance::expect_ok(admin.patch(kube::core::kNode, node.key(), kube::PatchType::kMerge, patch, {}, call()));
  EXPECT_TRUE(eventually([&] { return configs_of("rights-short") == R"(["rights-c1"])"; }));
  // Somebody's mistake is put right.
  const kube::ObjectKey key{"", "strake:agent:rights-short"};
  conformance::expect_ok(admin.remove(rollout::kClusterRole, key, {}, call()));
  EXPECT_TRUE(eventually([&] { return configs_of("rights-short") == R"(["rights-c1"])"; }));
  conformance::expect_ok(admin.remove(kube::core::kNode, node.key(), {}, call()));
  EXPECT_TRUE(eventually([&] { return configs_of("rights-short") == to_string(Code::kNotFound); }));
  EXPECT_TRUE(eventually([&] { return !admin.get(rollout::kClusterRoleBinding, key, call()).ok(); }));
}

TEST_P(RightsOfNodes, TheControllerKeepsThoseOfAgentsOnly) {
  api::NodeView node;
  node.name = "rights-a";
  node.uid = "u";
  const auto try_create = [&](const kube::Resource& resource, const kube::Object& object) {
    kube::WriteOptions dry;
    dry.dry_run = true;
    return controller_api_->create(resource, object, dry, call());
  };
  kube::Object other = rollout::agent_role(node, {"x"});
  json::ensure(other.json(), {"metadata", "name"}) = "admin-of-my-own";
  conformance::expect_refused(try_create(rollout::kClusterRole, other), Code::kDenied, "Forbidden",
                              {"strake:agent:NODE"});
  kube::Object wide = rollout::agent_role(node, {"x"});
  json::ensure(wide.json(), {"metadata", "name"}) = "strake:agent:rights-wide";
  for (json::Value& rule : wide.json().get_object()["rules"].get_array()) rule.get_object().erase("resourceNames");
  conformance::expect_refused(try_create(rollout::kClusterRole, wide), Code::kDenied, "Forbidden", {"that it names"});
  kube::Object secrets = rollout::agent_role(node, {"x"});
  json::ensure(secrets.json(), {"metadata", "name"}) = "strake:agent:rights-secrets";
  secrets.json().get_object()["rules"].get_array().push_back(json::Object{{"verbs", json::Array{"get"}},
                                                                          {"apiGroups", json::Array{""}},
                                                                          {"resources", json::Array{"secrets"}},
                                                                          {"resourceNames", json::Array{"x"}}});
  conformance::expect_refused(try_create(rollout::kClusterRole, secrets), Code::kDenied, "Forbidden");
  kube::Object friends = rollout::agent_binding(node);
  json::ensure(friends.json(), {"metadata", "name"}) = "strake:agent:rights-friend";
  conformance::expect_refused(try_create(rollout::kClusterRoleBinding, friends), Code::kDenied, "Forbidden");
  conformance::expect_refused(controller_api_->remove(rollout::kClusterRole, {"", "cluster-admin"}, {}, call()),
                              Code::kDenied, "Forbidden");
}

INSTANTIATE_TEST_SUITE_P(Servers, RightsOfNodes, testing::Values(Backend::kKubernetes),
                         [](const auto& backend) { return conformance::backend_name(backend); });

}  // namespace strake::rights_table_test
