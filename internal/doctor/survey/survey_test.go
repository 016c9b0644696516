package survey

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// server is an API server with objects. A list fails with refuse's error, if any.
func server(t *testing.T, refuse func(client.ObjectList) error, objects ...client.Object) *install.Target {
	t.Helper()
	scheme := broker.Scheme()
	if err := aboutv1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	return &install.Target{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithIndex(&corev1.Event{}, "reason", func(o client.Object) []string { return []string{o.(*corev1.Event).Reason} }).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if refuse != nil {
				if err := refuse(list); err != nil {
					return err
				}
			}
			return c.List(ctx, list, opts...)
		},
	}).Build()}
}

func named(namespace, name string, labels ...string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{}}
	for i := 0; i < len(labels); i += 2 {
		m.Labels[labels[i]] = labels[i+1]
	}
	return m
}

// keys returns the names of a list's objects.
func keys[T any](items []T, of func(*T) string) string {
	var all []string
	for i := range items {
		all = append(all, of(&items[i]))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestReadCluster(t *testing.T) {
	objects := []client.Object{
		&corev1.Namespace{ObjectMeta: named("", "shop")},
		&mcsv1beta1.ServiceExport{ObjectMeta: named("shop", "web")}, &mcsv1beta1.ServiceExport{ObjectMeta: named("shop", "api")}, &mcsv1beta1.ServiceExport{ObjectMeta: named("other", "web")},
		&mcsv1beta1.ServiceImport{ObjectMeta: named("shop", "web")}, &mcsv1beta1.ServiceImport{ObjectMeta: named("other", "web")},
		&corev1.Service{ObjectMeta: named("shop", "web")}, &corev1.Service{ObjectMeta: named("shop", "api")},
		&corev1.Service{ObjectMeta: named("shop", "web-clusterset", names.LabelManagedBy, names.AgentManager)},
		&discoveryv1.EndpointSlice{ObjectMeta: named("shop", "web-x.c2", discoveryv1.LabelManagedBy, names.AgentManager, names.LabelServiceName, "web")},
		&discoveryv1.EndpointSlice{ObjectMeta: named("shop", "api-x.c2", discoveryv1.LabelManagedBy, names.AgentManager, names.LabelServiceName, "api")},
		&discoveryv1.EndpointSlice{ObjectMeta: named("shop", "web-x", discoveryv1.LabelServiceName, "web")},
		&discoveryv1.EndpointSlice{ObjectMeta: named("shop", "published", discoveryv1.LabelManagedBy, names.AgentManager, names.LabelServiceName, "web", names.LabelServiceNamespace, "shop")},
		&aboutv1beta1.ClusterProperty{ObjectMeta: named("", aboutv1beta1.ClusterIDProperty), Spec: aboutv1beta1.ClusterPropertySpec{Value: "c1"}},
		&aboutv1beta1.ClusterProperty{ObjectMeta: named("", aboutv1beta1.ClustersetProperty), Spec: aboutv1beta1.ClusterPropertySpec{Value: "set"}},
	}
	for name, tt := range map[string]struct {
		scope                              Scope
		exports, imports, services, slices string
	}{
		"all":                       {Scope{}, "other/web shop/api shop/web", "other/web shop/web", "shop/web-clusterset", ""},
		"a namespace":               {Scope{Namespace: "shop", Endpoints: true}, "shop/api shop/web", "shop/web", "shop/web-clusterset", "shop/api-x.c2 shop/web-x.c2"},
		"the installation":          {Scope{Namespace: "shop", Installation: true}, "shop/api shop/web", "shop/web", "shop/web-clusterset", "shop/api-x.c2 shop/web-x.c2"},
		"a service":                 {Scope{Namespace: "shop", Service: "web", Endpoints: true}, "shop/web", "shop/web", "shop/web shop/web-clusterset", "shop/web-x.c2"},
		"no service with this name": {Scope{Namespace: "shop", Service: "db", Endpoints: true}, "", "", "shop/web-clusterset", ""},
	} {
		s := &Survey{}
		if err := s.readCluster(t.Context(), server(t, nil, objects...), tt.scope); err != nil {
			t.Fatal(err)
		}
		if tt.scope.Service != "" {
			s.keep(types.NamespacedName{Namespace: tt.scope.Namespace, Name: tt.scope.Service})
		}
		got := []string{
			keys(s.Cluster.Exports, func(o *mcsv1beta1.ServiceExport) string { return o.Namespace + "/" + o.Name }),
			keys(s.Cluster.Imports, func(o *mcsv1beta1.ServiceImport) string { return o.Namespace + "/" + o.Name }),
			keys(s.Cluster.Services, func(o *corev1.Service) string { return o.Namespace + "/" + o.Name }),
			keys(s.Cluster.Slices, func(o *discoveryv1.EndpointSlice) string { return o.Namespace + "/" + o.Name }),
		}
		if want := []string{tt.exports, tt.imports, tt.services, tt.slices}; !slices.Equal(got, want) {
			t.Errorf("%s: the survey has %q, want %q", name, got, want)
		}
		if s.ClusterID != "c1" || s.Clusterset != "set" || len(s.Unread) > 0 {
			t.Errorf("%s: cluster %q of %q, unread %v", name, s.ClusterID, s.Clusterset, s.Unread)
		}
	}
}

// kube-proxy uses every EndpointSlice with the label of a derived Service. The survey has those with endpoints that Atoll
// does not manage.
func TestReadForeignSlices(t *testing.T) {
	slice := func(namespace, name, service, manager string, endpoints int) *discoveryv1.EndpointSlice {
		e := &discoveryv1.EndpointSlice{ObjectMeta: named(namespace, name, discoveryv1.LabelServiceName, service), Endpoints: make([]discoveryv1.Endpoint, endpoints)}
		if manager != "" {
			e.Labels[discoveryv1.LabelManagedBy] = manager
		}
		return e
	}
	ours := slice("shop", names.ImportedSlice("c1", "web-1"), "web-clusterset", names.AgentManager, 1)
	ours.Labels[names.LabelSourceCluster], ours.Annotations = "c1", map[string]string{names.AnnotationSourceSlice: "web-1"}
	imported := &mcsv1beta1.ServiceImport{ObjectMeta: named("shop", "api")}
	imported.Annotations = map[string]string{names.AnnotationDerivedService: "api-clusterset"}
	objects := []client.Object{
		&corev1.Service{ObjectMeta: named("shop", "web-clusterset", names.LabelManagedBy, names.AgentManager, names.LabelServiceName, "web")}, imported,
		ours, slice("shop", "copied", "web-clusterset", names.AgentManager, 1), slice("shop", "by-selector", "web-clusterset", "endpointslice-controller.k8s.io", 1),
		slice("shop", "by-hand", "web-clusterset", "", 1), slice("shop", "empty", "web-clusterset", "", 0), slice("shop", "other-service", "web", "", 1),
		slice("shop", "api", "api-clusterset", "", 1), slice("other", "same-name", "web-clusterset", "", 1),
	}
	for name, tt := range map[string]struct {
		scope Scope
		want  string
	}{
		"not read":    {Scope{}, ""},
		"all":         {Scope{Installation: true}, "api by-hand by-selector copied"},
		"a service":   {Scope{Namespace: "shop", Service: "web", Endpoints: true}, "by-hand by-selector copied"},
		"a namespace": {Scope{Namespace: "other", Endpoints: true}, ""},
	} {
		s := &Survey{}
		if err := s.readCluster(t.Context(), server(t, nil, objects...), tt.scope); err != nil {
			t.Fatal(err)
		}
		if got := keys(s.Cluster.Foreign, func(o *discoveryv1.EndpointSlice) string { return o.Name }); got != tt.want {
			t.Errorf("%s: foreign slices %q, want %q", name, got, tt.want)
		}
	}
}

// The survey has the exported Services of which a policy exposes only some ports, and no others.
func TestReadRestrictedServices(t *testing.T) {
	policy := func(service string, ports ...brokerv1alpha1.PolicyPort) brokerv1alpha1.ServicePolicy {
		return brokerv1alpha1.ServicePolicy{Spec: brokerv1alpha1.ServicePolicySpec{ServiceNamespace: "shop", ServiceName: service, Ports: ports}}
	}
	http := brokerv1alpha1.PolicyPort{Name: "http"}
	s := &Survey{Broker: &Broker{Policies: []brokerv1alpha1.ServicePolicy{policy("web", http), policy("all"), policy("elsewhere", http), policy("gone", http)}}}
	for _, name := range []string{"web", "all", "gone"} {
		s.Cluster.Exports = append(s.Cluster.Exports, mcsv1beta1.ServiceExport{ObjectMeta: named("shop", name)})
	}
	on := server(t, nil, &corev1.Service{ObjectMeta: named("shop", "web")}, &corev1.Service{ObjectMeta: named("shop", "all")}, &corev1.Service{ObjectMeta: named("shop", "elsewhere")})
	for range 2 { // a Service is read once
		s.readRestricted(t.Context(), on)
	}
	if got := keys(s.Cluster.Services, func(o *corev1.Service) string { return o.Name }); got != "web" || len(s.Unread) > 0 {
		t.Errorf("the survey has %q, want web; unread %v", got, s.Unread)
	}
}

// A kind that is not served is not a problem, a forbidden kind is recorded, and other errors
// end the survey.
func TestUnreadableKinds(t *testing.T) {
	exports := schema.GroupResource{Group: mcsv1beta1.GroupName, Resource: "serviceexports"}
	for name, tt := range map[string]struct {
		err           error
		unread, fails bool
	}{
		"not served":   {&meta.NoKindMatchError{}, false, false},
		"not found":    {apierrors.NewNotFound(exports, ""), false, false},
		"forbidden":    {apierrors.NewForbidden(exports, "", errors.New("RBAC")), true, false},
		"unavailable":  {apierrors.NewServiceUnavailable("etcd"), false, true},
		"unauthorized": {apierrors.NewUnauthorized("expired"), false, true},
	} {
		refuse := func(list client.ObjectList) error {
			if _, ok := list.(*mcsv1beta1.ServiceExportList); ok {
				return tt.err
			}
			return nil
		}
		s := &Survey{}
		err := s.readCluster(t.Context(), server(t, refuse, &corev1.Namespace{ObjectMeta: named("", "shop")}), Scope{})
		if (err != nil) != tt.fails || len(s.Unread) > 0 != tt.unread || !tt.fails && len(s.Cluster.Namespaces) != 1 {
			t.Errorf("%s: %v, unread %v", name, err, s.Unread)
		}
	}
}

func TestReadClusterset(t *testing.T) {
	record := func(id, service string, withdrawn bool) *brokerv1alpha1.ExportedService {
		e := layout.Record("set", brokerv1alpha1.ExportedServiceSpec{ClusterID: id, ServiceNamespace: "shop", ServiceName: service})
		layout.SetWithdrawn(e, withdrawn)
		return e
	}
	gone := &brokerv1alpha1.MemberCluster{ObjectMeta: named("set", "c3"), Spec: brokerv1alpha1.MemberClusterSpec{State: brokerv1alpha1.MemberRemoved}}
	ended := &brokerv1alpha1.ServicePolicy{ObjectMeta: named("set", "ended.shop")}
	layout.SetWithdrawn(ended, true)
	slice := func(name, service string) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{ObjectMeta: named("set", name, discoveryv1.LabelManagedBy, names.AgentManager, names.LabelServiceNamespace, "shop", names.LabelServiceName, service)}
	}
	on := server(t, nil, &brokerv1alpha1.MemberCluster{ObjectMeta: named("set", "c1")}, gone, &brokerv1alpha1.MemberCluster{ObjectMeta: named("other", "c9")},
		record("c1", "web", false), record("c1", "api", false), record("c2", "web", true), record("c2", "db", false), &brokerv1alpha1.ServicePolicy{ObjectMeta: named("set", "web.shop")}, ended,
		&coordinationv1.Lease{ObjectMeta: named("set", "c1", names.LabelSourceCluster, "c1")}, &coordinationv1.Lease{ObjectMeta: named("set", "another-tool")},
		slice("web-x", "web"), slice("api-x", "api"), &discoveryv1.EndpointSlice{ObjectMeta: named("set", "kubernetes-own", names.LabelServiceName, "web", names.LabelServiceNamespace, "shop")},
		&corev1.ConfigMap{ObjectMeta: named("set", names.MemberPermissions), Data: map[string]string{"namespaces.c1": "shop"}})
	for name, tt := range map[string]struct {
		scope           Scope
		exports, slices string
	}{
		"all":         {Scope{}, "api.shop.c1 db.shop.c2 web.shop.c1", ""},
		"a service":   {Scope{Namespace: "shop", Service: "web", Endpoints: true}, "web.shop.c1", "web-x"},
		"a namespace": {Scope{Namespace: "other", Endpoints: true}, "", ""},
		"its own":     {Scope{own: true}, "db.shop.c2", ""},
	} {
		b, err := readClusterset(t.Context(), on, "c2", "set", tt.scope)
		if err != nil {
			t.Fatal(err)
		}
		got := []string{
			keys(b.Members, func(o *brokerv1alpha1.MemberCluster) string { return o.Name }), keys(b.Heartbeats, func(o *coordinationv1.Lease) string { return o.Name }),
			keys(b.Policies, func(o *brokerv1alpha1.ServicePolicy) string { return o.Name }),
			keys(b.Exports, func(o *brokerv1alpha1.ExportedService) string { return o.Name }), keys(b.Slices, func(o *discoveryv1.EndpointSlice) string { return o.Name }),
		}
		if want := []string{"c1", "c1", "web.shop", tt.exports, tt.slices}; !slices.Equal(got, want) || b.Permissions.MayExport("c1", "other") {
			t.Errorf("%s: the survey has %q, want %q", name, got, want)
		}
	}
}

// The age of a heartbeat is measured with the broker's clock, from the last write.
func TestSilence(t *testing.T) {
	at := time.Unix(1000, 0)
	lease := func(name string, seconds *int32, created int64, written ...int64) coordinationv1.Lease {
		l := coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name, CreationTimestamp: metav1.Unix(created, 0)}, Spec: coordinationv1.LeaseSpec{LeaseDurationSeconds: seconds}}
		for _, w := range written {
			l.ManagedFields = append(l.ManagedFields, metav1.ManagedFieldsEntry{Time: ptr.To(metav1.Unix(w, 0))})
		}
		return l
	}
	b := &Broker{At: at, Heartbeats: []coordinationv1.Lease{lease("c1", ptr.To(int32(30)), 900), lease("c2", nil, 900, 990, 950), lease("c3", nil, 900, 1001)}}
	for member, want := range map[string]struct {
		silence time.Duration
		found   bool
		limit   time.Duration
	}{"c1": {100 * time.Second, true, 30 * time.Second}, "c2": {10 * time.Second, true, time.Minute}, "c3": {0, true, time.Minute}, "c4": {0, false, time.Minute}} {
		silence, found := b.Silence(member)
		if limit := b.SilenceLimit(member, time.Minute); silence != want.silence || found != want.found || limit != want.limit {
			t.Errorf("%s: silent for %v, %t, at most %v", member, silence, found, limit)
		}
	}
}

func TestClock(t *testing.T) {
	date, fails := "Mon, 02 Jan 2034 15:04:05 GMT", error(nil)
	c := &Clock{}
	wrapped := c.Wrap(roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{Header: http.Header{"Date": {date}}}, fails
	}))
	ask := func() {
		if _, err := wrapped.RoundTrip(&http.Request{}); !errors.Is(err, fails) {
			t.Error(err)
		}
	}
	ask()
	if at, _ := c.Last(); at.Unix() != 2019827045 {
		t.Errorf("the server's time is %v", at)
	}
	ahead, _ := c.Ahead()
	if ahead < time.Hour {
		t.Errorf("the server is ahead by %v", ahead)
	}
	fails = errors.New("no route")
	ask()
	if at, _ := c.Last(); at.Unix() != 2019827045 {
		t.Errorf("without a response, the server's time is %v", at)
	}
	date, fails = "", nil
	ask()
	if at, _ := c.Last(); time.Since(at).Abs() > time.Minute {
		t.Errorf("without a Date header, the time is %v", at)
	}
	if again, _ := c.Ahead(); again != ahead {
		t.Errorf("without a Date header, the server is ahead by %v", again)
	}
}
