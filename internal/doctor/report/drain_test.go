package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/google/go-cmp/cmp"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/drain"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
	"github.com/atoll-mcs/atoll/test/objects"
)

func TestDrainImpact(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*survey.Survey)
		want   string
	}{
		"another cluster can serve": {func(*survey.Survey) {}, ""},
		"no other cluster":          {func(s *survey.Survey) { s.Broker.Exports = s.Broker.Exports[:1] }, "no other cluster can serve shop/web, so its traffic stays in this cluster"},
		"the others are drained":    {func(s *survey.Survey) { s.Broker.Exports[1].Spec.Drained = true }, "no other cluster can serve shop/web"},
		"the broker drains the others": {func(s *survey.Survey) {
			s.Broker.Permissions = permissions.Members{names.ClusterID(s.Broker.Exports[1].Spec.ClusterID): {Drained: true}}
		}, "no other cluster can serve shop/web"},
		"the others have no ready endpoint": {func(s *survey.Survey) {
			for i := range s.Broker.Slices {
				if s.Broker.Slices[i].Labels[names.LabelSourceCluster] != s.ClusterID.String() {
					s.Broker.Slices[i].Endpoints[0].Conditions.Ready = ptr.To(false)
				}
			}
		}, "no other cluster can serve shop/web, so"},
		"a port that the others lack": {func(s *survey.Survey) {
			s.Broker.Exports[0].Spec.Ports = append(s.Broker.Exports[0].Spec.Ports, mcsv1beta1.ServicePort{Name: "admin", Port: 81})
			for i := range s.Broker.Slices {
				if slice := &s.Broker.Slices[i]; slice.Labels[names.LabelSourceCluster] == s.ClusterID.String() {
					slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: ptr.To("admin"), Port: ptr.To(int32(81))})
				}
			}
		}, "no other cluster can serve shop/web (port admin), so"},
		"a port that the others call otherwise": {func(s *survey.Survey) {
			for i := range s.Broker.Slices {
				if slice := &s.Broker.Slices[i]; slice.Labels[names.LabelSourceCluster] == s.ClusterID.String() {
					slice.Ports[0].Name = ptr.To("x")
				}
			}
			s.Broker.Exports[0].Spec.Ports[0].Name = "x"
		}, ""},
		"the others export for the hub only": {func(s *survey.Survey) { s.Broker.Exports[1].Spec.Scope = brokerv1alpha1.ScopeHub }, "no other cluster can serve shop/web"},
		"the others do not answer": {func(s *survey.Survey) {
			s.Cluster.Silent = map[string]string{s.Broker.Exports[1].Spec.ClusterID: "2026"}
		}, "no other cluster can serve shop/web"},
		"the others' addresses are not permitted": {func(s *survey.Survey) {
			none, _ := ranges.Parse("192.0.2.0/24")
			s.Broker.Permissions = permissions.Members{names.ClusterID(s.Broker.Exports[1].Spec.ClusterID): {Ranges: &none}}
		}, "no other cluster can serve shop/web"},
		"the others are lost": {func(s *survey.Survey) {
			s.Cluster.Withdrawn = map[string]string{s.Broker.Exports[1].Spec.ClusterID: "2026"}
		}, "no other cluster can serve shop/web"},
		"UDP": {func(s *survey.Survey) { s.Broker.Exports[0].Spec.Ports[0].Protocol = corev1.ProtocolUDP }, "shop/web has UDP ports"},
		"local": {func(s *survey.Survey) {
			s.Broker.Exports[0].Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
		}, "shop/web has internalTrafficPolicy Local"},
		"another cluster's UDP": {func(s *survey.Survey) { s.Broker.Exports[1].Spec.Ports[0].Protocol = corev1.ProtocolUDP }, ""},
		"the broker is away":    {func(s *survey.Survey) { s.Broker = nil }, "the command cannot read the broker"},
		"all export for the hub only": {func(s *survey.Survey) {
			s.Broker.Exports[0].Spec.Scope, s.Broker.Exports[1].Spec.Scope = brokerv1alpha1.ScopeHub, brokerv1alpha1.ScopeHub
		}, ""},
		"headless": {func(s *survey.Survey) { s.Broker.Exports[0].Spec.Type = mcsv1beta1.Headless }, "shop/web is headless"},
	} {
		s := clusterset()
		s.ClusterID = names.ClusterID(s.Broker.Exports[0].Spec.ClusterID)
		for i := range s.Broker.Slices {
			s.Broker.Slices[i].Labels[names.LabelServiceNamespace] = "shop"
		}
		tt.change(s)
		if got := strings.Join(DrainImpact(s), "; "); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

func TestDrainSummary(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*survey.Survey)
		want   string
	}{
		"another cluster can serve": {func(*survey.Survey) {}, "1 exported service; other clusters can serve 1"},
		"one of two": {func(s *survey.Survey) {
			db, slice := s.Broker.Exports[0], *s.Broker.Slices[0].DeepCopy()
			for i := range s.Broker.Slices {
				if s.Broker.Slices[i].Labels[names.LabelSourceCluster] == s.ClusterID.String() {
					slice = *s.Broker.Slices[i].DeepCopy()
				}
			}
			db.Spec.ServiceName, slice.Labels[names.LabelServiceName] = "db", "db"
			s.Broker.Exports, s.Broker.Slices = append(s.Broker.Exports, db), append(s.Broker.Slices, slice)
		}, "2 exported services; other clusters can serve 1"},
		"no ready endpoint":  {func(s *survey.Survey) { s.Broker.Slices = nil }, "1 exported service; other clusters can serve 0; 1 without ready endpoints in cluster " + clusterset().Broker.Exports[0].Spec.ClusterID},
		"for the hub only":   {func(s *survey.Survey) { s.Broker.Exports[0].Spec.Scope = brokerv1alpha1.ScopeHub }, "it has no exported services"},
		"the broker is away": {func(s *survey.Survey) { s.Broker = nil }, ""},
	} {
		s := clusterset()
		s.ClusterID = names.ClusterID(s.Broker.Exports[0].Spec.ClusterID)
		for i := range s.Broker.Slices {
			s.Broker.Slices[i].Labels[names.LabelServiceNamespace] = "shop"
		}
		tt.change(s)
		if got := DrainSummary(s); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

// Standby is no fault: explain and get endpoints say what it is.
func TestStandby(t *testing.T) {
	s := clusterset()
	slice := &s.Cluster.Slices[0]
	slice.Labels[names.LabelStandby] = "Drained"
	slice.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}
	s.Broker.Exports[1].Spec.Drained = true // c1's
	x := Explain(s, types.NamespacedName{Namespace: "shop", Name: "web"})
	if x.Verdict != Works || x.Sources[0].Reason != "1 on standby: Drained" || x.Sources[0].incomplete {
		t.Errorf("%s, %+v, %v", x.Verdict, x.Sources, x.Findings)
	}
	if e := Endpoints(s)[0]; e.State != EndpointStandby || e.Reason != "Drained" {
		t.Errorf("%+v", e)
	}
	delete(slice.Labels, names.LabelStandby)
	if e := Endpoints(s)[0]; e.State != EndpointTerminating {
		t.Errorf("without the label: %+v", e)
	}
	s.Broker.Permissions = permissions.Members{"c1": {Drained: true}, "c2": {Drained: true}} // where all are drained, all are used
	slice.Endpoints[0].Conditions = discoveryv1.EndpointConditions{}
	if x := Explain(s, web); x.Verdict != Works || x.Sources[0].Reason != "1 active: AllDrained" {
		t.Errorf("%s, %+v", x.Verdict, x.Sources)
	}
	s.Broker.Permissions = nil
	slice.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}
	slice.Annotations = map[string]string{names.LabelStandby: "BeyondShare=1,Drained=2"}
	if e := Endpoints(s)[0]; e.Reason != "BeyondShare or Drained" {
		t.Errorf("%+v", e)
	}
	slice.Labels[names.LabelStandby], slice.Endpoints[0].Conditions.Serving = "Silent", ptr.To(false)
	if e := Endpoints(s)[0]; e.State != EndpointNotReady || e.Reason != "Silent" {
		t.Errorf("a silent cluster's endpoint of a UDP service: %+v", e)
	}
	if x := Explain(s, web); x.Sources[0].Reason != "1 get no connections: Silent" || x.Sources[0].incomplete {
		t.Errorf("%+v", x.Sources)
	}
	delete(slice.Labels, names.LabelStandby)
	slice.Annotations[names.LabelStandby] = "Silent=1" // another endpoint of the slice is not ready
	if e := Endpoints(s)[0]; e.State != EndpointNotReady || e.Reason != "Silent" {
		t.Errorf("a silent cluster's endpoint beside one that is not ready: %+v", e)
	}
	var all []string
	for _, m := range Members(s) {
		all = append(all, fmt.Sprintf("%s %q", m.Cluster, m.Drained))
	}
	if got := strings.Join(all, ", "); !strings.HasPrefix(got, `c1 "all", c2 ""`) {
		t.Error(got)
	}
}

