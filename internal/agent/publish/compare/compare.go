// Package compare compares this cluster's objects on the broker with its exports, and counts successful comparisons in
// its Lease. An importing cluster accepts a missing or older object only after that (docs/explanation/protocol.md, rule
// 3).
package compare

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/share"
)

const (
	// interval is the time between comparisons, unless the clusterset is large. A comparison costs an API server 2.4 µs
	// of CPU per object. objectsPerInterval limits all members together to 0.2 of a CPU.
	interval           = time.Minute
	objectsPerInterval = 5_000_000
	// objectsOfMember is how many objects of one member count: with more, it must not delay what the others confirm.
	objectsOfMember = 2 * share.Records
	// A connection's first comparisons are more frequent: others may wait for them after a restore of the broker.
	firstInterval = 20 * time.Second
	first         = 4
	// A comparison checks wrong objects this many times, with pauses: a write may be in progress.
	attempts = 4
	pause    = 2 * time.Second
	// again is the time until the next comparison after one that found something wrong.
	again = 5 * time.Second
	// refusedLimit is how long the broker must refuse an object before the member confirms the rest.
	refusedLimit = 10 * time.Minute
	pageSize     = 500
)

// errOutdated says that the cache differs from the broker.
var errOutdated = errors.New("the agent's cache differs from the objects on the broker: a watch may have stopped delivering events")

// Publisher is a controller of this member's published objects. A key is the name in its requests.
type Publisher interface {
	// Pending reports whether the published object of a key is out of date.
	Pending(ctx context.Context, key types.NamespacedName) (bool, error)
}

// Slices is the publisher of EndpointSlices.
type Slices interface {
	Publisher
	// Of returns the keys of a service.
	Of(ctx context.Context, service types.NamespacedName) []types.NamespacedName
}

// Lease is the member's heartbeat.
type Lease interface {
	// Counter reads how often the member found everything right.
	Counter(ctx context.Context) (belief.Counter, error)
	// Count increases the counter if it has not changed, and records whether the broker refuses an object.
	Count(ctx context.Context, counter belief.Counter, refused bool) error
}

// Comparer compares this cluster's objects on the broker with what it publishes.
type Comparer struct {
	Cluster *inputs.Cluster
	Broker  *inputs.Broker
	Lease   Lease
	Records Publisher
	Slices  Slices
	Writes  *Writes
	Log     *slog.Logger

	wrong kit.Since[key]
}

// key identifies an object of a Publisher.
type key struct {
	record bool
	types.NamespacedName
}

// keyOf returns the key of an object on the broker. source is for slices.
func keyOf(o client.Object, source string) key {
	service := layout.Service(o)
	if source == "" {
		return key{true, service}
	}
	return key{false, types.NamespacedName{Namespace: service.Namespace, Name: source}}
}

// Start implements manager.Runnable. It compares at once, then periodically, and fails if the cache is wrong.
func (v *Comparer) Start(ctx context.Context) error {
	for n := 0; ctx.Err() == nil; n++ {
		next := again
		right, err := v.compare(ctx)
		if foreign := v.Writes.takeForeign(); len(foreign) > 0 {
			v.Log.Error("Another writer has changed this cluster's objects on the broker: this cluster's credentials may have been stolen. The agent has restored the objects",
				"objects", len(foreign), "first", foreign[0], "action", replaceCredentials(v.Cluster))
		}
		switch {
		case errors.Is(err, errOutdated):
			return err
		case err != nil && ctx.Err() == nil:
			v.Log.Warn("Failed to compare the objects on the broker with this cluster's exports. The agent retries", "error", err)
		case right && n < first:
			next = firstInterval
		case right:
			next = v.interval(ctx)
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait.Jitter(next, 0.1)):
		}
	}
	return nil
}

func replaceCredentials(c *inputs.Cluster) string {
	return "Unless an administrator of the broker made the change, replace the credentials: create a join file with " +
		command.Broker.Atoll("broker token create %[1]s --clusterset %[2]s --replace --output %[1]s.join", c.ID, c.Clusterset) +
		", and join this cluster with the file: " + command.Here.Atoll("join %s.join", c.ID)
}

func (v *Comparer) interval(ctx context.Context) time.Duration {
	members, records, slices := &brokerv1alpha1.MemberClusterList{}, &brokerv1alpha1.ExportedServiceList{}, &discoveryv1.EndpointSliceList{}
	if err := errors.Join(v.Broker.List(ctx, members, client.UnsafeDisableDeepCopy), v.Broker.List(ctx, records, client.UnsafeDisableDeepCopy),
		v.Broker.List(ctx, slices, client.UnsafeDisableDeepCopy)); err != nil {
		return interval // the cache has stopped
	}
	objects := map[names.ClusterID]int{}
	for i := range records.Items {
		objects[layout.Cluster(&records.Items[i])]++
	}
	for i := range slices.Items {
		objects[layout.Cluster(&slices.Items[i])]++
	}
	return every(len(members.Items), objects)
}

