package controllers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

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
	mu       sync.Mutex
	done     []string
	failures map[string]error
	once     bool // each write fails only once
	// takes is how long a write takes, and most how many there were at once.
	takes     time.Duration
	now, most int
}

func (w *writes) note(verb string, object client.Object) error {
	write := verb + " " + object.GetName()
	w.mu.Lock()
	err := w.failures[write]
	if w.once && slices.Contains(w.done, write) {
		err = nil
	}
	w.done = append(w.done, write)
	w.now++
	w.most = max(w.most, w.now)
	w.mu.Unlock()
	if w.takes > 0 {
		<-time.After(w.takes)
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now--
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
		outdated bool
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
		"an update that comes too late keeps the old, and all is to be decided on again": {
			failures: map[string]error{"update kept": apierrors.NewConflict(resource, "kept", nil)},
			want:     []string{"delete other-family", "create new", "update kept"}, fails: true, outdated: true,
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
			if (err != nil) != tt.fails || errors.Is(err, ErrOutdated) != tt.outdated || !slices.Equal(phases(server.done), phases(tt.want)) {
				t.Errorf("wrote %q, error %v; want %q", server.done, err, tt.want)
			}
		})
	}
}

// What loses endpoints to other slices is updated when those have them.
func TestReleasesComeLast(t *testing.T) {
	resource := schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	for name, tt := range map[string]struct {
		failure  error
		want     string
		outdated bool
	}{
		"all goes well":     {nil, "create new, update gains, update loses, delete old", false},
		"it came too late":  {apierrors.NewConflict(resource, "gains", nil), "create new, update gains", true},
		"it failed for now": {errors.New("no"), "create new, update gains", false},
		"it was refused":    {apierrors.NewForbidden(resource, "gains", errors.New("a policy says no")), "create new, update gains, update loses, delete old", false},
	} {
		server := &writes{failures: map[string]error{"update gains": tt.failure}}
		one := func(name string) []*discoveryv1.EndpointSlice {
			return []*discoveryv1.EndpointSlice{{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "1"}}}
		}
		err := Writer{Client: server}.Slices(t.Context(), sliceplan.Changes{Create: one("new"), Update: one("gains"), Release: one("loses"), Delete: one("old")})
		if got := strings.Join(server.done, ", "); got != tt.want || errors.Is(err, ErrOutdated) != tt.outdated || (err == nil) != (tt.failure == nil) {
			t.Errorf("%s: %s, error %v; want %s", name, got, err, tt.want)
		}
	}
}

// phases sorts what is written at the same time: what has the same verb.
func phases(done []string) []string {
	verb := func(write string) string { return strings.Fields(write)[0] }
	sorted := slices.Clone(done)
	for from := 0; from < len(sorted); {
		to := from
		for to < len(sorted) && verb(sorted[to]) == verb(sorted[from]) {
			to++
		}
		slices.Sort(sorted[from:to])
		from = to
	}
	return sorted
}

// Many slices take as long as some, and what is old waits for all that is new.
func TestSlicesAreWrittenAtTheSameTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const n = 10 * atOnce
		var changes sliceplan.Changes
		for i := range n {
			slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: strconv.Itoa(i)}}
			changes.Create = append(changes.Create, slice)
			changes.Delete = append(changes.Delete, slice)
		}
		server := &writes{takes: time.Second}
		start := time.Now()
		if err := (Writer{Client: server}).Slices(t.Context(), changes); err != nil {
			t.Fatal(err)
		}
		if took := time.Since(start); took != 20*time.Second || server.most != atOnce {
			t.Errorf("took %v, %d at once", took, server.most)
		}
		for i, write := range server.done {
			if strings.HasPrefix(write, "create ") != (i < n) {
				t.Fatalf("write %d is %s", i, write)
			}
		}
	})
}

func TestAllFailuresAreTold(t *testing.T) {
	slices := []*discoveryv1.EndpointSlice{{ObjectMeta: metav1.ObjectMeta{Name: "a"}}, {ObjectMeta: metav1.ObjectMeta{Name: "b"}}}
	server := &writes{failures: map[string]error{"create a": errors.New("no"), "create b": errors.New("no"), "update a": errors.New("no")}}
	err := Writer{Client: server}.Slices(t.Context(), sliceplan.Changes{Create: slices, Update: slices})
	if got, want := Summary(err), "creating EndpointSlice a: no (and 2 more)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

// reads is an API server that holds one object, or fails.
type reads struct {
	client.Reader
	labels map[string]string
	owners []metav1.OwnerReference
	err    error
}

func (r reads) Get(_ context.Context, _ client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	o.SetLabels(r.labels)
	o.SetOwnerReferences(r.owners)
	return r.err
}

func TestCreatingWhatIsThere(t *testing.T) {
	resource := schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	exists := apierrors.NewAlreadyExists(resource, "x")
	terminating := apierrors.NewForbidden(resource, "x", errors.New("the namespace is being terminated"))
	terminating.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	ours := map[string]string{
		"atoll.dev/managed-by": "m", "multicluster.kubernetes.io/source-cluster": "c", "multicluster.kubernetes.io/service-name": "s",
		discoveryv1.LabelManagedBy: "m",
	}
	but := func(label string) map[string]string {
		changed := maps.Clone(ours)
		changed[label] = "another"
		return changed
	}
	unmarked := maps.Clone(ours)
	delete(unmarked, discoveryv1.LabelManagedBy)
	for name, tt := range map[string]struct {
		create error
		once   bool
		there  reads
		broker bool
		fails  bool
		taken  bool // back, by an update
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
		"one that another controller manages":                {create: exists, there: reads{labels: but(discoveryv1.LabelManagedBy)}, fails: true},
		"one of ours that does not say who manages it":       {create: exists, there: reads{labels: unmarked, owners: []metav1.OwnerReference{{Kind: "ServiceImport"}}}, taken: true},
		"one of ours that looks like one on the broker":      {create: exists, there: reads{labels: but("atoll.dev/service-namespace")}, taken: true},
		"it is gone when looked at":                          {create: exists, there: reads{err: apierrors.NewNotFound(resource, "x")}, fails: true},
		"it is gone when looked at, and can be created then": {create: exists, once: true, there: reads{err: apierrors.NewNotFound(resource, "x")}},
		"it can't be looked at":                              {create: exists, there: reads{err: errors.New("no")}, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			server := &writes{failures: map[string]error{"create x": tt.create}, once: tt.once}
			w := Writer{Client: server, Reader: tt.there, Broker: tt.broker}
			err := w.Create(t.Context(), &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "x", Labels: ours}})
			if (err != nil) != tt.fails {
				t.Errorf("error %v", err)
			}
			if taken := slices.Contains(server.done, "update x"); taken != tt.taken {
				t.Errorf("wrote %v", server.done)
			}
		})
	}
}
