package service

import (
	"context"
	"errors"
	"slices"
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
	"k8s.io/apimachinery/pkg/util/validation/field"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/metadata"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/share"
	"github.com/atoll-mcs/atoll/test/objects"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// world is a cluster's API server. It records writes, and refuses a Create or an Update with
// the error of refuse.
type world struct {
	*Reconciler
	events chan string
	writes []string
	refuse func(*corev1.Service) error
}

func newWorld(t *testing.T, stored ...client.Object) *world {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), mcsv1beta1.Install(scheme), trafficv1alpha1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	w := &world{refuse: func(*corev1.Service) error { return nil }}
	write := func(verb string, o client.Object, do func() error) error {
		if s, ok := o.(*corev1.Service); !ok {
			return do()
		} else if verb != "delete" {
			if err := w.refuse(s); err != nil {
				return err
			}
		}
		w.writes = append(w.writes, verb+" "+o.GetName())
		return do()
	}
	build := objects.Indexed{ClientBuilder: fake.NewClientBuilder().WithScheme(scheme)}
	if err := inputs.Index(t.Context(), build); err != nil {
		t.Fatal(err)
	}
	c := build.WithScheme(scheme).WithObjects(stored...).WithInterceptorFuncs(interceptor.Funcs{
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
	recorder := events.NewFakeRecorder(10)
	w.events = recorder.Events
	w.Reconciler = &Reconciler{limits: share.NewAddresses(nil), cluster: &inputs.Cluster{ID: "c1", Client: c, Live: c, View: view.New("set", "c1", nil, &kit.Changes[kit.Scope]{})}, recorder: recorder, problems: &status.Problems{}}
	return w
}

// reconcile reconciles the import once.
func (w *world) reconcile(t *testing.T, of types.NamespacedName) reconcile.Result {
	t.Helper()
	result, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: of})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func serviceImport(change ...func(*mcsv1beta1.ServiceImport)) *mcsv1beta1.ServiceImport {
	imp := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name, UID: "1", Labels: map[string]string{names.LabelManagedBy: names.AgentManager}},
		Spec: mcsv1beta1.ServiceImportSpec{
			Type: mcsv1beta1.ClusterSetIP, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Ports: []mcsv1beta1.ServicePort{{Name: "http", Port: 80}},
		},
	}
	for _, f := range change {
		f(imp)
	}
	return imp
}

func headless(imp *mcsv1beta1.ServiceImport) { imp.Spec.Type = mcsv1beta1.Headless }

// going marks an object as being deleted.
func going[T client.Object](object T) T {
	object.SetDeletionTimestamp(&metav1.Time{Time: metav1.Unix(1, 0).Time})
	object.SetFinalizers([]string{"example.org/keep"})
	return object
}

// made is the derived Service of an import, after changes by a user.
func made(name string, imp *mcsv1beta1.ServiceImport, change ...func(*corev1.Service)) *corev1.Service {
	service := users(name)
	derived.Apply(service, imp, nil)
	for _, f := range change {
		f(service)
	}
	return service
}

// users is a user's own Service.
func users(name string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: name}}
}

// foreign is a slice of the derived Service that another tool or Kubernetes has made, for a Service with a UID.
func foreign(name, manager string, service ...types.UID) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: name, Labels: map[string]string{
		discoveryv1.LabelServiceName: "web-clusterset", discoveryv1.LabelManagedBy: manager,
	}}}
	for _, uid := range service {
		s.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web-clusterset", UID: uid}}
	}
	return s
}

// A Service that is deleted because of its endpoints gets its own addresses again, not those of an edited ServiceImport, and also
// that of a family which the import has lost.
func TestAddressesOfTheDeletedService(t *testing.T) {
	edited := serviceImport(func(i *mcsv1beta1.ServiceImport) { i.Spec.IPs = []string{"10.7.7.7"} })
	w := newWorld(t, edited, made("web-clusterset", edited, func(s *corev1.Service) {
		s.Spec.Selector = map[string]string{"a": "b"}
		s.Spec.ClusterIP, s.Spec.ClusterIPs = "10.0.0.1", []string{"10.0.0.1", "fd00::1"}
		s.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	}))
	w.reconcile(t, web) // deletes
	w.reconcile(t, web) // creates
	service := &corev1.Service{}
	if err := w.cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: web.Namespace, Name: "web-clusterset"}, service); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(service.Spec.ClusterIPs, " "); got != "10.0.0.1 fd00::1" || len(service.Spec.IPFamilies) != 2 || len(service.Spec.Selector) > 0 {
		t.Errorf("the Service has the addresses %s, %+v", got, service.Spec)
	}
}

