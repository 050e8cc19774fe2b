// kubectl apply, diff, create, replace, patch, edit, label, annotate, delete, drain: see kubectl_fixture.h.
#include "kubectl_fixture.h"

namespace strake::kubectl_test {

TEST_F(KubectlTest, ApplyAndDiff) {
  const std::string pool(kPool);
  const std::string changed = with(pool, "paused: false", "paused: true");
  const std::string map = with(config_map("applied"), "a: one", "a: one, b: two");
  const std::string documents = pool + "---\n" + map;
  const std::string list =
      "apiVersion: v1\nkind: List\nitems:\n"
      "- {apiVersion: v1, kind: ConfigMap, metadata: {name: listed, namespace: kt}, data: {a: b}}\n";
  both({{"apply --validate=strict --dry-run=server -f -", documents},
        {"diff -f -", map},
        {"apply --validate=strict -f -", documents},
        {"apply -f -", documents},
        {"diff -f -", documents},
        {"diff -f -", changed},
        {"diff -f -", with(map, "b: two", "c: three")},
        {"apply -f -", changed},
        {"apply -f -", with(map, "b: two", "c: three")},
        {"get configmap applied -n kt -o yaml"},
        {"get machineconfigpool kt-pool -o json"},
        {"apply view-last-applied configmap/applied -n kt"},
        {.line = "apply edit-last-applied configmap/applied -n kt", .editor = "sed -i s/one/uno/"},
        {"apply -f -", list},
        {"delete -f -", list},
        {"apply --validate=strict -f -", with(pool, "paused: false", "pausd: false")},
        {"apply --validate=warn -f -", with(changed, "spec:", "spec:\n  pausd: true")},
        {"apply --validate=ignore -f -", with(changed, "spec:", "spec:\n  pausd: true")},
        {"apply --validate=strict -f -", with(map, "\ndata:", "\ndta:")},
        {"apply --validate=warn -f -", with(map, "\ndata:", "\ndta:")},
        {"get configmap applied -n kt -o yaml"},
        {.line = "apply --server-side -f -", .input = map, .difference = "server-side-apply"},
        {.line = "diff --server-side -f -", .input = changed, .difference = "server-side-apply"},
        {.line = "get configmap applied -n kt -o yaml --show-managed-fields", .difference = "server-side-apply"},
        {"delete -f -", documents}});
}

TEST_F(KubectlTest, CreateReplaceAndWhatIsRefused) {
  const std::string map = config_map("made");
  const std::string pool(kPool);
  const std::string pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: x, namespace: kt}\n";
  both({{"create --validate=strict -f -", map},
        {"create -f -", map},
        {"replace -f -", with(map, "one", "two")},
        {"replace -f -", with(map, "name: made", "name: made, resourceVersion: \"1\"")},
        {"replace -f -", with(map, "made", "missing")},
        {"replace --force -f -", with(map, "one", "three")},
        {"create -f -", with(map, "namespace: kt", "namespace: nowhere")},
        {"create -f -", with(map, "made", "Not_A_Name")},
        {"create -f -", with(map, "name: made, ", "")},
        {"create -f -", with(map, "a: one", "a: 1")},
        {"create -f -", with(map, "{a: one}", "[one]")},
        {"create -f -", with(map, "\ndata:", "\ndta:")},
        {"create -f -", "apiVersion: v1\nkind: Secret\nmetadata: {name: x, namespace: kt}\ndata: {a: \"***\"}\n"},
        {"create -f -", pod + "spec: {containers: [{name: c, image: i, imge: j}]}\n"},
        {"create -f -", "apiVersion: v1\nkind: Nothing\nmetadata: {name: x}\n"},
        {"create -f -", "kind: ConfigMap\nmetadata: {name: x}\n"},
        {"create -f -", with(pool, "paused: false", "paused: \"no\"")},
        {"create -f -", with(pool, "spec:", "more:")},
        {"create -f -", with(pool, "metadata: {name: kt-pool}", "metadata: {name: kt-pool, labels: {a: \"b c\"}}")},
        {"create -f -", with(pool, "metadata: {name: kt-pool}", "metadata: {name: kt-pool, labels: {\"a b\": c}}")},
        {"create --dry-run=server -f -", with(map, "made", "dry")},
        {"get configmap dry -n kt"},
        {"delete configmap made -n kt"},
        {"delete configmap made -n kt"},
        {"delete configmap made -n kt --ignore-not-found"},
        {"delete configmap -n kt"}});
}

/// What kubectl sends in protobuf form.
TEST_F(KubectlTest, CreatesByTypedClients) {
  both({{"create configmap literal -n kt --from-literal=k=v --from-literal=empty="},
        {"create configmap literal -n kt"},
        {"get configmap literal -n kt -o yaml"},
        {"describe configmap literal -n kt"},
        {"create secret generic hidden -n kt --from-literal=k=v"},
        {"create secret generic hidden -n kt --from-literal=k=v --dry-run=server"},
        {"get secret hidden -n kt -o yaml"},
        {"describe secret hidden -n kt"},
        {"create secret tls broken -n kt --cert=/nowhere --key=/nowhere"},
        {"create namespace kt-made"},
        {"create namespace Not_A_Name"},
        {"get namespace kt-made -o yaml"},
        {"delete namespace kt-made --wait=false"},
        {"create pdb made -n kt --selector=a=c --min-available=1 --dry-run=server -o yaml"},
        {"delete configmap,secret -n kt --field-selector metadata.name=literal"},
        {"delete secret hidden -n kt"}});
}

TEST_F(KubectlTest, Patches) {
  const std::string config = R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: kt-patched, labels: {role: kt}}
