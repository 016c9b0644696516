package setup

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Pitfall 34: whose records they are they say themselves, so that a cluster that uses another one's id
// does not remove these when it leaves.
func TestOwnerOfRecords(t *testing.T) {
	entry := unstructured.Unstructured{Object: map[string]any{"kind": "MemberCluster", "spec": map[string]any{"clusterUID": "theirs"}}}
	lease := unstructured.Unstructured{Object: map[string]any{"kind": "Lease"}}
	for want, objects := range map[string][]unstructured.Unstructured{"theirs": {lease, entry}, "": {lease}} {
		if got := (&records{objects: objects}).owner(); got != want {
			t.Errorf("the owner is %q, want %q", got, want)
		}
	}
}