// Endpoints that a preference leaves out are no fault, and explain says why. Those that are missing besides are one.
func TestLeftOut(t *testing.T) {
	s := clusterset()
	s.Cluster.TrafficPolicies = []trafficv1alpha1.TrafficPolicy{{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "policy"}, Spec: trafficv1alpha1.TrafficPolicySpec{
			TargetRefs: []trafficv1alpha1.LocalPolicyTargetReference{{Group: "multicluster.x-k8s.io", Kind: "ServiceImport", Name: "web"}},
			Preference: trafficv1alpha1.Preference{Fallback: trafficv1alpha1.FallbackNone, ClusterSelectors: []trafficv1alpha1.ClusterGroup{{PropertySelector: trafficv1alpha1.PropertySelector{
				MatchExpressions: []trafficv1alpha1.PropertyExpression{{Key: "cluster.clusterset.k8s.io", Operator: metav1.LabelSelectorOpIn, Values: []string{"c2"}}},
			}}}},
		},
	}}
	s.Cluster.Slices = s.Cluster.Slices[1:] // without c1's
	s.Cluster.Unproven = map[string]string{"c2": "2026-11-28T12:00:00Z"}
	x := Explain(s, web)
	if x.Verdict != Works || x.Sources[0].Reason != "1 left out: FallbackNone" || x.Sources[0].incomplete || x.Sources[0].Unproven || !x.Sources[1].Unproven {
		t.Errorf("%s, %+v, %v", x.Verdict, x.Sources, x.Findings)
	}
	if diff := cmp.Diff(x.Preference, &Preference{Policy: "shop/policy", NoEffect: "its status does not yet show that the agents have read it"}); diff != "" {
		t.Error(diff)
	}
	s.Cluster.TrafficPolicies[0].Status.Targets = []trafficv1alpha1.TargetStatus{{Conditions: []metav1.Condition{{Type: trafficv1alpha1.ConditionAccepted, Status: metav1.ConditionTrue}}}}
	if diff := cmp.Diff(Explain(s, web).Preference, &Preference{Policy: "shop/policy"}); diff != "" {
		t.Error(diff)
	}
	s.Broker.Slices[1].Endpoints = append(s.Broker.Slices[1].Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.2.0.2"}})
	if x := Explain(s, web); x.Verdict == Works || !x.Sources[1].incomplete {
		t.Errorf("an endpoint of c2 is missing: %s, %+v", x.Verdict, x.Sources)
	}
}

