// Package integration tests agents with real API servers and the permissions of a real installation. There are
// no pods, so the tests make EndpointSlices themselves.
package integration

import (
	"context"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/planes"
)

const patience = planes.Patience

var (
	// theLab has clusters c1 and c2 and a broker.
	theLab *lab.Lab
	// on holds an administrator's client for each cluster and for the broker.
	on map[string]client.WithWatch
)

func TestMain(m *testing.M) {
	planes.Suite{
		Name: "integration",
		Options: lab.Options{
			Shape: lab.Shape{Clusters: 2, Hub: true},
			// Tests that kill an agent wait for this timeout.
			AgentArgs: []string{"--lease-timeout=4s", "--service-grace=1s"},
			Audit:     true, // for tests that count writes
		},
		Ready: func(_ context.Context, l *lab.Lab) (err error) {
			theLab = l
			on, err = planes.Clients(l, "c1", "c2", lab.Broker)
			return err
		},
	}.Main(m)
}

// slicesOf lists Atoll's EndpointSlices in a namespace of a cluster.
func slicesOf(t *testing.T, cluster, namespace string, of ...client.ListOption) []discoveryv1.EndpointSlice {
	t.Helper()
	list := &discoveryv1.EndpointSliceList{}
	planes.NoError(t, on[cluster].List(t.Context(), list, append(of, client.InNamespace(namespace), planes.Managed)...))
	return list.Items
}
