package policyexport

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	fakes "github.com/atoll-mcs/atoll/test/objects"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// world is cluster c1 and its broker. It records writes of ServiceExports and answers them with
// err.
type world struct {
	*Reconciler
	events chan string
	writes []string
	err    error
}

func newWorld(t *testing.T, policy *brokerv1alpha1.ServicePolicy, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), mcsv1beta1.Install(scheme), trafficv1alpha1.AddToScheme(scheme), brokerv1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	w := &world{}
	write := func(verb string, do func() error) error {
		if w.err != nil {
			return w.err
		}
		w.writes = append(w.writes, verb)
		return do()
	}
	var here, atBroker []client.Object
	for _, o := range objects {
		if _, is := o.(*brokerv1alpha1.ExportedService); is {
			atBroker = append(atBroker, o)
		} else {
			here = append(here, o)
		}
	}
	c := fakes.Untargeted(scheme).WithObjects(here...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write("create", func() error { return c.Create(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return write("patch", func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write("delete", func() error { return c.Delete(ctx, o, opts...) })
		},
	}).Build()
	cluster := &inputs.Cluster{
		ID: "c1", Clusterset: "set", Client: c, Live: c, View: view.New("set", "c1", nil, &kit.Changes[kit.Scope]{}),
	}
	broker := fake.NewClientBuilder().WithScheme(scheme).WithObjects(atBroker...).Build()
	cluster.SetBroker(&inputs.Broker{Client: broker, Live: broker})
	if policy != nil {
		cluster.View.Replace(nil, []*brokerv1alpha1.ServicePolicy{policy}, nil)
	}
	recorder := events.NewFakeRecorder(10)
	w.events = recorder.Events
	w.Reconciler = &Reconciler{cluster: cluster, recorder: recorder}
	return w
}

// policy asks the providers, or all clusters, to export the service.
func policy(providers ...string) *brokerv1alpha1.ServicePolicy {
	p := &brokerv1alpha1.ServicePolicy{
		ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: names.ServicePolicy(web.Namespace, web.Name)},
		Spec:       brokerv1alpha1.ServicePolicySpec{ServiceNamespace: web.Namespace, ServiceName: web.Name, Scope: brokerv1alpha1.ScopeClusterset, Providers: providers},
	}
	layout.SetRevision(p, 6)
	return p
}

// ofAnother returns a policy of another service. With it the view knows that this service has
// no policy.
func ofAnother() *brokerv1alpha1.ServicePolicy {
	p := policy()
	p.Name, p.Spec.ServiceName = names.ServicePolicy(web.Namespace, "db"), "db"
	return p
}

func withdrawn() *brokerv1alpha1.ServicePolicy {
	p := policy()
	layout.Withdraw(p)
	return p
}

func service(kind corev1.ServiceType) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}, Spec: corev1.ServiceSpec{Type: kind}}
}

func export(change ...func(*mcsv1beta1.ServiceExport)) *mcsv1beta1.ServiceExport {
	e := &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}}
	for _, f := range change {
		f(e)
	}
	return e
}

// record is the cluster's ExportedService on the broker.
func record(withdrawn bool) *brokerv1alpha1.ExportedService {
	r := layout.Record("set", brokerv1alpha1.ExportedServiceSpec{ClusterID: "c1", ServiceNamespace: web.Namespace, ServiceName: web.Name})
	layout.SetWithdrawn(r, withdrawn)
	return r
}

// byPolicy marks a ServiceExport as created for the policy at revision 5.
func byPolicy(e *mcsv1beta1.ServiceExport) {
	e.Labels = map[string]string{names.LabelManagedBy: names.AgentManager}
	e.Annotations = map[string]string{
		names.AnnotationPolicy: `{"serviceNamespace":"shop","serviceName":"web","scope":"Clusterset"}`, names.AnnotationRevision: "5", "example.org/kept": "",
	}
}

func edited(e *mcsv1beta1.ServiceExport) { e.Annotations[names.AnnotationPolicy] = "?" }

func applied(e *mcsv1beta1.ServiceExport) { e.Annotations[corev1.LastAppliedConfigAnnotation] = "{}" }

