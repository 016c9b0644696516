// Package conformance contains the tests that a load-balancer provider should pass. A provider's author calls Run in a
// test:
//
//	func TestConformance(t *testing.T) {
//		conformance.Run(t, conformance.Harness{
//			New:       func(t *testing.T, c cloudprovider.Config) cloudprovider.MCSLoadBalancer { … },
//			Addresses: []string{"192.0.2.10-192.0.2.19"},
//			Protocols: []corev1.Protocol{corev1.ProtocolTCP},
//		})
//	}
//
// The tests run real servers and send real traffic through the load balancers.
package conformance

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

// Harness is a provider and its environment.
type Harness struct {
	// New creates the provider. A test may close it and call New again, like a restarted hub. State that outlives the
	// hub must be found then, and must be removed at the end of the test.
	New func(t *testing.T, c cloudprovider.Config) cloudprovider.MCSLoadBalancer
	// Addresses are passed in the Config.
	Addresses []string
	// Protocols are the supported ones, of TCP and UDP.
	Protocols []corev1.Protocol
	// ServerAddress is where the test servers listen; load balancers must reach it. The default is 127.0.0.1.
	ServerAddress string
	// Timeout is how long a change may take to affect traffic. The default is 15 s.
	Timeout time.Duration
	// Options says that the provider supports the annotations (cloudprovider.Options) and the Service's source ranges.
	Options bool
}

// Run runs the conformance tests.
func Run(t *testing.T, h Harness) {
	if h.ServerAddress == "" {
		h.ServerAddress = "127.0.0.1"
	}
	if h.Timeout == 0 {
		h.Timeout = 15 * time.Second
	}
	type test struct {
		name string
		run  func(*bench)
	}
	tests := []test{
		{"a load balancer that does not exist", missing},
		{"create, read, create again and delete", lifecycle},
		{"backends of all clusters are used evenly", even},
		{"backends change and connections stay open", changing},
		{"a rolling update loses no request", rolling},
		{"a backend is added while connections are open", newcomer},
		{"a backend that does not answer", unreachable},
		{"no backends at first", empty},
		{"affinity", affinity},
		{"invalid backends", invalid},
		{"ports are added and removed", ports},
		{"unsupported protocols", unsupported},
		{"other load balancers are not disturbed", others},
		{"many load balancers at once", many},
		{"a hub that restarts", restart},
		{"a lister that fails", untold},
	}
	if h.Options {
		tests = append(tests,
			test{"the PROXY protocol", proxyProtocol},
			test{"source ranges", sourceRanges},
			test{"a limit of connections", maxConnections},
			test{"a limit of new connections", connectionRate},
			test{"a requested address", askedAddress},
			test{"unknown annotations", wrongOptions},
		)
	}
	for _, each := range tests {
		t.Run(each.name, func(t *testing.T) { each.run(newBench(t, h)) })
	}
}

// bench is the state of one test.
type bench struct {
	*testing.T
	Harness
	lister   *lister
	provider cloudprovider.MCSLoadBalancer
	made     []*networkingv1alpha1.MultiClusterService
	// notified has a value when the provider has reported the MultiClusterService in about.
	notified chan struct{}
	about    atomic.Pointer[types.NamespacedName]
}

// report is the provider's Config.Report.
func (b *bench) report(name types.NamespacedName) {
	if about := b.about.Load(); about != nil && *about == name {
		select {
		case b.notified <- struct{}{}:
		default:
		}
	}
}

func newBench(t *testing.T, h Harness) *bench {
	b := &bench{T: t, Harness: h, lister: &lister{services: map[types.NamespacedName]cloudprovider.Service{}}, notified: make(chan struct{}, 1)}
	b.start()
	t.Cleanup(b.stop)
	return b
}

// start creates a provider and stop closes it, as a hub does.
func (b *bench) start() {
	var existing []*networkingv1alpha1.MultiClusterService
	for _, m := range b.made {
		if len(m.Status.LoadBalancer.Ingress) > 0 {
			existing = append(existing, m)
		}
	}
	b.provider = b.New(b.T, cloudprovider.Config{Backends: b.lister, Addresses: b.Addresses, Existing: existing, Report: b.report, Log: slog.New(slog.NewTextHandler(testWriter{b.T}, nil))})
}

