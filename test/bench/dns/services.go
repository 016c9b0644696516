package main

import (
	"context"
	"fmt"
	"net/netip"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

const (
	namespaces = 100
	// writers is how many objects are written at a time.
	writers = 32
	// One service in so many is headless, with endpoints in so many clusters, so many each.
	headlessEvery, sourceClusters, endpointsEach = 5, 2, 2
	// Large services come last, to tell what an endpoint costs.
	largeServices, largeEndpoints, endpointsPerSlice = 20, 1000, 100
)

// service is one of those in the cluster, by its number.
type service int

func (i service) headless() bool    { return i%headlessEvery == headlessEvery-1 }
func (i service) namespace() string { return fmt.Sprintf("ns-%d", int(i)%namespaces) }
func (i service) name() string      { return fmt.Sprintf("svc-%d", i) }
func (i service) domain() string    { return i.name() + "." + i.namespace() + ".svc.clusterset.local" }
func (i service) ip() netip.Addr    { return address(10, int(i)) }

// host is the name of an endpoint.
func host(n int) string { return fmt.Sprintf("pod-%d", n) }

// endpoint is the address of an endpoint of a cluster.
func (i service) endpoint(cluster, n int) netip.Addr {
	return address(11+byte(cluster), int(i)*endpointsEach+n)
}

// address is one of the range of addresses that begin with first.
func address(first byte, n int) netip.Addr {
	return netip.AddrFrom4([4]byte{first, byte(n >> 16), byte(n >> 8), byte(n)})
}

func (i service) imported() *mcsv1beta1.ServiceImport {
	o := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: i.namespace(), Name: i.name()},
		Spec: mcsv1beta1.ServiceImportSpec{
			Type:  mcsv1beta1.ClusterSetIP,
			IPs:   []string{i.ip().String()},
			Ports: []mcsv1beta1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}},
		},
	}
	if i.headless() {
		o.Spec.Type, o.Spec.IPs = mcsv1beta1.Headless, nil
	}
	return o
}

func (i service) slices() []*discoveryv1.EndpointSlice {
	var all []*discoveryv1.EndpointSlice
	for c := range sourceClusters {
		s := endpointSlice(i.namespace(), i.name(), fmt.Sprintf("%s-c%d", i.name(), c), fmt.Sprintf("c%d", c))
		for n := range endpointsEach {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
				Addresses: []string{i.endpoint(c, n).String()}, Hostname: ptr.To(host(n)),
				Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
			})
		}
		all = append(all, s)
	}
	return all
}

// endpointSlice has the labels that an importing cluster's has, so that stock CoreDNS keeps
// as much as it would there.
func endpointSlice(namespace, service, name, cluster string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name,
			Labels: map[string]string{
				mcsv1beta1.LabelServiceName: service, mcsv1beta1.LabelSourceCluster: cluster,
				discoveryv1.LabelServiceName: service + "-clusterset", discoveryv1.LabelManagedBy: "agent.atoll.dev",
				corev1.IsHeadlessService: "",
			},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(int32(8080))}},
	}
}

// large are the objects of the nth large service.
func large(n int) []client.Object {
	name := fmt.Sprintf("large-%d", n)
	objects := []client.Object{&mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns-0", Name: name},
		Spec: mcsv1beta1.ServiceImportSpec{
			Type:  mcsv1beta1.Headless,
			Ports: []mcsv1beta1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}},
		},
	}}
	for s := range largeEndpoints / endpointsPerSlice {
		slice := endpointSlice("ns-0", name, fmt.Sprintf("%s-%d", name, s), "c0")
		for e := range endpointsPerSlice {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
				Addresses:  []string{address(20, n*largeEndpoints+s*endpointsPerSlice+e).String()},
				Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
			})
		}
		objects = append(objects, slice)
	}
	return objects
}

// load writes the services with these numbers that pick chooses.
func (b *bench) load(ctx context.Context, from, to int, pick func(service) bool) error {
	return b.write(ctx, func(yield func(client.Object) bool) {
		for i := service(from); i < service(to); i++ {
			if !pick(i) {
				continue
			}
			if !yield(i.imported()) {
				return
			}
			if !i.headless() {
				continue
			}
			for _, s := range i.slices() {
				if !yield(s) {
					return
				}
			}
		}
	})
}

// write creates objects, many at a time.
func (b *bench) write(ctx context.Context, objects func(func(client.Object) bool)) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(writers)
	for o := range objects {
		if ctx.Err() != nil {
			break
		}
		group.Go(func() error {
			if err := b.api.Create(ctx, o); err != nil {
				return fmt.Errorf("writing %s/%s: %w", o.GetNamespace(), o.GetName(), err)
			}
			return nil
		})
	}
	return group.Wait()
}
