package loadbalancer

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/kit/status"
)

// provider is a provider whose methods panic for the service web, as far as panics names them.
type provider struct {
	panics  map[string]bool
	had     map[types.NamespacedName]bool // load balancers
	ingress map[string]string             // host names, by service
}

func (p *provider) at(method string, mcs string) {
	if p.panics[method] && mcs == "web" {
		panic("in " + method)
	}
}

func (p *provider) status(mcs *networkingv1alpha1.MultiClusterService) *corev1.LoadBalancerStatus {
	host := mcs.Name + ".example.com"
	if other := p.ingress[mcs.Name]; other != "" {
		host = other
	}
	return &corev1.LoadBalancerStatus{Ingress: []corev1.LoadBalancerIngress{{Hostname: host}}}
}

func (p *provider) GetMCSLoadBalancer(_ context.Context, mcs *networkingv1alpha1.MultiClusterService) (*corev1.LoadBalancerStatus, bool, error) {
	p.at("Get", mcs.Name)
	return p.status(mcs), p.had[cloudprovider.KeyOf(mcs)], nil
}

func (p *provider) EnsureMCSLoadBalancer(_ context.Context, mcs *networkingv1alpha1.MultiClusterService) (*corev1.LoadBalancerStatus, error) {
	p.at("Ensure", mcs.Name)
	p.had[cloudprovider.KeyOf(mcs)] = true
	return p.status(mcs), nil
}

func (p *provider) UpdateMCSLoadBalancer(ctx context.Context, mcs *networkingv1alpha1.MultiClusterService) (*corev1.LoadBalancerStatus, error) {
	return p.EnsureMCSLoadBalancer(ctx, mcs)
}

func (p *provider) EnsureMCSLoadBalancerDeleted(_ context.Context, mcs *networkingv1alpha1.MultiClusterService) error {
	p.at("Delete", mcs.Name)
	delete(p.had, cloudprovider.KeyOf(mcs))
	return nil
}

func (p *provider) Unreachable(name types.NamespacedName) []netip.AddrPort {
	p.at("Unreachable", name.Name)
	return nil
}

func (p *provider) LoadBalancers() []types.NamespacedName {
	p.at("LoadBalancers", "web")
	return slices.Collect(maps.Keys(p.had))
}

func (p *provider) Traffic(context.Context) ([]cloudprovider.Traffic, error) {
	p.at("Traffic", "web")
	return nil, nil
}

func (p *provider) Close() error {
	p.at("Close", "web")
	return nil
}

var (
	_ cloudprovider.Reporter  = &provider{}
	_ cloudprovider.Inventory = &provider{}
	_ cloudprovider.Meter     = &provider{}
	_ io.Closer               = &provider{}

	// current is the provider that the factory returns. A factory is registered once per process.
	current *provider
)

func init() {
	cloudprovider.Register("fails-test", func(cloudprovider.Config) (cloudprovider.MCSLoadBalancer, error) {
		current.at("New", "web")
		return current, nil
	})
}

// world is a hub's load-balancer controller with the MultiClusterServices web and db. patch and
// status are the API server's answers to writes of web's finalizers and status, given as JSON.
type world struct {
	*Controller
	provider *provider
	patch    error
	status   func(text string) error
	events   chan string
}

func newWorld(t *testing.T, panics ...string) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), networkingv1alpha1.AddToScheme(scheme), brokerv1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	var objects []client.Object
	for _, name := range []string{"web", "db"} {
		about := metav1.ObjectMeta{Namespace: "shop", Name: name}
		objects = append(objects, &networkingv1alpha1.MultiClusterService{
			ObjectMeta: about, Spec: networkingv1alpha1.MultiClusterServiceSpec{Types: []networkingv1alpha1.ExposureType{networkingv1alpha1.ExposureTypeLoadBalancer}},
		}, &corev1.Service{ObjectMeta: about, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}})
	}
	w := &world{provider: &provider{panics: map[string]bool{}, had: map[types.NamespacedName]bool{}, ingress: map[string]string{}}}
	for _, method := range panics {
		w.provider.panics[method] = true
	}
	current = w.provider
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&networkingv1alpha1.MultiClusterService{}).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if w.patch != nil && o.GetName() == "web" {
				return w.patch
			}
			return c.Patch(ctx, o, patch, opts...)
		},
		SubResourceApply: func(ctx context.Context, c client.Client, subresource string, o runtime.ApplyConfiguration, opts ...client.SubResourceApplyOption) error {
			object := o.(interface { // of an Unstructured
				GetName() string
				MarshalJSON() ([]byte, error)
			})
			text, err := object.MarshalJSON()
			if err != nil {
				return err
			}
			if object.GetName() == "web" && w.status != nil {
				if err := w.status(string(text)); err != nil {
					return err
				}
			}
			return c.SubResource(subresource).Apply(ctx, o, opts...)
		},
	}).Build()
	providers, err := NewProviders("fails-test", nil, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	recorder := events.NewFakeRecorder(100)
	w.events = recorder.Events
	w.Controller = &Controller{
		client: c, published: NewPublished("set", border.Limits{}), hosts: &Hosts{cluster: &OwnCluster{}}, providers: providers, recorder: recorder, options: Options{Abandon: time.Hour},
		add: func(reconcile.Request) {},
	}
	return w
}

