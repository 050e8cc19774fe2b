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
#include "rights_table.h"
#include "rollout/rollout_controller.h"
#include "support/places.h"
#include "support/servers.h"

namespace strake::rights_table_test {

using namespace std::chrono_literals;
using conformance::Backend;

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
