package hints

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
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

// A member that changes its region all the time refreshes the hints of each service once per refresh.
func TestRegionFlips(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		scheme := runtime.NewScheme()
		if err := mcsv1beta1.Install(scheme); err != nil {
			t.Fatal(err)
		}
		c := fake.NewClientBuilder().WithScheme(scheme)
		for i := range 3 {
			c.WithObjects(&mcsv1beta1.ServiceImport{
				ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: fmt.Sprint("web-", i), Labels: map[string]string{names.LabelManagedBy: names.AgentManager}},
				Spec:       mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.ClusterSetIP, TrafficDistribution: ptr.To(corev1.ServiceTrafficDistributionPreferClose)},
			})
		}
		h := New("c1", "eu", false, c.Build())
		close(h.known)
		refreshes := 0
		h.Changes.Subscribe(func(types.NamespacedName) { refreshes++ })
		for i := range 50 {
			h.Region(t.Context(), "c2", []string{"eu", "us"}[i%2])
		}
		if refreshes != 3 {
			t.Errorf("50 changes refresh %d times at once, want 3", refreshes)
		}
		if <-time.After(3 * refresh); refreshes != 6 {
			t.Errorf("%d refreshes in the end, want 6", refreshes)
		}
	})
}
