// kubectl get, describe, explain, api-resources, wait, watch: see kubectl_fixture.h.
#include "base/fd.h"
#include "kubectl_fixture.h"

namespace strake::kubectl_test {

using namespace std::chrono_literals;
using std::filesystem::path;

TEST_F(KubectlTest, Versions) {
  both({{"version"},
        {"get --raw /livez"},
        {"get --raw /readyz"},
        {"api-resources --api-group=machineconfiguration.openshift.io"},
        {"api-resources --api-group=machineconfiguration.openshift.io --namespaced=true -o name"},
        {"api-resources --api-group=config.openshift.io -o wide"},
        {"api-resources --api-group=machine.openshift.io -o wide"},
        {"api-resources --api-group=policy -o wide"},
        {"api-resources --api-group=coordination.k8s.io"},
        {"api-resources --api-group=nothing.example.com"},
        {.line = "api-resources -o name", .difference = "kinds"},
        {.line = "api-versions", .difference = "kinds"},
        {.line = "cluster-info", .difference = "kinds"},
        {"get widgets"},
        {"get --raw /apis/nothing.example.com/v1"},
        {.line = "get deployments", .difference = "kinds"}});
}

TEST_F(KubectlTest, Explain) {
  both({{"explain mcp.spec"},
        {"explain mcp.spec.paused"},
        {"explain machineconfigs.spec --recursive"},
        {"explain mcp.status.conditions"},
        {"explain mcp --recursive --api-version=machineconfiguration.openshift.io/v1"},
        {"explain machinesets.spec.template"},
        {"explain mcp.spec.nothing"},
        {"explain widgets"},
        {.line = "explain mcp", .difference = "descriptions"},
        {.line = "explain node.spec.taints", .difference = "descriptions"}});
}

TEST_F(KubectlTest, GetInEveryForm) {
  const std::string node = with(tainted_node("kt-node"), "name: kt-node",
                                "name: kt-node, labels: {node-role.kubernetes.io/kt: \"\", get.example.com/zone: a}");
  const std::string other = with(with(node, "kt-node", "kt-other"), "zone: a", "zone: b");
  const std::string status =
      R"({"status":{"conditions":[{"type":"Ready","status":"True","reason":"Test","message":"up"}],)"
      R"("addresses":[{"type":"InternalIP","address":"10.0.0.7"}],"capacity":{"cpu":"4"},)"
      R"("nodeInfo":{"kubeletVersion":"v1.34.4","osImage":"Test OS","kernelVersion":"6.1.0",)"
      R"("containerRuntimeVersion":"none://1","operatingSystem":"linux","architecture":"amd64"}}})";
  // Other suites leave nodes, too: every list is of those with this label.
  const std::string ours = " -l get.example.com/zone";
  both({{"create -f -", node},
        {"create -f -", other},
        {"patch node kt-node --subresource=status -p", "", {status}},
        {"get nodes" + ours},
        {"get nodes -o wide" + ours},
        {"get nodes --show-labels --no-headers" + ours},
        {"get nodes -L get.example.com/zone --sort-by=.metadata.name" + ours},
        {"get nodes -o name -l", "", {"get.example.com/zone in (b,c)"}},
        {"get nodes -o name -l", "", {"get.example.com/zone,get.example.com/zone!=a"}},
        {"get nodes --field-selector metadata.name=kt-node -o name"},
        {"get nodes --field-selector metadata.name=kt-nothing"},
        {"get nodes --field-selector spec.color=red"},
        {.line = "get nodes -l", .more = {"zone in b"}, .difference = "messages"},
        {"get nodes --chunk-size=1 -o jsonpath={.items[*].metadata.name}" + ours},
        {"get node kt-node -o custom-columns=N:.metadata.name,Z:.metadata.labels.zone"},
        {"get node kt-node -o go-template={{.metadata.name}}"},
        {"get node kt-node -o jsonpath-as-json={.status.addresses}"},
        {"get node kt-node kt-other missing"},
        {"get node/kt-node namespace/kt"},
        {"get -o name -f -", node},
        {"get node kt-node -o yaml"},
        {"get node kt-other -o json"},
        {"describe node kt-node"},
        {"describe node missing"},
        {.line = "describe namespace kt", .difference = "kinds"},
        {"get namespace kt -o yaml"},
        {"get namespace kt"},
        {"get all -n kt-nothing-here"},
        {"get configmaps -n kt-nowhere"},
        {"get --raw /api/v1/namespaces/kt/configmaps/missing"},
        {"get kubeletconfigs,containerruntimeconfigs"},
        {"get machineconfigpools.machineconfiguration.openshift.io missing"},
        {"create -f -", "apiVersion: v1\nkind: Node\nmetadata: {name: kt-bare}\n"},
        {.line = "get node kt-bare -o yaml", .difference = "node-taint"},
        {"delete nodes kt-node kt-other kt-bare"}});
}

TEST_F(KubectlTest, EventsLeasesAndBudgets) {
  const std::string event = R"(apiVersion: v1
kind: Event
metadata: {name: kt.1, namespace: kt}
involvedObject: {kind: ConfigMap, namespace: kt, name: some}
reason: Tested
message: it was tested
type: Normal
source: {component: test}
firstTimestamp: "2026-01-01T00:00:00Z"
lastTimestamp: "2026-01-01T00:00:00Z"
count: 1
)";
  const std::string lease =
      "apiVersion: coordination.k8s.io/v1\nkind: Lease\nmetadata: {name: l, namespace: kt}\n"
      "spec: {holderIdentity: me, leaseDurationSeconds: 10, acquireTime: \"2026-01-01T00:00:00.000001Z\"}\n";
  const std::string budget =
      "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: b, namespace: kt}\n"
      "spec: {minAvailable: 1, selector: {matchLabels: {a: b}}}\n";
  const std::string observed = "wait --for=jsonpath={.status.observedGeneration}=1 --timeout=20s -n kt ";
  both({{"create -f -", event},
        {"get events -n kt --field-selector reason=Tested -o custom-columns=R:.reason,M:.message"},
        {"get event kt.1 -n kt -o yaml"},
        {"events -n kt --for configmap/some"},
        {"create -f -", lease},
        {"get leases -n kt"},
        {"get lease l -n kt -o yaml"},
        {"describe lease l -n kt"},
        {"create -f -", budget},
        {"create pdb made -n kt --selector=a=c --max-unavailable=25%"},
        {observed + "pdb/b pdb/made"},
        {"get pdb -n kt"},
        {"get pdb b made -n kt -o yaml"},
        {"delete pdb b made -n kt"},
        {"delete lease l -n kt"}});
}

