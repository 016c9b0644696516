package bench

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

// labelFloor is on the floor's EndpointSlices, with the Service's name: no program that routes or resolves goes by it.
const labelFloor = "atoll.dev/bench-floor"

// floor is the way of one Service without Atoll: what Atoll writes is written in the same places, each as soon as a watch
// has shown what it follows from, by this program. Nothing is decided, compared or read, and no policy looks at it: a floor that something
// can beat is none. What exports is a ConfigMap, for agents would act on a ServiceExport; nobody acts on a ServiceImport that
// is not Atoll's.
type floor struct {
	*bench
	name string
}

func (b *bench) floor(name string) way {
	f := floor{b, name}
	n := len(b.endpoints) - 1
	return way{
		name: name, floor: true,
		prepare: func(ctx context.Context) error { return b.from.create(ctx, f.slice(b.from, b.endpoints[:n])) },
		clear:   f.clear,
		steps: []step{
			{Export, f.export, all(usable(name), endpoints(labelFloor, name, b.endpoints[:n]...))},
			{Change, f.change, endpoints(labelFloor, name, b.endpoints[n])},
			{Unexport, f.unexport, gone[*mcsv1beta1.ServiceImport](name)},
		},
	}
}

func (f floor) meta(s *site) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: s.namespace, Name: f.name}
}

func (f floor) slice(s *site, addresses []string) *discoveryv1.EndpointSlice {
	return endpointSlice(f.meta(s), f.family, addresses, map[string]string{labelFloor: f.name, discoveryv1.LabelManagedBy: "bench.atoll.dev"})
}

func (f floor) trigger() *corev1.ConfigMap { return &corev1.ConfigMap{ObjectMeta: f.meta(f.from)} }

func (f floor) record() *brokerv1alpha1.ExportedService {
	return &brokerv1alpha1.ExportedService{ObjectMeta: f.meta(f.broker), Spec: brokerv1alpha1.ExportedServiceSpec{
		ClusterID: f.from.name, ServiceNamespace: f.namespace, ServiceName: f.name, ExportedAt: metav1.Now(),
		Type: mcsv1beta1.ClusterSetIP, Ports: ports(), IPFamilies: []corev1.IPFamily{f.family}, SessionAffinity: corev1.ServiceAffinityNone,
	}}
}

func ports() []mcsv1beta1.ServicePort {
	return []mcsv1beta1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: port}}
}

// relay has a write be made in each importing cluster as soon as there is what it follows from: on the broker, where it is
// published first, or, without one, already.
func (f floor) relay(ctx context.Context, publish func(context.Context) error, published state, write func(context.Context, *site) error) error {
	group, ctx := errgroup.WithContext(ctx)
	if f.broker != nil {
		group.Go(func() error { return publish(ctx) })
	}
	for _, to := range f.to {
		group.Go(func() error {
			if f.broker != nil {
				if _, err := f.broker.sight.await(ctx, published); err != nil {
					return err
				}
			}
			return write(ctx, to)
		})
	}
	return group.Wait()
}

func (f floor) export(ctx context.Context) error {
	if err := f.from.create(ctx, f.trigger()); err != nil {
		return err
	}
	if _, err := f.from.sight.await(ctx, exists[*corev1.ConfigMap](f.name)); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		publish := func(ctx context.Context) error { return f.broker.create(ctx, f.record()) }
		return f.relay(ctx, publish, exists[*brokerv1alpha1.ExportedService](f.name), f.importService)
	})
	group.Go(func() error {
		endpoints := f.endpoints[:len(f.endpoints)-1]
		publish := func(ctx context.Context) error { return f.broker.create(ctx, f.slice(f.broker, endpoints)) }
		return f.relay(ctx, publish, exists[*discoveryv1.EndpointSlice](f.name), func(ctx context.Context, to *site) error {
			return to.create(ctx, f.slice(to, endpoints))
		})
	})
	return group.Wait()
}

// importService makes what stands for the Service in an importing cluster: a Service without selector, and an import with its address.
func (f floor) importService(ctx context.Context, to *site) error {
	derived := service(f.meta(to))
	if err := to.create(ctx, derived); err != nil {
		return err
	}
	return to.create(ctx, &mcsv1beta1.ServiceImport{ObjectMeta: f.meta(to), Spec: mcsv1beta1.ServiceImportSpec{
		Type: mcsv1beta1.ClusterSetIP, Ports: ports(), IPs: derived.Spec.ClusterIPs, IPFamilies: derived.Spec.IPFamilies, SessionAffinity: corev1.ServiceAffinityNone,
	}})
}

func (f floor) change(ctx context.Context) error {
	changed := f.endpoints[1:]
	there := endpoints(labelFloor, f.name, changed...)
	if err := f.from.update(ctx, f.slice(f.from, changed)); err != nil {
		return err
	}
	if _, err := f.from.sight.await(ctx, there); err != nil {
		return err
	}
	publish := func(ctx context.Context) error { return f.broker.update(ctx, f.slice(f.broker, changed)) }
	return f.relay(ctx, publish, there, func(ctx context.Context, to *site) error { return to.update(ctx, f.slice(to, changed)) })
}

func (f floor) unexport(ctx context.Context) error {
	if err := f.from.remove(ctx, f.trigger()); err != nil {
		return err
	}
	if _, err := f.from.sight.await(ctx, gone[*corev1.ConfigMap](f.name)); err != nil {
		return err
	}
	publish := func(ctx context.Context) error { return f.broker.remove(ctx, f.record()) }
	return f.relay(ctx, publish, gone[*brokerv1alpha1.ExportedService](f.name), func(ctx context.Context, to *site) error {
		return to.remove(ctx, &mcsv1beta1.ServiceImport{ObjectMeta: f.meta(to)})
	})
}

// clear takes the rest away.
func (f floor) clear(ctx context.Context) error {
	return each(f.sites(), func(_ int, s *site) error {
		err := s.remove(ctx, f.slice(s, nil))
		if s.member != nil && s != f.from {
			err = errors.Join(err, s.remove(ctx, service(f.meta(s))))
		}
		return err
	})
}
