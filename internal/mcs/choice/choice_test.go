package choice

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

var (
	ready       = discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)}
	unready     = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(false), Terminating: ptr.To(false)}
	terminating = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}
)

// slice returns a slice with the ports, "name/protocol/number", and an endpoint for each condition.
func slice(prefix string, ports []string, conditions ...discoveryv1.EndpointConditions) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: prefix}, AddressType: discoveryv1.AddressTypeIPv4}
	for _, port := range ports {
		parts := strings.Split(port, "/")
		p := discoveryv1.EndpointPort{Name: &parts[0], Protocol: ptr.To(corev1.Protocol(parts[1])), Port: new(int32)}
		if _, err := fmt.Sscan(parts[2], p.Port); err != nil {
			panic(err)
		}
		s.Ports = append(s.Ports, p)
	}
	for i, c := range conditions {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("%s-%d", prefix, i)}, Conditions: c})
	}
	return s
}

var (
	http  = []string{"http/TCP/80"}
	mixed = []string{"dns/UDP/53", "http/TCP/80"}
	near  = []Selector{sameAs(aboutv1beta1.ClusterIDProperty), sameAs("region")}
)

func sameAs(key string) Selector {
	return Selector{MatchProperties: map[string]string{key: SameAsImporter}}
}

// cluster returns a cluster in a region with one slice.
func cluster(id names.ClusterID, region string, ports []string, conditions ...discoveryv1.EndpointConditions) Cluster {
	return Cluster{ID: id, Properties: map[string]string{"region": region}, Slices: []*discoveryv1.EndpointSlice{slice(id.String(), ports, conditions...)}}
}

func drained(c Cluster) Cluster { c.Drained = true; return c }
func silent(c Cluster) Cluster  { c.Silent = true; return c }

func service(policy *Policy, clusters ...Cluster) Service {
	return Service{
		Name: types.NamespacedName{Namespace: "shop", Name: "web"}, Importer: "c1", ImporterProperties: map[string]string{"region": "eu"},
		Policy: policy, Clusters: clusters,
	}
}

// written returns the role and reason of each endpoint at each port, as "address:port Role Reason".
func written(s Service) []string {
	r := Decide(s)
	all := []string{}
	for _, c := range s.Clusters {
		for _, slice := range c.Slices {
			for _, group := range r.Groups(c.ID, slice) {
				for i, e := range slice.Endpoints {
					d := Decision{}
					if group.Endpoints != nil {
						d = group.Endpoints[i]
					}
					for _, p := range group.Ports {
						all = append(all, strings.TrimSpace(fmt.Sprintf("%s:%s %s %s", e.Addresses[0], *p.Name, d.Role, d.Reason)))
					}
					if len(group.Ports) == 0 {
						all = append(all, strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Addresses[0], d.Role, d.Reason)))
					}
				}
			}
		}
	}
	slices.Sort(all)
	return all
}

