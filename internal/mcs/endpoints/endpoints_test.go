package endpoints

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func source(name string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name,
			Labels:      map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: builtInManager},
			Annotations: map[string]string{names.AnnotationLastChangeTriggerTime: "2026-01-02T03:04:05Z", "other": "left behind"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   endpoints,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080)), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
}

func endpoint(address string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{Addresses: []string{address}}
}

// full is an endpoint with every field set.
func full(address string) discoveryv1.Endpoint {
	return discoveryv1.Endpoint{
		Addresses: []string{address},
		Conditions: discoveryv1.EndpointConditions{
			Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true),
		},
		Hostname:           ptr.To("web-0"),
		TargetRef:          &corev1.ObjectReference{Kind: "Pod", Name: "web-0"},
		DeprecatedTopology: map[string]string{"a": "b"},
		NodeName:           ptr.To("n1"),
		Zone:               ptr.To("z1"),
		Hints:              &discoveryv1.EndpointHints{ForZones: []discoveryv1.ForZone{{Name: "z1"}}},
	}
}

var (
	http   = mcsv1beta1.ServicePort{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}
	export = Export{
		Cluster: "c1", Service: types.NamespacedName{Namespace: "shop", Name: "web"}, BrokerNamespace: "clusterset",
		Ports: []mcsv1beta1.ServicePort{http},
	}
)

func published(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
	slice, _ := export.Slice(s)
	return slice
}

func serviceImport(ports ...mcsv1beta1.ServicePort) *mcsv1beta1.ServiceImport {
	return &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid"},
		Spec: mcsv1beta1.ServiceImportSpec{
			Type: mcsv1beta1.ClusterSetIP, Ports: ports, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol},
		},
	}
}

func importOf(own bool) Import {
	return Import{Import: serviceImport(http), Service: "web-clusterset", Cluster: "c1", Own: own, Ports: []mcsv1beta1.ServicePort{http}}
}

// Pitfalls 13 and 18: fields with a meaning only in the source cluster are dropped, and all
// others are kept. Only the cluster's own slices are published: no slice that Atoll or another
// implementation has imported, and no FQDN slice. Slices of the built-in controllers are always
// the cluster's own, whatever labels they copy from their Service or Endpoints object.
func TestExport(t *testing.T) {
	want := full("10.0.0.1")
	want.TargetRef, want.NodeName, want.Hints, want.DeprecatedTopology = nil, nil, nil, nil
	bad := source("web-x", full("10.0.0.1"), full("127.0.0.1"))
	got, refused := export.Slice(bad)
	if diff := cmp.Diff(&discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "clusterset", Name: "web-x.shop.c1",
			Labels: map[string]string{
				names.LabelServiceName: "web", names.LabelServiceNamespace: "shop", names.LabelSourceCluster: "c1",
				discoveryv1.LabelManagedBy: names.AgentManager, names.LabelHeadless: "",
			},
			Annotations: map[string]string{names.AnnotationSourceSlice: "web-x", names.AnnotationLastChangeTriggerTime: "2026-01-02T03:04:05Z"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{want},
		Ports:       source("").Ports,
	}, got); diff != "" || len(refused) != 1 {
		t.Errorf("%v refused; published (-want +got):\n%s", refused, diff)
	}

	fqdn := source("fqdn", endpoint("example.org"))
	fqdn.AddressType = discoveryv1.AddressTypeFQDN
	going := source("going", endpoint("10.0.0.1"))
	going.DeletionTimestamp = ptr.To(metav1.Now())
	managed := func(by, from string) *discoveryv1.EndpointSlice {
		s := source("web-x", endpoint("10.0.0.1"))
		s.Labels[discoveryv1.LabelManagedBy] = by
		if from != "" {
			s.Labels[names.LabelSourceCluster] = from
		}
		return s
	}
	for _, tt := range []struct {
		slice *discoveryv1.EndpointSlice
		want  bool
	}{
		{nil, false},
		{fqdn, false},
		{going, false},
		{managed(names.AgentManager, "c1"), false},
		{managed("lighthouse-agent.submariner.io", "c2"), false},
		{managed("lighthouse-agent.submariner.io", "c1"), false},
		{managed("endpointslice-mesh-controller.cilium.io", "c2"), false},
		{managed(karmadaManager, ""), false},
		{managed(builtInManager, "c2"), true},
		{managed(mirroringManager, "c2"), true},
		{managed("somebody", ""), true},
		{managed("", ""), true},
	} {
		if got := published(tt.slice); (got != nil) != tt.want {
			t.Errorf("%+v: published %v", tt.slice, got)
		}
		if tt.slice != nil {
			if got := importOf(true).Slice(tt.slice); (got != nil) != tt.want {
				t.Errorf("%+v: its own cluster imports %v", tt.slice.ObjectMeta, got)
			}
		}
	}
}

// Ports that the ServiceExport does not name are dropped. If it names all ports of the Service,
// the pods' ports with other names are dropped too.
func TestOnlyExportedPorts(t *testing.T) {
	s := source("web-x", endpoint("10.0.0.1"))
	s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: ptr.To("admin"), Port: ptr.To(int32(9))})
	restricted := export
	restricted.Restricted = true
	for name, tt := range map[string]struct {
		export Export
		want   int
	}{"all": {export, 2}, "some": {restricted, 1}} {
		if got, _ := tt.export.Slice(s); len(got.Ports) != tt.want || *got.Ports[0].Name != "http" {
			t.Errorf("%s: ports %v", name, got.Ports)
		}
	}
}

