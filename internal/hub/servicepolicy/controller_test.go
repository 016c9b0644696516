package servicepolicy

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// world is a broker that records writes and answers them with err.
type world struct {
	client.Client
	writes []string
	err    error
}

func newWorld(t *testing.T, objects ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), networkingv1alpha1.AddToScheme(scheme), brokerv1alpha1.AddToScheme(scheme)); err != nil {
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
	w.Client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithStatusSubresource(&networkingv1alpha1.MultiClusterService{}).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return write("create", func() error { return c.Create(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return write("update", func() error { return c.Update(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return write("delete", func() error { return c.Delete(ctx, o, opts...) })
		},
	}).Build()
	return w
}

func (w *world) reconciler() (*reconciler, chan string) {
	recorder := events.NewFakeRecorder(10)
	return &reconciler{
		client: w, live: w, clusterset: "set", border: border.New(names.HubOwner, nil, border.NewBudget(border.Limits{}, nil)),
		permissions: func() permissions.Members { return nil }, removed: func(names.ClusterID) bool { return false }, failed: &Failed{}, recorder: recorder,
	}, recorder.Events
}

func multiClusterService(change ...func(*networkingv1alpha1.MultiClusterService)) *networkingv1alpha1.MultiClusterService {
	m := &networkingv1alpha1.MultiClusterService{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}}
	m.Spec.Types = []networkingv1alpha1.ExposureType{networkingv1alpha1.ExposureTypeCrossCluster}
	for _, f := range change {
		f(m)
	}
	return m
}

func loadBalancer(m *networkingv1alpha1.MultiClusterService) {
	m.Spec.Types = []networkingv1alpha1.ExposureType{networkingv1alpha1.ExposureTypeLoadBalancer}
}

func consumers(ids ...string) func(*networkingv1alpha1.MultiClusterService) {
	return func(m *networkingv1alpha1.MultiClusterService) { m.Spec.Range.ClusterNames = ids }
}

func providers(ids ...string) func(*networkingv1alpha1.MultiClusterService) {
	return func(m *networkingv1alpha1.MultiClusterService) {
		for _, id := range ids {
			m.Spec.ProviderClusters = append(m.Spec.ProviderClusters, networkingv1alpha1.ClusterSelector{Name: id})
		}
	}
}

func ports(numbers ...int32) func(*networkingv1alpha1.MultiClusterService) {
	return func(m *networkingv1alpha1.MultiClusterService) {
		for _, n := range numbers {
			m.Spec.Ports = append(m.Spec.Ports, networkingv1alpha1.ExposurePort{Port: n})
		}
	}
}

func in(namespace string) func(*networkingv1alpha1.MultiClusterService) {
	return func(m *networkingv1alpha1.MultiClusterService) { m.Namespace = namespace }
}

func going(m *networkingv1alpha1.MultiClusterService) {
	m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: metav1.Unix(1, 0).Time}, []string{"example.org/keep"}
}

// policyOf is the policy at revision 2000 of a MultiClusterService.
func policyOf(m *networkingv1alpha1.MultiClusterService, withdrawn bool) *brokerv1alpha1.ServicePolicy {
	p := &brokerv1alpha1.ServicePolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: "web.shop"}, Spec: project(m)}
	layout.SetWithdrawn(p, withdrawn)
	layout.SetRevision(p, 1999)
	return p
}

