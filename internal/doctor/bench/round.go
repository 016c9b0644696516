package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// way is how a Service comes to other clusters in one round: by Atoll, or by the floor.
type way struct {
	name  string
	floor bool
	// prepare makes what there is before, clear takes away what is left after.
	prepare, clear func(context.Context) error
	steps          []step
}

// step is something whose time is taken: from when begin is called, until the importing clusters are in a state.
type step struct {
	what  string
	begin func(context.Context) error
	until state
}

// ways are those of a round.
func (b *bench) ways(round int) []way {
	atoll := b.atoll(fmt.Sprintf("bench-%d", round))
	if b.NoFloor {
		return []way{atoll}
	}
	return []way{b.floor(fmt.Sprintf("floor-%d", round)), atoll}
}

// atoll is the way by a ServiceExport.
func (b *bench) atoll(name string) way {
	meta := metav1.ObjectMeta{Namespace: b.namespace, Name: name}
	export := &mcsv1beta1.ServiceExport{ObjectMeta: meta}
	made := service(meta)
	n := len(b.endpoints) - 1
	slice := func(addresses []string) *discoveryv1.EndpointSlice {
		return endpointSlice(meta, b.family, addresses, map[string]string{discoveryv1.LabelServiceName: name, discoveryv1.LabelManagedBy: "bench.atoll.dev"})
	}
	w := way{
		name: name,
		prepare: func(ctx context.Context) error {
			return errors.Join(b.from.create(ctx, made), b.from.create(ctx, slice(b.endpoints[:n])))
		},
		clear: func(ctx context.Context) error {
			return errors.Join(b.from.remove(ctx, made), b.from.remove(ctx, slice(nil)))
		},
	}
	w.steps = []step{
		{Export, func(ctx context.Context) error { return b.from.create(ctx, export) }, func(have objects) bool {
			wanted := b.endpoints[:n]
			if b.virtual {
				wanted = made.Spec.ClusterIPs[:1]
			}
			return all(usable(name), endpoints(names.LabelServiceName, name, wanted...))(have)
		}},
		{Change, func(ctx context.Context) error { return b.from.update(ctx, slice(b.endpoints[1:])) }, endpoints(names.LabelServiceName, name, b.endpoints[n])},
		{Unexport, func(ctx context.Context) error { return b.from.remove(ctx, export) }, gone[*mcsv1beta1.ServiceImport](name)},
	}
	return w
}

// round goes a way once, and keeps the times if they count.
func (b *bench) round(ctx context.Context, w way, counts bool) error {
	if err := w.prepare(ctx); err != nil {
		return w.told(err)
	}
	for _, s := range w.steps {
		if s.what == Change && b.virtual {
			continue
		}
		if err := pause(ctx, b.Pause); err != nil {
			return err
		}
		took, err := b.time(ctx, w, s)
		if err != nil {
			return w.told(err)
		}
		for i, site := range b.to {
			if counts {
				b.found.add(sample{s.what, site.name, w.floor}, took[i])
			}
		}
	}
	return w.told(w.clear(ctx))
}

// told says what has failed where that is not Atoll's way.
func (w way) told(err error) error {
	if err == nil || !w.floor {
		return err
	}
	return fmt.Errorf("the floor: %w; --no-floor does without it", err)
}

// time takes the time of one step to each importing cluster.
func (b *bench) time(ctx context.Context, w way, s step) ([]time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, b.Patience)
	defer cancel()
	took := make([]time.Duration, len(b.to))
	began := time.Now()
	begun := make(chan error, 1)
	go func() {
		err := s.begin(limited)
		if err != nil {
			cancel() // nobody has anything to wait for
		}
		begun <- err
	}()
	err := each(b.to, func(i int, to *site) error {
		at, err := to.sight.await(limited, s.until)
		if err != nil {
			return b.late(ctx, w, s, to, err)
		}
		took[i] = at.Sub(began)
		return nil
	})
	if failed := <-begun; failed != nil && (err == nil || !errors.Is(failed, context.DeadlineExceeded)) {
		return nil, failed
	}
	return took, err
}

// late says of a cluster that has not seen something in time what may be the reason.
func (b *bench) late(ctx context.Context, w way, s step, to *site, err error) error {
	if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return err // it was interrupted, or something else has failed
	}
	why := ""
	if !w.floor && to.member != nil {
		why = to.member.Why(ctx, types.NamespacedName{Namespace: b.namespace, Name: w.name})
	}
	return fmt.Errorf("%s has not seen the %s of %s/%s within %v (--wait)%s", to.name, s.what, b.namespace, w.name, b.Patience, why)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// port is the one that Services have.
const port = 80

// service is a Service without selector.
func service(meta metav1.ObjectMeta) *corev1.Service {
	return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: port, Protocol: corev1.ProtocolTCP}}}}
}

// endpointSlice has endpoints that are ready.
func endpointSlice(meta metav1.ObjectMeta, family corev1.IPFamily, addresses []string, labels map[string]string) *discoveryv1.EndpointSlice {
	meta.Labels = labels
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: meta, AddressType: discoveryv1.AddressType(family),
		Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](port), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	for _, a := range addresses {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}})
	}
	return slice
}
