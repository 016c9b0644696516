package survey

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
)

// The newest Event about a ServiceImport that does not exist counts, whatever object it is about.
func TestReadRejected(t *testing.T) {
	at := func(seconds int64) metav1.MicroTime { return metav1.NewMicroTime(time.Unix(seconds, 0)) }
	event := func(name, reason, kind, related string, seconds int64) *corev1.Event {
		e := &corev1.Event{ObjectMeta: named("shop", name), Reason: reason, Message: name, EventTime: at(seconds), InvolvedObject: corev1.ObjectReference{Kind: kind, Name: "shop"}}
		if related != "" {
			e.Related = &corev1.ObjectReference{Kind: mcsv1beta1.ServiceImportKindName, Namespace: "shop", Name: related}
		}
		return e
	}
	series := event("series", "ImportRefused", "ServiceExport", "api", 1)
	series.Series = &corev1.EventSeries{LastObservedTime: at(30)}
	objects := []client.Object{
		event("old", "ImportRefused", "Namespace", "web", 10), event("new", "ImportRefused", "ServiceExport", "web", 20),
		event("other-reason", "LeftOut", "Namespace", "web", 40), event("of-an-import", "ImportRefused", "ServiceImport", "", 50),
		series, event("api", "ImportRefused", "Namespace", "api", 20),
	}
	refused := corev1.ObjectReference{Kind: mcsv1beta1.ServiceImportKindName, Namespace: "shop", Name: "web"}
	for i, name := range []string{"first", "last"} {
		e := event(name, "StatusRefused", refused.Kind, "", int64(60+10*i))
		e.InvolvedObject = refused
		objects = append(objects, e)
	}
	exports := []brokerv1alpha1.ExportedService{{Spec: brokerv1alpha1.ExportedServiceSpec{ServiceNamespace: "shop", ServiceName: "web"}}}
	imports := []mcsv1beta1.ServiceImport{{ObjectMeta: named("shop", "web")}}
	forbidden := func(client.ObjectList) error { return apierrors.NewForbidden(schema.GroupResource{}, "", nil) }
	const all = "map[shop/api:series 30 shop/web:new 20]"
	for name, tt := range map[string]struct {
		scope   Scope
		broker  *Broker
		imports []mcsv1beta1.ServiceImport
		refuse  func(client.ObjectList) error
		want    string
	}{
		"one service":                  {scope: Scope{Namespace: "shop", Service: "web", Installation: true}, want: all},
		"one service that is imported": {scope: Scope{Namespace: "shop", Service: "web", Installation: true}, imports: imports, want: "map[]"},
		"all services":                 {scope: Scope{Installation: true}, broker: &Broker{Exports: exports}, want: all},
		"all services are imported":    {scope: Scope{Installation: true}, broker: &Broker{Exports: exports}, imports: imports, want: "map[]"},
		"Events are not asked for":     {scope: Scope{Namespace: "shop", Service: "web"}, want: "map[]"},
		"Events may not be listed":     {scope: Scope{Namespace: "shop", Service: "web", Installation: true}, refuse: forbidden, want: "map[]"},
		"Events of another namespace":  {scope: Scope{Namespace: "other", Service: "web", Installation: true}, want: "map[]"},
		"a broker that cannot be read": {scope: Scope{Installation: true}, want: "map[]"},
	} {
		s := &Survey{Broker: tt.broker}
		s.Cluster.Imports = tt.imports
		s.readRejected(t.Context(), server(t, tt.refuse, objects...), tt.scope)
		got := map[string]string{}
		for service, r := range s.Cluster.Rejected {
			got[service.String()] = fmt.Sprint(r.Message, " ", r.At.Unix())
		}
		s.readStatusRefused(t.Context(), server(t, tt.refuse, objects...), tt.scope)
		if r, is := s.Cluster.StatusRefused[refused]; is != (tt.scope.Installation && tt.refuse == nil && tt.scope.Namespace != "other") || is && (r.At.Unix() != 70 || len(s.Cluster.StatusRefused) != 1) {
			t.Errorf("%s: statuses %v", name, s.Cluster.StatusRefused)
		}
		if fmt.Sprint(got) != tt.want || len(s.Unread) > 0 {
			t.Errorf("%s: %v, %v, want %s", name, got, s.Unread, tt.want)
		}
	}
}
