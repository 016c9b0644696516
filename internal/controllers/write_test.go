package controllers

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
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

// A write that comes too late says so: what is there now decides. Nobody can change the type of a slice's addresses.
func TestWriterSlice(t *testing.T) {
	resource := schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"}
	conflict, gone := apierrors.NewConflict(resource, "x", nil), apierrors.NewNotFound(resource, "x")
	four := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "x"}, AddressType: discoveryv1.AddressTypeIPv4}
	six := four.DeepCopy()
	six.AddressType = discoveryv1.AddressTypeIPv6
	for name, tt := range map[string]struct {
		have, want *discoveryv1.EndpointSlice
		failures   map[string]error
		wrote      string
		err        string
	}{
		"a new one":                {want: four, wrote: "create x"},
		"a new one is refused":     {want: four, failures: map[string]error{"create x": errors.New("no")}, wrote: "create x", err: "creating EndpointSlice x: no"},
		"another one":              {have: four, want: four, wrote: "update x"},
		"another one comes late":   {have: four, want: four, failures: map[string]error{"update x": conflict}, wrote: "update x", err: ErrOutdated.Error()},
		"another one of none":      {have: four, want: four, failures: map[string]error{"update x": gone}, wrote: "update x", err: ErrOutdated.Error()},
		"another one is refused":   {have: four, want: four, failures: map[string]error{"update x": errors.New("no")}, wrote: "update x", err: "updating EndpointSlice x: no"},
		"none":                     {have: four, wrote: "delete x"},
		"none of none":             {have: four, failures: map[string]error{"delete x": gone}, wrote: "delete x"},
		"none comes late":          {have: four, failures: map[string]error{"delete x": conflict}, wrote: "delete x"},
		"none is refused":          {have: four, failures: map[string]error{"delete x": errors.New("no")}, wrote: "delete x", err: "deleting EndpointSlice x: no"},
		"of other addresses":       {have: four, want: six, wrote: "delete x, create x"},
		"of others, which is kept": {have: four, want: six, failures: map[string]error{"delete x": errors.New("no")}, wrote: "delete x", err: "deleting EndpointSlice x: no"},
	} {
		server := &writes{failures: tt.failures}
		err, text := Writer{Client: server}.Slice(t.Context(), tt.have, tt.want), ""
		if err != nil {
			text = err.Error()
		}
		if got := strings.Join(server.done, ", "); got != tt.wrote || text != tt.err {
			t.Errorf("%s: %s, error %v", name, got, err)
		}
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