// A copy of an imported slice under another name is foreign, although it has Atoll's labels.
func TestCopiesAreForeign(t *testing.T) {
	slice := func(name string) *discoveryv1.EndpointSlice {
		s := foreign(name, names.AgentManager)
		s.Labels[names.LabelServiceName], s.Labels[names.LabelSourceCluster] = "web", "c2"
		s.Annotations = map[string]string{names.AnnotationSourceSlice: "web-x"}
		return s
	}
	usual := names.ImportedSlice("c2", "web-x")
	w := newWorld(t, serviceImport(), made("web-clusterset", serviceImport()), slice(usual), slice(names.OtherImportedSlice(usual)), slice("by-hand"))
	w.reconcile(t, web)
	warnings := w.problems.Of(web)[status.Part{}].Warnings
	if len(warnings) != 1 || !strings.Contains(warnings[0].Message, "delete endpointslice -n shop by-hand --context") {
		t.Errorf("the warnings are %+v", warnings)
	}
}

// The warning about foreign slices lasts while there are any. A Service whose selector comes back is only updated until
// replacePause has passed.
func TestForeignEndpoints(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		selector := func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} }
		w := newWorld(t, serviceImport(), made("web-clusterset", serviceImport(), selector), foreign("a", "me"), foreign("b", "me"))
		w.reconcile(t, web) // deletes
		w.reconcile(t, web) // creates
		w.reconcile(t, web)
		warnings := w.problems.Of(web)[status.Part{}].Warnings
		if len(warnings) != 1 || warnings[0].Reason != "ForeignEndpoints" || !strings.Contains(warnings[0].Message, "delete endpointslice -n shop a b") {
			t.Errorf("the warnings are %+v", warnings)
		}
		edit := func() (again time.Duration) {
			service := &corev1.Service{}
			if err := w.cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: web.Namespace, Name: "web-clusterset"}, service); err != nil {
				t.Fatal(err)
			}
			selector(service)
			if err := w.cluster.Client.Update(t.Context(), service); err != nil {
				t.Fatal(err)
			}
			w.writes = nil
			return w.reconcile(t, web).RequeueAfter
		}
		if again := edit(); strings.Join(w.writes, ", ") != "update web-clusterset" || again <= 0 || again > replacePause {
			t.Errorf("soon afterwards it writes %q, and looks again after %v", w.writes, again)
		}
		<-time.After(replacePause)
		if edit(); strings.Join(w.writes, ", ") != "delete web-clusterset" {
			t.Errorf("later it writes %q", w.writes)
		}
		for _, name := range []string{"a", "b"} {
			if err := w.cluster.Client.Delete(t.Context(), foreign(name, "me")); err != nil {
				t.Fatal(err)
			}
		}
		w.reconcile(t, web)
		if w.reconcile(t, web); len(w.problems.Of(web)) > 0 {
			t.Errorf("without the slices there are %v", w.problems.Of(web))
		}
	})
}