spec: {config: {ignition: {version: 3.4.0}}, kernelArguments: [a]}
)";
  const std::string map = config_map("patched");
  both({{"create -f -", config},
        {"create -f -", map},
        {R"(patch mc kt-patched --type=merge -p {"spec":{"fips":true}})"},
        {R"(patch mc kt-patched --type=merge -p {"spec":{"fips":true}})"},
        {R"(patch mc kt-patched --type=json -p [{"op":"add","path":"/spec/kernelArguments/-","value":"b"}])"},
        {.line = R"(patch mc kt-patched --type=json -p [{"op":"test","path":"/spec/fips","value":false}])",
         .difference = "messages"},
        {.line = R"(patch mc kt-patched --type=strategic -p {"spec":{"fips":false}})",
         .difference = "server-side-apply"},
        {"patch mc kt-missing --type=merge -p {}"},
        {"get mc kt-patched -o yaml"},
        {R"(patch configmap patched -n kt -p {"data":{"b":"two"}} --dry-run=server -o yaml)"},
        {R"(patch -f - --type=merge -p {"data":{"a":null}})", map},
        {"get configmap patched -n kt -o yaml"},
        {"patch configmap patched -n kt --type=json -p {}"},
        {"patch configmap patched -n kt -p text"},
        {.line = R"(patch configmap patched -n kt -p {"data":{"a":1}})", .difference = "messages"},
        {"delete -f -", config},
        {"delete -f -", map}});
}

TEST_F(KubectlTest, ChangesInPlace) {
  const std::string config = R"(apiVersion: machineconfiguration.openshift.io/v1
kind: MachineConfig
metadata: {name: kt-config, labels: {role: kt}}
spec: {config: {ignition: {version: 3.4.0}}, kernelArguments: [a]}
)";
  both({{"create -f -", config},
        {"create -f -", tainted_node("kt-changed")},
        {R"(patch node kt-changed -p {"metadata":{"labels":{"a":"b"}}})"},
        {"label node kt-changed a=c"},
        {"label node kt-changed a=c --overwrite"},
        {"label node kt-changed --list"},
        {"label node kt-changed a-"},
        {"label node kt-changed", "", {"bad=a b"}},
        {"annotate mc kt-config note=hello"},
        {"annotate mc kt-config note=again"},
        {"annotate mc kt-config note=again --overwrite --resource-version=1"},
        {"annotate mc kt-config note-"},
        {"taint node kt-changed k=v:NoSchedule"},
        {"cordon kt-changed"},
        {"cordon kt-changed"},
        {"get node kt-changed"},
        {"uncordon kt-changed"},
        {"taint node kt-changed k-"},
        {"set env node/kt-changed A=b"},
        {.line = "edit mc kt-config", .editor = "true"},
        {.line = "edit mc kt-config", .editor = "sed -i s/3[.]4[.]0/3.5.0/"},
        {.line = "edit mc kt-config", .editor = "sed -i s/kernelArguments/kernelArgumnts/"},
        {"get mc kt-config"},
        {"get mc kt-config -o yaml"},
        {"describe mc kt-config"},
        {"scale --replicas=2 mc/kt-config"},
        {"delete mc kt-config"},
        {"delete node kt-changed"}});
}

TEST_F(KubectlTest, DeletionWaitsForFinalizers) {
  const std::string held =
      with(config_map("held"), "name: held", "name: held, labels: {group: d}, finalizers: [example.com/hold]");
  const std::string free = with(config_map("free"), "name: free", "name: free, labels: {group: d}");
  both({{"create -f -", held},
        {"create -f -", free},
        {"delete configmap held -n kt --wait=false"},
        {"wait --for=delete configmap/held -n kt --timeout=1s"},
        {"get configmap held -n kt -o jsonpath={.metadata.deletionGracePeriodSeconds}"},
        {"delete configmap -n kt -l group=d --wait=false --dry-run=server"},
        {R"(patch configmap held -n kt --type=merge -p {"metadata":{"finalizers":null}})"},
        {"wait --for=delete configmap/held -n kt --timeout=20s"},
        {"delete configmap -n kt -l group=d --cascade=foreground"},
        {"get configmap -n kt -l group=d"}});
}

TEST_F(KubectlTest, Drain) {
  const std::string pod = R"(apiVersion: v1
kind: Pod
metadata: {name: guarded, namespace: kt, labels: {app: guarded}}
spec: {nodeName: kt-drained, automountServiceAccountToken: false, containers: [{name: c, image: i}]}
)";
  const std::string running = R"(patch pod guarded -n kt --subresource=status -p )"
                              R"({"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True"}]}})";
  both({{"create -f -", tainted_node("kt-drained")},
        {"create -f -", pod},
        {running},
        {"get pods -n kt -o wide"},
        {.line = "get pod guarded -n kt -o yaml", .difference = "pod-defaults"},
        {.line = "describe pod guarded -n kt", .difference = "pod-defaults"},
        {"create pdb guard -n kt --selector=app=guarded --min-available=1"},
        {"wait --for=jsonpath={.status.currentHealthy}=1 pdb/guard -n kt --timeout=20s"},
        {"get pdb guard -n kt -o yaml"},
        {"describe pdb guard -n kt"},
        {"drain kt-drained"},
        {"drain kt-drained --force --timeout=1s"},
        {"get node kt-drained"},
        {"delete pdb guard -n kt"},
        {"drain kt-drained --force --dry-run=server"},
        {"drain kt-drained --force --grace-period=0 --timeout=20s"},
        {"create -f -", pod},
        {"drain kt-drained --force --disable-eviction --grace-period=0 --timeout=20s"},
        {"get pods -n kt"},
        {"uncordon kt-drained"},
        {"delete node kt-drained"}});
}

}  // namespace strake::kubectl_test
