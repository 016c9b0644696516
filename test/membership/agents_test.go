package membership

import (
	"context"
	"io"
	"log/slog"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// asAgent returns the agent's configuration for its own API server, with its own permissions.
func asAgent(t *testing.T, cluster string) *rest.Config {
	t.Helper()
	config, err := theLab.RESTConfig(cluster)
	noError(t, err)
	return planes.AsAccount(t, on[cluster], config, names.SystemNamespace, "atoll-agent")
}

// startAgent runs an agent as a cluster's own until the returned function is called, or the
// test ends. Its log goes to w.
func startAgent(t *testing.T, local *rest.Config, w io.Writer, change ...func(*agent.Options)) (stop func()) {
	t.Helper()
	options := agent.Options{
		Local: local, BrokerTokenLifetime: rights.MaxTokenLifetime,
		LeaseTimeout: 4 * time.Second, MetricsAddress: "0", HealthAddress: "0",
	}
	for _, f := range change {
		f(&options)
	}
	stop = background(t, "the agent has ended", func(ctx context.Context) error { return agent.Run(ctx, options, slog.New(slog.NewTextHandler(w, nil))) })
	t.Cleanup(stop)
	return stop
}

// background runs a program until the returned function is called.
func background(t *testing.T, what string, run func(context.Context) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		planes.Succeeds(t, what, run(ctx))
	}()
	return func() {
		cancel()
		<-ended
	}
}

// create creates objects and deletes them after the test.
func create(t *testing.T, cluster string, all ...client.Object) {
	t.Helper()
	planes.Create(t, on[cluster], all...)
	for _, o := range all {
		t.Cleanup(func() {
			if err := on[cluster].Delete(context.Background(), o); client.IgnoreNotFound(err) != nil {
				t.Errorf("deleting %s in %s: %v", o.GetName(), cluster, err)
			}
			if ns, ok := o.(*corev1.Namespace); ok { // the next test takes stock of the cluster
				eventually(t, "the namespace "+ns.Name+" is gone in "+cluster, func() error {
					return planes.IsGone(on[cluster].Get(context.Background(), client.ObjectKeyFromObject(ns), &corev1.Namespace{}))
				})
			}
		})
	}
}

// expectImport waits until a cluster has imported a service from exactly these clusters.
func expectImport(t *testing.T, cluster, namespace, name string, from ...string) {
	t.Helper()
	eventually(t, cluster+" has imported "+name, func() error { return planes.Imported(t.Context(), on[cluster], namespace, name, from...) })
}

// membershipOf reads a cluster's membership Secret.
func membershipOf(t *testing.T, cluster string) (credential.Membership, *corev1.Secret) {
	t.Helper()
	return planes.Membership(t, on[cluster])
}

func service(namespace, name string) *corev1.Service { return objects.Service(namespace, name, 80) }
