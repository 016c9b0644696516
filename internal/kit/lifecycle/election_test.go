package lifecycle

import (
	"context"
	"testing"

	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

type heldBy struct {
	resourcelock.Interface
	holder string
}

func (h heldBy) Get(context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	return &resourcelock.LeaderElectionRecord{HolderIdentity: h.holder}, nil, nil
}

func (h heldBy) Identity() string { return "me" }

// A lease without a holder, or with this replica as the holder of its last term, does not
// belong to another replica.
func TestObservedLock(t *testing.T) {
	for holder, want := range map[string]bool{"": false, "me": false, "other": true} {
		reported := false
		record, _, err := observedLock{heldBy{holder: holder}, func() { reported = true }}.Get(t.Context())
		if err != nil || record.HolderIdentity != holder || reported != want {
			t.Errorf("held by %q: reported is %v, %v", holder, reported, err)
		}
	}
}