func (b *bench) stop() {
	if closer, ok := b.provider.(io.Closer); ok {
		if err := closer.Close(); err != nil {
			b.Errorf("closing the provider: %v", err)
		}
	}
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(p []byte) (int, error) {
	w.t.Logf("%s", p)
	return len(p), nil
}

func (b *bench) carries(p corev1.Protocol) bool { return slices.Contains(b.Protocols, p) }

// eventually repeats check until it succeeds.
func (b *bench) eventually(what string, check func() error) {
	b.Helper()
	deadline := time.After(b.Timeout)
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			b.Fatalf("%s: no success after %v: %v", what, b.Timeout, err)
		case <-tick.C:
		}
	}
}

// A lister returns the Services that the test sets.
type lister struct {
	mu       sync.Mutex
	services map[types.NamespacedName]cloudprovider.Service
}

func (l *lister) Service(name types.NamespacedName) (cloudprovider.Service, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s, known := l.services[name]
	if !known {
		return cloudprovider.Service{}, fmt.Errorf("the backends of %s are not known yet", name)
	}
	return s, nil
}

func (l *lister) set(name types.NamespacedName, s cloudprovider.Service) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.services[name] = s
}

// mcs returns an object of that name. Its load balancer is deleted at the end of the test.
func (b *bench) mcs(name string) *networkingv1alpha1.MultiClusterService {
	m := &networkingv1alpha1.MultiClusterService{
		ObjectMeta: metav1.ObjectMeta{Namespace: "conformance", Name: name, UID: types.UID("uid-" + name), Annotations: map[string]string{}},
		Spec:       networkingv1alpha1.MultiClusterServiceSpec{Types: []networkingv1alpha1.ExposureType{networkingv1alpha1.ExposureTypeLoadBalancer}},
	}
	b.made = append(b.made, m)
	b.Cleanup(func() {
		if b.Failed() {
			return // after a failure, deletion may hang, too
		}
		b.delete(m)
	})
	return m
}

func (b *bench) delete(m *networkingv1alpha1.MultiClusterService) {
	b.Helper()
	if err := b.provider.EnsureMCSLoadBalancerDeleted(context.Background(), m); err != nil {
		b.Fatalf("deleting load balancer %s: %v", m.Name, err)
	}
}

// refuses applies a Service and expects an error with a reason.
func (b *bench) refuses(m *networkingv1alpha1.MultiClusterService, s cloudprovider.Service, reason string) {
	b.Helper()
	b.lister.set(cloudprovider.KeyOf(m), s)
	if _, err := b.provider.UpdateMCSLoadBalancer(context.Background(), m); cloudprovider.Reason(err) != reason {
		b.Errorf("load balancer %s must be refused with reason %s, got error: %v", m.Name, reason, err)
	}
}

// apply calls the provider as the hub does: Ensure for a new load balancer, Update for an existing one. It stores the
// status in the object.
func (b *bench) apply(m *networkingv1alpha1.MultiClusterService, s cloudprovider.Service) {
	b.Helper()
	b.lister.set(cloudprovider.KeyOf(m), s)
	before := m.DeepCopy()
	call := b.provider.EnsureMCSLoadBalancer
	if len(m.Status.LoadBalancer.Ingress) > 0 {
		call = b.provider.UpdateMCSLoadBalancer
	}
	ctx, cancel := context.WithTimeout(context.Background(), b.Timeout)
	defer cancel()
	status, err := call(ctx, m)
	if err != nil {
		b.Fatalf("the provider returned an error: %v", err)
	}
	if !reflect.DeepEqual(before, m) {
		b.Error("the provider changed the MultiClusterService that it was given")
	}
	if status == nil || len(status.Ingress) == 0 {
		b.Fatalf("the status has no address: %v", status)
	}
	m.Status.LoadBalancer = *status.DeepCopy()
}

// address returns the host and port of a load balancer's port.
func address(m *networkingv1alpha1.MultiClusterService, port int32) string {
	ingress := m.Status.LoadBalancer.Ingress[0]
	host := ingress.IP
	if host == "" {
		host = ingress.Hostname
	}
	return net.JoinHostPort(host, fmt.Sprint(port))
}
