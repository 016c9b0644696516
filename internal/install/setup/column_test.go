package setup

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// On a broker, ServiceImports have a column for the clusters; in all else the definitions are
// the upstream ones.
func TestBrokerShowsClusters(t *testing.T) {
	crds, _ := BrokerManifests("set", "")
	shows, upstream := serviceImports(t, crds), serviceImports(t, brokerCRDs())
	versions, _, _ := unstructured.NestedSlice(shows.Object, "spec", "versions")
	for _, version := range versions {
		v := version.(map[string]any)
		columns := v["additionalPrinterColumns"].([]any)
		var names []string
		for _, c := range columns {
			names = append(names, c.(map[string]any)["name"].(string))
		}
		if got := strings.Join(names, " "); got != "Type IP Clusters Age" {
			t.Fatalf("version %s has the columns %s", v["name"], got)
		}
		v["additionalPrinterColumns"] = append(columns[:2:2], columns[3])
	}
	if err := unstructured.SetNestedSlice(shows.Object, versions, "spec", "versions"); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(shows.Object, upstream.Object) {
		t.Errorf("in all else it differs from the upstream definition")
	}
}

// serviceImports is the definition of these that is among others.
func serviceImports(t *testing.T, among []*unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	for _, crd := range among {
		if crd.GetName() == "serviceimports.multicluster.x-k8s.io" {
			return crd
		}
	}
	t.Fatal("there is no such definition")
	return nil
}
