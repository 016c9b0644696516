package topology

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// here is cluster c1 with the given zones, in the same region as c2.
func here(zones ...string) Viewpoint {
	return Viewpoint{Cluster: "c1", Zones: zones, Near: func(id names.ClusterID) bool { return id == "c2" }}
}

// places parses "c1/a c2/" as places.
func places(text string) map[Place]bool {
	set := map[Place]bool{}
	for _, field := range strings.Fields(text) {
		cluster, zone, _ := strings.Cut(field, "/")
		set[Place{names.ClusterID(cluster), zone}] = true
	}
	return set
}

// written formats shares as "c1/a:a,b c2/a:".
func written(shares map[Place][]string) string {
	var all []string
	for place, zones := range shares {
		all = append(all, fmt.Sprintf("%s/%s:%s", place.Cluster, place.Zone, strings.Join(zones, ",")))
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

func TestShare(t *testing.T) {
	shared := here("a", "b")
	shared.SharedZones = true
	many := here("a", "b", "c", "d", "e", "f", "g", "h", "i", "j")
	for name, test := range map[string]struct {
		from  Viewpoint
		ready string
		want  string
	}{
		"each zone by its own":                  {here("a", "b"), "c1/a c1/b", "c1/a:a c1/b:b"},
		"a zone without, by the cluster's rest": {here("a", "b"), "c1/a", "c1/a:a,b"},
		"all the rest helps":                    {here("a", "b", "c"), "c1/a c1/b", "c1/a:a,c c1/b:b,c"},
		"unknown zones help too":                {here("a", "b"), "c1/a c1/", "c1/:b c1/a:a,b"},
		"a zone without nodes helps":            {here("a", "b"), "c1/a c1/x", "c1/a:a,b c1/x:b"},
		"others are not asked":                  {here("a", "b"), "c1/a c2/z c3/z", "c1/a:a,b c2/z: c3/z:"},
		"the region is asked next":              {here("a", "b"), "c2/y c2/z c3/z", "c2/y:a,b c2/z:a,b c3/z:"},
		"then everybody":                        {here("a", "b"), "c3/z c4/", "c3/z:a,b c4/:a,b"},
		"equal names are different zones":       {here("a", "b"), "c1/a c2/b", "c1/a:a,b c2/b:"},
		"unless they are shared":                {shared, "c1/a c3/b", "c1/a:a c3/b:b"},
		"shared zones are one zone":             {shared, "c1/a c2/a", "c1/a:a,b c2/a:a"},
		"shared, then the own cluster":          {shared, "c1/x c2/a", "c1/x:b c2/a:a"},
		"shared, then the region":               {shared, "c2/x c3/a", "c2/x:b c3/a:a"},
		"more zones than room for all":          {many, "c1/a c1/b", "c1/a:a,c,d,e,f,g,h,i c1/b:b,c,d,e,f,g,h,j"},
		"more zones than room":                  {many, "c1/a", ""},
		"more zones, room elsewhere":            {many, "c1/a c2/z", ""},
		"more zones, another cluster's room":    {many, "c2/y c2/z", "c2/y:a,b,c,d,e,f,g,h c2/z:a,b,c,d,e,f,i,j"},
		"no zones":                              {here(), "c1/a c2/z", ""},
		"no ready endpoint":                     {here("a", "b"), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if got := written(test.from.Share(places(test.ready))); got != test.want {
				t.Errorf("ready in %q: %q, want %q", test.ready, got, test.want)
			}
		})
	}
}

func serviceImport(distribution string) *mcsv1beta1.ServiceImport {
	imp := &mcsv1beta1.ServiceImport{Spec: mcsv1beta1.ServiceImportSpec{Type: mcsv1beta1.ClusterSetIP}}
	if distribution != "" {
		imp.Spec.TrafficDistribution = &distribution
	}
	return imp
}

func endpoint(zone, node string, ready *bool) discoveryv1.Endpoint {
	e := discoveryv1.Endpoint{Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: ready}}
	if zone != "" {
		e.Zone = &zone
	}
	if node != "" {
		e.NodeName = &node
	}
	return e
}

