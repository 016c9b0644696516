package addresses

import (
	"fmt"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/cloudprovider"
)

var (
	v4   = []corev1.IPFamily{corev1.IPv4Protocol}
	dual = []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol}
	http = []Port{{corev1.ProtocolTCP, 80}}
	dns  = []Port{{corev1.ProtocolUDP, 53}}
)

func owner(name string) types.NamespacedName {
	return types.NamespacedName{Namespace: "n", Name: name}
}

func addrs(texts ...string) (list []netip.Addr) {
	for _, t := range texts {
		list = append(list, netip.MustParseAddr(t))
	}
	return list
}

func TestAssign(t *testing.T) {
	p, err := NewPool(cloudprovider.Config{Addresses: []string{"192.0.2.1-192.0.2.2", "2001:db8::/64"}})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name    string
		owner   string
		request Request
		want    []netip.Addr
		reason  string
	}{
		{"the first", "a", Request{Families: v4, Ports: http}, addrs("192.0.2.1"), ""},
		{"an unused address is preferred to a shared one", "b", Request{Families: v4, Ports: dns}, addrs("192.0.2.2"), ""},
		{"then an address with a free port", "c", Request{Families: v4, Ports: http}, addrs("192.0.2.2"), ""},
		{"no address has the port free", "d", Request{Families: v4, Ports: http}, nil, cloudprovider.ReasonExhausted},
		{"an owner keeps its address", "a", Request{Families: v4, Ports: http}, addrs("192.0.2.1"), ""},
		{"an owner keeps its address with more ports", "a", Request{Families: v4, Ports: append(slices.Clone(dns), http...)}, addrs("192.0.2.1"), ""},
		{"both families, the preferred one first", "a", Request{Families: dual, Ports: http}, addrs("2001:db8::", "192.0.2.1"), ""},
		{"a port that another has", "c", Request{Families: v4, Ports: append(slices.Clone(dns), http...)}, nil, cloudprovider.ReasonPortConflict},
		{"a failed request changes nothing", "d", Request{Families: v4, Ports: http}, nil, cloudprovider.ReasonExhausted},
		{"asked for, and had by another", "d", Request{Families: v4, Ports: http, Requested: addrs("192.0.2.2")}, nil, cloudprovider.ReasonPortConflict},
		{"a requested address outside the pool", "d", Request{Families: v4, Ports: http, Requested: addrs("192.0.2.3")}, nil, cloudprovider.ReasonAddressRefused},
		{"asked for, in another family than the Service's", "d", Request{Ports: http, Requested: addrs("2001:db8::5")}, addrs("2001:db8::5"), ""},
		{"an owner moves to a requested address", "a", Request{Families: v4, Ports: dns, Requested: addrs("192.0.2.1")}, addrs("192.0.2.1"), ""},
		{"had formerly", "e", Request{Families: v4, Ports: http, Former: addrs("192.0.2.1")}, addrs("192.0.2.1"), ""},
		{"had formerly, and another's now", "f", Request{Families: dual[:1], Ports: http, Former: addrs("2001:db8::5")}, addrs("2001:db8::"), ""},
		{"of no family in particular", "g", Request{Ports: []Port{{corev1.ProtocolTCP, 81}}}, addrs("192.0.2.1"), ""},
	} {
		got, err := p.Assign(owner(step.owner), step.request)
		if !slices.Equal(got, step.want) || (err == nil) != (step.reason == "") || err != nil && cloudprovider.Reason(err) != step.reason {
			t.Errorf("%s: %v, %v", step.name, got, err)
		}
	}
	p.Release(owner("c"))
	if got, err := p.Assign(owner("h"), Request{Families: v4, Ports: http}); !slices.Equal(got, addrs("192.0.2.2")) {
		t.Errorf("assigning a released address: %v, %v", got, err)
	}
	none, err := NewPool(cloudprovider.Config{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Assign(owner("a"), Request{Families: v4, Ports: http}); cloudprovider.Reason(err) != cloudprovider.ReasonExhausted {
		t.Errorf("without any addresses: %v", err)
	}
}

func TestParseRange(t *testing.T) {
	for text, want := range map[string]string{
		"192.0.2.7":                  "192.0.2.7 192.0.2.7",
		"192.0.2.0/29":               "192.0.2.1 192.0.2.6",
		"192.0.2.0/31":               "192.0.2.0 192.0.2.1",
		"192.0.2.5 - 192.0.2.9":      "192.0.2.5 192.0.2.9",
		"2001:db8::/126":             "2001:db8:: 2001:db8::3",
		"2001:db8::1-2001:db8::ffff": "2001:db8::1 2001:db8::ffff",
		"192.0.2.1/29":               "",
		"192.0.2.9-192.0.2.5":        "",
		"192.0.2.9-2001:db8::1":      "",
		"0.0.0.0":                    "",
		"224.0.0.1":                  "",
		"fe80::1%eth0":               "",
		"::ffff:192.0.2.1":           "",
		"host":                       "",
		"":                           "",
		"192.0.2.0/33":               "",
	} {
		r, err := ParseRange(text)
		got := fmt.Sprintf("%s %s", r.First, r.Last)
		if err != nil {
			got = ""
		}
		if got != want {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

// No two owners share a port of an address, every assignment satisfies the request, and an
// assignment succeeds if a suitable address is free.
func TestPoolIsFair(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, err := NewPool(cloudprovider.Config{Addresses: []string{"192.0.2.1-192.0.2.3"}})
		if err != nil {
			t.Fatal(err)
		}
		type held struct {
			address netip.Addr
			ports   []Port
		}
		have := map[string]held{}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			name := rapid.SampledFrom([]string{"a", "b", "c", "d", "e"}).Draw(t, "owner")
			if rapid.IntRange(0, 4).Draw(t, "release") == 0 {
				p.Release(owner(name))
				delete(have, name)
				continue
			}
			ports := rapid.SliceOfNDistinct(rapid.SampledFrom([]Port{{"TCP", 1}, {"TCP", 2}, {"UDP", 1}}), 1, 3, rapid.ID[Port]).Draw(t, "ports")
			free := func(a netip.Addr) bool {
				for other, h := range have {
					if other != name && h.address == a && slices.ContainsFunc(ports, func(p Port) bool { return slices.Contains(h.ports, p) }) {
						return false
					}
				}
				return true
			}
			got, err := p.Assign(owner(name), Request{Families: v4, Ports: ports})
			before, had := have[name]
			possible := had && free(before.address) || !had && slices.ContainsFunc(addrs("192.0.2.1", "192.0.2.2", "192.0.2.3"), free)
			if possible != (err == nil) {
				t.Fatalf("%s with %v: %v, %v, and there are %v", name, ports, got, err, have)
			}
			if err != nil {
				continue
			}
			if !free(got[0]) || had && got[0] != before.address {
				t.Fatalf("%s with %v got %v, and there are %v", name, ports, got, have)
			}
			have[name] = held{got[0], ports}
		}
	})
}

// Addresses of existing load balancers are reserved for them, whichever owner asks first, until
// Forget releases them.
func TestExisting(t *testing.T) {
	existing := func(name string, addresses ...string) *networkingv1alpha1.MultiClusterService {
		m := &networkingv1alpha1.MultiClusterService{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name}}
		for _, a := range addresses {
			m.Status.LoadBalancer.Ingress = append(m.Status.LoadBalancer.Ingress, corev1.LoadBalancerIngress{IP: a})
		}
		return m
	}
	p, err := NewPool(cloudprovider.Config{
		Addresses: []string{"192.0.2.1-192.0.2.2"},
		Existing:  []*networkingv1alpha1.MultiClusterService{existing("a", "192.0.2.1"), existing("b", "192.0.2.1"), existing("c")},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		what, owner string
		request     Request
		want        []netip.Addr
		reason      string
	}{
		{"a new owner", "new", Request{Families: v4, Ports: http}, addrs("192.0.2.2"), ""},
		{"another new owner, without a free address", "more", Request{Families: v4, Ports: http}, nil, cloudprovider.ReasonExhausted},
		{"a request for a reserved address", "more", Request{Ports: dns, Requested: addrs("192.0.2.1")}, nil, cloudprovider.ReasonPortConflict},
		{"the former owner, although its status is empty", "a", Request{Families: v4, Ports: http}, addrs("192.0.2.1"), ""},
		{"the other former owner", "b", Request{Families: v4, Ports: dns}, addrs("192.0.2.1"), ""},
	} {
		got, err := p.Assign(owner(step.owner), step.request)
		if !slices.Equal(got, step.want) || err == nil && step.reason != "" || err != nil && cloudprovider.Reason(err) != step.reason {
			t.Errorf("%s: %v, %v", step.what, got, err)
		}
	}
	for _, name := range []string{"a", "b"} {
		p.Release(owner(name))
	}
	if _, err := p.Assign(owner("more"), Request{Families: v4, Ports: http}); err == nil {
		t.Error("a load balancer that could not be created lost its address")
	}
	p.Forget(owner("a"))
	p.Forget(owner("b"))
	if got, err := p.Assign(owner("more"), Request{Families: v4, Ports: http}); err != nil || !slices.Equal(got, addrs("192.0.2.1")) {
		t.Errorf("after Forget: %v, %v", got, err)
	}
}
