// Package floor is the baseline of the benchmark. It writes the same objects to the same places as soon as a watch
// shows the previous object. The additional time of Atoll is the cost of its logic.
//
// Nothing may be faster than the floor, so it takes every shortcut: it runs in the measuring
// process, never reads from an API server, bypasses admission policies, and creates the
// ServiceImport with its address in a single write.
package floor

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"sync"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/bench/bed"
)

// writers limits the parallel writes of a stage. It exceeds the number of an agent's workers,
// so that no agent is faster because of it.
const writers = 32

// exporter is the cluster from which the floor exports.
const exporter = "c1"

// Chain is the floor's chain of writes and watches from a cluster over the broker to another
// cluster.
type Chain struct {
	// From, Broker and To are the clients of the three API servers.
	From, Broker, To client.WithWatch
	// Namespace is the namespace, on all three, that only the chain uses.
	Namespace string
	// Bare omits the derived Service and the endpoints: an export becomes a record, and the
	// record becomes an import without an address.
	Bare bool

	mu       sync.Mutex
	exported map[string]bool
	slices   map[string][]*discoveryv1.EndpointSlice // in order of arrival, by service
}

// Run starts the chain until ctx is done. The returned context ends with its cause when the
// chain fails, so callers should wait with that context. The returned function stops the chain.
func (c *Chain) Run(ctx context.Context) (while context.Context, stop func(), err error) {
	c.exported, c.slices = map[string]bool{}, map[string][]*discoveryv1.EndpointSlice{}
	ctx, cancel := context.WithCancel(ctx)
	group, while := errgroup.WithContext(ctx)
	follow := func(from client.WithWatch, list client.ObjectList, step func(context.Context, watch.Event) error) {
		if err != nil {
			return
		}
		var events <-chan watch.Event
		if events, err = bed.Watch(while, from, list, client.InNamespace(c.Namespace)); err == nil {
			relay(while, group, events, step)
		}
	}
	if !c.Bare {
		follow(c.From, &discoveryv1.EndpointSliceList{}, c.publishSlice)
		follow(c.Broker, &discoveryv1.EndpointSliceList{}, c.importSlice)
	}
	follow(c.From, &mcsv1beta1.ServiceExportList{}, c.publish)
	follow(c.Broker, &brokerv1alpha1.ExportedServiceList{}, c.importService)
	stop = func() {
		cancel()
		_ = group.Wait() // the context carries the error
	}
	if err != nil {
		stop()
	}
	return while, stop, err
}

// relay makes the group call step for each event, in order for each object.
func relay(ctx context.Context, group *errgroup.Group, events <-chan watch.Event, step func(context.Context, watch.Event) error) {
	var queues [writers]chan watch.Event
	for i := range queues {
		queues[i] = make(chan watch.Event, 1000)
		group.Go(func() error {
			for event := range queues[i] {
				if err := step(ctx, event); err != nil {
					return fmt.Errorf("the floor: %w", err)
				}
			}
			return nil
		})
	}
	group.Go(func() error {
		for _, q := range queues {
			defer close(q)
		}
		for event := range events {
			object, ok := event.Object.(client.Object)
			if !ok {
				return fmt.Errorf("the floor: watching: %w", apierrors.FromObject(event.Object))
			}
			digest := fnv.New32()
			_, _ = digest.Write([]byte(object.GetName()))
			select {
			case queues[digest.Sum32()%writers] <- event:
			case <-ctx.Done(): // after a failed step the queue is not read any more, and the watch ends soon
			}
		}
		return nil
	})
}

// publish writes the record of an export and its slices.
func (c *Chain) publish(ctx context.Context, e watch.Event) error {
	if e.Type != watch.Added {
		return nil
	}
	name := e.Object.(*mcsv1beta1.ServiceExport).Name
	c.mu.Lock()
	c.exported[name] = true
	slices := c.slices[name]
	c.mu.Unlock()
	record := &brokerv1alpha1.ExportedService{
		ObjectMeta: c.meta(name),
		Spec: brokerv1alpha1.ExportedServiceSpec{
			ClusterID: exporter, ServiceNamespace: c.Namespace, ServiceName: name, ExportedAt: metav1.Now(),
			Type: mcsv1beta1.ClusterSetIP, Ports: ports(),
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, SessionAffinity: corev1.ServiceAffinityNone,
		},
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return c.Broker.Create(ctx, record) })
	group.Go(func() error {
		return bed.Each(ctx, slices, func(ctx context.Context, s *discoveryv1.EndpointSlice) error {
			return c.Broker.Create(ctx, c.slice(s, name))
		})
	})
	return group.Wait()
}

