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
)

// step is a timed operation: from the call of begin until the importing clusters reach a state.
type step struct {
	what  string
	begin func(context.Context) error
	until state
}

// round exports a Service, changes its endpoints and deletes the export. It records the times if counts is set.
func (b *bench) round(ctx context.Context, name string, counts bool) error {
	meta := metav1.ObjectMeta{Namespace: b.namespace, Name: name}
	export, made := &mcsv1beta1.ServiceExport{ObjectMeta: meta}, service(meta)
	n := len(b.endpoints) - 1
	slice := func(addresses []string) *discoveryv1.EndpointSlice {
		return endpointSlice(meta, b.family, addresses, map[string]string{discoveryv1.LabelServiceName: name, discoveryv1.LabelManagedBy: "bench.atoll.dev"})
	}
	if err := errors.Join(b.from.create(ctx, made), b.from.create(ctx, slice(b.endpoints[:n]))); err != nil {
		return err
	}
	wanted := b.endpoints[:n]
	if b.virtual {
		wanted = made.Spec.ClusterIPs[:1]
	}
	for _, s := range []step{
		{Export, func(ctx context.Context) error { return b.from.create(ctx, export) }, all(usable(name), endpoints(name, wanted...))},
		{Change, func(ctx context.Context) error { return b.from.update(ctx, slice(b.endpoints[1:])) }, endpoints(name, b.endpoints[n])},
		{Unexport, func(ctx context.Context) error { return b.from.remove(ctx, export) }, gone(name)},
	} {
		if s.what == Change && b.virtual {
			continue
		}
		if err := pause(ctx, b.Pause); err != nil {
			return err
		}
		took, err := b.time(ctx, name, s)
		if err != nil {
			return err
		}
		for i, site := range b.to {
			if counts {
				b.found.add(sample{s.what, site.name}, took[i])
			}
		}
	}
	return errors.Join(b.from.remove(ctx, made), b.from.remove(ctx, slice(nil)))
}

// time measures one step for each importing cluster.
func (b *bench) time(ctx context.Context, name string, s step) ([]time.Duration, error) {
	limited, cancel := context.WithTimeout(ctx, b.RoundTimeout)
	defer cancel()
	took := make([]time.Duration, len(b.to))
	began := time.Now()
	begun := make(chan error, 1)
	go func() {
		err := s.begin(limited)
		if err != nil {
			cancel() // begin failed, so stop waiting
		}
		begun <- err
	}()
	err := each(b.to, func(i int, to *site) error {
		at, err := to.watcher.await(limited, s.until)
		if err != nil {
			return b.late(ctx, name, s, to, err)
		}
		took[i] = at.Sub(began)
		return nil
	})
	if failed := <-begun; failed != nil && (err == nil || !errors.Is(failed, context.DeadlineExceeded)) {
		return nil, failed
	}
	return took, err
}

// late explains why a cluster did not see a step in time.
func (b *bench) late(ctx context.Context, name string, s step, to *site, err error) error {
	if ctx.Err() != nil || !errors.Is(err, context.DeadlineExceeded) {
		return err // interrupted, or another error
	}
	why := to.member.Explain(ctx, types.NamespacedName{Namespace: b.namespace, Name: name})
	return fmt.Errorf("cluster %s has not received the %s of Service %s/%s within %v (--wait)%s", to.name, s.what, b.namespace, name, b.RoundTimeout, why)
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

// port is the port of the Services.
const port = 80

func service(meta metav1.ObjectMeta) *corev1.Service {
	return &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: port, Protocol: corev1.ProtocolTCP}}}}
}

// endpointSlice returns an EndpointSlice with ready endpoints.
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
