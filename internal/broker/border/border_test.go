package border

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// here returns a border that wants the endpoints of namespaces with the prefix "shop".
func here(budget *Budget) *Border {
	return New("c1", func(service types.NamespacedName) bool { return strings.HasPrefix(service.Namespace, "shop") }, budget)
}

func slice(cluster, namespace, source string, addresses ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: names.BrokerSlice(names.ClusterID(cluster), namespace, source), Namespace: "clusterset", ResourceVersion: "7",
			Labels: map[string]string{
				names.LabelSourceCluster: cluster, names.LabelServiceNamespace: namespace, names.LabelServiceName: "web", discoveryv1.LabelManagedBy: names.AgentManager,
			},
			Annotations:   map[string]string{names.AnnotationSourceSlice: source, names.AnnotationRevision: "3"},
			ManagedFields: []metav1.ManagedFieldsEntry{{Manager: "x"}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To[int32](80), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
	for _, a := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
	}
	return s
}

func altered[T any](object T, change func(T)) T {
	change(object)
	return object
}

func withdrawn(o metav1.Object) {
	o.SetAnnotations(map[string]string{names.AnnotationState: names.StateWithdrawn, names.AnnotationSourceSlice: "web-x", names.AnnotationRevision: "3"})
}

func TestSlices(t *testing.T) {
	good := slice("c2", "shop", "web-x", "10.2.0.1")
	var many []string
	for i := range 99 {
		many = append(many, fmt.Sprintf("10.2.0.%d", i))
	}
	for name, tt := range map[string]struct {
		slice     *discoveryv1.EndpointSlice
		state     State
		detail    string // part of the detail
		endpoints int
	}{
		"valid":                              {good.DeepCopy(), Full, "", 1},
		"one endpoint invalid":               {slice("c2", "shop", "web-x", "10.2.0.1", "127.0.0.1"), Full, "", 1},
		"nothing valid":                      {slice("c2", "shop", "web-x", "127.0.0.1"), Refused, "127.0.0.1", 0},
		"domain names":                       {altered(good.DeepCopy(), func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeFQDN }), Refused, "FQDN", 0},
		"more than the budget":               {slice("c2", "shop", "web-x", many...), OverLimit, "", 0},
		"no endpoints":                       {slice("c2", "shop", "web-x"), Full, "", 0},
		"a namespace that there is not here": {slice("c2", "other", "web-x", "10.2.0.1"), Stub, "", 0},
		"withdrawn":                          {altered(good.DeepCopy(), func(s *discoveryv1.EndpointSlice) { withdrawn(s) }), Withdrawn, "", 0},
		"withdrawn elsewhere":                {altered(slice("c2", "other", "web-x", "10.2.0.1"), func(s *discoveryv1.EndpointSlice) { withdrawn(s) }), Withdrawn, "", 0},
		"its own":                            {slice("c1", "other", "web-x", "127.0.0.1"), Full, "", 1},
		"revision 0":                         {altered(good.DeepCopy(), func(s *discoveryv1.EndpointSlice) { s.Annotations[names.AnnotationRevision] = "0" }), Refused, names.AnnotationRevision, 0},
		"another slice's name":               {altered(good.DeepCopy(), func(s *discoveryv1.EndpointSlice) { s.Name = "web-y.shop.c2" }), Refused, "web-x.shop.c2", 0},
		"no cluster's id":                    {slice("a.b.c", "shop", "web-x", "10.2.0.1"), Refused, "at most two", 0},
		"another cluster's id":               {altered(good.DeepCopy(), func(s *discoveryv1.EndpointSlice) { s.Labels[names.LabelSourceCluster] = "c3" }), Refused, "web-x.shop.c3", 0},
		"no source": {altered(good.DeepCopy(), func(s *discoveryv1.EndpointSlice) {
			delete(s.Annotations, names.AnnotationSourceSlice)
			s.Name = names.BrokerSlice("c2", "shop", "")
		}), Refused, "not the name of an EndpointSlice", 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := here(NewBudget(Limits{Endpoints: 50}, nil))
			if _, err := b.Transform(tt.slice); err != nil {
				t.Fatal(err)
			}
			state, detail := b.State(tt.slice)
			if state != tt.state || !strings.Contains(detail, tt.detail) || len(tt.slice.Endpoints) != tt.endpoints || tt.slice.ManagedFields != nil {
				t.Errorf("%s %q: %+v", state, detail, tt.slice)
			}
			if state != Refused && (tt.slice.Annotations[names.AnnotationRevision] != "3" || tt.slice.Labels[names.LabelServiceName] != "web") {
				t.Errorf("the slice lacks its revision or service: %+v", tt.slice.ObjectMeta)
			}
		})
	}
}

