package dns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/bench/bed"
)

const (
	namespaces = 100
	// Every fifth service is headless, with two endpoints in each of two clusters.
	headlessEvery, sourceClusters, endpointsEach = 5, 2, 2
)

// service is a service of the cluster, identified by its number.
type service int

func (i service) headless() bool    { return i%headlessEvery == headlessEvery-1 }
func (i service) namespace() string { return fmt.Sprintf("ns-%d", int(i)%namespaces) }
func (i service) name() string      { return fmt.Sprintf("svc-%d", i) }
func (i service) domain() string    { return i.name() + "." + i.namespace() + ".svc.clusterset.local" }
func (i service) ip() netip.Addr    { return address(10, int(i)) }

// host returns the name of an endpoint.
func host(n int) string { return fmt.Sprintf("pod-%d", n) }

// endpoint returns the address of an endpoint of a cluster.
func (i service) endpoint(cluster, n int) netip.Addr {
	return address(11+byte(cluster), int(i)*endpointsEach+n)
}

// address returns the nth address of the range that begins with first.
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

// slices have the labels of imported slices, so that stock CoreDNS keeps as much as in an
// importing cluster.
func (i service) slices() []*discoveryv1.EndpointSlice {
	var all []*discoveryv1.EndpointSlice
	for c := range sourceClusters {
		s := &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: i.namespace(), Name: fmt.Sprintf("%s-c%d", i.name(), c),
				Labels: map[string]string{
					mcsv1beta1.LabelServiceName: i.name(), mcsv1beta1.LabelSourceCluster: fmt.Sprintf("c%d", c),
					discoveryv1.LabelServiceName: i.name() + "-clusterset", discoveryv1.LabelManagedBy: "agent.atoll.dev",
					corev1.IsHeadlessService: "",
				},
			},
			AddressType: discoveryv1.AddressTypeIPv4,
			Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(int32(8080))}},
		}
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

// load writes the services with these numbers.
func (b *bench) load(ctx context.Context, from, to int) error {
	numbers := make([]service, to-from)
	for i := range numbers {
		numbers[i] = service(from + i)
	}
	return bed.Each(ctx, numbers, func(ctx context.Context, i service) error {
		failed := b.api.Create(ctx, i.imported())
		if i.headless() {
			for _, s := range i.slices() {
				failed = errors.Join(failed, b.api.Create(ctx, s))
			}
		}
		return failed
	})
}
