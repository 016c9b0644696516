package importedslice

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// weighted is a TrafficPolicy with weights for the ServiceImport.
func weighted() *trafficv1alpha1.TrafficPolicy {
	return &trafficv1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: web.Namespace, Name: "weights"}, Spec: trafficv1alpha1.TrafficPolicySpec{
		TargetRefs: []trafficv1alpha1.LocalPolicyTargetReference{{Group: mcsv1beta1.GroupName, Kind: "ServiceImport", Name: web.Name}},
		Preference: trafficv1alpha1.Preference{Weights: []trafficv1alpha1.ClusterWeight{{Cluster: "c1", Weight: 1}}},
	}}
}

// With a deleted service, its decision is forgotten, also if its slices were deleted first.
func TestDecisionsOfDeletedServices(t *testing.T) {
	o := exported()
	byDefault := weighted()
	byDefault.Namespace, byDefault.Name, byDefault.Spec.TargetRefs = names.SystemNamespace, trafficv1alpha1.DefaultPolicy, nil
	w := newWorld(t, append(o.list(), byDefault)...)
	reconcile := func() {
		t.Helper()
		in, err := w.gather(t.Context(), ownReq, ours("10.1.0.1"))
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := w.assign(t.Context(), ownReq, in, decide(in, ownReq, w.Network, "c1").want); err != nil {
			t.Fatal(err)
		}
	}
	reconcile()
	if len(w.roles.all()) != 1 {
		t.Fatal("there is no decision")
	}
	set := w.roles.of(web, false)
	w.delete(t, o.source)
	reconcile()
	if w.roles.of(web, false) != set {
		t.Error("the decision is forgotten with one of the service's slices")
	}
	w.delete(t, o.export, o.service)
	reconcile()
	w.delete(t, o.imp)
	w.serviceImport(t.Context(), kit.Event[*mcsv1beta1.ServiceImport]{Old: o.imp})
	if left := w.roles.all(); len(left) > 0 {
		t.Errorf("decisions about %v are left", left)
	}
}