// The time of the change that caused an update is kept for an hour: node proxies measure from it.
func TestTrigger(t *testing.T) {
	for age, kept := range map[time.Duration]bool{time.Minute: true, 59 * time.Minute: true, 61 * time.Minute: false, -time.Minute: false} {
		s := slice("c2", "shop", "web-x", "10.2.0.1")
		s.Annotations[names.AnnotationLastChangeTriggerTime] = time.Now().Add(-age).Format(time.RFC3339Nano)
		_, _ = here(NewBudget(Limits{}, nil)).Transform(s)
		if _, got := s.Annotations[names.AnnotationLastChangeTriggerTime]; got != kept {
			t.Errorf("%v old: kept %t", age, got)
		}
	}
}

func TestRecords(t *testing.T) {
	record := func(change func(*brokerv1alpha1.ExportedService)) *brokerv1alpha1.ExportedService {
		return altered(&brokerv1alpha1.ExportedService{
			ObjectMeta: metav1.ObjectMeta{Name: "web.shop.c2", Annotations: map[string]string{names.AnnotationRevision: "3", "other": "x"}},
			Spec: brokerv1alpha1.ExportedServiceSpec{
				ClusterID: "c2", ServiceNamespace: "shop", ServiceName: "web", ExportedAt: metav1.Unix(1_700_000_000, 0), Type: mcsv1beta1.ClusterSetIP,
				Ports: []mcsv1beta1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}},
			},
		}, change)
	}
	for name, tt := range map[string]struct {
		record *brokerv1alpha1.ExportedService
		state  State
		detail string
		ports  int
	}{
		"valid": {record(func(*brokerv1alpha1.ExportedService) {}), Full, "", 1},
		"one port invalid": {record(func(r *brokerv1alpha1.ExportedService) {
			r.Spec.Ports = append(r.Spec.Ports, mcsv1beta1.ServicePort{Name: "bad", Port: 70000})
		}), Full, "", 1},
		"no revision":     {record(func(r *brokerv1alpha1.ExportedService) { delete(r.Annotations, names.AnnotationRevision) }), Refused, names.AnnotationRevision, 0},
		"another's name":  {record(func(r *brokerv1alpha1.ExportedService) { r.Name = "web.shop.c3" }), Refused, `must have the name "web.shop.c2"`, 0},
		"an unknown type": {record(func(r *brokerv1alpha1.ExportedService) { r.Spec.Type = "Anycast" }), Refused, "Anycast", 0},
		"withdrawn":       {record(func(r *brokerv1alpha1.ExportedService) { withdrawn(r) }), Withdrawn, "", 0},
		"a namespace that there is not here": {record(func(r *brokerv1alpha1.ExportedService) {
			r.Name, r.Spec.ServiceNamespace = "web.other.c2", "other"
		}), Stub, "", 0},
		"its own, with anything": {record(func(r *brokerv1alpha1.ExportedService) {
			r.Name, r.Spec.ClusterID, r.Spec.Ports[0].Port = "web.shop.c1", "c1", 70000
		}), Full, "", 1},
	} {
		t.Run(name, func(t *testing.T) {
			b := here(NewBudget(Limits{}, nil))
			if _, err := b.Transform(tt.record); err != nil {
				t.Fatal(err)
			}
			if state, detail := b.State(tt.record); state != tt.state || !strings.Contains(detail, tt.detail) || len(tt.record.Spec.Ports) != tt.ports {
				t.Errorf("%s %q: %+v", state, detail, tt.record)
			}
		})
	}
}