// The life of a policy: created, updated, withdrawn, and deleted after keepWithdrawn. Each
// write increases the revision.
func TestApply(t *testing.T) {
	usual := multiClusterService()
	for name, tt := range map[string]struct {
		mcs       *networkingv1alpha1.MultiClusterService
		have      *brokerv1alpha1.ServicePolicy
		writes    string
		revision  int64
		withdrawn bool
	}{
		"new":                          {mcs: usual, writes: "create", revision: 999},
		"up to date":                   {mcs: usual, have: policyOf(usual, false), revision: 2000},
		"changed":                      {mcs: multiClusterService(consumers("c1")), have: policyOf(usual, false), writes: "update", revision: 2001},
		"created again":                {mcs: usual, have: policyOf(usual, true), writes: "update", revision: 2001},
		"deleted":                      {have: policyOf(usual, false), writes: "update", revision: 2001, withdrawn: true},
		"being deleted":                {mcs: multiClusterService(going), have: policyOf(usual, false), writes: "update", revision: 2001, withdrawn: true},
		"withdrawn a moment ago":       {have: policyOf(usual, true), revision: 2000, withdrawn: true},
		"neither was ever there":       {},
		"being deleted, and no policy": {mcs: multiClusterService(going)},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []client.Object
			if tt.mcs != nil {
				objects = append(objects, tt.mcs)
			}
			if tt.have != nil {
				objects = append(objects, tt.have)
			}
			w := newWorld(t, objects...)
			r, _ := w.reconciler()
			for range 2 { // the second reconcile must write nothing
				if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web}); err != nil {
					t.Fatal(err)
				}
			}
			if got := strings.Join(w.writes, ", "); got != tt.writes {
				t.Errorf("writes are %q, want %q", got, tt.writes)
			}
			have := &brokerv1alpha1.ServicePolicy{}
			if err := client.IgnoreNotFound(w.Get(t.Context(), types.NamespacedName{Namespace: "set", Name: "web.shop"}, have)); err != nil {
				t.Fatal(err)
			}
			if got := layout.Revision(have); got != tt.revision && tt.writes != "create" || layout.Withdrawn(have) != tt.withdrawn || (have.Name == "") != (tt.revision == 0) {
				t.Errorf("the policy is %+v", have.ObjectMeta)
			}
			if have.Name != "" && !tt.withdrawn && have.Spec.Scope != brokerv1alpha1.ScopeClusterset {
				t.Errorf("the policy is %+v", have.Spec)
			}
		})
	}
}

func TestDeletesWithdrawnPolicies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, policyOf(multiClusterService(), true))
		r, _ := w.reconciler()
		for step, want := range []time.Duration{keepWithdrawn, time.Second, 0} {
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
			if err != nil || (len(w.writes) > 0) != (want == 0) || result.RequeueAfter != want {
				t.Errorf("step %d: %+v, %v after %q", step, result, err, w.writes)
			}
			<-time.After(want - time.Second)
			if step == 1 {
				<-time.After(time.Second)
			}
		}
	})
}

