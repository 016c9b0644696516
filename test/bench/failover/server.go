package failover

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/netip"
	"sync"

	"github.com/vishvananda/netlink"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

const (
	// firstAddress is the last byte of a cluster's first endpoint; pods get lower ones.
	firstAddress = 150
	// endpoints is the number of each cluster's endpoints.
	endpoints = 30
	port      = 8080
)

// address returns the address of a cluster's nth endpoint. It is a pod's by its range, but belongs to the node.
func (b *bench) address(cluster string, n int) (netip.Addr, error) {
	c, err := b.lab.Spec.Cluster(cluster)
	if err != nil {
		return netip.Addr{}, err
	}
	a := c.Nodes[0].PodCIDRs[0].Addr().As4()
	a[3] = byte(firstAddress + n)
	return netip.AddrFrom4(a), nil
}

// addAddresses gives a cluster's node the addresses of its endpoints.
func (b *bench) addAddresses(cluster string) error {
	node, err := b.lab.Namespace(cluster)
	if err != nil {
		return err
	}
	return node.Do(func() error {
		lo, err := netlink.LinkByName("lo")
		if err != nil {
			return err
		}
		for n := range endpoints {
			a, err := b.address(cluster, n)
			if err != nil {
				return err
			}
			if err := netlink.AddrAdd(lo, &netlink.Addr{IPNet: &net.IPNet{IP: a.AsSlice(), Mask: net.CIDRMask(32, 32)}}); err != nil {
				return fmt.Errorf("adding the address %s: %w", a, err)
			}
		}
		return nil
	})
}

// server is an endpoint. It says the name of its cluster over each connection, and then repeats what it reads.
type server struct {
	listener net.Listener
	name     string

	mu    sync.Mutex
	conns map[net.Conn]bool
}

// serve starts a cluster's nth endpoint.
func (b *bench) serve(ctx context.Context, cluster string, n int) (*server, error) {
	node, err := b.lab.Namespace(cluster)
	if err != nil {
		return nil, err
	}
	a, err := b.address(cluster, n)
	if err != nil {
		return nil, err
	}
	listener, err := node.Listen(ctx, "tcp", netip.AddrPortFrom(a, port).String())
	if err != nil {
		return nil, fmt.Errorf("listening in %s: %w", cluster, err)
	}
	s := &server{listener: listener, name: cluster, conns: map[net.Conn]bool{}}
	b.servers = append(b.servers, s)
	go s.accept()
	return s, nil
}

func (s *server) accept() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		s.mu.Lock()
		s.conns[conn] = true
		s.mu.Unlock()
		go func() {
			_, _ = io.WriteString(conn, s.name+"\n")
			_, _ = io.Copy(conn, conn)
			_ = conn.Close()
			s.mu.Lock()
			delete(s.conns, conn)
			s.mu.Unlock()
		}()
	}
}

// stop ends the server like a process that is killed: its address refuses connections.
func (s *server) stop() {
	_ = s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close()
	}
}

// slice returns a cluster's EndpointSlice of a service: endpoints from to to, of which the first is ready or not.
func (b *bench) slice(service, cluster string, from, to int, ready bool) (*discoveryv1.EndpointSlice, error) {
	c, err := b.lab.Spec.Cluster(cluster)
	if err != nil {
		return nil, err
	}
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: service + "-0",
			Labels: map[string]string{discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: "bench"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(port)), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	for n := from; n < to; n++ {
		a, err := b.address(cluster, n)
		if err != nil {
			return nil, err
		}
		isReady := ready || n > from
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{a.String()}, NodeName: ptr.To(c.Nodes[0].Name),
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(isReady), Serving: ptr.To(isReady), Terminating: ptr.To(false)},
		})
	}
	return s, nil
}

// create creates a Service without selector in a cluster, with endpoints from to to and their servers, and exports it.
func (b *bench) create(ctx context.Context, service, cluster string, from, to int, export bool) error {
	object := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	if err := b.on[cluster].Create(ctx, object); err != nil {
		return fmt.Errorf("creating Service %s in %s: %w", service, cluster, err)
	}
	for n := from; n < to; n++ {
		if _, err := b.serve(ctx, cluster, n); err != nil {
			return err
		}
	}
	slice, err := b.slice(service, cluster, from, to, true)
	if err != nil {
		return err
	}
	if err := b.on[cluster].Create(ctx, slice); err != nil {
		return fmt.Errorf("creating an EndpointSlice of %s in %s: %w", service, cluster, err)
	}
	if !export {
		return nil
	}
	if err := b.on[cluster].Create(ctx, &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service}}); err != nil {
		return fmt.Errorf("exporting %s from %s: %w", service, cluster, err)
	}
	return nil
}