// every returns the comparison interval for a number of members and of each member's objects.
func every(members int, objects map[names.ClusterID]int) time.Duration {
	all := 0
	for _, n := range objects {
		all += min(n, objectsOfMember)
	}
	return max(interval, time.Duration(float64(interval)*float64(members)*float64(all)/objectsPerInterval))
}

// seen is an object's resource version in the cache and on the broker, and the higher of the revisions.
type seen struct {
	cached, found string
	revision      int64
}

// compare increases the counter in the Lease if everything is right, and returns whether it was.
func (v *Comparer) compare(ctx context.Context) (right bool, err error) {
	counter, err := v.Lease.Counter(ctx)
	if err != nil {
		return false, fmt.Errorf("reading this cluster's comparison counter: %w", err)
	}
	wrong, err := v.stayWrong(ctx)
	if err != nil {
		return false, err
	}
	refused := 0
	for k, of := range wrong {
		switch {
		case of.cached != of.found:
			return false, errOutdated
		case v.wrong.For(k, time.Now()) >= refusedLimit:
			refused++
		}
	}
	if refused < len(wrong) {
		return false, nil
	}
	if err := v.Lease.Count(ctx, counter, refused > 0); err != nil {
		return false, fmt.Errorf("increasing this cluster's comparison counter: %w", err)
	}
	return true, nil
}

// stayWrong returns the objects that are wrong at each of several checks, without being written in between.
func (v *Comparer) stayWrong(ctx context.Context) (open map[key]seen, _ error) {
	for attempt := range attempts {
		if attempt > 0 {
			select {
			case <-ctx.Done():
				return nil, context.Cause(ctx)
			case <-time.After(pause):
			}
		}
		wrong, err := v.findWrong(ctx)
		if err != nil {
			return nil, err
		}
		if open == nil {
			open = wrong
		}
		for k, first := range open {
			if now, still := wrong[k]; !still || now.cached == now.found && now.revision > first.revision { // written since
				delete(open, k)
			}
		}
		if len(open) == 0 {
			break
		}
	}
	return open, nil
}

// findWrong reads the broker, and returns and queues the wrong objects.
func (v *Comparer) findWrong(ctx context.Context) (map[key]seen, error) {
	all, err := v.objects(ctx)
	if err != nil {
		return nil, err
	}
	if err := v.keys(ctx, all); err != nil {
		return nil, err
	}
	for k, of := range all {
		publisher, scope := Publisher(v.Slices), kit.Scope{Member: v.Cluster.ID, Slice: k.NamespacedName}
		if k.record {
			publisher, scope = v.Records, kit.Scope{Member: v.Cluster.ID, Service: k.NamespacedName}
		}
		pending, err := publisher.Pending(ctx, k.NamespacedName)
		if err != nil {
			return nil, err
		}
		if of.cached == of.found && !pending {
			v.wrong.Over(k)
			delete(all, k)
			continue
		}
		v.Cluster.Changes.Publish(scope)
	}
	return all, nil
}

// objects returns the member's own objects in the cache and on the broker.
func (v *Comparer) objects(ctx context.Context) (map[key]seen, error) {
	all := map[key]seen{}
	self := client.MatchingLabels{names.LabelSourceCluster: v.Cluster.ID.String()}
	for _, kind := range []schema.GroupVersionKind{
		brokerv1alpha1.GroupVersion.WithKind("ExportedServiceList"), discoveryv1.SchemeGroupVersion.WithKind("EndpointSliceList"),
	} {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		for {
			if err := v.Broker.Live.List(ctx, list, client.InNamespace(v.Cluster.Clusterset), self, client.Limit(pageSize), client.Continue(list.Continue)); err != nil {
				return nil, fmt.Errorf("listing this cluster's objects on the broker: %w", err)
			}
			for i := range list.Items {
				o := &list.Items[i]
				all[keyOf(o, layout.Source(o))] = seen{found: o.ResourceVersion, revision: layout.Revision(o)}
			}
			if list.Continue == "" {
				break
			}
		}
	}
	cached := func(o client.Object) {
		k := keyOf(o, layout.Source(o))
		of := all[k]
		of.cached, of.revision = o.GetResourceVersion(), max(of.revision, layout.Revision(o))
		all[k] = of
	}
	records := &brokerv1alpha1.ExportedServiceList{}
	if err := v.Broker.List(ctx, records, client.InNamespace(v.Cluster.Clusterset), client.MatchingFields{layout.ByCluster: v.Cluster.ID.String()}, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	for i := range records.Items {
		cached(&records.Items[i])
	}
	published, err := v.Broker.Published(ctx, v.Cluster.Clusterset, v.Cluster.ID)
	for _, s := range published {
		cached(s)
	}
	return all, err
}

// keys adds the objects that should be on the broker and are not.
func (v *Comparer) keys(ctx context.Context, all map[key]seen) error {
	exports, err := local.ServiceExports(ctx, v.Cluster.Client)
	if err != nil {
		return err
	}
	add := func(k key) {
		if _, known := all[k]; !known {
			all[k] = seen{}
		}
	}
	for _, e := range exports {
		add(key{true, e.NamespacedName})
		for _, source := range v.Slices.Of(ctx, e.NamespacedName) {
			add(key{false, source})
		}
	}
	return nil
}