func TestRefusedWrites(t *testing.T) {
	policies := brokerv1alpha1.GroupVersion.WithResource("servicepolicies").GroupResource()
	for name, tt := range map[string]struct {
		err   error
		fails bool
	}{
		"forbidden":   {apierrors.NewForbidden(policies, "web.shop", errors.New("a quota")), false}, // retried after a pause
		"unavailable": {apierrors.NewServiceUnavailable("etcd"), true},
		"conflict":    {apierrors.NewConflict(policies, "web.shop", nil), false}, // retried after a pause
	} {
		w := newWorld(t, policyOf(multiClusterService(), false))
		w.err = tt.err
		r, _ := w.reconciler()
		result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
		if (err != nil) != tt.fails || (result.RequeueAfter > 0) == tt.fails {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		if failed := r.failed.Has(web); failed != (name != "conflict") {
			t.Errorf("%s: failed is %t", name, failed)
		}
	}
}

// Former members, records that no longer count, and members without permission export nothing.
func TestGather(t *testing.T) {
	member := func(id string) *brokerv1alpha1.MemberCluster {
		m := &brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: id}}
		m.Spec.ClusterID = id
		return m
	}
	record := func(id string, withdrawn bool) *brokerv1alpha1.ExportedService {
		e := layout.Record("set", brokerv1alpha1.ExportedServiceSpec{
			ClusterID: id, ServiceNamespace: "shop", ServiceName: "web", Type: "ClusterSetIP", ExportedAt: metav1.Unix(2e9, 0),
		})
		layout.SetWithdrawn(e, withdrawn)
		layout.SetRevision(e, 0)
		return e
	}
	misnamed := record("c5", false)
	misnamed.Spec.ClusterID = "c1"
	forHub := record("c6", false)
	forHub.Spec.Scope = brokerv1alpha1.ScopeHub
	records := []*brokerv1alpha1.ExportedService{record("c1", false), record("c2", true), record("c3", false), record("c4", false), misnamed, forHub}
	w := newWorld(t, multiClusterService(), member("c1"), member("c2"), member("c3"), member("c4"), member("c5"), member("c6"))
	r, _ := w.reconciler()
	r.removed = func(id names.ClusterID) bool { return id == "c3" }
	r.permissions = func() permissions.Members {
		some, _ := permissions.Read(&corev1.ConfigMap{Data: map[string]string{permissions.NamespacesKey("c4"): "other"}})
		return some
	}
	for _, record := range records {
		_, _ = r.border.Transform(record) // as the cache does
		if err := w.Create(t.Context(), record); err != nil {
			t.Fatal(err)
		}
	}
	toAll := forHub.DeepCopy()
	toAll.Spec.Scope = brokerv1alpha1.ScopeClusterset
	if got := r.record(t.Context(), kit.Event[*brokerv1alpha1.ExportedService]{Old: forHub, New: toAll}); len(got) != 1 {
		t.Errorf("a record that is exported to all maps to %v", got)
	}
	if got := r.record(t.Context(), kit.Event[*brokerv1alpha1.ExportedService]{Old: toAll, New: toAll.DeepCopy()}); len(got) != 0 {
		t.Errorf("an unchanged record maps to %v", got)
	}
	s, err := r.gather(t.Context(), web)
	if got := strings.Join(s.members, " ") + ": " + strings.Join(s.exporters, " "); err != nil || got != "c1 c2 c4 c5 c6: c1 c6" {
		t.Errorf("members and exporters are %q, %v", got, err)
	}
	if got := strings.Join(s.users, " "); got != "c1" {
		t.Errorf("exports not only for the hub: %q", got)
	}
	if len(s.ignored) != 2 || !strings.HasPrefix(s.ignored[0], `cluster "c4": the broker does not permit`) || !strings.HasPrefix(s.ignored[1], `cluster "c5": the export is invalid (the ExportedService must have the name`) {
		t.Errorf("ignored exports: %q", s.ignored)
	}
}

func TestConditions(t *testing.T) {
	service := &corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}
	for name, tt := range map[string]struct {
		state                       state
		service, clusters, exported string // the reason, and words of the message
	}{
		"no Service":                 {state{mcs: multiClusterService()}, "NoService the broker", "Found", "NotExported none of the members"},
		"all is well":                {state{mcs: multiClusterService(), service: service, members: []string{"c1"}, exporters: []string{"c1"}}, "Found", "Found", "Exported by \"c1\" to all members"},
		"for some clusters":          {state{mcs: multiClusterService(consumers("c2")), service: service, members: []string{"c1", "c2"}, exporters: []string{"c1"}}, "Found", "Found", "Exported by \"c1\" to \"c2\""},
		"for the load balancer":      {state{mcs: multiClusterService(loadBalancer), service: service, exporters: []string{"c1"}}, "Found", "Found", "Exported to the load balancer only"},
		"an unknown consumer":        {state{mcs: multiClusterService(consumers("c1", "c9")), service: service, members: []string{"c1"}}, "Found", "NoSuchCluster they join: \"c9\".", "NotExported"},
		"unknown providers, once":    {state{mcs: multiClusterService(providers("c8"), consumers("c8", "c9")), service: service}, "Found", "NoSuchCluster they join: \"c8\", \"c9\".", "NotExported none of the provider clusters \"c8\""},
		"a single port exists":       {state{mcs: multiClusterService(ports(80, 81)), service: service}, "NoSuchPort 1 of the 2 ports", "Found", "NotExported with one of the ports"},
		"a provider does not export": {state{mcs: multiClusterService(providers("c1", "c2", "c9")), service: service, members: []string{"c1", "c2"}, exporters: []string{"c1"}}, "Found", "NoSuchCluster", "PartlyExported get no traffic from other clusters or the load balancer: \"c2\"."},
		"another cluster exports":    {state{mcs: multiClusterService(providers("c2")), service: service, members: []string{"c1", "c2"}, exporters: []string{"c1"}}, "Found", "Found", "PartlyExported exported by \"c1\" to all members"},
		"a user exports to all":      {state{mcs: multiClusterService(loadBalancer), service: service, exporters: []string{"c1", "c2"}, users: []string{"c2"}}, "Found", "Found", "Exported In cluster \"c2\", a user's ServiceExport also exports"},
		"an ignored export":          {state{mcs: multiClusterService(), service: service, exporters: []string{"c1"}, ignored: []string{"x"}}, "Found", "Found", "Exported ignores these exports, so they get no traffic: x."},
		"a system namespace":         {state{mcs: multiClusterService(in("default")), service: service, exporters: []string{"c1"}}, "Found", "Found", "Exported kubectl label namespace default --overwrite atoll.dev/exports=allowed --context CONTEXT_OF_CLUSTER"},
		"a system namespace before":  {state{mcs: multiClusterService(in("default")), service: service}, "Found", "Found", "NotExported kubectl label namespace default"},
		"no port exists":             {state{mcs: multiClusterService(ports(81)), service: service}, "NoSuchPort do not export a Service that has none", "Found", "NotExported"},
	} {
		for i, want := range []string{tt.service, tt.clusters, tt.exported} {
			got := tt.state.conditions()[i]
			reason, words, _ := strings.Cut(want, " ")
			good := reason == "Found" || reason == "Exported"
			if got.Reason != reason || !strings.Contains(got.Message, words) || (got.Status == metav1.ConditionTrue) != good {
				t.Errorf("%s: %+v, want %s", name, got, want)
			}
		}
	}
}

