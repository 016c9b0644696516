package apiserver

import (
	"context"
	"slices"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/objects"
)

func newClient(t *testing.T) (*Server, client.WithWatch) {
	t.Helper()
	server := New(1)
	c, err := client.NewWithWatch(server.Config(), client.Options{Scheme: scheme})
	must(t, err)
	must(t, c.Create(t.Context(), objects.Namespace("shop")))
	return server, c
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestWrites(t *testing.T) {
	server, c := newClient(t)
	ctx := t.Context()
	web := objects.Slice("shop", "web", "web", "10.0.0.1")
	must(t, c.Create(ctx, web))
	if web.UID == "" || web.ResourceVersion == "" || web.Generation != 1 {
		t.Errorf("created as %+v", web.ObjectMeta)
	}
	if err := c.Create(ctx, objects.Slice("shop", "web", "web")); !apierrors.IsAlreadyExists(err) {
		t.Errorf("creating it again: %v", err)
	}
	elsewhere := objects.Slice("shop", "web", "web")
	elsewhere.Namespace = "nowhere"
	if err := c.Create(ctx, elsewhere); !apierrors.IsNotFound(err) {
		t.Errorf("creating in a namespace that does not exist: %v", err)
	}

	old := web.DeepCopy()
	web.Endpoints = append(web.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.0.2"}})
	must(t, c.Update(ctx, web))
	if web.ResourceVersion == old.ResourceVersion || web.Generation != 2 || len(web.Endpoints) != 2 {
		t.Errorf("updated to %+v", web)
	}
	if err := c.Update(ctx, old); !apierrors.IsConflict(err) {
		t.Errorf("updating an old version: %v", err)
	}
	version := web.ResourceVersion
	must(t, c.Update(ctx, web))
	if web.ResourceVersion != version {
		t.Error("an update without a change created a new version")
	}
	if n := server.Writes()["endpointslices"]; n != 2 {
		t.Errorf("%d writes counted, want 2", n)
	}
	// Four writes failed or changed nothing: creation of an existing object, creation in a
	// missing namespace, update of an old version, update without a change.
	if n := server.Wasted()["endpointslices"]; n != 4 {
		t.Errorf("Wasted counts %d writes, want 4", n)
	}
	if n := server.Unchanged()["endpointslices"]; n != 1 {
		t.Errorf("Unchanged counts %d writes, want 1", n)
	}

	uid := old.UID + "x"
	if err := c.Delete(ctx, web, client.Preconditions{UID: &uid}); !apierrors.IsConflict(err) {
		t.Errorf("deleting with another UID: %v", err)
	}
	must(t, c.Delete(ctx, web, client.Preconditions{UID: &web.UID}))
	if err := c.Get(ctx, client.ObjectKeyFromObject(web), web); !apierrors.IsNotFound(err) {
		t.Errorf("getting a deleted object: %v", err)
	}
}

// watchFrom watches slices from a version on.
func watchFrom(ctx context.Context, t *testing.T, c client.WithWatch, version string) watch.Interface {
	t.Helper()
	w, err := c.Watch(ctx, &discoveryv1.EndpointSliceList{}, &client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: version}})
	must(t, err)
	t.Cleanup(w.Stop)
	return w
}

func TestWatchFromAVersion(t *testing.T) {
	_, c := newClient(t)
	for _, name := range []string{"a", "b"} {
		must(t, c.Create(t.Context(), objects.Slice("shop", name, name)))
	}
	list := &discoveryv1.EndpointSliceList{}
	must(t, c.List(t.Context(), list))
	must(t, c.Create(t.Context(), objects.Slice("shop", "c", "c")))
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	w := watchFrom(ctx, t, c, list.ResourceVersion)
	must(t, c.Delete(ctx, objects.Slice("shop", "a", "a")))
	var got []string
	for e := range w.ResultChan() {
		got = append(got, string(e.Type)+" "+e.Object.(client.Object).GetName())
		if len(got) == 2 {
			break
		}
	}
	if want := []string{string(watch.Added) + " c", string(watch.Deleted) + " a"}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// A restored server holds its old objects, assigns the same versions again, and ends all
// watches. A watch from a version in the future gets no events until the server reaches that
// version.
func TestRestore(t *testing.T) {
	server, c := newClient(t)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	kept, lost := objects.Slice("shop", "kept", "kept", "10.0.0.1"), objects.Slice("shop", "lost", "lost")
	must(t, c.Create(ctx, kept))
	backup := server.Backup()
	before := watchFrom(ctx, t, c, kept.ResourceVersion)
	must(t, c.Delete(ctx, kept))
	must(t, c.Create(ctx, lost))
	server.Restore(backup)
	for range before.ResultChan() { // ends
	}
	list := &discoveryv1.EndpointSliceList{}
	must(t, c.List(ctx, list))
	if len(list.Items) != 1 || list.Items[0].Name != "kept" || list.Items[0].UID != kept.UID || list.ResourceVersion != kept.ResourceVersion {
		t.Fatalf("at %s there are %+v", list.ResourceVersion, list.Items)
	}
	deaf := watchFrom(ctx, t, c, lost.ResourceVersion)
	for _, name := range []string{"a", "b", "c"} { // b gets the version that the lost object had
		must(t, c.Create(ctx, objects.Slice("shop", name, name)))
	}
	if e := <-deaf.ResultChan(); e.Object.(client.Object).GetName() != "c" {
		t.Errorf("the first event is about %s, want c", e.Object.(client.Object).GetName())
	}
	again := &discoveryv1.EndpointSlice{}
	must(t, c.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "b"}, again))
	if again.ResourceVersion != lost.ResourceVersion {
		t.Errorf("its version is %s, not %s", again.ResourceVersion, lost.ResourceVersion)
	}
}

