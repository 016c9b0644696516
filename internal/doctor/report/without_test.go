package report

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
)

// Without a cluster, those serve that the agents would choose.
func TestWithout(t *testing.T) {
	prefer := func(policy trafficv1alpha1.TrafficPolicy, ids ...string) trafficv1alpha1.TrafficPolicy {
		for _, id := range ids {
			policy.Spec.ClusterSelectors = append(policy.Spec.ClusterSelectors, trafficv1alpha1.ClusterGroup{PropertySelector: trafficv1alpha1.PropertySelector{
				MatchExpressions: []trafficv1alpha1.PropertyExpression{{Key: "cluster.clusterset.k8s.io", Operator: metav1.LabelSelectorOpIn, Values: []string{id}}},
			}})
		}
		return policy
	}
	third := func(s *survey.Survey) {
		s.Broker.Exports = append(s.Broker.Exports, exported("c3", 10))
		s.Broker.Slices = append(s.Broker.Slices, slicesOf("c3", "10.3.0.1", "10.3.0.2"))
	}
	ofWeb := trafficv1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "p"}}
	ofWeb.Spec.TargetRefs = []trafficv1alpha1.LocalPolicyTargetReference{{Kind: "ServiceImport", Name: "web"}}
	byDefault := trafficv1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: trafficv1alpha1.DefaultPolicy}}
	for name, tt := range map[string]struct {
		changes func(*survey.Survey)
		without names.ClusterID
		want    string
	}{
		"no preference":        {third, "c1", "http c2 Active 1 33%, http c3 Active 2 67%"},
		"the only other one":   {func(*survey.Survey) {}, "c1", "http c2 Active 1 100%"},
		"nothing is left":      {func(s *survey.Survey) { s.Broker.Exports, s.Broker.Slices = s.Broker.Exports[1:], s.Broker.Slices[:1] }, "c1", "http unserved"},
		"others are not ready": {func(s *survey.Survey) { s.Broker.Slices[1].Endpoints[0].Conditions.Ready = ptr.To(false) }, "c1", "http c2 Unchanged 0 0% unserved"},
		"a port that others lack": {func(s *survey.Survey) {
			s.Broker.Exports[1].Spec.Ports[0] = mcsv1beta1.ServicePort{Name: "admin", Port: 81}
			s.Broker.Slices[0].Ports[0].Name = ptr.To("admin")
		}, "c1", "admin c2 Unchanged 0 0% unserved, http c2 Active 1 100%"},
		"a drained one serves":    {func(s *survey.Survey) { s.Broker.Permissions = permissions.Members{"c2": {Drained: true}} }, "c1", "http c2 Active 1 100%"},
		"a drained one stands by": {func(s *survey.Survey) { third(s); s.Broker.Permissions = permissions.Members{"c2": {Drained: true}} }, "c1", "http c2 Standby 0 0%, http c3 Active 2 100%"},
		"a silent one stands by":  {func(s *survey.Survey) { third(s); s.Cluster.Silent = map[string]string{"c2": "now"} }, "c1", "http c2 Standby 0 0%, http c3 Active 2 100%"},
		"the service's policy": {func(s *survey.Survey) {
			third(s)
			s.Cluster.TrafficPolicies = []trafficv1alpha1.TrafficPolicy{prefer(byDefault, "c3"), prefer(ofWeb, "c1", "c2")}
		}, "c1", "http c2 Active 1 100%, http c3 Standby 0 0%"},
		"the cluster's policy": {func(s *survey.Survey) {
			third(s)
			s.Cluster.TrafficPolicies = []trafficv1alpha1.TrafficPolicy{prefer(byDefault, "c3")}
		}, "c1", "http c2 Standby 0 0%, http c3 Active 2 100%"},
		"the oldest export's": {func(s *survey.Survey) {
			third(s)
			s.Broker.Exports[1].Spec.Preference = ptr.To(prefer(ofWeb, "c2").Spec.Preference)
		}, "c3", "http c1 Standby 0 0%, http c2 Active 1 100%"},
		"a policy of other weights": {func(s *survey.Survey) {
			third(s)
			s.Broker.Exports[1].Spec.Preference = &trafficv1alpha1.Preference{Weights: []trafficv1alpha1.ClusterWeight{{Cluster: "c2", Weight: 1}}}
		}, "c1", "http c2 Active 1 33%, http c3 Active 2 67%"},
		"addresses that are not permitted": {func(s *survey.Survey) {
			none, _ := ranges.Parse("192.0.2.0/24")
			s.Broker.Permissions = permissions.Members{"c2": {Ranges: &none}}
		}, "c1", "http c2 Unchanged 0 0% unserved"},
		"a family that is not imported": {func(s *survey.Survey) {
			s.Cluster.Imports[0].Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol}
			six := slicesOf("c1", "fd00::1")
			six.AddressType = "IPv6"
			s.Broker.Slices = append(s.Broker.Slices, six)
		}, "c1", "http c2 Active 1 100%"},
		"a stranger":      {func(*survey.Survey) {}, "c9", "error: cluster c9 does not export shop/web, or cluster c3 does not import from it"},
		"a broken broker": {func(s *survey.Survey) { s.Broker, s.BrokerErr = nil, errors.New("timeout") }, "c1", "error: the broker cannot be read: timeout"},
		"a refused export": {func(s *survey.Survey) {
			s.Cluster.Namespaces[0].Annotations = map[string]string{names.AnnotationRefuseImports: "c1"}
		}, "c1", "error: cluster c1 does not export shop/web, or cluster c3 does not import from it"},
		"a hub's export": {func(s *survey.Survey) { s.Broker.Exports[1].Spec.Scope = brokerv1alpha1.ScopeHub }, "c1", "error: cluster c1 does not export shop/web, or cluster c3 does not import from it"},
	} {
		s := clusterset()
		tt.changes(s)
		p, err := Without(s, web, tt.without)
		var got []string
		for _, port := range p.Ports {
			var line []string
			for _, c := range port.Clusters {
				line = append(line, fmt.Sprintf("%s %s %s %d %.0f%%", port.Port, c.Cluster, c.Role, c.Active, c.Share))
			}
			text := strings.Join(line, ", ")
			if !port.Served {
				text = strings.TrimSpace(strings.TrimPrefix(text+" unserved", " "))
				if len(line) == 0 {
					text = port.Port + " " + text
				}
			}
			got = append(got, text)
		}
		text := strings.Join(got, ", ")
		if err != nil {
			text = "error: " + err.Error()
		}
		if text != tt.want {
			t.Errorf("%s: %s\nwant %s", name, text, tt.want)
		}
	}
}