// A load balancer uses the endpoints of a system namespace like others: only imports need the label.
func TestSystemNamespaceConcernsImports(t *testing.T) {
	s := state{mcs: multiClusterService(in("default"), loadBalancer), exporters: []string{"c1"}}
	if got := s.exported(); strings.Contains(got.Message, "label") || got.Status != metav1.ConditionTrue {
		t.Errorf("%+v", got)
	}
}

// A policy for load balancers only does not restrict imports of users' exports.
func TestProject(t *testing.T) {
	of := multiClusterService(loadBalancer, consumers("c1"), providers("c2"), ports(80))
	want := brokerv1alpha1.ServicePolicySpec{
		ServiceNamespace: "shop", ServiceName: "web", Scope: brokerv1alpha1.ScopeHub, Providers: []string{"c2"}, Ports: []brokerv1alpha1.PolicyPort{{Port: 80}},
	}
	if diff := cmp.Diff(want, project(of)); diff != "" {
		t.Error(diff)
	}
	deprecated := multiClusterService(func(m *networkingv1alpha1.MultiClusterService) {
		m.Spec.ServiceProvisionClusters, m.Spec.ServiceConsumptionClusters = []string{"c2"}, []string{"c1"}
	})
	if got := project(deprecated); strings.Join(got.Providers, " ") != "c2" || strings.Join(got.Consumers, " ") != "c1" {
		t.Errorf("Karmada's deprecated fields give %+v", got)
	}
	of.Spec.Types = append(of.Spec.Types, networkingv1alpha1.ExposureTypeCrossCluster)
	want.Scope, want.Consumers = brokerv1alpha1.ScopeClusterset, []string{"c1"}
	if diff := cmp.Diff(want, project(of)); diff != "" {
		t.Error(diff)
	}
}

