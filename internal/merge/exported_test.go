package merge

import (
	"maps"
	"slices"
	"strings"
	"testing"
)

// What one exporter wrote must not stop the import, nor take the controllers' own keys.
func TestExportedMetadataIsFiltered(t *testing.T) {
	labels := exported(map[string]string{
		"team": "platform", "bad": "platform team", "a b": "c", "atoll.dev/managed-by": "me", "multicluster.kubernetes.io/source-cluster": "c9",
	}, validLabel)
	if keys := slices.Sorted(maps.Keys(labels)); !slices.Equal(keys, []string{"team"}) {
		t.Errorf("labels %v", keys)
	}
	annotations := exported(map[string]string{
		"Note": "any text", "a b": "c", "long": strings.Repeat("x", maxAnnotation+1), "atoll.dev/clusterset-ips": "10.0.0.1",
	}, validAnnotation)
	if keys := slices.Sorted(maps.Keys(annotations)); !slices.Equal(keys, []string{"Note"}) {
		t.Errorf("annotations %v", keys)
	}
	if exported(nil, validLabel) == nil {
		t.Error("nil, where keys are added")
	}
}
