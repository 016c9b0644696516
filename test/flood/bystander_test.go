package flood

import (
	"context"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/planes"
)

// bystander observes what the flood must not disturb: the heartbeats of the members with agents, and a service that does not
// change. The bed has no pods, so the service's endpoint in the importing cluster stands for its requests.
type bystander struct {
	b       *bed.Bed
	service bed.Service

	mu       sync.Mutex
	renewals map[string][]time.Time // by member, in order
	without  int                    // events after which the importing cluster has no endpoint
}

func newBystander(t *testing.T, b *bed.Bed, service bed.Service) *bystander {
	t.Helper()
	by := &bystander{b: b, service: service, renewals: map[string][]time.Time{}}
	o, err := bed.Observe(t.Context(), b.On["c2"], service.Namespace)
	planes.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), planes.Patience)
	defer cancel()
	_, err = o.Await(ctx, bed.Endpoints(service.Name, 1))
	planes.NoError(t, err)
	by.follow(t, b.On[lab.Broker], &coordinationv1.LeaseList{}, by.onLease, client.InNamespace(broker.DefaultNamespace))
	by.follow(t, b.On["c2"], &discoveryv1.EndpointSliceList{}, by.onSlice, client.InNamespace(service.Namespace),
		client.MatchingLabels{names.LabelServiceName: service.Name, names.LabelSourceCluster: "c1"})
	return by
}

func (by *bystander) follow(t *testing.T, c client.WithWatch, list client.ObjectList, on func(watch.Event), opts ...client.ListOption) {
	t.Helper()
	events, err := bed.Watch(t.Context(), c, list, opts...)
	planes.NoError(t, err)
	go func() {
		for e := range events {
			by.mu.Lock()
			on(e)
			by.mu.Unlock()
		}
	}()
}

// onLease notes a heartbeat. The caller holds mu.
func (by *bystander) onLease(e watch.Event) {
	if lease, ok := e.Object.(*coordinationv1.Lease); ok && lease.Name != flooder {
		by.renewals[lease.Name] = append(by.renewals[lease.Name], time.Now())
	}
}

// onSlice notes that the service has lost its endpoint. The caller holds mu.
func (by *bystander) onSlice(e watch.Event) {
	if slice, ok := e.Object.(*discoveryv1.EndpointSlice); e.Type == watch.Deleted || ok && len(slice.Endpoints) != 1 {
		by.without++
	}
}

// gap is the longest time that a member's heartbeats were apart, up to now.
func (by *bystander) gap() (longest time.Duration) {
	by.mu.Lock()
	defer by.mu.Unlock()
	for _, member := range by.b.Members {
		all := append(by.renewals[member], time.Now())
		for i := range all[1:] {
			longest = max(longest, all[i+1].Sub(all[i]))
		}
	}
	return longest
}

// expect fails the test unless the bystander was left alone.
func (by *bystander) expect(t *testing.T) {
	t.Helper()
	if gap := by.gap(); gap > heartbeatGap {
		t.Errorf("heartbeats were %v apart", gap)
	}
	if size := by.storage(t); size > quota {
		t.Errorf("the broker's storage has grown to %.0f MiB", size/(1<<20))
	}
	by.mu.Lock()
	defer by.mu.Unlock()
	if by.without > 0 {
		t.Errorf("the service %s had no endpoint %d times", by.service.Name, by.without)
	}
}

// storage is the size of the broker's etcd.
func (by *bystander) storage(t *testing.T) float64 {
	t.Helper()
	size := by.metrics(t).Sum("apiserver_storage_size_bytes")
	if size == 0 {
		t.Error("the broker's API server has no metric apiserver_storage_size_bytes")
	}
	return size
}

// watches is the number of watches of the members' kinds on the broker.
func (by *bystander) watches(t *testing.T) (open float64) {
	t.Helper()
	metrics := by.metrics(t)
	for _, resource := range []string{"endpointslices", "exportedservices", "serviceimports", "memberclusters", "servicepolicies", "configmaps", "leases"} {
		open += metrics.Sum("apiserver_longrunning_requests", "verb", "WATCH", "resource", resource)
	}
	return open
}

// metrics returns the metrics of the broker's API server.
func (by *bystander) metrics(t *testing.T) bed.Metrics {
	t.Helper()
	config, err := by.b.Lab.RESTConfig(lab.Broker)
	planes.NoError(t, err)
	kube, err := kubernetes.NewForConfig(config)
	planes.NoError(t, err)
	text, err := kube.RESTClient().Get().AbsPath("/metrics").DoRaw(t.Context())
	planes.NoError(t, err)
	return bed.ParseMetrics(string(text))
}

// addresses is the number of Service addresses that imports in the flooded namespace of c2 use.
func (by *bystander) addresses(t *testing.T) (used int) {
	t.Helper()
	services := &corev1.ServiceList{}
	planes.NoError(t, by.b.On["c2"].List(t.Context(), services, client.InNamespace(flooded)))
	for _, s := range services.Items {
		if s.Spec.ClusterIP != corev1.ClusterIPNone {
			used++
		}
	}
	return used
}

// expectAddresses fails the test if the flood uses more than a member's part of c2's Service range: a quarter.
func (by *bystander) expectAddresses(t *testing.T) {
	t.Helper()
	const bystanders = 2 // Services of c1 that c2 imports
	c2, err := by.b.Lab.Spec.Cluster("c2")
	planes.NoError(t, err)
	most := 1<<(32-c2.ServiceCIDRs[0].Bits())/4 + bystanders
	if used := by.addresses(t); used > most {
		t.Errorf("imports use %d addresses, of which the flood may have %d", used, most-bystanders)
	}
}
