package hints

import (
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// Constant changes of other clusters' endpoints refresh a service's hints at once, and then once per refresh, also the last change.
// Another service's do not wait for them.
func TestRefresh(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, web := New("c1", "", false, nil), types.NamespacedName{Namespace: "shop", Name: "web"}
		begun, refreshes := time.Now(), []time.Duration{}
		h.Changes.Subscribe(func(types.NamespacedName) { refreshes = append(refreshes, time.Since(begun)) })
		flips := time.NewTicker(refresh / 20)
		for range 50 { // for 12.5 s
			if h.due(web) {
				h.Changes.Publish(web)
			}
			<-flips.C
		}
		flips.Stop()
		if other := (types.NamespacedName{Namespace: "shop", Name: "db"}); !h.due(other) {
			t.Error("another service waits")
		}
		<-time.After(10 * refresh)
		if len(refreshes) != 4 || refreshes[1] != refresh || refreshes[2] != 2*refresh || refreshes[3] != 3*refresh || len(h.recent) > 0 {
			t.Errorf("refreshed after %v, and %v is recent", refreshes, h.recent)
		}
	})
}