TEST_F(KubectlTest, WaitsForStatus) {
  const std::string updated =
      R"({"status":{"machineCount":2,"conditions":[{"type":"Updated","status":"True","message":"","reason":""}]}})";
  both({{"create -f -", with(std::string(kPool), "kt-pool", "kt-waited")},
        {"wait mcp/kt-waited --for=condition=Updated --timeout=1s"},
        {"patch mcp kt-waited --subresource=status --type=merge -p", "", {updated}},
        {"wait mcp/kt-waited --for=condition=Updated --timeout=20s"},
        {"wait mcp/kt-waited --for=jsonpath={.status.machineCount}=2 --timeout=20s"},
        {"wait mcp/kt-waited --for=create --timeout=20s"},
        {"wait mcp/kt-missing --for=condition=Updated --timeout=1s"},
        {"get mcp kt-waited"},
        {"get mcp kt-waited --subresource=status -o yaml"},
        {"describe mcp kt-waited"},
        {"delete mcp kt-waited"}});
}

TEST_F(KubectlTest, Identity) {
  both({{.line = "auth whoami", .difference = "users"},
        {"auth whoami --as=somebody --as-group=some"},
        {"auth can-i get nodes"},
        {"auth can-i delete machineconfigs"},
        {"auth can-i * *"},
        {"auth can-i get /metrics"},
        {"auth can-i get nodes --as=somebody"},
        {"auth can-i get /version --as=somebody"},
        {"auth can-i get widgets"},
        {.line = "auth can-i --list", .difference = "users"},
        {.line = "create token default -n kt", .difference = "kinds"},
        {"get nodes --as=somebody -o name"}});
}

TEST_F(KubectlTest, NothingRunsPods) {
  const std::string pod =
      "apiVersion: v1\nkind: Pod\nmetadata: {name: kt-idle, namespace: kt}\nspec: {containers: [{name: c, image: "
      "i}]}\n";
  both({{"logs kt-absent -n kt"},
        {"exec kt-absent -n kt -- true"},
        {"create -f -", pod},
        {.line = "logs kt-idle -n kt", .difference = "running-pods"},
        {.line = "exec kt-idle -n kt -- true", .difference = "running-pods"},
        {"delete pod kt-idle -n kt"}});
  // Whoever reads no table reads the answer.
  for (const char* line : {"logs kt-worded -n kt", "exec kt-worded -n kt -- true"}) {
    outcome(embedded(), {"create -f -", with(pod, "kt-idle", "kt-worded")});
    EXPECT_NE(outcome(embedded(), {line}).find("no kubelet stands behind it"), std::string::npos)
        << outcome(embedded(), {line});
  }
  outcome(embedded(), {"delete pod kt-worded -n kt"});
  EXPECT_NE(outcome(embedded(), {"create token default -n kt"}).find("there are no service accounts here"),
            std::string::npos);
}

/// Waiting for output of a program that does not end: its own end is what is waited for, a little at a time.
std::string output_until(ChildProcess& process, const path& log, std::string_view marker) {
  constexpr int kTries = 300;
  std::string text;
  for (int tries = 0; tries < kTries; ++tries) {
    text = read_file(log, 1 << 20).value_or("");
    if (text.find(marker) != std::string::npos || process.wait_exit(50ms)) break;
  }
  return text;
}

TEST_F(KubectlTest, Watches) {
  std::vector<std::string> seen;
  for (const path& kubeconfig : {real(), embedded()}) {
    const auto step = [&](const std::string& line) { return outcome(kubeconfig, {line}); };
    step("create configmap watched -n kt");
    Command watch =
        command(kubeconfig, {"get configmaps -n kt -w --output-watch-events --field-selector metadata.name=watched"});
    const path log = home() / fmt::format("watch-{}.log", seen.size());
    watch.log_file = log;
    auto process = ChildProcess::start(watch);
    ASSERT_TRUE(process.ok()) << process.error().to_string();
    output_until(*process, log, "ADDED");
    step("create configmap unwatched -n kt");
    step(R"(patch configmap watched -n kt -p {"data":{"a":"b"}})");
    output_until(*process, log, "MODIFIED");
    step("delete configmap watched unwatched -n kt");
    seen.push_back(masked(output_until(*process, log, "DELETED")));
    process->kill_now();
  }
  EXPECT_NE(seen[0].find("DELETED watched 1"), std::string::npos) << seen[0];
  EXPECT_EQ(seen[1], seen[0]);
}

}  // namespace strake::kubectl_test