// Of the labels and annotations that other clusters export, a derived Service gets those that this cluster or the namespace
// allows, and loses those that are no longer allowed.
func TestAllowedMetadata(t *testing.T) {
	imp := serviceImport(func(i *mcsv1beta1.ServiceImport) {
		metadata.Apply(&i.ObjectMeta, metadata.Set{
			Labels:      map[string]string{"app.kubernetes.io/name": "web", "release": "a"},
			Annotations: map[string]string{"tailscale.com/expose": "true", "example.org/doc": "here"},
		})
	})
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: web.Namespace}}
	w := newWorld(t, imp, namespace)
	for _, tt := range []struct {
		byAgent         metadata.Keys
		byNamespace     string
		label, exported string
	}{
		{nil, "", "", ""},
		{nil, "example.org/*, app.kubernetes.io/name", "web", "here"},
		{metadata.Keys{"app.kubernetes.io/name"}, "", "web", ""},
		{metadata.Keys{"app.kubernetes.io/name"}, "example.org/doc", "web", "here"},
		{nil, "not a key", "", ""},
	} {
		old := namespace.DeepCopy()
		namespace.Annotations = map[string]string{names.AnnotationServiceMetadata: tt.byNamespace}
		if err := w.cluster.Client.Update(t.Context(), namespace); err != nil {
			t.Fatal(err)
		}
		w.cluster.ServiceMetadata = tt.byAgent
		if got := w.namespace(t.Context(), kit.Event[*corev1.Namespace]{Old: old, New: namespace}); tt.byNamespace != old.Annotations[names.AnnotationServiceMetadata] && len(got) != 1 {
			t.Errorf("%+v: the namespace's change maps to %v", tt, got)
		}
		w.reconcile(t, web)
		service := &corev1.Service{}
		if err := w.cluster.Client.Get(t.Context(), client.ObjectKey{Namespace: web.Namespace, Name: "web-clusterset"}, service); err != nil {
			t.Fatal(err)
		}
		if service.Labels["app.kubernetes.io/name"] != tt.label || service.Annotations["example.org/doc"] != tt.exported ||
			service.Labels["release"] != "" || service.Annotations["tailscale.com/expose"] != "" {
			t.Errorf("%+v: labels %v, annotations %v", tt, service.Labels, service.Annotations)
		}
	}
}

func TestReconcile(t *testing.T) {
	usual, other := names.DerivedServices("web", false), names.DerivedServices("web", true)
	imp := serviceImport()
	var allTaken []client.Object
	for _, name := range usual {
		allTaken = append(allTaken, users(name))
	}
	for name, tt := range map[string]struct {
		imp     *mcsv1beta1.ServiceImport
		objects []client.Object
		writes  string // writes until nothing changes
		says    string // in an Event
		problem string
	}{
		"new":                                 {imp: imp, writes: "create web-clusterset"},
		"new and headless":                    {imp: serviceImport(headless), writes: "create web-clusterset-headless"},
		"up to date":                          {imp: imp, objects: []client.Object{made(usual[0], imp)}},
		"a user's Service has the name":       {imp: imp, objects: []client.Object{users(usual[0])}, writes: "create " + usual[1], says: "NameTaken"},
		"users' Services have all names":      {imp: imp, objects: allTaken, problem: "Service shop/web-clusterset already exists and was not created by Atoll"},
		"a user has added a selector":         {imp: imp, objects: []client.Object{made(usual[0], imp, func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} })}, writes: "delete web-clusterset, create web-clusterset"},
		"Kubernetes has made endpoints":       {imp: imp, objects: []client.Object{made(usual[0], imp), foreign("a", "endpointslice-controller.k8s.io")}, writes: "delete web-clusterset, create web-clusterset"},
		"Kubernetes has mirrored endpoints":   {imp: imp, objects: []client.Object{made(usual[0], imp), foreign("a", "endpointslicemirroring-controller.k8s.io")}, writes: "delete web-clusterset, create web-clusterset"},
		"a slice of the former Service":       {imp: imp, objects: []client.Object{made(usual[0], imp), foreign("a", "endpointslice-controller.k8s.io", "former")}},
		"a slice that a person has made":      {imp: imp, objects: []client.Object{made(usual[0], imp), foreign("a", "me")}},
		"a user has removed the labels":       {imp: imp, objects: []client.Object{made(usual[0], imp, func(s *corev1.Service) { s.Labels = nil })}, writes: "update web-clusterset"},
		"made ExternalName":                   {imp: imp, objects: []client.Object{made(usual[0], imp, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName })}, writes: "delete web-clusterset, create web-clusterset"},
		"the Service is being deleted":        {imp: imp, objects: []client.Object{going(made(usual[0], imp, func(s *corev1.Service) { s.Labels = nil }))}},
		"the import becomes headless":         {imp: serviceImport(headless), objects: []client.Object{made(usual[0], imp)}, writes: "create web-clusterset-headless"},
		"the import is no longer headless":    {imp: imp, objects: []client.Object{made(usual[0], imp), made(other[0], serviceImport(headless))}, writes: "delete web-clusterset-headless"},
		"without an IP family":                {imp: serviceImport(func(i *mcsv1beta1.ServiceImport) { i.Spec.IPFamilies = nil }), objects: []client.Object{made(usual[0], imp), made(other[0], serviceImport(headless))}, writes: "delete web-clusterset-headless"},
		"without a port":                      {imp: serviceImport(func(i *mcsv1beta1.ServiceImport) { i.Spec.Ports = nil }), objects: []client.Object{made(usual[0], imp)}},
		"headless without a port":             {imp: serviceImport(headless, func(i *mcsv1beta1.ServiceImport) { i.Spec.Ports = nil }), writes: "create web-clusterset-headless"},
		"no import":                           {objects: []client.Object{made(usual[0], imp), made(other[0], serviceImport(headless))}, writes: "delete web-clusterset, delete web-clusterset-headless"},
		"no import, with a user's Service":    {objects: []client.Object{users(usual[0]), made(usual[1], imp)}, writes: "delete " + usual[1]},
		"no import, and all deleted already":  {objects: []client.Object{going(made(usual[0], imp))}},
		"the import is being deleted":         {imp: going(serviceImport())},
		"another tool's import of the name":   {imp: serviceImport(func(i *mcsv1beta1.ServiceImport) { i.Labels = nil })},
		"another import's Service is foreign": {imp: imp, objects: []client.Object{made(usual[0], serviceImport(func(i *mcsv1beta1.ServiceImport) { i.Name = "api" }))}, writes: "create " + usual[1], says: "NameTaken"},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.imp != nil {
				tt.objects = append([]client.Object{tt.imp}, tt.objects...)
			}
			w := newWorld(t, tt.objects...)
			for done := -1; done < len(w.writes); {
				done = len(w.writes)
				w.reconcile(t, web)
			}
			if got := strings.Join(w.writes, ", "); got != tt.writes {
				t.Errorf("writes %q, want %q", got, tt.writes)
			}
			w.events <- ""
			if said := <-w.events; !strings.Contains(said, tt.says) || tt.says == "" && said != "" {
				t.Errorf("Events %q, want %q", said, tt.says)
			}
			if got := w.problems.Of(web)[status.Part{}].Failure; !strings.Contains(got, tt.problem) || tt.problem == "" && got != "" {
				t.Errorf("the problem is %q, want %q", got, tt.problem)
			}
		})
	}
}

