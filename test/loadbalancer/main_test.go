// Package loadbalancer tests the hub's controller of load balancers against a real API server,
// with a provider that does as it is told.
package loadbalancer

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers/loadbalancer"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/planes"
)

const clusterset = "atoll-clusterset"

var eventually = planes.Eventually

// abandonAfter is how long deleting is tried by controllers that are started.
var abandonAfter = 5 * time.Second

var (
	configuration *rest.Config
	scheme        *runtime.Scheme
	// hub is an administrator's client for the API server of broker and hub.
	hub client.WithWatch
	// refuses has writes of finalizers be refused, of the Services of these names.
	refuses sync.Map
	// followed is what the controller that was started last knows of endpoints.
	followed *broker.Endpoints
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	planes.Suite{
		Name:    "loadbalancer",
		Options: lab.Options{Shape: lab.Shape{Clusters: 1, Bare: true}},
		Ready:   prepare,
	}.Main(m)
}

func prepare(ctx context.Context, l *lab.Lab) (err error) {
	scheme = planes.Scheme()
	if configuration, err = l.RESTConfig(lab.Broker); err != nil {
		return err
	}
	configuration.QPS = -1
	if hub, err = client.NewWithWatch(configuration, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	target, err := install.NewTarget(configuration, nil)
	if err != nil {
		return err
	}
	if err := target.CRDs(ctx, install.MustParse(append(deploy.BrokerCRDs(), deploy.HubCRDs()...)...), false); err != nil {
		return err
	}
	return hub.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: clusterset}})
}

// start runs the controller, as a hub does, until stop or the end of the test.
func start(t *testing.T, addresses ...string) (stop func()) {
	t.Helper()
	providers, err := loadbalancer.NewProviders("steered", append([]string{"other="}, addresses...), nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	mgr, err := ctrl.NewManager(configuration, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: config.Controller{SkipNameValidation: ptr.To(true)},
	})
	if err != nil {
		t.Fatal(err)
	}
	allowed := broker.NewPermissions(hub, clusterset, slog.New(slog.DiscardHandler))
	endpoints := broker.NewEndpoints(hub, clusterset, allowed, nil)
	followed = endpoints
	hosts, err := loadbalancer.ReadHosts(t.Context(), mgr.GetAPIReader(), configuration.Host, []netip.Addr{netip.MustParseAddr("10.9.9.9")}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, runnable := range []manager.Runnable{endpoints, allowed, hosts} {
		if err := mgr.Add(runnable); err != nil {
			t.Fatal(err)
		}
	}
	c := loadbalancer.NewController(refusing{mgr.GetClient()}, clusterset, endpoints, allowed, hosts, providers, mgr.GetEventRecorder("atoll-hub"), abandonAfter)
	if err := c.Register(mgr); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := providers.Close(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// refusing is a client of an API server that refuses some writes, as with a policy of somebody's.
type refusing struct{ client.Client }

func (r refusing) Apply(ctx context.Context, o runtime.ApplyConfiguration, options ...client.ApplyOption) error {
	if named, ok := o.(interface{ GetName() string }); ok {
		if _, refused := refuses.Load(named.GetName()); refused {
			return errors.New("a policy refuses it")
		}
	}
	return r.Client.Apply(ctx, o, options...)
}

func create(t *testing.T, object client.Object) {
	t.Helper()
	if err := hub.Create(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

// change changes the newest version of an object.
func change[T client.Object](t *testing.T, object T, f func(T)) {
	t.Helper()
	eventually(t, "changing "+object.GetName(), func() error {
		if err := hub.Get(t.Context(), client.ObjectKeyFromObject(object), object); err != nil {
			return err
		}
		f(object)
		return hub.Update(t.Context(), object)
	})
}

// exposed makes a namespace with a Service, port 80, and its MultiClusterService, and deletes all in the end.
func exposed(t *testing.T, namespace, name string, annotations map[string]string) *networkingv1alpha1.MultiClusterService {
	t.Helper()
	if err := hub.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}); err != nil {
		create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}}},
	}
	create(t, service)
	mcs := &networkingv1alpha1.MultiClusterService{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Annotations: annotations},
		Spec:       networkingv1alpha1.MultiClusterServiceSpec{Types: []networkingv1alpha1.ExposureType{networkingv1alpha1.ExposureTypeLoadBalancer}},
	}
	create(t, mcs)
	t.Cleanup(func() {
		fresh := &networkingv1alpha1.MultiClusterService{}
		if hub.Get(context.Background(), client.ObjectKeyFromObject(mcs), fresh) == nil {
			fresh.Finalizers = nil
			_ = hub.Update(context.Background(), fresh)
			_ = hub.Delete(context.Background(), fresh)
		}
	})
	return mcs
}

// published is what a cluster's agent has on the broker of a Service's endpoints.
func published(cluster, namespace, service string, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: clusterset, Name: names.BrokerSlice(names.ClusterID(cluster), namespace, service+"-x"), Labels: map[string]string{
			names.LabelServiceName: service, names.LabelServiceNamespace: namespace, names.LabelSourceCluster: cluster, discoveryv1.LabelManagedBy: names.AgentManager,
		}, Annotations: map[string]string{names.AnnotationSourceSlice: service + "-x"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](8080), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

// expect waits for a condition, as STATUS/REASON.
func expect(t *testing.T, mcs *networkingv1alpha1.MultiClusterService, kind, want string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	eventually(t, fmt.Sprintf("%s of %s being %s", kind, mcs.Name, want), func() error {
		if err := hub.Get(t.Context(), client.ObjectKeyFromObject(mcs), mcs); err != nil {
			return err
		}
		c := meta.FindStatusCondition(mcs.Status.Conditions, kind)
		if c == nil || fmt.Sprintf("%s/%s", c.Status, c.Reason) != want {
			return fmt.Errorf("conditions are %+v", mcs.Status.Conditions)
		}
		found = *c
		return nil
	})
	return found
}

func expectEvent(t *testing.T, namespace, reason string) {
	t.Helper()
	eventually(t, "Event "+reason, func() error {
		list := &eventsv1.EventList{}
		if err := hub.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			return err
		}
		var found []string
		for _, e := range list.Items {
			if e.Reason == reason {
				return nil
			}
			found = append(found, e.Reason)
		}
		return fmt.Errorf("there are %v", found)
	})
}

func expectGone(t *testing.T, mcs *networkingv1alpha1.MultiClusterService) {
	t.Helper()
	eventually(t, mcs.Name+" being gone", func() error {
		err := hub.Get(t.Context(), client.ObjectKeyFromObject(mcs), &networkingv1alpha1.MultiClusterService{})
		if err == nil {
			return fmt.Errorf("it is there")
		}
		return client.IgnoreNotFound(err)
	})
}
