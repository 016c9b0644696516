package membership

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
)

// inventory names every object of an API server, except Events and the API server's own objects.
// It is false for objects that are being deleted, as an earlier test's definitions may still be.
func inventory(t *testing.T, cluster string) map[string]bool {
	t.Helper()
	config, err := theLab.RESTConfig(cluster)
	noError(t, err)
	dynamicClient, err := dynamic.NewForConfig(config)
	noError(t, err)
	lists, err := discovery.NewDiscoveryClientForConfigOrDie(config).ServerPreferredResources()
	noError(t, err)
	found := map[string]bool{}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		noError(t, err)
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || r.Name == "events" || r.Name == "apiservices" || r.Name == "endpoints" || r.Name == "componentstatuses" {
				continue
			}
			objects, err := dynamicClient.Resource(group.WithResource(r.Name)).List(t.Context(), metav1.ListOptions{})
			if err != nil {
				t.Fatalf("listing %s of %s: %v", r.Name, cluster, err)
			}
			for _, o := range objects.Items {
				found[fmt.Sprintf("%s.%s %s/%s", r.Name, group.Group, o.GetNamespace(), o.GetName())] = o.GetDeletionTimestamp() == nil
			}
		}
	}
	return found
}

// expectInventory waits until a cluster has exactly the objects of before. Additional objects
// are allowed only if their name contains one of the texts.
func expectInventory(t *testing.T, cluster string, before map[string]bool, but ...string) {
	t.Helper()
	eventually(t, "all objects are as before in "+cluster, func() error {
		after := inventory(t, cluster)
		var differ []string
		for name := range after {
			if !before[name] && !slices.ContainsFunc(but, func(b string) bool { return strings.Contains(name, b) }) {
				differ = append(differ, "+"+name)
			}
		}
		for name, existed := range before {
			if existed && !after[name] {
				differ = append(differ, "-"+name)
			}
		}
		if len(differ) > 0 {
			slices.Sort(differ)
			return fmt.Errorf("of %d objects differ:\n%s", len(after), strings.Join(differ, "\n"))
		}
		for _, b := range but {
			if !slices.ContainsFunc(slices.Collect(maps.Keys(after)), func(name string) bool { return strings.Contains(name, b) }) {
				return fmt.Errorf("there is no %s", b)
			}
		}
		return nil
	})
}
