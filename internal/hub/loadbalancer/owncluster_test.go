package loadbalancer

import (
	"errors"
	"log/slog"
	"net/netip"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// reader returns a reader of a cluster with a UID and Service ranges.
func reader(uid string, cidrs ...string) client.Client {
	objects := []client.Object{&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system", UID: types.UID(uid)}}}
	if len(cidrs) > 0 {
		objects = append(objects, &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"}, Spec: networkingv1.ServiceCIDRSpec{CIDRs: cidrs}})
	}
	return fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).WithObjects(objects...).Build()
}

func ownNode(name, address string, pods ...string) *corev1.Node {
	return &corev1.Node{
		ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.NodeSpec{PodCIDRs: pods},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Address: address}, {Address: name}}},
	}
}

// The hub refuses addresses of its cluster, in both IP families, also within IPv6 addresses.
func TestOwnCluster(t *testing.T) {
	flags, err := validation.ParseNetwork([]string{"10.97.0.0/16"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	o, err := ReadOwnCluster(t.Context(), reader("u1", "10.96.0.0/16", "fd00:96::/108"), flags, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	changes := 0
	o.changed = func() { changes++ }
	put := func(n *corev1.Node) { o.setNode(t.Context(), kit.Event[*corev1.Node]{New: n}) }
	put(ownNode("a", "192.168.0.1", "10.1.0.0/24", "fd00:1::/64"))
	put(ownNode("b", "192.168.0.2", "10.1.1.0/24"))
	put(ownNode("b", "192.168.0.2", "10.1.1.0/24")) // as on each of its heartbeats
	if changes != 2 {
		t.Errorf("%d changes, want 2", changes)
	}
	machine := func(a netip.Addr) bool { return a == netip.MustParseAddr("192.0.2.1") }
	refuses := func(address string) bool {
		return !o.refuse(validation.Network{IsHost: machine}).Admits("c1", netip.MustParseAddr(address))
	}
	for address, want := range map[string]bool{
		"10.1.0.7": true, "10.1.1.7": true, "fd00:1::7": true, "10.1.2.7": false, "fd00:2::7": false, // pods
		"10.96.0.1": true, "10.97.0.1": true, "fd00:96::1": true, "10.98.0.1": false, // Services
		"192.168.0.1": true, "192.168.0.2": true, "192.168.0.3": false, "192.0.2.1": true, "192.0.2.2": false, // nodes, the machine
		"64:ff9b::a01:7": true, // 10.1.0.7 by NAT64
	} {
		if refuses(address) != want {
			t.Errorf("%s: refused is %t", address, !want)
		}
	}
	o.setNode(t.Context(), kit.Event[*corev1.Node]{Old: ownNode("b", "192.168.0.2")})
	if refuses("10.1.1.7") || refuses("192.168.0.2") || !refuses("10.1.0.7") {
		t.Error("the addresses of a deleted node are refused, or those of another node are not")
	}
	if all := (learned{o.pods}).All(); len(all) != 2 {
		t.Errorf("the pod ranges are %v", all)
	}

	// Pod ranges of flags replace those of nodes, which a network plugin may ignore.
	if o.flags, err = validation.ParseNetwork(nil, []string{"10.5.0.0/16"}); err != nil {
		t.Fatal(err)
	}
	if refuses("10.1.0.7") || !refuses("10.5.0.7") {
		t.Error("the pod ranges of flags do not replace those of nodes")
	}
}

// A member is the hub's cluster by its UID, and only with permitted ranges, because it can claim any UID.
func TestIsOwnCluster(t *testing.T) {
	inside, err := ReadOwnCluster(t.Context(), reader("u1"), validation.Network{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	outside, err := ReadOwnCluster(t.Context(), nil, validation.Network{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	member := func(uid string, state brokerv1alpha1.MemberState) *brokerv1alpha1.MemberCluster {
		return &brokerv1alpha1.MemberCluster{Spec: brokerv1alpha1.MemberClusterSpec{ClusterUID: uid, State: state}}
	}
	for name, tt := range map[string]struct {
		cluster   *OwnCluster
		member    *brokerv1alpha1.MemberCluster
		hasRanges bool
		want      bool
	}{
		"its UID":                    {inside, member("u1", ""), true, true},
		"another UID":                {inside, member("u2", ""), true, false},
		"no ranges":                  {inside, member("u1", ""), false, false},
		"removed":                    {inside, member("u1", brokerv1alpha1.MemberRemoved), true, false},
		"no MemberCluster":           {inside, nil, true, false},
		"a hub on a machine":         {outside, member("u1", ""), true, false},
		"no UID, a hub on a machine": {outside, member("", ""), true, false},
		"no UID, as no agent writes": {inside, member("", ""), true, false},
	} {
		if got := tt.cluster.is(tt.member, tt.hasRanges); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// A hub that cannot read its cluster does not start: it would not know which addresses to refuse. Service ranges are
// unknown before Kubernetes 1.33, which the hub logs.
func TestOwnClusterIsNotRead(t *testing.T) {
	var log strings.Builder
	nobody := fake.NewClientBuilder().WithScheme(clientgoscheme.Scheme).Build()
	if _, err := ReadOwnCluster(t.Context(), nobody, validation.Network{}, slog.New(slog.NewTextHandler(&log, nil))); err == nil || !strings.Contains(err.Error(), "reading the UID") {
		t.Errorf("error %v", err)
	}
	if _, err := ReadOwnCluster(t.Context(), reader("u1"), validation.Network{}, slog.New(slog.NewTextHandler(&log, nil))); err != nil || !strings.Contains(log.String(), "Set --service-cidr") {
		t.Errorf("error %v, log %s", err, &log)
	}
	o, err := ReadOwnCluster(t.Context(), reader("u1", "10.96.0.0/16", "wrong"), validation.Network{}, slog.New(slog.DiscardHandler))
	if err == nil || o != nil {
		t.Errorf("an invalid ServiceCIDR is accepted: %v", errors.Unwrap(err))
	}
}

// The condition gives a command for each cluster without ranges, up to a limit, and lists other problems after it.
func TestRangeless(t *testing.T) {
	c := outcome{forwarding: forwarding{rangeless: []string{"c1", "c2"}, clusterset: "set", refused: refusals{"c3": {1, "x"}}}}.accepted()
	if c.Status != metav1.ConditionFalse || c.Reason != reasonRangesNotSet {
		t.Errorf("%+v", c)
	}
	for _, want := range []string{
		"no address ranges for them: c1, c2.", "atoll broker members set c1 --ranges RANGES_OF_PODS --clusterset set --context CONTEXT_OF_BROKER, atoll broker members set c2 ", "cluster c3: 1 refused (x)",
	} {
		if !strings.Contains(c.Message, want) {
			t.Errorf("the message lacks %q: %s", want, c.Message)
		}
	}
	list := records(map[string]ports{"c1": {port("http", 80)}, "c2": {port("http", 80)}, "c3": {port("http", 80)}})
	e := validateExports(exposedBy("c1", "c3"), rules{network: noRules.network, drains: isNone, rangeless: func(id names.ClusterID) bool { return id != "c3" }},
		accepted([]*discoveryv1.EndpointSlice{published("c1", []string{"http:8080"}, "10.1.0.1"), published("c3", []string{"http:8080"}, "10.3.0.1")}, list))
	if !slices.Equal(e.rangeless, []string{"c1"}) || len(e.slices) != 1 || len(e.records) != 1 || len(e.refused) != 0 {
		t.Errorf("%+v", e)
	}
}

// exposedBy returns a MultiClusterService with provider clusters.
func exposedBy(clusters ...string) *networkingv1alpha1.MultiClusterService {
	mcs := &networkingv1alpha1.MultiClusterService{}
	for _, c := range clusters {
		mcs.Spec.ProviderClusters = append(mcs.Spec.ProviderClusters, networkingv1alpha1.ClusterSelector{Name: c})
	}
	return mcs
}