func (w *world) delete(t *testing.T, objects ...client.Object) {
	t.Helper()
	for _, o := range objects {
		if err := w.Cluster.Client.Delete(context.Background(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// Hints of written slices do not change what was decided from: an invalid policy is decided once.
func TestHintsDoNotChangeDecisions(t *testing.T) {
	planned := slice("web-x", "10.1.0.1")
	written := withRoles(planned, choice.Group{Ports: planned.Ports}, ownReq)
	written.Endpoints[0].Hints = &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "a"}}}
	if planned.Endpoints[0].Hints != nil {
		t.Error("the planned slice has hints")
	}
}

// Two workers have read the exports, and the one that read them first decides last.
func TestDecisionsAreFromTheNewestExports(t *testing.T) {
	o := exported()
	w := newWorld(t, o.list()...)
	gathered := func() inputsOf {
		in, err := w.gather(t.Context(), ownReq, nil)
		if err != nil {
			t.Fatal(err)
		}
		return in
	}
	before := gathered()
	o.export.Annotations = map[string]string{names.AnnotationDrained: "true"}
	if err := w.Cluster.Client.Update(t.Context(), o.export); err != nil {
		t.Fatal(err)
	}
	for _, in := range []inputsOf{gathered(), before} {
		if _, _, err := w.assign(t.Context(), ownReq, in, decide(in, ownReq, w.Network, "c1").want); err != nil {
			t.Fatal(err)
		}
	}
	result, err := w.Decision(web)
	if err != nil || len(result.Clusters) != 1 || result.Clusters[0].Reason != choice.AllDrained {
		t.Errorf("%+v, %v", result.Clusters, err)
	}
}

// If the cache does not show this process's last write yet, what is wanted is not taken for written: it is read.
func TestCacheThatLags(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := discoveryv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	slice := func(ready bool) *discoveryv1.EndpointSlice {
		return &discoveryv1.EndpointSlice{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1.c1"}, AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		}
	}
	req := Request{Cluster: "c1", Source: types.NamespacedName{Namespace: "shop", Name: "web-1"}}
	for name, tt := range map[string]struct {
		last, have, want, is bool // whether the endpoint is ready as written last, in the cache, as wanted, and as is then assumed
	}{
		"the cache lags":             {false, true, true, false},
		"the cache is current":       {true, true, true, true},
		"the write is not redundant": {false, true, false, true},
	} {
		r := &Reconciler{Dependencies: Dependencies{Cluster: &inputs.Cluster{Live: fake.NewClientBuilder().WithScheme(scheme).WithObjects(slice(tt.last)).Build()}}}
		set := &roleSet{last: map[Request]*discoveryv1.EndpointSlice{req: slice(tt.last)}}
		got, err := r.current(t.Context(), req, set, slice(tt.have), slice(tt.want))
		if err != nil || *got.Endpoints[0].Conditions.Ready != tt.is {
			t.Errorf("%s: %v, %+v", name, err, got)
		}
	}
}

// What does not count of another cluster's policy is a warning here. The status of this cluster's own policies says it itself.
func TestWithoutEffect(t *testing.T) {
	own, invalid := &trafficv1alpha1.TrafficPolicy{}, errors.New("a contradiction")
	for _, tt := range []struct {
		applied choice.Applied
		invalid error
		want    string
	}{
		{choice.Applied{}, nil, ""},
		{choice.Applied{Policy: own}, invalid, ""},
		{choice.Applied{Exporter: "c2"}, nil, ""},
		{choice.Applied{Exporter: "c2", Ignored: "c2"}, nil, ReasonWeightsNotAccepted},
		{choice.Applied{Exporter: "c2"}, invalid, ReasonPolicyInvalid},
		{choice.Applied{Policy: own, Ignored: "c2"}, nil, ReasonWeightsNotAccepted},
	} {
		got := ""
		for _, w := range withoutEffect(types.NamespacedName{Namespace: "shop", Name: "web"}, tt.applied, tt.invalid).Warnings {
			got += w.Reason
		}
		if got != tt.want {
			t.Errorf("%+v, %v: %q", tt.applied, tt.invalid, got)
		}
	}
}

// Without the other clusters' exports, each endpoint keeps the role in which it is written. What is new gets the role of the others.
func TestRolesIn(t *testing.T) {
	slice := func(annotations map[string]string, endpoints ...string) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Annotations: annotations}}
		for _, e := range endpoints {
			address, role, _ := strings.Cut(e, " ")
			conditions := discoveryv1.EndpointConditions{Ready: ptr.To(role == "")}
			if role == "standby" {
				conditions = choice.Standby.Conditions(conditions)
			}
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}, Conditions: conditions})
		}
		return s
	}
	partly, wholly, absent := map[string]string{names.LabelStandby: "BeyondShare=1"}, map[string]string{names.LabelStandby: "Drained=1"}, map[string]string{names.AnnotationAbsent: "FallbackNone"}
	for what, c := range map[string]struct {
		have, planned *discoveryv1.EndpointSlice
		want          string
	}{
		"no slice":                       {nil, slice(nil, "a"), "[]"},
		"without roles":                  {slice(nil, "a", "b unready"), slice(nil, "a", "b"), "[]"},
		"beyond a share":                 {slice(partly, "a", "b standby"), slice(nil, "a", "b", "c"), "[{Unchanged } {Standby BeyondShare} {Unchanged }]"},
		"all on standby, one is new":     {slice(wholly, "a standby", "b unready"), slice(nil, "a", "b", "c"), "[{Standby Drained} {Standby Drained} {Standby Drained}]"},
		"on standby, not ready any more": {slice(wholly, "a standby"), slice(nil, "a unready"), "[{Unchanged }]"},
		"absent":                         {slice(absent), slice(nil, "a", "b unready"), "[{Absent FallbackNone} {Absent FallbackNone}]"},
		"some are absent":                {slice(absent, "a"), slice(nil, "a", "b"), "[{Unchanged } {Absent FallbackNone}]"},
	} {
		if got := fmt.Sprint(rolesIn(c.have, c.planned)); got != c.want {
			t.Errorf("%s: %s, want %s", what, got, c.want)
		}
	}
}

// A write that brings endpoints into use because of their role does not wait. New pods and pods that become ready do.
func TestPromotes(t *testing.T) {
	slice := func(absent string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
		s := &discoveryv1.EndpointSlice{Endpoints: endpoints}
		if absent != "" {
			s.Annotations = map[string]string{names.AnnotationAbsent: absent}
		}
		return s
	}
	in := func(role choice.Role, ready bool) discoveryv1.Endpoint {
		return discoveryv1.Endpoint{Addresses: []string{"10.1.0.1"}, Conditions: role.Conditions(discoveryv1.EndpointConditions{Ready: ptr.To(ready)})}
	}
	active := slice("", in(choice.Active, true))
	for what, c := range map[string]struct {
		have *discoveryv1.EndpointSlice
		want bool
	}{
		"on standby": {slice("", in(choice.Standby, true)), true}, "off": {slice("", in(choice.Off, true)), true}, "absent": {slice("FallbackNone"), true},
		"active": {active, false}, "not ready": {slice("", in(choice.Unchanged, false)), false}, "a new pod": {slice(""), false}, "no slice": {nil, false},
	} {
		if got := promotes(c.have, active); got != c.want {
			t.Errorf("%s: %v", what, got)
		}
	}
}