func TestStatusIsApart(t *testing.T) {
	_, c := newClient(t)
	ctx := t.Context()
	imp := objects.Import("shop", "web")
	imp.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "ignored"}}
	must(t, c.Create(ctx, imp))
	if len(imp.Status.Clusters) != 0 {
		t.Error("a create has set the status")
	}
	changed := imp.DeepCopy()
	changed.Spec.IPs = []string{"10.1.0.9"}
	changed.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c1"}}
	must(t, c.Status().Patch(ctx, changed.DeepCopy(), client.MergeFrom(imp)))
	must(t, c.Get(ctx, client.ObjectKeyFromObject(imp), imp))
	if len(imp.Status.Clusters) != 1 || len(imp.Spec.IPs) != 0 || imp.Generation != 1 {
		t.Errorf("a status patch has made %+v", imp)
	}
	changed.ResourceVersion = imp.ResourceVersion
	must(t, c.Patch(ctx, changed, client.MergeFrom(imp)))
	if len(changed.Spec.IPs) != 1 || len(changed.Status.Clusters) != 1 || changed.Generation != 2 {
		t.Errorf("a patch has made %+v", changed)
	}
}

func TestAppliedConditionsOfTwoOwners(t *testing.T) {
	_, c := newClient(t)
	ctx := t.Context()
	export := objects.Export("shop", "web")
	must(t, c.Create(ctx, export))
	apply := func(owner, kind, status string, uid any) error {
		object := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
			"type": kind, "status": status, "reason": "Because", "message": "", "lastTransitionTime": "2026-01-02T03:04:05Z",
		}}}}}
		object.SetGroupVersionKind(schema.GroupVersion(mcsv1beta1.GroupVersion).WithKind("ServiceExport"))
		object.SetNamespace("shop")
		object.SetName("web")
		_ = unstructured.SetNestedField(object.Object, uid, "metadata", "uid")
		return c.Status().Apply(ctx, client.ApplyConfigurationFromUnstructured(object), client.ForceOwnership, client.FieldOwner(owner))
	}
	must(t, apply("a", "Ready", "False", string(export.UID)))
	must(t, apply("b", "Conflict", "False", string(export.UID)))
	must(t, apply("a", "Ready", "True", string(export.UID)))
	if err := apply("a", "Ready", "False", "another"); !apierrors.IsConflict(err) {
		t.Errorf("applying with another UID: %v", err)
	}
	must(t, c.Get(ctx, client.ObjectKeyFromObject(export), export))
	if len(export.Status.Conditions) != 2 || !meta.IsStatusConditionTrue(export.Status.Conditions, "Ready") {
		t.Errorf("conditions %+v", export.Status.Conditions)
	}
	must(t, apply("a", "Other", "True", string(export.UID))) // and no longer Ready
	must(t, c.Get(ctx, client.ObjectKeyFromObject(export), export))
	if len(export.Status.Conditions) != 2 || meta.FindStatusCondition(export.Status.Conditions, "Ready") != nil {
		t.Errorf("conditions %+v", export.Status.Conditions)
	}
}

func TestWhatIsOwnedGoesToo(t *testing.T) {
	_, c := newClient(t)
	ctx := t.Context()
	imp := objects.Import("shop", "web")
	must(t, c.Create(ctx, imp))
	owned := objects.Slice("shop", "owned", "owned")
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: mcsv1beta1.GroupVersion.String(), Kind: "ServiceImport", Name: "web", UID: imp.UID}}
	must(t, c.Create(ctx, owned))
	must(t, c.Create(ctx, objects.Slice("shop", "free", "free")))
	must(t, c.Delete(ctx, imp))
	list := &discoveryv1.EndpointSliceList{}
	must(t, c.List(ctx, list))
	if len(list.Items) != 1 || list.Items[0].Name != "free" {
		t.Errorf("left are %+v", list.Items)
	}
	must(t, c.Delete(ctx, objects.Namespace("shop")))
	must(t, c.List(ctx, list))
	if len(list.Items) != 0 {
		t.Errorf("left of the namespace are %+v", list.Items)
	}
}

func TestServicesGetAddresses(t *testing.T) {
	_, c := newClient(t)
	var addresses []string
	for _, name := range []string{"a", "b"} {
		s := objects.Service("shop", name, 80)
		must(t, c.Create(t.Context(), s))
		if s.Spec.Ports[0].Protocol != corev1.ProtocolTCP || s.Spec.Ports[0].TargetPort.IntVal != 80 || len(s.Spec.IPFamilies) != 1 {
			t.Errorf("made %+v", s.Spec)
		}
		addresses = append(addresses, s.Spec.ClusterIP)
	}
	if addresses[0] == addresses[1] || addresses[0] == "" {
		t.Errorf("addresses %v", addresses)
	}
}