// reconcile reconciles both MultiClusterServices once. It checks that the other one has a load
// balancer, and that a failure is retried. It returns web's condition LoadBalancerReady.
func (w *world) reconcile(t *testing.T, fails bool) *metav1.Condition {
	t.Helper()
	for range 2 { // the second sees its own writes
		result, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}})
		if fails != (err != nil || result.RequeueAfter > 0) {
			t.Errorf("result %+v, error %v, want a failure: %t", result, err, fails)
		}
		if _, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "db"}}); err != nil {
			t.Errorf("the other MultiClusterService: %v", err)
		}
	}
	if other := w.ready(t, "db"); other == nil || other.Status != metav1.ConditionTrue {
		t.Errorf("the condition of the other MultiClusterService is %+v", other)
	}
	return w.ready(t, "web")
}

func (w *world) ready(t *testing.T, name string) *metav1.Condition {
	t.Helper()
	return meta.FindStatusCondition(w.read(t, name).Status.Conditions, ConditionReady)
}

func (w *world) read(t *testing.T, name string) *networkingv1alpha1.MultiClusterService {
	t.Helper()
	mcs := &networkingv1alpha1.MultiClusterService{}
	if err := w.client.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: name}, mcs); err != nil {
		t.Fatal(err)
	}
	return mcs
}

const sentence = "sentence of the API server"

// answers are the API server's answers to writes of one object.
var answers = map[string]error{
	"400": apierrors.NewBadRequest(sentence),
	"403": apierrors.NewForbidden(schema.GroupResource{}, "web", errors.New(sentence)),
	"409": apierrors.NewConflict(schema.GroupResource{}, "web", errors.New(sentence)),
	"413": apierrors.NewRequestEntityTooLargeError(sentence),
	"422": apierrors.NewInvalid(schema.GroupKind{Kind: sentence}, "web", nil),
	"500": apierrors.NewInternalError(errors.New(sentence)),
	"503": apierrors.NewServiceUnavailable(sentence),
	"504": apierrors.NewTimeoutError(sentence, 1),
}

// A finalizer that cannot be written keeps the hub from creating this load balancer. The condition
// says so, with the API server's sentence, and other load balancers are created.
func TestFinalizersThatCannotBeWritten(t *testing.T) {
	for name, err := range answers {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.patch = err
				c := w.reconcile(t, true)
				if apierrors.IsConflict(err) {
					if c != nil {
						t.Errorf("the cache may be outdated, but the condition is %+v", c)
					}
					<-time.After(status.FailedAfter)
					c = w.reconcile(t, true)
				}
				if c == nil || c.Reason != reasonUnheld || !strings.Contains(c.Message, sentence) {
					t.Errorf("the condition is %+v", c)
				}
				if w.provider.had[types.NamespacedName{Namespace: "shop", Name: "web"}] {
					t.Error("there is a load balancer without finalizer")
				}
				w.patch = nil
				if c := w.reconcile(t, false); c == nil || c.Status != metav1.ConditionTrue {
					t.Errorf("after the failure the condition is %+v", c)
				}

				// The finalizer cannot be removed.
				mcs := w.read(t, "web")
				mcs.Spec.Types = []networkingv1alpha1.ExposureType{networkingv1alpha1.ExposureTypeCrossCluster}
				if err := w.client.Update(t.Context(), mcs); err != nil {
					t.Fatal(err)
				}
				w.patch = err
				if c = w.reconcile(t, true); apierrors.IsConflict(err) {
					<-time.After(status.FailedAfter)
					c = w.reconcile(t, true)
				}
				if c == nil || c.Reason != reasonDeleting || !strings.Contains(c.Message, sentence) {
					t.Errorf("with a finalizer that stays, the condition is %+v", c)
				}
				w.patch = nil
				if c := w.reconcile(t, false); c != nil || len(w.read(t, "web").Finalizers) > 0 {
					t.Errorf("in the end the condition is %+v", c)
				}
			})
		})
	}
}

