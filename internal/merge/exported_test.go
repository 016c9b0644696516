package merge

import (
	"maps"
	"slices"
	"testing"
)

// What one exporter wrote on the broker must not stop the import, nor take the controllers' own
// keys.
func TestExportedMetadataIsFiltered(t *testing.T) {
	oldest := Export{
		ClusterID:           "c1",
		ExportedLabels:      map[string]string{"team": "platform", "bad": "platform team", "atoll.dev/managed-by": "me"},
		ExportedAnnotations: map[string]string{"Note": "any text", "a b": "c", "atoll.dev/clusterset-ips": "10.0.0.1"},
	}
	got := Resolve([]Export{oldest}).Exported()
	if keys := slices.Sorted(maps.Keys(got.Labels)); !slices.Equal(keys, []string{"team"}) {
		t.Errorf("labels %v", keys)
	}
	if keys := slices.Sorted(maps.Keys(got.Annotations)); !slices.Equal(keys, []string{"Note"}) {
		t.Errorf("annotations %v", keys)
	}
	if got := Resolve([]Export{{ClusterID: "c1"}}).Exported(); got.Labels == nil || got.Annotations == nil {
		t.Error("nil, where keys are added")
	}
}