func invalid(path, detail string) error {
	return apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("Service").GroupKind(), "web-clusterset", field.ErrorList{field.Invalid(field.NewPath("spec", path), "", detail)})
}

// The agent reports each failure and retries it, a refusal after a pause. It retries a conflict without a report.
func TestRefusedWrites(t *testing.T) {
	services := corev1.Resource("services")
	for name, tt := range map[string]struct {
		objects []client.Object
		err     error
		problem bool
		fails   bool
	}{
		"forbidden":   {err: apierrors.NewForbidden(services, "web-clusterset", errors.New("a quota")), problem: true},
		"invalid":     {err: invalid("ports", "a webhook"), problem: true},
		"an update":   {objects: []client.Object{made("web-clusterset", serviceImport(), func(s *corev1.Service) { s.Labels = nil })}, err: apierrors.NewForbidden(services, "web-clusterset", errors.New("a quota")), problem: true},
		"conflict":    {err: apierrors.NewConflict(services, "web-clusterset", nil)},
		"unavailable": {err: apierrors.NewServiceUnavailable("etcd"), problem: true, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, append(tt.objects, serviceImport())...)
			w.refuse = func(*corev1.Service) error { return tt.err }
			result, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
			if (err != nil) != tt.fails || (result.RequeueAfter > 0) == tt.fails || (w.problems.Of(web)[status.Part{}].Failure != "") != tt.problem {
				t.Errorf("result %+v, %v, problems %v", result, err, w.problems.Of(web))
			}
			w.refuse = func(*corev1.Service) error { return nil }
			if w.reconcile(t, web); len(w.writes) != 1 || len(w.problems.Of(web)) > 0 {
				t.Errorf("later writes %q, problems %v", w.writes, w.problems.Of(web))
			}
		})
	}
}