// A status that the API server rejects, for example because of a provider's invalid address, is
// replaced by a condition that says so. If it rejects every status, an Event says so.
func TestStatusThatIsRejected(t *testing.T) {
	for name, err := range answers {
		t.Run(name, func(t *testing.T) {
			refusal := name[0] == '4' && name != "409"
			w := newWorld(t)
			w.provider.ingress["web"] = "not-an-address"
			w.status = func(text string) error {
				if strings.Contains(text, "not-an-address") {
					return err
				}
				return nil
			}
			c := w.reconcile(t, true)
			if refusal && (c == nil || c.Reason != reasonStatusRefused || !strings.Contains(c.Message, sentence)) {
				t.Errorf("the condition is %+v", c)
			}
			w.provider.ingress["web"] = ""
			if c := w.reconcile(t, false); c == nil || c.Status != metav1.ConditionTrue {
				t.Errorf("after the failure the condition is %+v", c)
			}

			w = newWorld(t)
			w.status = func(string) error { return err }
			w.reconcile(t, true)
			said := false
			for len(w.events) > 0 {
				text := <-w.events
				said = said || strings.Contains(text, reasonStatusRefused) && strings.Contains(text, sentence)
			}
			if said != refusal {
				t.Errorf("an Event about a rejected status: %t, want %t", said, refusal)
			}
		})
	}
}

// A provider that panics fails for one object.
func TestProviderThatPanics(t *testing.T) {
	for _, methods := range []string{"Ensure", "Ensure Get", "Unreachable"} {
		w := newWorld(t, strings.Fields(methods)...)
		method := strings.Fields(methods)[0]
		if c := w.reconcile(t, true); c == nil || c.Reason != cloudprovider.ReasonFailed || !strings.Contains(c.Message, "the provider panicked: in "+method) {
			t.Errorf("%s: the condition is %+v", methods, c)
		}
		clear(w.provider.panics)
		if c := w.reconcile(t, false); c == nil || c.Status != metav1.ConditionTrue {
			t.Errorf("%s: after the failure the condition is %+v", methods, c)
		}
	}
	w := newWorld(t, "LoadBalancers")
	if c := w.reconcile(t, false); c == nil || c.Status != metav1.ConditionTrue {
		t.Errorf("without an inventory the condition is %+v", c)
	}
	w.provider.panics["Traffic"] = true
	registry := prometheus.NewRegistry()
	defer w.providers.Serve(registry)()
	if families, err := registry.Gather(); err != nil || len(families) == 0 {
		t.Errorf("%d metrics, %v", len(families), err)
	}
	w.provider.panics["Close"] = true
	if err := w.providers.Close(); err == nil || !strings.Contains(err.Error(), "in Close") {
		t.Errorf("closing: %v", err)
	}
	w = newWorld(t, "New")
	result, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: types.NamespacedName{Namespace: "shop", Name: "web"}})
	if c := w.ready(t, "web"); err == nil || c == nil || !strings.Contains(c.Message, "the provider panicked: in New") {
		t.Errorf("%+v, %v, the condition is %+v", result, err, c)
	}
}

// Load balancers of a previous hub that no MultiClusterService wants are deleted, each by itself: one
// that cannot be deleted is retried, and delays no other.
func TestLeftoversAreDeletedOneByOne(t *testing.T) {
	w := newWorld(t, "Delete")
	for _, name := range []string{"web", "db"} {
		mcs := w.read(t, name)
		mcs.Spec.Types = []networkingv1alpha1.ExposureType{networkingv1alpha1.ExposureTypeCrossCluster}
		if err := w.client.Update(t.Context(), mcs); err != nil {
			t.Fatal(err)
		}
		w.provider.had[client.ObjectKeyFromObject(mcs)] = true
	}
	queued := 0
	w.add = func(reconcile.Request) { queued++ }
	remains := func(name string) (bool, error) {
		key := types.NamespacedName{Namespace: "shop", Name: name}
		_, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: key})
		return w.provider.had[key], err
	}
	for range 2 {
		if remains, err := remains("web"); err == nil || !remains {
			t.Errorf("a deletion that fails: the load balancer remains: %t, error %v", remains, err)
		}
	}
	if remains, err := remains("db"); err != nil || remains || queued != 2 {
		t.Errorf("the other load balancer remains: %t, error %v; %d were queued", remains, err, queued)
	}
	clear(w.provider.panics)
	if remains, err := remains("web"); err != nil || remains {
		t.Errorf("the load balancer remains: %t, error %v", remains, err)
	}
}