func TestMembers(t *testing.T) {
	for id, want := range map[string]State{"c1": Full, "c2": Full, "c3": Refused} {
		m := &brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: id}, Spec: brokerv1alpha1.MemberClusterSpec{ClusterID: id}}
		if want == Refused {
			m.Spec.ClusterID = "c2"
		}
		b := here(NewBudget(Limits{}, nil))
		if _, err := b.Transform(m); err != nil {
			t.Fatal(err)
		}
		if state, detail := b.State(m); state != want || (m.Spec.ClusterID == id) != (want == Full) {
			t.Errorf("%s: %s %q, %+v", id, state, detail, m.Spec)
		}
	}
}

// Another member's properties and text are validated; this cluster's own stay, for comparison.
func TestMembersProperties(t *testing.T) {
	for id, want := range map[string]int{"c1": 2, "c2": 1} {
		region := map[string]string{"c1": "eu\x1b[2J", "c2": `eu\u001b[2J`}[id]
		m := &brokerv1alpha1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: id}, Spec: brokerv1alpha1.MemberClusterSpec{
			ClusterID: id, Region: "eu\x1b[2J", Properties: map[string]brokerv1alpha1.PropertyValue{"region": "eu", "zone": "a\nb"},
		}}
		if _, err := here(NewBudget(Limits{}, nil)).Transform(m); err != nil {
			t.Fatal(err)
		}
		if len(m.Spec.Properties) != want || m.Spec.Properties["region"] != "eu" || m.Spec.Region != region {
			t.Errorf("%s has the region %q and the properties %v, want %d", id, m.Spec.Region, m.Spec.Properties, want)
		}
	}
}

// An informer may run a transform twice on the first list. Objects of another process, and
// objects with a forged mark, count as not transformed.
func TestTransformIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		budget := NewBudget(Limits{Bytes: rapid.Int64Range(0, 3000).Draw(t, "limit")}, nil)
		b, other := here(budget), here(NewBudget(Limits{}, nil))
		namespace := rapid.SampledFrom([]string{"shop", "shop-2", "other"}).Draw(t, "namespace")
		s := slice(rapid.SampledFrom([]string{"c1", "c2", "c3"}).Draw(t, "cluster"), namespace, "web-x",
			rapid.SliceOfN(rapid.SampledFrom([]string{"10.2.0.1", "10.2.0.2", "127.0.0.1"}), 0, 40).Draw(t, "addresses")...)
		if rapid.Bool().Draw(t, "withdrawn") {
			s.Annotations[names.AnnotationState] = names.StateWithdrawn
		}
		switch rapid.IntRange(0, 2).Draw(t, "forged") {
		case 1:
			s.Annotations[annotation] = "mark Full"
		case 2:
			other.set(s, Full, "")
		}
		own := s.Labels[names.LabelSourceCluster] == "c1"
		if state, _ := b.State(s); !own && state != Refused {
			t.Fatalf("an object that was not transformed is %s", state)
		}
		before := s.DeepCopy()
		before.ManagedFields = nil
		b.Transform(s)
		if diff := cmp.Diff(before, s); own && diff != "" {
			t.Fatalf("the cluster's own object, which is written back, was changed:\n%s", diff)
		}
		once, used := s.DeepCopy(), budget.Usage()
		b.Transform(s)
		if diff := cmp.Diff(once, s); diff != "" {
			t.Fatalf("the second time (-once +twice):\n%s", diff)
		}
		if diff := cmp.Diff(used, budget.Usage()); diff != "" {
			t.Fatalf("the second time (-once +twice):\n%s", diff)
		}
		for _, e := range s.Endpoints {
			if s.Labels[names.LabelSourceCluster] != "c1" && e.Addresses[0] == "127.0.0.1" {
				t.Fatal("an invalid endpoint is in the cache")
			}
		}
	})
}