func TestRoles(t *testing.T) {
	headless := func(s Service) Service { s.Headless = true; return s }
	prefer, only := &Policy{Selectors: near}, &Policy{Selectors: near, Fallback: FallbackToNone}
	for name, test := range map[string]struct {
		service Service
		want    []string
	}{
		"nothing to decide": {
			service(nil, cluster("c1", "eu", http, ready, unready), cluster("c2", "eu", http, terminating)),
			[]string{"c1-0:http Unchanged", "c1-1:http Unchanged", "c2-0:http Unchanged"},
		},
		"only the next group stands by": {
			service(prefer, cluster("c1", "eu", http, ready, unready), cluster("c2", "eu", http, ready), cluster("c3", "us", http, ready, unready)),
			[]string{"c1-0:http Active Preferred", "c1-1:http Unchanged NotReady", "c2-0:http Standby BehindPreferred", "c3-0:http Absent BehindPreferred", "c3-1:http Absent BehindPreferred"},
		},
		"ready counts, not serving": {
			service(prefer, cluster("c1", "eu", http, terminating), cluster("c2", "eu", http, ready), cluster("c3", "us", http, ready)),
			[]string{"c1-0:http Off Terminating", "c2-0:http Active Preferred", "c3-0:http Standby BehindPreferred"},
		},
		"an unset condition is ready": {
			service(prefer, cluster("c1", "eu", http, discoveryv1.EndpointConditions{}), cluster("c2", "eu", http, ready)),
			[]string{"c1-0:http Active Preferred", "c2-0:http Standby BehindPreferred"},
		},
		"nothing is usable": {
			service(prefer, cluster("c1", "eu", http, unready), cluster("c3", "us", http, terminating)),
			[]string{"c1-0:http Unchanged NotReady", "c3-0:http Unchanged NotReady"},
		},
		"a group without usable endpoints is skipped": {
			service(prefer, cluster("c2", "us", http, ready), cluster("c3", "us", http, ready), cluster("c1", "eu", http, unready)),
			[]string{"c1-0:http Unchanged NotReady", "c2-0:http Active Preferred", "c3-0:http Active Preferred"},
		},
		"no fallback": {
			service(only, cluster("c2", "eu", http, unready), cluster("c3", "us", http, ready, terminating)),
			[]string{"c2-0:http Unchanged NotReady", "c3-0:http Absent FallbackNone", "c3-1:http Absent FallbackNone"},
		},
		"no fallback without selectors forbids nothing": {
			service(&Policy{Fallback: FallbackToNone}, cluster("c2", "eu", http, ready)),
			[]string{"c2-0:http Unchanged"},
		},
		"each port by itself": {
			service(prefer, cluster("c1", "eu", http, ready), cluster("c2", "eu", []string{"http/TCP/80", "admin/TCP/81"}, ready)),
			[]string{"c1-0:http Active Preferred", "c2-0:admin Active Preferred", "c2-0:http Standby BehindPreferred"},
		},
		"drained": {
			service(nil, drained(cluster("c1", "eu", http, ready, terminating)), cluster("c2", "eu", http, ready)),
			[]string{"c1-0:http Standby Drained", "c1-1:http Off Terminating", "c2-0:http Active Preferred"},
		},
		"all drained": {
			service(prefer, drained(cluster("c1", "eu", http, ready)), drained(cluster("c2", "eu", http, ready)), drained(cluster("c3", "us", http, ready))),
			[]string{"c1-0:http Active AllDrained", "c2-0:http Standby BehindPreferred", "c3-0:http Absent BehindPreferred"},
		},
		"the other clusters have nothing": {
			service(nil, drained(cluster("c1", "eu", http, ready)), cluster("c2", "eu", http, unready)),
			[]string{"c1-0:http Active AllDrained", "c2-0:http Unchanged NotReady"},
		},
		"forbidden clusters are no alternative to drained": {
			service(only, drained(cluster("c1", "eu", http, ready)), cluster("c3", "us", http, ready)),
			[]string{"c1-0:http Active AllDrained", "c3-0:http Absent FallbackNone"},
		},
		"the drained are not eligible, and stand by beside the next group": {
			service(prefer, drained(cluster("c1", "eu", http, ready)), cluster("c2", "eu", http, ready), cluster("c3", "us", http, ready)),
			[]string{"c1-0:http Standby Drained", "c2-0:http Active Preferred", "c3-0:http Standby BehindPreferred"},
		},
		"drained far behind": {
			service(prefer, cluster("c1", "eu", http, ready), cluster("c2", "eu", http, ready), drained(cluster("c3", "us", http, ready))),
			[]string{"c1-0:http Active Preferred", "c2-0:http Standby BehindPreferred", "c3-0:http Absent BehindPreferred"},
		},
		"silent": {
			service(nil, silent(cluster("c1", "eu", http, ready)), cluster("c2", "eu", http, ready)),
			[]string{"c1-0:http Standby Silent", "c2-0:http Active Preferred"},
		},
		"silent with a UDP port": {
			service(nil, silent(cluster("c1", "eu", http, ready)), cluster("c2", "eu", mixed, ready)),
			[]string{"c1-0:http Off Silent", "c2-0:dns Active Preferred", "c2-0:http Active Preferred"},
		},
		"nobody else could serve the port": {
			service(nil, silent(cluster("c1", "eu", mixed, ready)), cluster("c2", "eu", http, ready)),
			[]string{"c1-0:dns Active AllSilent", "c1-0:http Off Silent", "c2-0:http Active Preferred"},
		},
		"drained is better than silent": {
			service(nil, silent(cluster("c1", "eu", http, ready)), drained(cluster("c2", "eu", http, ready))),
			[]string{"c1-0:http Standby Silent", "c2-0:http Active AllDrained"},
		},
		"all silent, some drained": {
			service(nil, silent(cluster("c1", "eu", http, ready)), drained(silent(cluster("c2", "eu", http, ready)))),
			[]string{"c1-0:http Active AllSilent", "c2-0:http Standby Drained"},
		},
		"headless has no order": {
			headless(service(only, cluster("c2", "us", http, ready), drained(cluster("c3", "us", http, ready, unready)))),
			[]string{"c2-0:http Active Preferred", "c3-0:http Standby Drained", "c3-1:http Unchanged NotReady"},
		},
		"headless, all drained": {
			headless(service(nil, drained(cluster("c2", "us", http, ready)), drained(cluster("c3", "us", http, ready)))),
			[]string{"c2-0:http Active AllDrained", "c3-0:http Active AllDrained"},
		},
		"headless without ports, and by family only": {
			headless(service(nil, cluster("c2", "us", nil, ready), drained(cluster("c3", "us", mixed, ready)))),
			[]string{"c2-0 Active Preferred", "c3-0:dns Standby Drained", "c3-0:http Standby Drained"},
		},
		"weight 0 and no weight stand by": {
			service(&Policy{Weights: []Weight{{Cluster: "c1", Weight: 1}, {Cluster: "c2"}}}, cluster("c1", "eu", http, ready), cluster("c2", "eu", http, ready), cluster("c3", "us", http, ready)),
			[]string{"c1-0:http Active Preferred", "c2-0:http Standby ZeroWeight", "c3-0:http Standby NoWeight"},
		},
		"weights of clusters without usable endpoints do not count": {
			service(&Policy{Weights: []Weight{{Cluster: "c1", Weight: 1}, {Cluster: "c2"}}}, cluster("c1", "eu", http, unready), cluster("c2", "eu", http, ready), cluster("c3", "us", http, ready)),
			[]string{"c1-0:http Unchanged NotReady", "c2-0:http Active Preferred", "c3-0:http Active Preferred"},
		},
		"weights share the preferred group": {
			service(&Policy{Selectors: near[1:], Weights: []Weight{{Selector: &Selector{}, Weight: 5}}}, cluster("c1", "eu", http, ready), drained(cluster("c2", "eu", http, ready)), cluster("c3", "us", http, ready)),
			[]string{"c1-0:http Active Preferred", "c2-0:http Standby Drained", "c3-0:http Standby BehindPreferred"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, written(test.service)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSelectors(t *testing.T) {
	importer := properties{"c1", map[string]string{"region": "eu"}}
	expression := func(key string, operator metav1.LabelSelectorOperator, values ...string) Selector {
		return Selector{MatchExpressions: []Expression{{Key: key, Operator: operator, Values: values}}}
	}
	for name, test := range map[string]struct {
		selector Selector
		want     string // the ids that match
	}{
		"empty":                {Selector{}, "c1 c2 c3 c4"},
		"own":                  {sameAs(aboutv1beta1.ClusterIDProperty), "c1"},
		"own region":           {sameAs("region"), "c1 c2"},
		"value":                {Selector{MatchProperties: map[string]string{"region": "us"}}, "c3"},
		"In":                   {expression("region", "In", "us", SameAsImporter), "c1 c2 c3"},
		"NotIn":                {expression("region", "NotIn", SameAsImporter), "c3 c4"},
		"Exists":               {expression("region", "Exists"), "c1 c2 c3"},
		"DoesNotExist":         {expression("region", "DoesNotExist"), "c4"},
		"importer lacks it":    {sameAs("tier"), ""},
		"importer lacks NotIn": {expression("tier", "NotIn", SameAsImporter), ""},
		"unknown operator":     {expression("region", "Gt", "1"), ""},
		"both must hold":       {Selector{MatchProperties: map[string]string{"region": "eu"}, MatchExpressions: expression(aboutv1beta1.ClusterIDProperty, "NotIn", "c1").MatchExpressions}, "c2"},
	} {
		var matching []string
		for _, c := range []properties{
			importer,
			{"c2", map[string]string{"region": "eu", "tier": "a", aboutv1beta1.ClusterIDProperty: "c1"}}, // no cluster can pose as another
			{"c3", map[string]string{"region": "us"}},
			{"c4", nil},
		} {
			if matches(test.selector, c, importer) {
				matching = append(matching, c.id.String())
			}
		}
		if got := strings.Join(matching, " "); got != test.want {
			t.Errorf("%s: matches %q, want %q", name, got, test.want)
		}
	}
}

func TestValidate(t *testing.T) {
	weights := []Weight{{Cluster: "c1", Weight: 1}}
	for name, test := range map[string]struct {
		policy Policy
		want   string
	}{
		"valid":              {Policy{Selectors: near, Weights: weights}, ""},
		"too many selectors": {Policy{Selectors: make([]Selector, 17)}, "at most 16"},
		"negative weight":    {Policy{Weights: []Weight{{Weight: -1}}}, "weight -1"},
		"unknown operator":   {Policy{Weights: []Weight{{Selector: &Selector{MatchExpressions: []Expression{{Key: "a", Operator: "Gt"}}}}}}, "unknown operator"},
		"no values":          {Policy{Selectors: []Selector{{MatchExpressions: []Expression{{Key: "a", Operator: "In"}}}}}, "no values"},
		"needless values":    {Policy{Selectors: []Selector{{MatchExpressions: []Expression{{Key: "a", Operator: "Exists", Values: []string{"b"}}}}}}, "takes no values"},
	} {
		err := test.policy.Validate()
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: error %v, want %q", name, err, test.want)
		}
	}
}

func TestShares(t *testing.T) {
	for name, test := range map[string]struct {
		weights []int64
		sizes   []int
		want    []int
	}{
		"alone":                       {[]int64{7}, []int{3}, []int{3}},
		"as the sizes are":            {[]int64{1, 1}, []int{30, 30}, []int{30, 30}},
		"within 2 points of 50":       {[]int64{1, 1}, []int{12, 100}, []int{12, 13}},
		"90 to 10":                    {[]int64{90, 10}, []int{30, 30}, []int{30, 4}}, // 88.2 %
		"as close as few endpoints":   {[]int64{90, 10}, []int{3, 3}, []int{3, 1}},    // 75 %
		"at least one":                {[]int64{1000, 1}, []int{4, 4}, []int{4, 1}},
		"the most that is as good is": {[]int64{2, 1}, []int{2, 5}, []int{2, 1}},
	} {
		if diff := cmp.Diff(test.want, shares(test.weights, test.sizes)); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// TestSeats distinguishes Webster's method from Adams', which gives 8, 2 and 2 seats, and from d'Hondt's, which gives 9
// and 1.
func TestSeats(t *testing.T) {
	if diff := cmp.Diff([]int{10, 1, 1}, seatsOf([]int64{80, 10, 10}, []int{20, 20, 20}, 12)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]int{8, 2}, seatsOf([]int64{83, 17}, []int{20, 20}, 10)); diff != "" {
		t.Error(diff)
	}
}

// TestHighest checks that the hash stays, and that importers choose different endpoints.
func TestHighest(t *testing.T) {
	usable := map[target]bool{}
	for i := range 8 {
		usable[target{fmt.Sprintf("10.0.0.%d", i), 80}] = true
	}
	chosen := map[names.ClusterID]string{}
	for _, importer := range []names.ClusterID{"c1", "c2"} {
		var addresses []string
		for t := range highest(usable, 3, importer, types.NamespacedName{Namespace: "shop", Name: "web"}) {
			addresses = append(addresses, t.address)
		}
		slices.Sort(addresses)
		chosen[importer] = strings.Join(addresses, " ")
	}
	want := map[names.ClusterID]string{"c1": "10.0.0.1 10.0.0.3 10.0.0.6", "c2": "10.0.0.0 10.0.0.2 10.0.0.4"}
	if diff := cmp.Diff(want, chosen); diff != "" {
		t.Error(diff)
	}
}

// TestCopiesCountOnce: while an endpoint moves, it is in two slices.
func TestCopiesCountOnce(t *testing.T) {
	c := cluster("c1", "eu", http, ready, discoveryv1.EndpointConditions{})
	c.Slices = append(c.Slices, slice("c1", http, discoveryv1.EndpointConditions{}, ready))
	for _, result := range Decide(service(&Policy{Selectors: near}, c)).Clusters {
		if result.Usable != 2 || result.Active != 2 {
			t.Errorf("%d usable and %d active, want 2", result.Usable, result.Active)
		}
	}
}

// TestGroups checks how a slice is split. The order of its ports does not matter.
func TestGroups(t *testing.T) {
	s := service(&Policy{Selectors: near}, cluster("c1", "eu", []string{"http/TCP/80"}, ready),
		cluster("c2", "eu", []string{"metrics/TCP/90", "http/TCP/80", "admin/TCP/81"}, ready, unready))
	r := Decide(s)
	groups := r.Groups("c2", s.Clusters[1].Slices[0])
	var got []string
	for _, g := range groups {
		line := g.Suffix + ":"
		for _, p := range g.Ports {
			line += " " + *p.Name
		}
		got = append(got, fmt.Sprintf("%s %v", line, g.Endpoints))
	}
	want := []string{": admin metrics [{Active Preferred} {Unchanged NotReady}]", "http: http [{Standby BehindPreferred} {Unchanged NotReady}]"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	other := slice("other", []string{"new/TCP/1"}, ready)
	if diff := cmp.Diff([]Group{{Ports: other.Ports}}, r.Groups("c2", other)); diff != "" {
		t.Errorf("a slice that was not decided: %s", diff)
	}
}

func TestConditions(t *testing.T) {
	of := func(ready, serving, terminating bool) discoveryv1.EndpointConditions {
		return discoveryv1.EndpointConditions{Ready: &ready, Serving: &serving, Terminating: &terminating}
	}
	for role, want := range map[Role]discoveryv1.EndpointConditions{
		Active: ready, Unchanged: ready, Standby: of(false, true, true), Off: of(false, false, true),
	} {
		if diff := cmp.Diff(want, role.Conditions(ready)); diff != "" {
			t.Errorf("%s: %s", role, diff)
		}
		if role.MayHaveHints() != *want.Ready {
			t.Errorf("%s: may have hints: %t", role, role.MayHaveHints())
		}
	}
}

func TestReport(t *testing.T) {
	many := slices.Repeat([]discoveryv1.EndpointConditions{ready}, 4)
	r := Decide(service(&Policy{
		Selectors: []Selector{sameAs("region"), {MatchProperties: map[string]string{"region": "us"}}, {}},
		Weights:   []Weight{{Cluster: "c1", Weight: 50}, {Cluster: "c2", Weight: 50}},
	}, cluster("c3", "us", http, ready), cluster("c2", "eu", http, many...), cluster("c1", "eu", http, ready, ready)))
	want := []ClusterResult{
		{Cluster: "c1", Decision: Decision{Active, Preferred}, Usable: 2, Active: 2, Share: 50, WantedShare: 50},
		{Cluster: "c2", Decision: Decision{Active, Preferred}, Usable: 4, Active: 2, Share: 50, WantedShare: 50},
		{Cluster: "c3", Decision: Decision{Standby, BehindPreferred}, Usable: 1},
	}
	if diff := cmp.Diff(want, r.Clusters); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]PortResult{{discoveryv1.AddressTypeIPv4, "http", corev1.ProtocolTCP, want}}, r.Ports); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([][]names.ClusterID{{"c1", "c2"}, {"c3"}, {"c1", "c2", "c3"}}, r.SelectorResults); diff != "" {
		t.Error(diff)
	}
}

// Drained and silent clusters are not eligible, so they are in no selector's result.
func TestSelectorResultsAreEligible(t *testing.T) {
	s := service(&Policy{Selectors: near})
	for _, id := range []names.ClusterID{"c1", "c2", "c3"} {
		s.Clusters = append(s.Clusters, cluster(id, "eu", nil))
	}
	s.Clusters[1].Drained, s.Clusters[2].Silent = true, true
	found := false
	for _, ids := range Decide(s).SelectorResults {
		if slices.Contains(ids, "c2") || slices.Contains(ids, "c3") {
			t.Errorf("a selector selects %v", ids)
		}
		found = found || slices.Contains(ids, "c1")
	}
	if !found {
		t.Error("no selector selects c1")
	}
}
