// Package loadbalancer tests the hub's load-balancer controller with a real API server and a fake provider.
package loadbalancer

import (
	"context"
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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	atollhub "github.com/atoll-mcs/atoll/internal/hub"
	"github.com/atoll-mcs/atoll/internal/hub/loadbalancer"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

const clusterset = "atoll-clusterset"

var (
	eventually = planes.Eventually
	noError    = planes.NoError
)

// budget limits what the controllers that start starts hold of a member; by default nothing does.
var budget border.Limits

// allowUnsetRanges lets the controllers that start starts use members without permitted ranges.
var allowUnsetRanges bool

// believed is the initial state of published objects of the controllers that start starts; nil
// for none.
var believed *loadbalancer.Published

// abandonAfter is how long these controllers retry the deletion of a load balancer.
const abandonAfter = 5 * time.Second

var (
	configuration *rest.Config
	scheme        *runtime.Scheme
	// hub is an administrator's client for the API server, which is both broker and hub.
	hub client.WithWatch
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
	if err := hub.Create(ctx, objects.Namespace(clusterset)); err != nil {
		return err
	}
	permitted := &corev1.ConfigMap{ObjectMeta: objects.Meta(clusterset, names.MemberPermissions), Data: map[string]string{}}
	for _, member := range []string{"c1", "c2", "c3", "c4"} {
		permitted.Data[permissions.RangesPrefix+member] = "10.0.0.0/8"
	}
	return hub.Create(ctx, permitted)
}

// start runs the controller like a hub, until stop is called or the test ends.
func start(t *testing.T) (stop func()) {
	t.Helper()
	providers, err := loadbalancer.NewProviders("steered", []string{"other="}, nil, slog.New(slog.DiscardHandler))
	noError(t, err)
	published := believed
	if published == nil {
		published = loadbalancer.NewPublished(clusterset, budget)
	}
	accepts := published.Border()
	mgr, err := ctrl.NewManager(configuration, ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		Controller: config.Controller{SkipNameValidation: ptr.To(true)}, Cache: cache.Options{ByObject: atollhub.Caches(clusterset, accepts)},
	})
	noError(t, err)
	log := slog.New(slog.DiscardHandler)
	cluster, err := loadbalancer.ReadOwnCluster(t.Context(), mgr.GetAPIReader(), validation.Network{}, log)
	noError(t, err)
	known := published.Read(accepts, mgr.GetAPIReader())
	noError(t, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		if err := cluster.Follow(ctx, mgr.GetCache()); err != nil {
			return err
		}
		return published.Follow(ctx, mgr.GetCache())
	})))
	reader, err := published.View.Reader(view.Connection{Live: mgr.GetAPIReader(), Border: accepts})
	noError(t, err)
	noError(t, mgr.Add(reader))
	noError(t, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error { // as a hub does every 10 s
		wait.UntilWithContext(ctx, func(ctx context.Context) { _ = published.Observe(ctx) }, 50*time.Millisecond)
		return nil
	})))
	hosts, err := loadbalancer.ReadHosts(t.Context(), mgr.GetAPIReader(), configuration, []netip.Addr{netip.MustParseAddr("10.9.9.9")}, cluster, log)
	noError(t, err)
	noError(t, mgr.Add(hosts))
	noError(t, mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		return kit.Follow(ctx, mgr.GetCache(), &discoveryv1.EndpointSlice{}, accepts.ForgetDeleted)
	})))
	c, err := loadbalancer.New(mgr.GetClient(), mgr.GetCache(), published, known, hosts, providers, mgr.GetEventRecorder("atoll-hub"),
		loadbalancer.Options{Abandon: abandonAfter, AllowUnsetRanges: allowUnsetRanges})
	noError(t, err)
	noError(t, mgr.Add(c))
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- mgr.Start(ctx) }()
	stop = sync.OnceFunc(func() {
		cancel()
		noError(t, <-ended)
		noError(t, providers.Close())
	})
	t.Cleanup(stop)
	return stop
}

// create creates objects, and records for members' slices.
func create(t *testing.T, all ...client.Object) {
	t.Helper()
	planes.Create(t, hub, all...)
	for _, o := range all {
		slice, ok := o.(*discoveryv1.EndpointSlice)
		if !ok || slice.Namespace != clusterset {
			continue
		}
		of, ports := layout.Service(slice), []mcsv1beta1.ServicePort{}
		for _, p := range slice.Ports {
			number := int32(80)
			if *p.Name != "p80" {
				number = 81
			}
			ports = append(ports, mcsv1beta1.ServicePort{Name: *p.Name, Protocol: corev1.ProtocolTCP, Port: number})
		}
		record := objects.Record(layout.Cluster(slice).String(), of.Namespace, of.Name, ports...)
		if err := hub.Create(t.Context(), record); !apierrors.IsAlreadyExists(err) {
			noError(t, err)
		}
		planes.CleanUp(t, hub, record)
	}
}

// withdraw marks a member's slice as withdrawn.
func withdraw(t *testing.T, slice *discoveryv1.EndpointSlice) {
	t.Helper()
	change(t, slice, func(s *discoveryv1.EndpointSlice) { layout.Withdraw(s) })
}

func change[T client.Object](t *testing.T, object T, f func(T)) {
	t.Helper()
	planes.Change(t, hub, object, f)
}

// move changes the address of a slice's only endpoint.
func move(t *testing.T, slice *discoveryv1.EndpointSlice, address string) {
	t.Helper()
	change(t, slice, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{address} })
}

func setType(t *testing.T, mcs *networkingv1alpha1.MultiClusterService, to networkingv1alpha1.ExposureType) {
	t.Helper()
	change(t, mcs, func(m *networkingv1alpha1.MultiClusterService) { m.Spec.Types = []networkingv1alpha1.ExposureType{to} })
}

// annotate replaces the annotations of a MultiClusterService.
func annotate(t *testing.T, mcs *networkingv1alpha1.MultiClusterService, key, value string) {
	t.Helper()
	change(t, mcs, func(m *networkingv1alpha1.MultiClusterService) { m.Annotations = map[string]string{key: value} })
}

// exposed creates a namespace, a Service with port 80 and its MultiClusterService, and deletes
// all after the test.
func exposed(t *testing.T, namespace, name string, annotations map[string]string) *networkingv1alpha1.MultiClusterService {
	t.Helper()
	if err := hub.Get(t.Context(), client.ObjectKey{Name: namespace}, &corev1.Namespace{}); err != nil {
		create(t, objects.Namespace(namespace))
	}
	mcs := objects.Exposed(namespace, name, networkingv1alpha1.ExposureTypeLoadBalancer)
	mcs.Annotations = annotations
	create(t, objects.Service(namespace, name, 80), mcs)
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

// published is a slice on the broker of a Service in a member cluster.
func published(cluster, namespace, service string, addresses ...string) *discoveryv1.EndpointSlice {
	return objects.Published(cluster, namespace, service+"-x", service, addresses...)
}

// expect waits for a condition, given as STATUS/REASON.
func expect(t *testing.T, mcs *networkingv1alpha1.MultiClusterService, kind, want string) metav1.Condition {
	t.Helper()
	return planes.Condition(t, hub, mcs, kind, want, "")
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
	planes.Gone(t, hub, mcs)
}