// The hub sends Events about changes, and about problems of new objects.
func TestChangedConditions(t *testing.T) {
	found := metav1.Condition{Type: "a", Status: "True", Reason: networkingv1alpha1.ReasonFound}
	missing := metav1.Condition{Type: "a", Status: "False", Reason: "NoService", Message: "1"}
	other := missing
	other.Message = "2"
	for name, tt := range map[string]struct {
		before []metav1.Condition
		now    metav1.Condition
		want   bool
	}{
		"well from the start":   {nil, found, false},
		"a problem at first":    {nil, missing, true},
		"the same problem":      {[]metav1.Condition{missing}, missing, false},
		"another message":       {[]metav1.Condition{missing}, other, true},
		"the problem is solved": {[]metav1.Condition{missing}, found, true},
	} {
		if got := changedConditions(tt.before, []metav1.Condition{tt.now}); (len(got) == 1) != tt.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// The hub's counter confirms its policies to members. It increases only if all policies are
// correct.
func TestCompare(t *testing.T) {
	lease := func() *coordinationv1.Lease {
		l := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: names.HubOwner.String()}}
		layout.SetCount(l, 4, false)
		return l
	}
	usual := multiClusterService()
	for name, tt := range map[string]struct {
		objects []client.Object
		right   bool
		count   int64
		refused bool // the API server refuses the policy
	}{
		"no Lease yet":          {[]client.Object{usual, policyOf(usual, false)}, true, 1, false},
		"nothing to compare":    {[]client.Object{lease()}, true, 5, false},
		"right":                 {[]client.Object{lease(), usual, policyOf(usual, false)}, true, 5, false},
		"a missing policy":      {[]client.Object{lease(), usual}, false, 4, false},
		"an old policy":         {[]client.Object{lease(), multiClusterService(consumers("c1")), policyOf(usual, false)}, false, 4, false},
		"an additional policy":  {[]client.Object{lease(), policyOf(usual, false)}, false, 4, false},
		"a withdrawn policy":    {[]client.Object{lease(), policyOf(usual, true)}, true, 5, false},
		"withdrawn, but wanted": {[]client.Object{lease(), usual, policyOf(usual, true)}, false, 4, false},
		"the policy of a MultiClusterService that is being deleted": {[]client.Object{lease(), multiClusterService(going), policyOf(usual, false)}, false, 4, false},
		"a missing policy is refused":                               {[]client.Object{lease(), usual}, true, 5, true},
		"a withdrawal is refused":                                   {[]client.Object{lease(), policyOf(usual, false)}, true, 5, true},
	} {
		w := newWorld(t, tt.objects...)
		failed := &Failed{}
		failed.set(web, tt.refused)
		c := &Comparer{Client: w, Reader: w, Clusterset: "set", Failed: failed}
		renewed, err := c.renew(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		right, err := c.compare(t.Context(), renewed)
		have := lease()
		if readErr := w.Get(t.Context(), client.ObjectKeyFromObject(have), have); err != nil || readErr != nil || right != tt.right || layout.Counter(have).Count != tt.count || layout.Counter(have).Refused != tt.refused {
			t.Errorf("%s: %t, %v, %v, counter %+v", name, right, err, readErr, layout.Counter(have))
		}
	}
	known := lease()
	known.UID = "lease"
	w := newWorld(t, known)
	c := &Comparer{Client: w, Reader: w, Clusterset: "set", Failed: &Failed{}}
	for range 2 {
		if _, err := c.renew(t.Context()); err != nil {
			t.Errorf("the same broker: %v", err)
		}
	}
	c.Reader = newWorld(t, known) // its resource version is lower
	if _, err := c.renew(t.Context()); !errors.Is(err, errRestored) {
		t.Errorf("an older Lease: %v", err)
	}
	c.Reader = newWorld(t)
	if _, err := c.renew(t.Context()); !errors.Is(err, errRestored) {
		t.Errorf("no Lease any more: %v", err)
	}
	w = newWorld(t)
	w.err = apierrors.NewNotFound(corev1.Resource("namespaces"), "set")
	c = &Comparer{Client: w, Reader: w, Clusterset: "set", Failed: &Failed{}}
	if _, err := c.renew(t.Context()); err == nil || errors.Is(err, errRestored) {
		t.Errorf("the Lease cannot be written: %v", err)
	}
	w.err = nil
	if _, err := c.renew(t.Context()); !errors.Is(err, errRestored) {
		t.Errorf("the broker may have been wiped before the Lease could be written: %v", err)
	}
	w = newWorld(t, lease()) // as after a restore to a time before the MultiClusterService was created
	if right, err := (&Comparer{Client: newWorld(t, usual), Reader: w, Clusterset: "set", Failed: &Failed{}}).compare(t.Context(), lease()); err != nil || right {
		t.Errorf("a policy that exists only in the cache counts as correct: %v", err)
	}
	w.err = apierrors.NewConflict(corev1.Resource("leases"), "hub", nil)
	if _, err := (&Comparer{Client: w, Reader: w, Clusterset: "set", Failed: &Failed{}}).compare(t.Context(), lease()); err == nil {
		t.Error("a conflict counts as confirmed")
	}
}