// Pitfalls 13 and 14: nodes and hints of other clusters are dropped, even if the broker has
// them; all other fields are kept. Nodes of the own cluster are kept for internalTrafficPolicy
// Local.
func TestImport(t *testing.T) {
	hostile := published(source("web-x", full("10.0.0.1"))) // contains fields that no agent publishes
	hostile.Annotations[names.AnnotationRevision] = "7"
	hostile.Endpoints[0].NodeName, hostile.Endpoints[0].Hints = ptr.To("n1"), full("").Hints
	want := full("10.0.0.1")
	want.TargetRef, want.NodeName, want.Hints, want.DeprecatedTopology = nil, nil, nil, nil
	if diff := cmp.Diff(&discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-x.c1",
			Labels: map[string]string{
				names.LabelServiceName: "web", names.LabelSourceCluster: "c1",
				discoveryv1.LabelManagedBy: names.AgentManager, discoveryv1.LabelServiceName: "web-clusterset",
			},
			Annotations: map[string]string{
				names.AnnotationSourceSlice: "web-x", names.AnnotationRevision: "7", names.AnnotationLastChangeTriggerTime: "2026-01-02T03:04:05Z",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "multicluster.x-k8s.io/v1beta1", Kind: "ServiceImport", Name: "web", UID: "uid",
			}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{want},
		Ports:       source("").Ports,
	}, importOf(false).Slice(hostile)); diff != "" {
		t.Errorf("imported (-want +got):\n%s", diff)
	}

	want = full("10.0.0.1")
	want.Hints, want.DeprecatedTopology = nil, nil
	if got := importOf(true).Slice(source("web-x", full("10.0.0.1"))); !cmp.Equal(got.Endpoints, []discoveryv1.Endpoint{want}) {
		t.Errorf("of its own: %+v", got)
	}

	nameless, renamed := hostile.DeepCopy(), hostile.DeepCopy()
	nameless.Annotations, renamed.Annotations[names.AnnotationSourceSlice] = nil, "web-y"
	for _, s := range []*discoveryv1.EndpointSlice{nil, nameless, renamed} {
		if got := importOf(false).Slice(s); got != nil {
			t.Errorf("%v is imported as %v", s, got)
		}
	}
}

// The type of an import may change, and with it the label of its slices: kube-proxy ignores
// slices with the label of headless Services.
func TestHeadlessSlicesAreHiddenFromKubeProxy(t *testing.T) {
	x := importOf(true)
	x.Import.Spec.Type = mcsv1beta1.Headless
	headless := x.Slice(source("web-x", full("10.0.0.1")))
	if _, ok := headless.Labels[names.LabelHeadless]; !ok {
		t.Errorf("labels %v", headless.Labels)
	}
	want := importOf(true).Slice(source("web-x", full("10.0.0.1")))
	if Same(headless, want) {
		t.Error("Same ignores the label of headless Services")
	}
	if _, ok := Updated(headless, want).Labels[names.LabelHeadless]; ok {
		t.Error("the label stayed")
	}
}

// Pitfall 15: a slice is not imported if the import or the export lacks its IP family, not even
// by headless imports.
func TestFamiliesOfImportedSlices(t *testing.T) {
	four, six := source("four", endpoint("10.0.0.1")), source("six", endpoint("fd00::1"))
	six.AddressType = discoveryv1.AddressTypeIPv6
	const v4, v6 = corev1.IPv4Protocol, corev1.IPv6Protocol
	for _, tt := range []struct {
		name             string
		imported, export []corev1.IPFamily
		want             string
	}{
		{"both", []corev1.IPFamily{v4, v6}, []corev1.IPFamily{v4, v6}, "IPv4=10.0.0.1 IPv6=fd00::1"},
		{"both in another order", []corev1.IPFamily{v6, v4}, []corev1.IPFamily{v4, v6}, "IPv4=10.0.0.1 IPv6=fd00::1"},
		{"an import of IPv4", []corev1.IPFamily{v4}, []corev1.IPFamily{v4, v6}, "IPv4=10.0.0.1"},
		{"an import of IPv6", []corev1.IPFamily{v6}, []corev1.IPFamily{v4, v6}, "IPv6=fd00::1"},
		{"addresses that the exported Service does not use itself", []corev1.IPFamily{v4, v6}, []corev1.IPFamily{v4}, "IPv4=10.0.0.1"},
		{"nothing in common", []corev1.IPFamily{v4}, []corev1.IPFamily{v6}, ""},
		{"an import of none", nil, []corev1.IPFamily{v4, v6}, ""},
		{"an exporter that does not say", []corev1.IPFamily{v6}, nil, "IPv6=fd00::1"},
	} {
		for _, own := range []bool{true, false} {
			for _, kind := range []mcsv1beta1.ServiceImportType{mcsv1beta1.ClusterSetIP, mcsv1beta1.Headless} {
				x := importOf(own)
				x.IPFamilies, x.Import.Spec.Type, x.Import.Spec.IPFamilies = tt.export, kind, tt.imported
				var got []string
				for _, s := range []*discoveryv1.EndpointSlice{four, six} {
					if !own {
						s = published(s)
					}
					if s = x.Slice(s); s != nil {
						got = append(got, string(s.AddressType)+"="+s.Endpoints[0].Addresses[0])
					}
				}
				if joined := strings.Join(got, " "); joined != tt.want {
					t.Errorf("%s (%s, own: %t): got %q, want %q", tt.name, kind, own, joined, tt.want)
				}
			}
		}
	}
}
