package setup

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// withClusters adds a column with the exporting clusters to the broker's definition of ServiceImports, before the age.
// The rest, including the version, is upstream's, so applying the upstream definition only removes the column.
func withClusters(crds []*unstructured.Unstructured) []*unstructured.Unstructured {
	all := slices.Clone(crds)
	for i, crd := range all {
		if crd.GetName() == "serviceimports.multicluster.x-k8s.io" {
			all[i] = crd.DeepCopy()
			addClusters(all[i])
		}
	}
	return all
}

func addClusters(crd *unstructured.Unstructured) {
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions") // our own text
	for _, version := range versions {
		v := version.(map[string]any)
		columns, _ := v["additionalPrinterColumns"].([]any)
		v["additionalPrinterColumns"] = slices.Insert(columns, max(len(columns)-1, 0), any(map[string]any{
			"name": "Clusters", "type": "string", "description": "The clusters that export this service",
			// A column shows a single value, but status.clusters is a list.
			"jsonPath": ".metadata.annotations." + strings.ReplaceAll(names.AnnotationClusters, ".", `\.`),
		}))
	}
	_ = unstructured.SetNestedSlice(crd.Object, versions, "spec", "versions")
}