// publishSlice writes a slice to the broker, as soon as its service is exported.
func (c *Chain) publishSlice(ctx context.Context, e watch.Event) error {
	slice := e.Object.(*discoveryv1.EndpointSlice)
	service := slice.Labels[discoveryv1.LabelServiceName]
	c.mu.Lock()
	exported := c.exported[service]
	if e.Type == watch.Added {
		c.slices[service] = append(c.slices[service], slice)
	}
	c.mu.Unlock()
	if !exported {
		return nil
	}
	return write(ctx, c.Broker, e.Type, c.slice(slice, service))
}

// importService creates the imported objects of a service.
func (c *Chain) importService(ctx context.Context, e watch.Event) error {
	if e.Type != watch.Added {
		return nil
	}
	name := e.Object.(*brokerv1alpha1.ExportedService).Name
	imp := &mcsv1beta1.ServiceImport{
		ObjectMeta: c.meta(name),
		Spec: mcsv1beta1.ServiceImportSpec{
			Type: mcsv1beta1.ClusterSetIP, Ports: ports(), IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			SessionAffinity: corev1.ServiceAffinityNone,
		},
	}
	if !c.Bare {
		service := bed.Service{Namespace: c.Namespace, Name: name + "-clusterset"}.Object()
		if err := c.To.Create(ctx, service); err != nil {
			return err
		}
		imp.Spec.IPs = service.Spec.ClusterIPs
	}
	return c.To.Create(ctx, imp)
}

func (c *Chain) importSlice(ctx context.Context, e watch.Event) error {
	slice := e.Object.(*discoveryv1.EndpointSlice)
	return write(ctx, c.To, e.Type, c.slice(slice, slice.Labels[names.LabelServiceName]))
}

func write(ctx context.Context, c client.Client, event watch.EventType, o client.Object) error {
	switch event {
	case watch.Added:
		return c.Create(ctx, o)
	case watch.Modified:
		return c.Update(ctx, o) // without a resource version, so the update never conflicts
	}
	return nil
}

func (c *Chain) meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: c.Namespace, Name: name,
		Labels: map[string]string{
			names.LabelServiceName: name, names.LabelServiceNamespace: c.Namespace, names.LabelSourceCluster: exporter,
		},
	}
}

// slice copies a slice without the fields that other clusters do not need, because more bytes
// would make the floor slower.
func (c *Chain) slice(from *discoveryv1.EndpointSlice, service string) *discoveryv1.EndpointSlice {
	to := &discoveryv1.EndpointSlice{ObjectMeta: c.meta(from.Name), AddressType: from.AddressType, Endpoints: from.Endpoints, Ports: from.Ports}
	to.Labels[names.LabelServiceName] = service
	for i := range to.Endpoints { // the decoded object is not shared
		to.Endpoints[i].NodeName, to.Endpoints[i].TargetRef = nil, nil
	}
	return to
}

func ports() []mcsv1beta1.ServicePort {
	http := "http"
	return []mcsv1beta1.ServicePort{{Name: http, Protocol: corev1.ProtocolTCP, AppProtocol: &http, Port: 80}}
}

// Clear deletes everything that the chain has written and exported.
func (c *Chain) Clear(ctx context.Context) error {
	in := client.InNamespace(c.Namespace)
	return errors.Join(
		c.From.DeleteAllOf(ctx, &mcsv1beta1.ServiceExport{}, in),
		c.From.DeleteAllOf(ctx, &discoveryv1.EndpointSlice{}, in),
		c.From.DeleteAllOf(ctx, &corev1.Service{}, in),
		c.Broker.DeleteAllOf(ctx, &brokerv1alpha1.ExportedService{}, in),
		c.Broker.DeleteAllOf(ctx, &discoveryv1.EndpointSlice{}, in),
		c.To.DeleteAllOf(ctx, &mcsv1beta1.ServiceImport{}, in),
		c.To.DeleteAllOf(ctx, &discoveryv1.EndpointSlice{}, in),
		c.To.DeleteAllOf(ctx, &corev1.Service{}, in),
	)
}
