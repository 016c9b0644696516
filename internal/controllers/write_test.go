package controllers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/sliceplan"
)

// writes is an API server that notes what is written, and refuses what is in failures.
type writes struct {
	client.Client
	done     []string
	failures map[string]error
	once     bool // each write fails only once
}

func (w *writes) note(verb string, object client.Object) error {
	write := verb + " " + object.GetName()
	err := w.failures[write]
	if w.once && slices.Contains(w.done, write) {
		err = nil
	}
	w.done = append(w.done, write)
	return err
}

func (w *writes) Create(_ context.Context, o client.Object, _ ...client.CreateOption) error {
	return w.note("create", o)
}

func (w *writes) Update(_ context.Context, o client.Object, _ ...client.UpdateOption) error {
	return w.note("update", o)
}

func (w *writes) Delete(_ context.Context, o client.Object, _ ...client.DeleteOption) error {
	return w.note("delete", o)
}

func TestNewSlicesAreThereBeforeOldOnesGo(t *testing.T) {
	slice := func(name string, addresses ...string) []*discoveryv1.EndpointSlice {
		return []*discoveryv1.EndpointSlice{{ObjectMeta: metav1.ObjectMeta{Name: name}, Endpoints: []discoveryv1.Endpoint{{Addresses: addresses}}}}
	}
	resource := schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	quota := apierrors.NewForbidden(resource, "new", errors.New("exceeded quota: few"))
	policy := apierrors.NewForbidden(resource, "new", errors.New("a policy says no"))
	for name, tt := range map[string]struct {
		failures map[string]error
		want     []string
		fails    bool
	}{
		"all goes well": {want: []string{"delete other-family", "create new", "update kept", "delete old", "delete moved"}},
		"a failed creation keeps the old": {
			failures: map[string]error{"create new": errors.New("no")},
			want:     []string{"delete other-family", "create new", "update kept"}, fails: true,
		},
		"a failed update keeps the old": {
			failures: map[string]error{"update kept": errors.New("no")},
			want:     []string{"delete other-family", "create new", "update kept"}, fails: true,
		},
		"a quota is freed by what goes": {
			failures: map[string]error{"create new": quota},
			want:     []string{"delete other-family", "create new", "update kept", "delete old", "delete moved"}, fails: true,
		},
		"a policy's refusal keeps what would have been taken over alone": {
			failures: map[string]error{"create new": policy},
			want:     []string{"delete other-family", "create new", "update kept", "delete old"}, fails: true,
		},
		"one of two refusals is a policy's": {
			failures: map[string]error{"create new": quota, "update kept": policy},
			want:     []string{"delete other-family", "create new", "update kept", "delete old"}, fails: true,
		},
		"a refusal beside a failure that passes keeps the old": {
			failures: map[string]error{"create new": quota, "update kept": errors.New("no")},
			want:     []string{"delete other-family", "create new", "update kept"}, fails: true,
		},
		"a refusal beside an update that comes too late keeps the old": {
			failures: map[string]error{"create new": quota, "update kept": apierrors.NewConflict(resource, "kept", nil)},
			want:     []string{"delete other-family", "create new", "update kept"}, fails: true,
		},
		"an update that comes too late keeps the old, and the next attempt has seen more": {
			failures: map[string]error{"update kept": apierrors.NewConflict(resource, "kept", nil)},
			want:     []string{"delete other-family", "create new", "update kept"},
		},
		"what is gone already is no failure": {
			failures: map[string]error{"delete old": apierrors.NewNotFound(resource, "old")},
			want:     []string{"delete other-family", "create new", "update kept", "delete old", "delete moved"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			server := &writes{failures: tt.failures}
			err := Writer{Client: server}.Slices(t.Context(), sliceplan.Changes{
				Replace: slice("other-family"), Create: slice("new", "10.0.0.1", "10.0.0.2"), Update: slice("kept", "10.0.0.3"),
				Delete: append(slice("old", "10.0.0.9"), slice("moved", "10.0.0.8", "10.0.0.2")...),
			})
			if (err != nil) != tt.fails || !slices.Equal(server.done, tt.want) {
				t.Errorf("wrote %q, error %v; want %q", server.done, err, tt.want)
			}
		})
	}
}

// reads is an API server that holds one object, or fails.
type reads struct {
	client.Reader
	labels map[string]string
	err    error
}

func (r reads) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetLabels(r.labels)
	return r.err
}

func TestCreatingWhatIsThere(t *testing.T) {
	resource := schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	exists := apierrors.NewAlreadyExists(resource, "x")
	terminating := apierrors.NewForbidden(resource, "x", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	ours := map[string]string{
		"atoll.dev/managed-by": "m", "multicluster.kubernetes.io/source-cluster": "c", "multicluster.kubernetes.io/service-name": "s",
	}
	but := func(label string) map[string]string {
		changed := maps.Clone(ours)
		changed[label] = "another"
		return changed
	}
	for name, tt := range map[string]struct {
		create error
		once   bool
		there  reads
		broker bool
		fails  bool
	}{
		"it is not there":                                    {},
		"it can't be created":                                {create: errors.New("no"), fails: true},
		"it would go with its namespace":                     {create: terminating},
		"the broker's namespace goes":                        {create: terminating, broker: true, fails: true},
		"one of ours":                                        {create: exists, there: reads{labels: ours}},
		"somebody else's":                                    {create: exists, there: reads{}, fails: true},
		"one of another manager":                             {create: exists, there: reads{labels: but("atoll.dev/managed-by")}, fails: true},
		"one of another cluster":                             {create: exists, there: reads{labels: but("multicluster.kubernetes.io/source-cluster")}, fails: true},
		"one of another service":                             {create: exists, there: reads{labels: but("multicluster.kubernetes.io/service-name")}, fails: true},
		"it is gone when looked at":                          {create: exists, there: reads{err: apierrors.NewNotFound(resource, "x")}, fails: true},
		"it is gone when looked at, and can be created then": {create: exists, once: true, there: reads{err: apierrors.NewNotFound(resource, "x")}},
		"it can't be looked at":                              {create: exists, there: reads{err: errors.New("no")}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			w := Writer{Client: &writes{failures: map[string]error{"create x": tt.create}, once: tt.once}, Reader: tt.there, Broker: tt.broker}
			err := w.Create(t.Context(), &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: ours}})
			if (err != nil) != tt.fails {
				t.Errorf("error %v", err)
			}
		})
	}
}
