package importedslice

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/imports/hints"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/lost"
	"github.com/atoll-mcs/atoll/internal/agent/pace"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	fakes "github.com/atoll-mcs/atoll/test/objects"
)

var (
	web       = types.NamespacedName{Namespace: "shop", Name: "web"}
	usualName = types.NamespacedName{Namespace: "shop", Name: names.ImportedSlice("c1", "web-x")}
	ownReq    = Request{Cluster: "c1", Source: types.NamespacedName{Namespace: "shop", Name: "web-x"}}
)

// world is cluster c1 without a broker. It records writes and answers them with err.
type world struct {
	*Reconciler
	writes []string
	err    error
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), mcsv1beta1.Install(scheme), trafficv1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	w := &world{}
	write := func(verb string, o client.Object, do func() error) error {
		if w.err != nil {
			return w.err
		}
		err := do()
		if err == nil {
			w.writes = append(w.writes, verb+" "+o.GetName())
		}
		return err
	}
	c := fakes.Untargeted(scheme).WithObjects(objects...).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write("create", o, func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write("update", o, func() error { return c.Update(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write("delete", o, func() error { return c.Delete(ctx, o, opts...) })
		},
	}).Build()
	w.Reconciler = &Reconciler{
		Dependencies: Dependencies{
			Cluster: &inputs.Cluster{ID: "c1", Client: c, Live: c, View: view.New("", "c1", nil, &kit.Changes[kit.Scope]{})},
			Lost:    lost.NewSet(&kit.Changes[kit.Scope]{}, func(names.ClusterID) {}),
			Hints:   hints.New("c1", "", false, c), Problems: &status.Problems{}, Metrics: metrics.New(metrics.NewTraffic()),
		},
		pacer: pace.New[Request](pace.Limits{}),
	}
	return w
}

// objects are an exported Service with a slice, and its import.
type objects struct {
	service *corev1.Service
	export  *mcsv1beta1.ServiceExport
	source  *discoveryv1.EndpointSlice
	imp     *mcsv1beta1.ServiceImport
	derived *corev1.Service
	have    *discoveryv1.EndpointSlice
}

func exported() *objects {
	meta := metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}
	o := &objects{
		service: &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Ports: []corev1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}},
		}},
		export: &mcsv1beta1.ServiceExport{ObjectMeta: meta},
		source: slice(ownReq.Source.Name, "10.1.0.1"),
		imp: &mcsv1beta1.ServiceImport{ObjectMeta: meta, Spec: mcsv1beta1.ServiceImportSpec{
			Type: mcsv1beta1.ClusterSetIP, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Ports: []mcsv1beta1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}},
		}},
		derived: &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: "web-clusterset"}},
	}
	o.imp.UID, o.imp.Labels = "1", map[string]string{names.LabelManagedBy: names.AgentManager}
	derived.Apply(o.derived, o.imp, nil)
	return o
}

// slice is a slice of the Service, with these addresses.
func slice(name string, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: web.Name}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(int32(8080))}},
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

// ours is an imported slice of this cluster.
func ours(addresses ...string) *discoveryv1.EndpointSlice {
	s := slice(usualName.Name, addresses...)
	s.Labels = map[string]string{
		discoveryv1.LabelManagedBy: names.AgentManager, discoveryv1.LabelServiceName: "web-clusterset", names.LabelServiceName: "web", names.LabelSourceCluster: "c1",
	}
	s.Annotations = map[string]string{names.AnnotationSourceSlice: ownReq.Source.Name}
	return s
}

// list returns the existing objects.
func (o *objects) list() (all []client.Object) {
	all = append(all, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: web.Namespace}})
	if o.service != nil {
		all = append(all, o.service)
	}
	if o.export != nil {
		all = append(all, o.export)
	}
	if o.source != nil {
		all = append(all, o.source)
	}
	if o.imp != nil {
		all = append(all, o.imp)
	}
	if o.derived != nil {
		all = append(all, o.derived)
	}
	if o.have != nil {
		all = append(all, o.have)
	}
	return all
}

