package flood

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

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

// expectAddresses waits until imports of the flood have as many of c2's Service addresses as one member may have, and one says
// that it gets none. It fails the test if they ever have more.
func (by *bystander) expectAddresses(t *testing.T) {
	t.Helper()
	planes.Eventually(t, "the flood uses up its quarter of the Service addresses", func() error {
		metrics, err := by.b.AgentMetrics(t.Context(), "c2")
		if err != nil {
			return err
		}
		used := metrics.Sum("atoll_serviceimport_addresses", "source_cluster", flooder)
		if used > addressesOfFlood {
			t.Fatalf("imports of the flood have %.0f addresses, more than %d", used, addressesOfFlood)
		}
		imports := &mcsv1beta1.ServiceImportList{}
		if err := by.b.On["c2"].List(t.Context(), imports, client.InNamespace(flooded)); err != nil {
			return err
		}
		refused := 0
		for _, imp := range imports.Items {
			if ready := meta.FindStatusCondition(imp.Status.Conditions, "Ready"); ready != nil && strings.Contains(ready.Message, "at most a quarter") {
				refused++
			}
		}
		if used < addressesOfFlood || refused == 0 {
			return fmt.Errorf("%.0f addresses are in use, and %d imports say that they get none", used, refused)
		}
		t.Logf("imports of the flood use %.0f addresses in c2, and %d of %d imports say that they get none", used, refused, len(imports.Items))
		return nil
	})
}

// expectNew fails the test unless a new service of c1 gets an address in c2.
func (by *bystander) expectNew(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), planes.Patience)
	defer cancel()
	o, err := bed.Observe(ctx, by.b.On["c2"], flooded)
	planes.NoError(t, err)
	late := bed.Service{Namespace: flooded, Name: "late", Endpoints: 1, First: 2}
	begun := time.Now()
	planes.NoError(t, late.Create(ctx, by.b.On["c1"]))
	planes.NoError(t, late.Export(ctx, by.b.On["c1"]))
	at, err := o.Await(ctx, bed.Usable(late.Name), bed.Endpoints(late.Name, 1))
	planes.NoError(t, err)
	t.Logf("a new service of c1 has an address and its endpoint in c2 after %v", at.Sub(begun).Round(time.Millisecond))
}
