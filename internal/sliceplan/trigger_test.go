package sliceplan

import (
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/names"
)

// kube-proxy would say that endpoints which changed days ago took days to come here, when it
// was the Service's export or its import that has come.
func TestTriggerTimeIsNotBeforeSomebodyWantedTheSlice(t *testing.T) {
	const changed = "2026-01-02T03:04:05Z" // as source has it
	day := func(d int) metav1.Time { return metav1.Date(2026, 1, d, 0, 0, 0, 0, time.UTC) }
	for name, tt := range map[string]struct {
		exported, imported metav1.Time
		want               string
	}{
		"changed last":  {day(1), day(1), changed},
		"exported last": {day(4), day(3), "2026-01-04T00:00:00Z"},
		"imported last": {day(3), day(5), "2026-01-05T00:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			p := publication(source("web-x", full("10.0.0.1")))
			p.Exported = tt.exported.Time
			imp := serviceImport(http)
			imp.CreationTimestamp = tt.imported
			for _, own := range []bool{false, true} {
				from := Importation{
					Import: imp, DerivedService: "web-clusterset", Cluster: "c1", Own: own,
					Ports: []mcsv1beta1.ServicePort{http}, Sources: pointers(publish(p)), MaxEndpoints: 100,
				}
				want := tt.want
				if own {
					from.Sources, want = p.Sources, max(changed, imp.CreationTimestamp.UTC().Format(time.RFC3339Nano))
				}
				got := Import(from)
				if len(got) != 1 || got[0].Annotations[names.AnnotationLastChangeTriggerTime] != want {
					t.Errorf("own %v: imported %+v, want the time %s", own, got, want)
				}
			}
		})
	}
}

func TestNoTriggerTimeIsMadeUp(t *testing.T) {
	s := source("web-x", full("10.0.0.1"))
	p := publication(s)
	p.Exported = time.Now()
	for _, at := range []string{"", "yesterday"} {
		delete(s.Annotations, names.AnnotationLastChangeTriggerTime)
		if at != "" {
			s.Annotations[names.AnnotationLastChangeTriggerTime] = at
		}
		if got := publish(p)[0].Annotations[names.AnnotationLastChangeTriggerTime]; got != at {
			t.Errorf("%q became %q", at, got)
		}
	}
}

// A slice that is written because of hints, ports or labels says nothing of when its
// endpoints changed.
func TestTriggerTimeGoesWithEndpointsAlone(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*discoveryv1.EndpointSlice)
		kept   bool
	}{
		"an endpoint": {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = ptr.To(true) }, true},
		"a hint":      {func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Hints.ForZones[0].Name = "z2" }, false},
		"a port":      {func(s *discoveryv1.EndpointSlice) { s.Ports[0].Name = ptr.To("other") }, false},
		"a label":     {func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "other" }, false},
	} {
		t.Run(name, func(t *testing.T) {
			have := source("web-a", full("10.0.0.1"))
			want := have.DeepCopy()
			tt.change(want)
			changes := Diff([]*discoveryv1.EndpointSlice{have}, []discoveryv1.EndpointSlice{*want})
			if len(changes.Update) != 1 {
				t.Fatalf("changes %+v", changes)
			}
			if _, kept := changes.Update[0].Annotations[names.AnnotationLastChangeTriggerTime]; kept != tt.kept {
				t.Errorf("the time is there: %v", kept)
			}
		})
	}
}
