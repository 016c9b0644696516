package loadbalancer

import (
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/hub/loadbalancer"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// Pitfall 31: an object that is missing on the broker, or older than before, stays a backend
// until its member confirms the change, even if the hub was disconnected meanwhile. Backends
// that a member withdraws, or of a member that is removed from the clusterset, are removed at
// once.
func TestBackendsThatTheBrokerHasLost(t *testing.T) {
	const ns = "believed"
	p, _ := providers()
	believed = loadbalancer.NewPublished(clusterset, border.Limits{})
	t.Cleanup(func() { believed = nil })
	stop := start(t)
	mcs := exposed(t, ns, "web", nil)
	has := func(when string, backends ...string) {
		t.Helper()
		eventually(t, when, func() error { return p.has(nameOf(mcs), backends...) })
	}
	const one, two, three, four = "80>c1/10.1.0.1:8080", "80>c2/10.2.0.1:8080", "80>c3/10.3.0.1:8080", "80>c4/10.4.0.1:8080"
	c1, c2, c3 := published("c1", ns, "web", "10.1.0.1"), published("c2", ns, "web", "10.2.0.1"), published("c3", ns, "web", "10.3.0.1")
	layout.SetRevision(c2, 5)
	create(t, c1, c2, c3)
	has("all are backends", one, two, three)

	stop()
	planes.Delete(t, hub, c1, objects.Record("c3", ns, "web"))
	change(t, c2, func(s *discoveryv1.EndpointSlice) { // restored
		s.Annotations[names.AnnotationRevision], s.Endpoints[0].Addresses = "4", []string{"10.2.0.9"}
	})
	start(t)
	create(t, published("c4", ns, "web", "10.4.0.1"))
	has("one is added, and all others stay", one, two, three, four)

	confirms := func(member string, then ...string) {
		t.Helper()
		lease := objects.Lease(member)
		create(t, lease)
		planes.CleanUp(t, hub, lease)
		eventually(t, member+" confirms", func() error {
			change(t, lease, func(l *coordinationv1.Lease) { layout.SetCount(l, layout.Counter(l).Count+1, false) })
			return p.has(nameOf(mcs), then...)
		})
	}
	confirms("c1", two, three, four)
	confirms("c2", "80>c2/10.2.0.9:8080", three, four)
	removed := objects.Member("c3")
	removed.Spec.State = brokerv1alpha1.MemberRemoved
	create(t, removed)
	planes.CleanUp(t, hub, removed)
	has("it is removed", "80>c2/10.2.0.9:8080", four)
	withdraw(t, c2)
	has("it is withdrawn", four)
}
