package endpoints

import (
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

func network(t *testing.T, services, pods string) validation.Network {
	t.Helper()
	n, err := validation.ParseNetwork(strings.Fields(services), strings.Fields(pods))
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestRefusal(t *testing.T) {
	vip := func(ip string) *discoveryv1.EndpointSlice {
		return byClusterIP(ip, source("web-x", discoveryv1.Endpoint{}))[0]
	}
	for _, tt := range []struct {
		name   string
		ranges string // Service ranges of the source; "-" if unknown
		slice  *discoveryv1.EndpointSlice
		want   string // part of the refusal; "" for no refusal
	}{
		{"ranges apart", "10.100.0.0/16", vip("10.100.0.7"), ""},
		{"the same range", "10.96.0.0/16", vip("10.96.0.7"), "10.96.0.0/16 overlaps this cluster's Service CIDR 10.96.0.0/16"},
		{"theirs is in ours", "10.96.8.0/24", vip("10.96.8.7"), "10.96.8.0/24 overlaps this cluster's Service CIDR 10.96.0.0/16"},
		{"ours is in theirs, and the address is not", "10.96.0.0/12", vip("10.100.0.7"), "10.96.0.0/12 overlaps this cluster's Service CIDR 10.96.0.0/16"},
		{"our pods", "10.1.0.0/16", vip("10.1.0.7"), "10.1.0.0/16 overlaps this cluster's pod CIDR 10.1.0.0/16"},
		{"both", "10.0.0.0/8", vip("10.200.0.7"), ", 10.0.0.0/8 overlaps this cluster's pod CIDR"},
		{"one family", "10.100.0.0/16 fd00:96::/112", vip("10.100.0.7"), "fd00:96::/112 overlaps this cluster's Service CIDR fd00:96::/112"},
		{"withdrawn just now", "10.96.0.0/16", byClusterIP("10.100.0.7")[0], ": 10.96.0.0/16 overlaps"},
		{"unknown, and the address is ours", "-", vip("10.96.0.7"), "10.96.0.7 overlaps this cluster's Service CIDR"},
		{"unknown, and the address is not", "-", vip("10.100.0.7"), ""},
		{"no ranges", "", vip("10.96.0.7"), "10.96.0.7 overlaps"},
		{"untrue", "10.100.0.0/16", vip("10.1.0.7"), "10.1.0.7 overlaps this cluster's pod CIDR"},
		{"no ranges at all", "nonsense 10.0.0.0/99", vip("10.100.0.7"), ""},
		{"pods are not judged", "10.96.0.0/16", published(source("web-x", endpoint("10.96.0.7"))), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			member := &brokerv1alpha1.MemberCluster{Spec: brokerv1alpha1.MemberClusterSpec{ServiceCIDRs: strings.Fields(tt.ranges)}}
			if tt.ranges == "-" {
				member = nil
			}
			got := OverlappingRanges(network(t, "10.96.0.0/16 fd00:96::/112", "10.1.0.0/16"), "c3", "c1", member, tt.slice)
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("refusal %q, want one about %q", got, tt.want)
			}
		})
	}
}