func going[T client.Object](object T) T {
	object.SetDeletionTimestamp(&metav1.Time{Time: metav1.Unix(1, 0).Time})
	object.SetFinalizers([]string{"example.org/keep"})
	return object
}

func TestReconcile(t *testing.T) {
	plain := service(corev1.ServiceTypeClusterIP)
	for name, tt := range map[string]struct {
		policy  *brokerv1alpha1.ServicePolicy
		objects []client.Object
		writes  string
		left    string // "ours" and the revision, "user's" or "" for no ServiceExport
	}{
		"a Service that all clusters export":         {policy(), []client.Object{plain}, "create", "ours 7"},
		"this cluster is a provider":                 {policy("c2", "c1"), []client.Object{plain}, "create", "ours 7"},
		"other clusters are the providers":           {policy("c2"), []client.Object{plain}, "", ""},
		"no Service":                                 {policy(), nil, "", ""},
		"a Service that is being deleted":            {policy(), []client.Object{going(service(corev1.ServiceTypeClusterIP))}, "", ""},
		"its Service is being deleted":               {policy(), []client.Object{going(service(corev1.ServiceTypeClusterIP)), export(byPolicy)}, "patch", "ours 7"},
		"a Service that cannot be exported":          {policy(), []client.Object{service(corev1.ServiceTypeExternalName)}, "", ""},
		"no policy":                                  {nil, []client.Object{plain}, "", ""},
		"a withdrawn policy":                         {withdrawn(), []client.Object{plain}, "", ""},
		"a user's ServiceExport":                     {policy(), []client.Object{plain, export()}, "", "user's"},
		"a user's ServiceExport without policy":      {withdrawn(), []client.Object{plain, export()}, "", "user's"},
		"an older policy's":                          {policy(), []client.Object{plain, export(byPolicy)}, "patch", "ours 7"},
		"a user has applied it, too":                 {policy(), []client.Object{plain, export(byPolicy, applied)}, "patch", "user's"},
		"the policy is withdrawn":                    {withdrawn(), []client.Object{plain, export(byPolicy)}, "delete", ""},
		"the policy is withdrawn, a user's too":      {withdrawn(), []client.Object{plain, export(byPolicy, applied)}, "patch", "user's"},
		"it is not known whether there is one":       {nil, []client.Object{plain, export(byPolicy)}, "", "ours 5"},
		"not known, and a user has edited it":        {nil, []client.Object{plain, export(byPolicy, edited)}, "", "ours 5"},
		"it is known that there is none":             {ofAnother(), []client.Object{plain, export(byPolicy)}, "delete", ""},
		"the Service is gone, without a record":      {policy(), []client.Object{export(byPolicy)}, "delete", ""},
		"the Service is gone for less than grace":    {policy(), []client.Object{export(byPolicy), record(false)}, "patch", "ours 7"},
		"the Service is gone for longer":             {policy(), []client.Object{export(byPolicy), record(true)}, "delete", ""},
		"the Service and the policy are gone":        {withdrawn(), []client.Object{export(byPolicy), record(false)}, "delete", ""},
		"the Service is gone, and not a provider":    {policy("c2"), []client.Object{export(byPolicy), record(false)}, "delete", ""},
		"the Service and the ServiceExport are gone": {policy(), []client.Object{record(false)}, "", ""},
		"recorded, but it cannot be exported":        {policy(), []client.Object{service(corev1.ServiceTypeExternalName), export(byPolicy), record(false)}, "delete", ""},
		"no longer a provider":                       {policy("c2"), []client.Object{plain, export(byPolicy)}, "delete", ""},
		"the ServiceExport is being deleted":         {policy(), []client.Object{plain, going(export(byPolicy))}, "", "ours 5"},
		"withdrawn, and deleted by a user as well":   {withdrawn(), []client.Object{plain, going(export(byPolicy))}, "", "ours 5"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tt.policy, tt.objects...)
			for range 2 { // the second reconcile must write nothing
				if _, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: web}); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.Join(w.writes, ", "); got != tt.writes || len(w.events) > 0 {
				t.Errorf("writes %q, want %q; %d Events", got, tt.writes, len(w.events))
			}
			have, left := &mcsv1beta1.ServiceExport{}, "user's"
			if err := w.cluster.Client.Get(t.Context(), web, have); err != nil {
				left = ""
			} else if have.Labels[names.LabelManagedBy] != "" || have.Annotations[names.AnnotationPolicy] != "" {
				left = "ours " + have.Annotations[names.AnnotationRevision]
			}
			if _, kept := have.Annotations["example.org/kept"]; left != tt.left || tt.writes == "patch" && !kept {
				t.Errorf("afterwards the export is %q, want %q: %+v", left, tt.left, have.ObjectMeta)
			}
		})
	}
}

