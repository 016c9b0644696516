package membership

import (
	"context"
	"errors"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// member joins c1 and has it leave after the test, when its agents have ended.
func member(t *testing.T) {
	t.Helper()
	deployBroker(t)
	must(t, joinFile(t, "c1"), "join - --no-workloads --context c1")
	t.Cleanup(func() { must(t, "", "leave --context c1") })
}

// What an agent needs of its own cluster may come later than the agent, and go.
func TestAgentWaitsForItsCluster(t *testing.T) {
	const ns = "waiting"
	member(t)
	local := asAgent(t, "c1")
	do := func(err error) {
		t.Helper()
		noError(t, err)
	}
	ctx := t.Context()

	// The custom resources are not there.
	crds, _ := render.Member{}.Manifests()
	for _, crd := range crds {
		do(on["c1"].Delete(ctx, crd.DeepCopy()))
		expectGone(t, "c1", &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.GetName()}})
	}
	do(theLab.Kill(ctx, "c1/apiserver"))
	t.Cleanup(func() { _ = theLab.Start(context.Background(), "c1/apiserver") }) // should the test fail
	said := &log{t: t}
	startAgent(t, local, said)
	said.expect("this cluster's API server has not answered yet")
	do(theLab.Start(ctx, "c1/apiserver"))
	said.expect("waiting for the Multi-Cluster Services API")
	apply(t, crds)
	create(t, "c1", namespace(ns), service(ns, "web"), service(ns, "late"))
	do(on["c1"].Create(ctx, export(ns, "web")))
	expectImport(t, "c1", ns, "web", "c1")

	// They go, with all objects, and come back.
	for _, crd := range crds {
		do(on["c1"].Delete(ctx, crd.DeepCopy()))
		expectGone(t, "c1", &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: crd.GetName()}})
	}
	expectGone(t, "c1", service(ns, "web-clusterset"))
	apply(t, crds)
	eventually(t, "it is exported again", func() error {
		err := on["c1"].Create(ctx, export(ns, "late"))
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		return err
	})
	expectImport(t, "c1", ns, "late", "c1")
	do(on["c1"].Delete(ctx, export(ns, "late")))

	// The API server is started again.
	do(theLab.Kill(ctx, "c1/apiserver"))
	do(theLab.Start(ctx, "c1/apiserver"))
	do(on["c1"].Create(ctx, export(ns, "web")))
	expectImport(t, "c1", ns, "web", "c1")
	do(on["c1"].Delete(ctx, export(ns, "web")))
	expectGone(t, "c1", objects.Import(ns, "web"))
}

// apply makes custom resource definitions again.
func apply(t *testing.T, crds []*unstructured.Unstructured) {
	t.Helper()
	config, err := theLab.RESTConfig("c1")
	noError(t, err)
	target, err := install.NewTarget(config, nil)
	noError(t, err)
	noError(t, target.CRDs(t.Context(), crds, false))
}

// A leader whose lease somebody else has got stops, and works again when it gets it back; the
// other replica takes over as soon as a leader ends in good order.
func TestLeaderLosesItsLease(t *testing.T) {
	const ns = "leaders"
	member(t)
	elect := func(o *agent.Options) { o.LeaderElect = true }
	said := &log{t: t}
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
	said.expect("the controllers have ended and are started again")
	create(t, "c1", export(ns, "late"))
	expectImport(t, "c1", ns, "late", "c1") // when the other's lease has run out

	standby := &log{t: t}
	startAgent(t, asAgent(t, "c1"), standby, elect)
	standby.expect("standing by")
	stop()
	ended := time.Now()
	eventually(t, "the other replica leads", func() error {
		if err := on["c1"].Get(context.WithoutCancel(t.Context()), client.ObjectKeyFromObject(lease), lease); err != nil {
			return err
		}
		if ptr.Deref(lease.Spec.HolderIdentity, "") == "" {
			return errors.New("nobody does")
		}
		return nil
	})
	standby.expect("this replica is the leader")
	create(t, "c1", export(ns, "last"))
	expectImport(t, "c1", ns, "last", "c1")
	t.Logf("the other replica had taken over after %v", time.Since(ended).Round(time.Millisecond))
}
