package report

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/google/go-cmp/cmp"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/drain"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
)

func TestDrainImpact(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(*survey.Survey)
		want   string
	}{
		"another cluster can serve": {func(*survey.Survey) {}, ""},
		"no other cluster":          {func(s *survey.Survey) { s.Broker.Exports = s.Broker.Exports[:1] }, "no other cluster can serve shop/web, so its traffic stays here"},
		"the others are drained":    {func(s *survey.Survey) { s.Broker.Exports[1].Spec.Drained = true }, "no other cluster can serve shop/web"},
		"the broker drains the others": {func(s *survey.Survey) {
			s.Broker.Permissions = permissions.Members{names.ClusterID(s.Broker.Exports[1].Spec.ClusterID): {Drained: true}}
		}, "no other cluster can serve shop/web"},
		"UDP": {func(s *survey.Survey) { s.Broker.Exports[0].Spec.Ports[0].Protocol = corev1.ProtocolUDP }, "shop/web has UDP ports"},
		"local": {func(s *survey.Survey) {
			s.Broker.Exports[0].Spec.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
		}, "shop/web has internalTrafficPolicy Local"},
		"another cluster's UDP": {func(s *survey.Survey) { s.Broker.Exports[1].Spec.Ports[0].Protocol = corev1.ProtocolUDP }, ""},
		"the broker is away":    {func(s *survey.Survey) { s.Broker = nil }, ""},
	} {
		s := clusterset()
		s.ClusterID = names.ClusterID(s.Broker.Exports[0].Spec.ClusterID)
		tt.change(s)
		if got := strings.Join(DrainImpact(s), "; "); !strings.HasPrefix(got, tt.want) || tt.want == "" && got != "" {
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
	var all []string
	for _, m := range Members(s) {
		all = append(all, fmt.Sprintf("%s %q", m.Cluster, m.Drained))
	}
	if got := strings.Join(all, ", "); !strings.HasPrefix(got, `c1 "all", c2 ""`) {
		t.Error(got)
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