// A re-created Service keeps the clusterset IPs that no other Service has.
func TestFormerAddresses(t *testing.T) {
	const taken = "provided IP is already allocated"
	dual := func(imp *mcsv1beta1.ServiceImport) {
		imp.Spec.IPFamilies, imp.Spec.IPs = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}, []string{"10.0.0.1", "fd00::1"}
	}
	owning := func(s *corev1.Service, ips ...string) *corev1.Service {
		s.Spec.ClusterIPs = ips
		return s
	}
	for name, tt := range map[string]struct {
		other   *corev1.Service // another Service with addresses
		refused string          // error for a Service that requests 10.0.0.1
		want    string
		fails   bool
	}{
		"free":                        {want: "10.0.0.1 fd00::1"},
		"one is another Service's":    {other: owning(users("api"), "10.0.0.1"), refused: taken, want: "fd00::1"},
		"both are another Service's":  {other: owning(users("api"), "10.0.0.1", "fd00::1"), refused: taken, want: ""},
		"its own deleted Service's":   {other: owning(made(names.DerivedServices("web", true)[0], serviceImport(headless)), "10.0.0.1"), refused: taken, fails: true},
		"of no Service, for a moment": {refused: taken, fails: true},
		"one is out of range":         {refused: "failed to allocate IP 10.0.0.1: not in the valid range", want: "fd00::1"},
		"no address that it may keep": {refused: "no such family", want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			objects := []client.Object{serviceImport(dual)}
			if tt.other != nil {
				objects = append(objects, tt.other)
			}
			w := newWorld(t, objects...)
			w.refuse = func(s *corev1.Service) error {
				if tt.refused != "" && slices.Contains(s.Spec.ClusterIPs, "10.0.0.1") {
					return invalid("clusterIPs", tt.refused)
				}
				return nil
			}
			_, err := w.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
			if (err != nil) != tt.fails || (len(w.writes) == 1) == tt.fails {
				t.Fatalf("writes %q, error %v", w.writes, err)
			}
			if tt.fails {
				return
			}
			service := &corev1.Service{}
			if err := w.cluster.Client.Get(t.Context(), types.NamespacedName{Namespace: "shop", Name: "web-clusterset"}, service); err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(service.Spec.ClusterIPs, " "); got != tt.want || (len(w.events) > 0) != (tt.refused != "") {
				t.Errorf("addresses %q, want %q; Events: %d", got, tt.want, len(w.events))
			}
		})
	}
}

// The cached import of a deleted ServiceImport must not get its Service back.
func TestDeletedImportIsNotServed(t *testing.T) {
	addressed := func(imp *mcsv1beta1.ServiceImport) { imp.Spec.IPs = []string{"10.0.0.1"} }
	for name, live := range map[string][]client.Object{"gone": nil, "created again": {serviceImport(addressed, func(i *mcsv1beta1.ServiceImport) { i.UID = "2" })}, "being deleted": {going(serviceImport(addressed))}} {
		w := newWorld(t, serviceImport(addressed))
		w.cluster.Live = newWorld(t, live...).cluster.Client
		if w.reconcile(t, web); len(w.writes) > 0 {
			t.Errorf("%s: unexpected writes %q", name, w.writes)
		}
	}
}

// An API server without PreferSameZone gets PreferClose, and is asked once.
func TestTrafficDistribution(t *testing.T) {
	sameZone := func(imp *mcsv1beta1.ServiceImport) {
		imp.Spec.TrafficDistribution = ptr.To(corev1.ServiceTrafficDistributionPreferSameZone)
	}
	api := types.NamespacedName{Namespace: web.Namespace, Name: "api"}
	w := newWorld(t, serviceImport(sameZone), serviceImport(sameZone, func(i *mcsv1beta1.ServiceImport) { i.Name = api.Name }))
	refused := 0
	w.refuse = func(s *corev1.Service) error {
		if *s.Spec.TrafficDistribution != corev1.ServiceTrafficDistributionPreferClose {
			refused++
			return invalid("trafficDistribution", "unsupported value")
		}
		return nil
	}
	for _, service := range []types.NamespacedName{web, api, web} {
		w.reconcile(t, service)
		if p := w.problems.Of(service)[status.Part{}]; p.Failure != "" || len(p.Warnings) != 1 || p.Warnings[0].Reason != "TrafficDistributionNotSupported" {
			t.Errorf("%s has %+v", service, p)
		}
	}
	if len(w.writes) != 2 || refused != 1 {
		t.Errorf("writes %q after %d refusals, want 2 writes after 1", w.writes, refused)
	}
}
