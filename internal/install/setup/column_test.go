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
	found := 0
	for _, crd := range crds {
		versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
		for _, version := range versions {
			v := version.(map[string]any)
			columns, _ := v["additionalPrinterColumns"].([]any)
			var names []string
			for _, c := range columns {
				names = append(names, c.(map[string]any)["name"].(string))
			}
			if crd.GetName() != "serviceimports.multicluster.x-k8s.io" {
				continue
			}
			found++
			if got := strings.Join(names, " "); got != "Type IP Clusters Age" {
				t.Errorf("version %s has the columns %s", v["name"], got)
			}
			v["additionalPrinterColumns"] = append(columns[:2:2], columns[3])
		}
		if found > 0 && crd.GetName() == "serviceimports.multicluster.x-k8s.io" {
			if err := unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions"); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(crd.Object, serviceImports(t).Object) {
				t.Errorf("in all else it differs from the upstream definition")
			}
		}
	}
	if found == 0 {
		t.Error("there is no such definition")
	}
}

// serviceImports is the definition that a member cluster gets.
func serviceImports(t *testing.T) *unstructured.Unstructured {
	t.Helper()
	for _, crd := range brokerCRDs() {
		if crd.GetName() == "serviceimports.multicluster.x-k8s.io" {
			return crd
		}
	}
	t.Fatal("there is no such definition")
	return nil
}