// explain names the policy that applies, and says what of it has no effect.
func TestPreferenceApplies(t *testing.T) {
	weights := &trafficv1alpha1.Preference{Weights: []trafficv1alpha1.ClusterWeight{{Cluster: "c2", Weight: 1}}}
	for name, tt := range map[string]struct {
		change func(*survey.Survey)
		want   *Preference
	}{
		"none":                {func(*survey.Survey) {}, nil},
		"the broker is away":  {func(s *survey.Survey) { s.Broker, s.BrokerErr = nil, errors.New("timeout") }, nil},
		"an export's weights": {func(s *survey.Survey) { s.Broker.Exports[1].Spec.Preference = weights }, &Preference{Exporter: "c1", NoEffect: "its weights and fallback None have no effect in this cluster"}},
		"accepted, but a cluster advertises cluster IPs": {func(s *survey.Survey) {
			s.Broker.Exports[1].Spec.Preference, s.Cluster.AcceptWeights = weights, "c1"
			s.Broker.Members[0].Spec.AdvertiseMode = brokerv1alpha1.AdvertiseClusterIP
		}, &Preference{Exporter: "c1", NoEffect: "parts of it have no effect: the policy has weights, but a cluster that exports the service advertises its cluster IPs, so its pods cannot be counted"}},
	} {
		s := clusterset()
		tt.change(s)
		if diff := cmp.Diff(Explain(s, web).Preference, tt.want); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// A cluster follows a drain if its heartbeat says so of the drain as it is now. Nobody waits for one without a heartbeat.
func TestFollowersOf(t *testing.T) {
	s := clusterset()
	s.ClusterID = names.ClusterID(s.Broker.Exports[0].Spec.ClusterID)
	s.Broker.Exports = s.Broker.Exports[:1]
	record := &s.Broker.Exports[0]
	web := record.Spec.Service()
	if f := FollowersOf(s, "", ""); len(f.Unpublished) != 1 {
		t.Errorf("the drain is not published: %+v", f)
	}
	record.Spec.Drained = true
	s.Broker.Members, s.Broker.Heartbeats, s.Broker.At = nil, nil, time.Unix(1000, 0)
	digest := drain.Digest(false, map[types.NamespacedName]int64{web: layout.Revision(record)})
	for id, heartbeat := range map[string]struct {
		says string
		age  time.Duration
	}{"follows": {digest, time.Second}, "awaited": {"", time.Second}, "earlier": {"12", time.Second}, "late": {"", time.Hour}, "late-but-followed": {digest, time.Hour}} {
		lease := objects.Lease(id)
		lease.Annotations = map[string]string{names.AnnotationFollowsDrains: drain.FormatFollowed(map[names.ClusterID]string{s.ClusterID: heartbeat.says})}
		lease.CreationTimestamp = metav1.NewTime(s.Broker.At.Add(-heartbeat.age))
		s.Broker.Members, s.Broker.Heartbeats = append(s.Broker.Members, *objects.Member(id)), append(s.Broker.Heartbeats, *lease)
	}
	s.Broker.Members = append(s.Broker.Members, *objects.Member("never"))
	f := FollowersOf(s, web.Namespace, web.Name)
	if diff := cmp.Diff(f, Followers{Follow: []string{"follows"}, Await: []string{"awaited", "earlier"}, Silent: []string{"late", "late-but-followed", "never"}}); diff != "" {
		t.Error(diff)
	}
	s.Broker.Permissions = permissions.Members{s.ClusterID: {Drained: true}} // another drain, that they do not follow yet
	if f := FollowersOf(s, "", ""); len(f.Follow) > 0 || len(f.Await) != 3 {
		t.Errorf("%+v", f)
	}
}
