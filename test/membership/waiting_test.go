package membership

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// The objects that an agent needs in its own cluster may be created after the agent starts, and
// may be deleted.
func TestAgentWaitsForItsCluster(t *testing.T) {
	const ns = "waiting"
	joined(t, "c1", "--no-workloads")
	local := asAgent(t, "c1")
	ctx := t.Context()

	// The CRDs are missing.
	crds, _ := render.Member{}.Manifests()
	withdraw := func() {
		for _, crd := range crds {
			noError(t, on["c1"].Delete(ctx, crd.DeepCopy()))
			expectGone(t, "c1", &apiextensionsv1.CustomResourceDefinition{ObjectMeta: objects.Meta("", crd.GetName())})
		}
	}
	withdraw()
	noError(t, theLab.Kill(ctx, "c1/apiserver"))
	t.Cleanup(func() { _ = theLab.Start(context.Background(), "c1/apiserver") }) // should the test fail
	said := &planes.Log{To: t.Output()}
	startAgent(t, local, said)
	said.Expect(t, "this cluster's API server has not answered yet")
	noError(t, theLab.Start(ctx, "c1/apiserver"))
	said.Expect(t, "checking for the Multi-Cluster Services API")
	noError(t, planes.Target(t, theLab, "c1").CRDs(ctx, crds, false))
	create(t, "c1", namespace(ns), service(ns, "web"), service(ns, "late"))
	noError(t, on["c1"].Create(ctx, export(ns, "web")))
	expectImport(t, "c1", ns, "web", "c1")

	// The CRDs are deleted with all their objects, and created again.
	withdraw()
	expectGone(t, "c1", service(ns, "web-clusterset"))
	noError(t, planes.Target(t, theLab, "c1").CRDs(ctx, crds, false))
	eventually(t, "the ServiceExport is created again", func() error { return client.IgnoreAlreadyExists(on["c1"].Create(ctx, export(ns, "late"))) })
	expectImport(t, "c1", ns, "late", "c1")
	noError(t, on["c1"].Delete(ctx, export(ns, "late")))

	// The API server restarts.
	noError(t, theLab.Kill(ctx, "c1/apiserver"))
	noError(t, theLab.Start(ctx, "c1/apiserver"))
	noError(t, on["c1"].Create(ctx, export(ns, "web")))
	expectImport(t, "c1", ns, "web", "c1")
	noError(t, on["c1"].Delete(ctx, export(ns, "web")))
	expectGone(t, "c1", objects.Import(ns, "web"))
}

// A leader that loses its lease stops its controllers, and restarts them when it regains the
// lease. When a leader stops gracefully, the other replica takes over at once.
func TestLeaderLosesItsLease(t *testing.T) {
	const ns = "leaders"
	joined(t, "c1", "--no-workloads")
	elect := func(o *agent.Options) { o.LeaderElect = true }
	said := &planes.Log{To: t.Output()}
	stop := startAgent(t, asAgent(t, "c1"), said, elect)
	create(t, "c1", namespace(ns), service(ns, "web"), service(ns, "late"), service(ns, "last"))
	create(t, "c1", export(ns, "web"))
	expectImport(t, "c1", ns, "web", "c1")

	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: "atoll-agent.atoll.dev"}}
	planes.Until(t, "the lease is taken", on["c1"], lease, func() error {
		lease.Spec.HolderIdentity = ptr.To("somebody-else")
		lease.Spec.RenewTime = ptr.To(metav1.NowMicro())
		return on["c1"].Update(t.Context(), lease)
	})
	said.Expect(t, "The controllers stopped, and the program restarts them")
	create(t, "c1", export(ns, "late"))
	expectImport(t, "c1", ns, "late", "c1") // after the other holder's lease has expired

	standby := &planes.Log{To: t.Output()}
	startAgent(t, asAgent(t, "c1"), standby, elect)
	standby.Expect(t, "Waiting to be elected leader")
	stop()
	ended := time.Now()
	planes.Until(t, "the other replica leads", on["c1"], lease, func() error {
		if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
			return errors.New("no replica holds the lease")
		}
		return nil
	})
	standby.Expect(t, "Elected leader")
	create(t, "c1", export(ns, "last"))
	expectImport(t, "c1", ns, "last", "c1")
	t.Logf("the other replica had taken over after %v", time.Since(ended).Round(time.Millisecond))
}

// gate delays requests for the agents' Lease while it is locked for writing, as a slow API server does.
type gate struct {
	sync.RWMutex
	held atomic.Int32 // number of requests that had to wait
}

type gated struct {
	*gate
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (g gated) RoundTrip(r *http.Request) (*http.Response, error) {
	if strings.HasSuffix(r.URL.Path, "/leases/atoll-agent.atoll.dev") {
		if !g.TryRLock() {
			g.held.Add(1)
			g.RLock()
		}
		g.RUnlock()
	}
	return g.next.RoundTrip(r)
}

// A leader leads on while its own API server answers no renewal for five seconds, and no other replica leads meanwhile.
func TestSlowAPIServerEndsNoTerm(t *testing.T) {
	const stall = 5 * time.Second
	joined(t, "c1", "--no-workloads")
	config, slow := asAgent(t, "c1"), &gate{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper { return gated{slow, next} })
	elect := func(o *agent.Options) { o.LeaderElect = true }
	said, standby := &planes.Log{To: t.Output()}, &planes.Log{To: t.Output()}
	startAgent(t, config, said, elect)
	said.Expect(t, "Elected leader")
	startAgent(t, config, standby, elect)
	standby.Expect(t, "Waiting to be elected leader")
	lease := &coordinationv1.Lease{ObjectMeta: objects.Meta(names.SystemNamespace, "atoll-agent.atoll.dev")}
	planes.Read(t, on["c1"], lease)
	leader, terms := *lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions

	slow.Lock()
	<-time.After(stall)
	slow.Unlock()
	ended := time.Now()
	planes.Until(t, "the lease is renewed", on["c1"], lease, func() error {
		if lease.Spec.RenewTime.Before(&metav1.MicroTime{Time: ended}) {
			return errors.New("it is not")
		}
		return nil
	})
	if *lease.Spec.HolderIdentity != leader || *lease.Spec.LeaseTransitions != terms {
		t.Errorf("the leader was %s, and is %s after %d terms", leader, *lease.Spec.HolderIdentity, *lease.Spec.LeaseTransitions-terms)
	}
	if slow.held.Load() == 0 {
		t.Error("no request had to wait")
	}
}
