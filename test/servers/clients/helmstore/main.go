// helmstore KUBECONFIG NAMESPACE secrets|configmaps: keeps releases on an API server with Helm's own storage driver,
// and prints what came of each step. Two servers that print the same are the same to Helm.
package main

import (
	"fmt"
	"os"
	"sort"

	"helm.sh/helm/v3/pkg/chart"
	"helm.sh/helm/v3/pkg/release"
	"helm.sh/helm/v3/pkg/storage"
	"helm.sh/helm/v3/pkg/storage/driver"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

func newRelease(name string, version int, namespace string) *release.Release {
	return &release.Release{
		Name:      name,
		Namespace: namespace,
		Version:   version,
		Info:      &release.Info{Status: release.StatusDeployed, Description: "installed"},
		Chart:     &chart.Chart{Metadata: &chart.Metadata{APIVersion: "v2", Name: "demo", Version: "1.0.0"}},
		Manifest:  "kind: ConfigMap\n",
		Labels:    map[string]string{"team": "blue"},
	}
}

func describe(releases []*release.Release, err error) string {
	if err != nil {
		return "error: " + err.Error()
	}
	var lines []string
	for _, r := range releases {
		lines = append(lines, fmt.Sprintf("%s.v%d %s %s", r.Name, r.Version, r.Info.Status, r.Labels["team"]))
	}
	sort.Strings(lines)
	return fmt.Sprint(lines)
}

func one(r *release.Release, err error) string {
	if err != nil {
		return describe(nil, err)
	}
	return describe([]*release.Release{r}, nil)
}

func main() {
	if len(os.Args) != 4 {
		fmt.Fprintln(os.Stderr, "usage: helmstore KUBECONFIG NAMESPACE secrets|configmaps")
		os.Exit(1)
	}
	config, err := clientcmd.BuildConfigFromFlags("", os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	namespace := os.Args[2]
	var kept driver.Driver
	if os.Args[3] == "secrets" {
		kept = driver.NewSecrets(clients.CoreV1().Secrets(namespace))
	} else {
		kept = driver.NewConfigMaps(clients.CoreV1().ConfigMaps(namespace))
	}
	store := storage.Init(kept)
	store.MaxHistory = 3

	fmt.Println("driver", store.Name())
	fmt.Println("nothing yet", describe(store.ListReleases()))
	fmt.Println("absent", one(store.Get("demo", 1)))
	fmt.Println("create", store.Create(newRelease("demo", 1, namespace)))
	fmt.Println("create again", store.Create(newRelease("demo", 1, namespace)))
	fmt.Println("get", one(store.Get("demo", 1)))
	superseded := newRelease("demo", 1, namespace)
	superseded.Info.Status = release.StatusSuperseded
	fmt.Println("update", store.Update(superseded))
	fmt.Println("update absent", store.Update(newRelease("ghost", 1, namespace)))
	fmt.Println("create v2", store.Create(newRelease("demo", 2, namespace)))
	fmt.Println("create other", store.Create(newRelease("other", 1, namespace)))
	fmt.Println("history", describe(store.History("demo")))
	fmt.Println("deployed", describe(store.DeployedAll("demo")))
	fmt.Println("last", one(store.Last("demo")))
	fmt.Println("list", describe(store.ListReleases()))
	fmt.Println("query", describe(store.Query(map[string]string{"name": "other", "owner": "helm"})))
	for version := 3; version <= 5; version++ {
		fmt.Println("create further", store.Create(newRelease("demo", version, namespace)))
	}
	fmt.Println("history is cut", describe(store.History("demo")))
	fmt.Println("delete", one(store.Delete("other", 1)))
	fmt.Println("delete again", one(store.Delete("other", 1)))
	fmt.Println("list", describe(store.ListReleases()))
}
