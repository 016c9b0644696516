package endpoints

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// FuzzImport imports arbitrary EndpointSlices of another cluster. No result may have a foreign
// name, manager or Service, or an address that the cluster must not export.
func FuzzImport(f *testing.F) {
	f.Add([]byte(`[{"metadata":{"name":"web-1.shop.c2","annotations":{"atoll.dev/source-slice":"web-1"}},"addressType":"IPv4",
		"ports":[{"name":"http","port":8080,"protocol":"TCP"},{}],"endpoints":[{"addresses":["10.2.0.1"]},{"addresses":["127.0.0.1","10.1.0.9","10.2.0.2"]},{}]}]`))
	f.Add([]byte(`[{"metadata":{"name":"x","annotations":{"atoll.dev/source-slice":"a.b"}},"addressType":"IPv6","endpoints":[{"addresses":["::1","fe80::1%eth0","::ffff:10.2.0.1"]}]},
		{"metadata":{"labels":{"atoll.dev/advertise-mode":"cluster-ip","kubernetes.io/service-name":"kubernetes"}},"addressType":"FQDN","ports":null}]`))
	own, err := validation.ParseNetwork([]string{"10.101.0.0/16"}, []string{"10.1.0.0/16"})
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var published []*discoveryv1.EndpointSlice
		if json.Unmarshal(data, &published) != nil {
			return
		}
		for _, s := range published {
			if s == nil {
				return // lists of the API contain no nil
			}
		}
		ports := []mcsv1beta1.ServicePort{{Name: "http", Port: 80}}
		imp := serviceImport(ports...)
		for _, other := range published {
			validation.CleanSlice(other) // as every copy of the broker's
			clean, _ := own.Slice("c2", other)
			s := Import{Import: imp, Service: "web-clusterset", Cluster: "c2", Ports: ports}.Slice(clean)
			if s == nil {
				continue
			}
			switch from := s.Annotations[names.AnnotationSourceSlice]; {
			case s.Name != names.ImportedSlice("c2", from) || other.Name != names.BrokerSlice("c2", "shop", from):
				t.Errorf("slice %q of %q", s.Name, from)
			case s.Namespace != "shop" || s.Labels[discoveryv1.LabelServiceName] != "web-clusterset" || s.Labels[discoveryv1.LabelManagedBy] != names.AgentManager:
				t.Errorf("slice %s/%s with labels %v", s.Namespace, s.Name, s.Labels)
			case len(s.OwnerReferences) != 1 || s.OwnerReferences[0].UID != "uid":
				t.Errorf("slice %s is owned by %v", s.Name, s.OwnerReferences)
			}
			for _, e := range s.Endpoints {
				if e.NodeName != nil || e.TargetRef != nil || e.Hints != nil {
					t.Errorf("endpoint %+v has fields of another cluster", e)
				}
				for _, a := range e.Addresses {
					if address, err := netip.ParseAddr(a); err != nil || !own.Admits("c2", address) {
						t.Errorf("address %q", a)
					}
				}
			}
			for _, p := range s.Ports {
				if *p.Name != "http" {
					t.Errorf("port %+v is not a port of the import", p)
				}
			}
		}
	})
}

// FuzzRefusal checks the cluster IPs of a member with arbitrary Service ranges. The message
// must be short, and an overlapping range must be found among any others.
func FuzzRefusal(f *testing.F) {
	f.Add("10.101.7.0/24", "10.1.0.0/33\n\x00")
	f.Add("::ffff:10.101.0.0/112", "0.0.0.0/0")
	f.Add("fd00::/8", strings.Repeat("10.1.0.0/16,", 1000))
	own, err := validation.ParseNetwork([]string{"10.101.0.0/16", "fd00:101::/108"}, []string{"10.1.0.0/16"})
	if err != nil {
		f.Fatal(err)
	}
	vip := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{names.LabelAdvertiseMode: string(brokerv1alpha1.AdvertiseClusterIP)}}}
	id := names.ClusterID(strings.Repeat("c", names.MaxLabelValue))
	f.Fuzz(func(t *testing.T, one, others string) {
		member := &brokerv1alpha1.MemberCluster{Spec: brokerv1alpha1.MemberClusterSpec{ServiceCIDRs: append(strings.Split(others, ","), one)}}
		refusal := OverlappingRanges(own, id, id, member, vip)
		if len(refusal) > 1024 {
			t.Errorf("the refusal has %d characters, more than an Event can hold", len(refusal))
		}
		if theirs, err := netip.ParsePrefix(one); err == nil && theirs.Overlaps(own.Services[0]) && refusal == "" {
			t.Errorf("%s is not refused", theirs)
		}
	})
}
