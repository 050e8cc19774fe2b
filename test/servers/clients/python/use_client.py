"""use_client.py KUBECONFIG NAMESPACE: uses an API server through the official Python client, as programs do, and prints
what came of each step. Two servers that print the same are the same to such a program."""

import sys

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException


def show(step, action):
    """Prints the outcome of a step: a value, or the status and reason of a refusal."""
    try:
        print(step, action())
    except ApiException as refusal:
        print(step, "refused", refusal.status, refusal.reason)


def names(items):
    return sorted(item.metadata.name for item in items)


def main(kubeconfig, namespace):
    api_client = config.new_client_from_config(kubeconfig)
    core = client.CoreV1Api(api_client)
    meta = client.V1ObjectMeta

    # Typed bodies: the client sends neither kind nor apiVersion unless it is told to.
    made = client.V1ConfigMap(metadata=meta(name="py-a", labels={"who": "python"}), data={"k": "v"})
    show("create", lambda: core.create_namespaced_config_map(namespace, made).data)
    show("create again", lambda: core.create_namespaced_config_map(namespace, made).data)
    for name in ("py-b", "py-c", "py-d", "py-e"):
        core.create_namespaced_config_map(
            namespace, client.V1ConfigMap(metadata=meta(name=name, labels={"who": "python"})))
    show("secret", lambda: core.create_namespaced_secret(
        namespace, client.V1Secret(metadata=meta(name="py-s"), string_data={"p": "q"})).data)
    show("read", lambda: core.read_namespaced_config_map("py-a", namespace).kind)
    show("read absent", lambda: core.read_namespaced_config_map("absent", namespace))
    show("list", lambda: names(core.list_namespaced_config_map(namespace, label_selector="who=python").items))

    def pages():
        seen, token, remaining = [], None, []
        while True:
            page = core.list_namespaced_secret(namespace, limit=1, _continue=token)
            seen += names(page.items)
            remaining.append(page.metadata.remaining_item_count)
            token = page.metadata._continue
            if not token:
                return len(seen), remaining

    show("pages", pages)

    show("merge", lambda: core.patch_namespaced_config_map("py-a", namespace, {"data": {"more": "1"}}).data)
    show("json patch", lambda: core.patch_namespaced_config_map(
        "py-a", namespace, [{"op": "replace", "path": "/data/k", "value": "w"}]).data)

    def replace():
        current = core.read_namespaced_config_map("py-a", namespace)
        current.data = {"only": "this"}
        current.api_version = current.kind = None
        return core.replace_namespaced_config_map("py-a", namespace, current).data

    show("replace", replace)

    def stale():
        current = core.read_namespaced_config_map("py-a", namespace)
        current.metadata.resource_version = "1"
        return core.replace_namespaced_config_map("py-a", namespace, current)

    show("replace a stale one", stale)

    def watched():
        events = []
        for event in watch.Watch().stream(core.list_namespaced_config_map, namespace,
                                          label_selector="who=python", timeout_seconds=20):
            events.append((event["type"], event["object"].metadata.name))
            if len(events) == 5:
                return sorted(events)
        return events

    show("watch", watched)

    # Kinds the client has no types for.
    pools = client.CustomObjectsApi(api_client)
    where = ("machineconfiguration.openshift.io", "v1", "machineconfigpools")
    pool = {"apiVersion": "machineconfiguration.openshift.io/v1", "kind": "MachineConfigPool",
            "metadata": {"name": "py-pool"}, "spec": {"paused": True}}
    show("custom", lambda: pools.create_cluster_custom_object(*where, pool)["spec"])
    show("custom without kind", lambda: pools.create_cluster_custom_object(*where, {"metadata": {"name": "py-x"}}))
    dynamic_pools = dynamic.DynamicClient(api_client).resources.get(
        api_version="machineconfiguration.openshift.io/v1", kind="MachineConfigPool")
    show("dynamic", lambda: dynamic_pools.get(name="py-pool").spec.paused)
    show("dynamic patch", lambda: dynamic_pools.patch(
        name="py-pool", body={"spec": {"paused": False}},
        content_type="application/merge-patch+json").spec.paused)

    review = client.V1SelfSubjectAccessReview(spec=client.V1SelfSubjectAccessReviewSpec(
        resource_attributes=client.V1ResourceAttributes(verb="delete", resource="nodes")))
    show("may I", lambda: client.AuthorizationV1Api(api_client).create_self_subject_access_review(review).status.allowed)
    show("who am I", lambda: "system:authenticated" in client.AuthenticationV1Api(
        api_client).create_self_subject_review(client.V1SelfSubjectReview()).status.user_info.groups)
    show("version", lambda: client.VersionApi(api_client).get_code().minor)

    show("delete", lambda: core.delete_namespaced_config_map("py-a", namespace).status)
    show("delete again", lambda: core.delete_namespaced_config_map("py-a", namespace).status)
    show("delete many", lambda: bool(core.delete_collection_namespaced_config_map(
        namespace, label_selector="who=python")))
    show("list", lambda: names(core.list_namespaced_config_map(namespace, label_selector="who=python").items))
    show("custom delete", lambda: pools.delete_cluster_custom_object(*where, "py-pool")["status"])


main(sys.argv[1], sys.argv[2])