// This cluster's own slices.
func TestReconcile(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*objects)
		writes string
		left   string // the addresses of the usual slice
	}{
		"new":                         {func(*objects) {}, "create " + usualName.Name, "10.1.0.1"},
		"changed":                     {func(o *objects) { o.have = ours("10.1.0.9") }, "update " + usualName.Name, "10.1.0.1"},
		"a user's slice has the name": {func(o *objects) { o.have = slice(usualName.Name, "10.9.9.9") }, "create " + names.OtherImportedSlice(usualName.Name), "10.9.9.9"},
		"no derived Service yet":      {func(o *objects) { o.derived = nil }, "", ""},
		"the derived Service is gone": {func(o *objects) { o.derived, o.have = nil, ours("10.1.0.9") }, "", "10.1.0.9"},
		"the source is gone":          {func(o *objects) { o.source, o.have = nil, ours("10.1.0.1") }, "delete " + usualName.Name, ""},
		"the source left the Service": {func(o *objects) { o.source.Labels, o.have = nil, ours("10.1.0.1") }, "delete " + usualName.Name, ""},
		"the source is Atoll's own":   {func(o *objects) { o.source.Labels[discoveryv1.LabelManagedBy] = names.AgentManager }, "", ""},
		"not exported":                {func(o *objects) { o.export, o.have = nil, ours("10.1.0.1") }, "delete " + usualName.Name, ""},
		"the Service is gone":         {func(o *objects) { o.service, o.have = nil, ours("10.1.0.1") }, "delete " + usualName.Name, ""},
		"no import":                   {func(o *objects) { o.imp, o.have = nil, ours("10.1.0.1") }, "delete " + usualName.Name, ""},
		"another tool's import":       {func(o *objects) { o.imp.Labels = nil }, "", ""},
		"an import without IP family": {func(o *objects) { o.imp.Spec.IPFamilies = nil }, "", ""},
		"an import without port":      {func(o *objects) { o.imp.Spec.Ports = nil }, "", ""},
		"a family that is not imported": {func(o *objects) {
			o.source.AddressType = discoveryv1.AddressTypeIPv6
			o.source.Endpoints[0].Addresses[0] = "fd00::1"
		}, "", ""},
		"no import, and a user's slice": {func(o *objects) { o.imp, o.have = nil, slice(usualName.Name, "10.9.9.9") }, "", "10.9.9.9"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := exported()
				tt.change(o)
				w := newWorld(t, o.list()...)
				for range 3 { // the last reconcile must write nothing
					if _, err := w.Reconcile(t.Context(), ownReq); err != nil {
						t.Fatal(err)
					}
					<-time.After(withdrawDelay)
				}
				if got := strings.Join(w.writes, ", "); got != tt.writes || len(w.Problems.Of(web)) > 0 != strings.Contains(name, "has the name") {
					t.Errorf("writes %q, want %q; problems %v", got, tt.writes, w.Problems.Of(web))
				}
				have, left := &discoveryv1.EndpointSlice{}, []string{}
				if err := client.IgnoreNotFound(w.Cluster.Client.Get(t.Context(), usualName, have)); err != nil {
					t.Fatal(err)
				}
				for _, e := range have.Endpoints {
					left = append(left, e.Addresses...)
				}
				if got := strings.Join(left, " "); got != tt.left {
					t.Errorf("addresses afterwards %q, want %q", got, tt.left)
				}
			})
		})
	}
}

// A slice with the alternative name keeps it, even after the user's slice is deleted.
func TestOtherName(t *testing.T) {
	o := exported()
	o.have = ours("10.1.0.9")
	o.have.Name = names.OtherImportedSlice(usualName.Name)
	w := newWorld(t, o.list()...)
	if _, err := w.Reconcile(t.Context(), ownReq); err != nil || strings.Join(w.writes, ", ") != "update "+o.have.Name {
		t.Errorf("writes %q, error %v", w.writes, err)
	}
}

func TestRequests(t *testing.T) {
	others, published := ours("10.1.0.1"), ours("10.1.0.1")
	others.Labels[names.LabelSourceCluster] = "c2"
	published.Labels[names.LabelServiceNamespace] = "shop" // this cluster is also a broker
	for name, tt := range map[string]struct {
		slice *discoveryv1.EndpointSlice
		want  string
	}{
		"a Service's slice":        {slice("web-y"), "c1/web-y"},
		"the imported slice":       {ours("10.1.0.1"), "c1/web-x"},
		"another cluster's":        {others, "c2/web-x"},
		"a member's on the broker": {published, ""},
		"of no Service":            {&discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "a"}}, ""},
	} {
		got := ""
		for _, r := range newWorld(t).local(t.Context(), kit.Event[*discoveryv1.EndpointSlice]{Old: tt.slice}) {
			got += r.Cluster.String() + "/" + r.Source.Name
		}
		if got != tt.want {
			t.Errorf("%s: queued %q, want %q", name, got, tt.want)
		}
	}
}

// A slice whose source was deleted stays for withdrawDelay: its endpoints may come back in another slice.
func TestWithdrawsLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := exported()
		o.source, o.have = nil, ours("10.1.0.1")
		w := newWorld(t, o.list()...)
		if result, err := w.Reconcile(t.Context(), ownReq); err != nil || result.RequeueAfter != withdrawDelay || len(w.writes) > 0 {
			t.Errorf("%+v, %v after %q", result, err, w.writes)
		}
	})
}

func TestRefusedWrites(t *testing.T) {
	endpointSlices := discoveryv1.Resource("endpointslices")
	for name, tt := range map[string]struct {
		err            error
		problem, fails bool
	}{
		"forbidden":   {apierrors.NewForbidden(endpointSlices, "", errors.New("a quota")), true, false},
		"invalid":     {apierrors.NewInvalid(discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice").GroupKind(), "", nil), true, false},
		"conflict":    {apierrors.NewConflict(endpointSlices, "", nil), false, false},
		"unavailable": {apierrors.NewServiceUnavailable("etcd"), true, true},
	} {
		w := newWorld(t, exported().list()...)
		w.err = tt.err
		result, err := w.Reconcile(t.Context(), ownReq)
		if got := w.Problems.Of(web)[ownReq.part()].Failure; (got != "") != tt.problem || (err != nil) != tt.fails || (result.RequeueAfter > 0) == tt.fails {
			t.Errorf("%s: %+v, %v, problem %q", name, result, err, got)
		}
		w.err = nil
		if _, err := w.Reconcile(t.Context(), ownReq); err != nil || len(w.writes) != 1 || len(w.Problems.Of(web)) > 0 {
			t.Errorf("%s: later writes %q, error %v, problems %v", name, w.writes, err, w.Problems.Of(web))
		}
	}
}