func imported(cluster string, family discoveryv1.AddressType, endpoints ...discoveryv1.Endpoint) discoveryv1.EndpointSlice {
	return discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Labels: map[string]string{names.LabelSourceCluster: cluster}},
		AddressType: family,
		Endpoints:   endpoints,
		Ports:       []discoveryv1.EndpointPort{{Port: ptr.To(int32(80))}},
	}
}

// given returns the hints of all endpoints: zones as "a,b", followed by "@node" for node hints,
// or "-" for no hints.
func given(plan []discoveryv1.EndpointSlice) []string {
	var all []string
	for _, s := range plan {
		for _, e := range s.Endpoints {
			if e.Hints == nil {
				all = append(all, "-")
				continue
			}
			var zones []string
			for _, z := range e.Hints.ForZones {
				zones = append(zones, z.Name)
			}
			text := strings.Join(zones, ",")
			for _, n := range e.Hints.ForNodes {
				text += "@" + n.Name
			}
			all = append(all, text)
		}
	}
	return all
}

// Pitfall 14: hints are computed for this cluster's zones and nodes. Every ready endpoint has
// hints, even an endpoint that serves no zone. A node of another cluster never counts as a node
// of this cluster, whatever its name.
func TestHint(t *testing.T) {
	const nowhere = Nowhere
	slices := func() []discoveryv1.EndpointSlice {
		return []discoveryv1.EndpointSlice{
			imported("c1", "IPv4", endpoint("a", "n1", ptr.To(true)), endpoint("b", "n2", ptr.To(false)), endpoint("a", "", nil)),
			imported("c1", "IPv6", endpoint("b", "n2", ptr.To(true))),
			imported("c2", "IPv4", endpoint("b", "n1", ptr.To(true)), endpoint("", "", nil)),
		}
	}
	for distribution, want := range map[string][]string{
		"":                  {"-", "-", "-", "-", "-", "-"},
		"Else":              {"-", "-", "-", "-", "-", "-"},
		"PreferClose":       {"a,b", "-", "a,b", "a,b", nowhere, nowhere},
		"PreferSameZone":    {"a,b", "-", "a,b", "a,b", nowhere, nowhere},
		"PreferSameNode":    {"a,b@n1", "-", "a,b@" + nowhere, "a,b@n2", nowhere + "@" + nowhere, nowhere + "@" + nowhere},
		"PreferSameNode/no": {"@n1", "-", "@" + nowhere, "@n2", "@" + nowhere, "@" + nowhere},
		"headless":          {"-", "-", "-", "-", "-", "-"},
	} {
		t.Run(distribution, func(t *testing.T) {
			from := here("a", "b")
			distribution, zoneless := strings.CutSuffix(distribution, "/no")
			if zoneless {
				from = here()
			}
			plan := slices()
			ready := Ready{}
			for i := range plan {
				ready.Add(&plan[i])
			}
			imp := serviceImport(distribution)
			if distribution == "headless" {
				imp = serviceImport("PreferSameZone")
				imp.Spec.Type = mcsv1beta1.Headless
			}
			Hint(plan, imp, from, ready)
			if diff := cmp.Diff(want, given(plan)); diff != "" {
				t.Errorf("hints (-want +got):\n%s", diff)
			}
		})
	}
}

func TestReadyIn(t *testing.T) {
	portless := imported("c1", "IPv4", endpoint("z", "", nil))
	portless.Ports = nil
	all := []discoveryv1.EndpointSlice{
		imported("c1", "IPv4", endpoint("a", "", nil), endpoint("a", "", ptr.To(true)), endpoint("b", "", ptr.To(false))),
		imported("c2", "IPv6", endpoint("", "", ptr.To(true))),
		portless,
	}
	got := ReadyIn(&all[0], &all[1], &all[2])
	want := Ready{"IPv4": places("c1/a"), "IPv6": places("c2/")}
	if !got.Equal(want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got.Equal(ReadyIn(&all[0])) || got.Equal(ReadyIn(&all[1])) {
		t.Error("different ones are equal")
	}
}