// Until the broker is reached, nobody knows whether the record of a missing Service is withdrawn:
// the ServiceExport stays, unless the policy ends.
func TestMissingServiceBeforeTheBrokerIsReached(t *testing.T) {
	for want, p := range map[string]*brokerv1alpha1.ServicePolicy{"patch": policy(), "delete": withdrawn()} {
		w := newWorld(t, p, export(byPolicy))
		w.cluster.SetBroker(nil)
		if _, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: web}); err != nil || strings.Join(w.writes, " ") != want {
			t.Errorf("writes %q, want %q, error %v", w.writes, want, err)
		}
	}
}

// A policy that is missing on the broker counts until the hub confirms that it has ended, also
// for a Service that appears meanwhile.
func TestMissingPolicyAppliesToNewServices(t *testing.T) {
	w := newWorld(t, policy(), service(corev1.ServiceTypeClusterIP))
	w.cluster.View.Replace(nil, nil, nil)
	if _, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: web}); err != nil || strings.Join(w.writes, " ") != "create" {
		t.Errorf("writes %q, error %v", w.writes, err)
	}
}

// A user who applies the policy's ServiceExport, unseen by the cache, owns it.
func TestReleasesWhatAUserApplied(t *testing.T) {
	for name, live := range map[string]*mcsv1beta1.ServiceExport{
		"taken over":    export(),
		"created again": export(byPolicy, func(e *mcsv1beta1.ServiceExport) { e.UID = "2" }),
	} {
		w := newWorld(t, withdrawn(), service(corev1.ServiceTypeClusterIP), export(byPolicy))
		w.cluster.Live = newWorld(t, nil, live).cluster.Client
		if _, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: web}); err != nil || len(w.writes) > 0 {
			t.Errorf("%s: writes %q, error %v", name, w.writes, err)
		}
	}
}

func TestRefusedWrites(t *testing.T) {
	exports := mcsv1beta1.Resource("serviceexports")
	for name, tt := range map[string]struct {
		err    error
		says   bool
		fails  bool
		pauses bool
	}{
		"forbidden":                {err: apierrors.NewForbidden(exports, "web", errors.New("a quota")), says: true, pauses: true},
		"invalid":                  {err: apierrors.NewInvalid(schema.GroupKind{Group: mcsv1beta1.GroupName, Kind: "ServiceExport"}, "web", nil), says: true, pauses: true},
		"conflict":                 {err: apierrors.NewConflict(exports, "web", nil), pauses: true},
		"not in the cache yet":     {err: apierrors.NewAlreadyExists(exports, "web")},
		"the API server is absent": {err: apierrors.NewServiceUnavailable("etcd"), fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, policy(), service(corev1.ServiceTypeClusterIP))
			w.err = tt.err
			result, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
			if (err != nil) != tt.fails || (result.RequeueAfter > 0) != tt.pauses || (len(w.events) > 0) != tt.says {
				t.Errorf("result %+v, %v, Events: %d", result, err, len(w.events))
			}
		})
	}
	w := newWorld(t, withdrawn(), export(byPolicy)) // the Service is gone
	w.err = apierrors.NewForbidden(exports, "web", errors.New("a policy engine"))
	if _, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: web}); err != nil || len(w.events) != 1 || !strings.Contains(<-w.events, "DeletionRefused") {
		t.Errorf("a refused deletion: %v, further Events: %d", err, len(w.events))
	}
}
