package setup

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// On a broker, the CRD of ServiceImports has a column for the clusters. Otherwise the CRDs
// equal the upstream CRDs.
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
		t.Errorf("apart from the column, the CRD differs from the upstream CRD")
	}
}

// serviceImports returns the CRD of ServiceImports.
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
