package sliceplan

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/names"
)

func source(name string, endpoints ...discoveryv1.Endpoint) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: name,
			Labels:      map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "endpointslice-controller.k8s.io"},
			Annotations: map[string]string{names.AnnotationLastChangeTriggerTime: "2026-01-02T03:04:05Z", "other": "left behind"},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   endpoints,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080)), Protocol: ptr.To(corev1.ProtocolTCP)}},
	}
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

func publication(sources ...*discoveryv1.EndpointSlice) Publication {
	return Publication{
		Cluster: "c1", Namespace: "shop", Service: "web", BrokerNamespace: "clusterset",
		Sources: sources, MaxEndpoints: DefaultMaxEndpoints,
	}
}

func publish(p Publication) []discoveryv1.EndpointSlice {
	plan, _ := Publish(p)
	return plan
}

func serviceImport(ports ...mcsv1beta1.ServicePort) *mcsv1beta1.ServiceImport {
	return &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web", UID: "uid"},
		Spec: mcsv1beta1.ServiceImportSpec{
			Type: mcsv1beta1.ClusterSetIP, Ports: ports, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol},
		},
	}
}

var http = mcsv1beta1.ServicePort{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}

func TestPublishKeepsWhatOthersCanUse(t *testing.T) {
	got := publish(publication(source("web-x", full("10.0.0.1"))))
	want := full("10.0.0.1")
	want.TargetRef, want.NodeName, want.Hints, want.DeprecatedTopology = nil, nil, nil, nil
	if diff := cmp.Diff([]discoveryv1.EndpointSlice{{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "clusterset", Name: "web-x.shop.c1",
			Labels: map[string]string{
				names.LabelServiceName: "web", names.LabelServiceNamespace: "shop", names.LabelSourceCluster: "c1",
				discoveryv1.LabelManagedBy: names.AgentManager, names.LabelHeadless: "",
			},
			Annotations: map[string]string{
				names.AnnotationSourceSlice: "web-x", names.AnnotationSourcePart: "0",
				names.AnnotationLastChangeTriggerTime: "2026-01-02T03:04:05Z",
			},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{want},
		Ports:       source("").Ports,
	}}, got); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
}

// Pitfall 18: an exporting cluster must not export what it imported. A slice of domain
// names, or one that is going, is no source either.
func TestPublishTakesOnlySources(t *testing.T) {
	imported := source("imported", full("10.0.0.1"))
	imported.Labels[discoveryv1.LabelManagedBy] = names.AgentManager
	fqdn := source("fqdn", full("example.org"))
	fqdn.AddressType = discoveryv1.AddressTypeFQDN
	going := source("going", full("10.0.0.1"))
	going.DeletionTimestamp = ptr.To(metav1.Now())
	if got := publish(publication(imported, fqdn, going)); len(got) != 0 {
		t.Errorf("published %v", got)
	}
}

// Pitfall 18: nor is what another implementation of the API has imported, as long as both are there; but
// the built-in controllers' slices are the cluster's own, whatever labels they have from their Service or Endpoints object.
func TestImportsOfOthersAreNoSource(t *testing.T) {
	managed := func(by, from string) *discoveryv1.EndpointSlice {
		s := source("web-"+by, full("10.0.0.1"))
		s.Labels[discoveryv1.LabelManagedBy] = by
		if from != "" {
			s.Labels[names.LabelSourceCluster] = from
		}
		return s
	}
	for _, tt := range []struct {
		slice *discoveryv1.EndpointSlice
		want  int
	}{
		{managed("lighthouse-agent.submariner.io", "c2"), 0},
		{managed("lighthouse-agent.submariner.io", "c1"), 0},
		{managed("endpointslice-mesh-controller.cilium.io", "c2"), 0},
		{managed("endpointslice-dispatch-controller.karmada.io", ""), 0},
		{managed("endpointslice-controller.k8s.io", "c2"), 1},
		{managed("endpointslicemirroring-controller.k8s.io", "c2"), 1},
		{managed("somebody", ""), 1},
		{managed("", ""), 1},
	} {
		p := publication(tt.slice)
		if got := publish(p); len(got) != tt.want {
			t.Errorf("%v: published %d slices, want %d", tt.slice.Labels, len(got), tt.want)
		}
		p.Ports, p.ClusterIPs = []mcsv1beta1.ServicePort{http}, []string{"10.96.0.7"}
		tt.slice.Endpoints[0].Conditions = discoveryv1.EndpointConditions{}
		if got := PublishClusterIPs(p); len(got) != 1 || len(got[0].Endpoints) != tt.want {
			t.Errorf("%v: published %v by cluster IP, want %d endpoints", tt.slice.Labels, got, tt.want)
		}
	}
}

// Pitfall 14: another cluster's node and hints are dropped, also where the broker has
// them; Pitfall 13: all else is kept.
func TestImportOfAnotherClusters(t *testing.T) {
	onBroker := publish(publication(source("web-x", full("10.0.0.1"))))
	hostile := onBroker[0].DeepCopy() // says what no agent says
	hostile.Endpoints[0].NodeName, hostile.Endpoints[0].Hints = ptr.To("n1"), full("").Hints
	nameless := onBroker[0].DeepCopy()
	nameless.Annotations = nil
	got := Import(Importation{
		Import: serviceImport(http), DerivedService: "web-clusterset", Cluster: "c1",
		Ports: []mcsv1beta1.ServicePort{http}, Sources: []*discoveryv1.EndpointSlice{hostile, nameless}, MaxEndpoints: 100,
	})
	want := full("10.0.0.1")
	want.TargetRef, want.NodeName, want.Hints, want.DeprecatedTopology = nil, nil, nil, nil
	if diff := cmp.Diff([]discoveryv1.EndpointSlice{{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web-x.c1",
			Labels: map[string]string{
				names.LabelServiceName: "web", names.LabelSourceCluster: "c1",
				discoveryv1.LabelManagedBy: names.AgentManager, discoveryv1.LabelServiceName: "web-clusterset",
			},
			Annotations: map[string]string{
				names.AnnotationSourceSlice: "web-x", names.AnnotationSourcePart: "0",
				names.AnnotationLastChangeTriggerTime: "2026-01-02T03:04:05Z",
			},
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: "multicluster.x-k8s.io/v1beta1", Kind: "ServiceImport", Name: "web", UID: "uid",
			}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{want},
		Ports:       source("").Ports,
	}}, got); diff != "" {
		t.Errorf("imported (-want +got):\n%s", diff)
	}
}

func TestImportOfOwnKeepsNodesForLocalTraffic(t *testing.T) {
	got := Import(Importation{
		Import: serviceImport(http), DerivedService: "web-clusterset", Cluster: "c1", Own: true,
		Ports: []mcsv1beta1.ServicePort{http}, Sources: []*discoveryv1.EndpointSlice{source("web-x", full("10.0.0.1"))}, MaxEndpoints: 100,
	})
	want := full("10.0.0.1")
	want.Hints, want.DeprecatedTopology = nil, nil
	if len(got) != 1 || !cmp.Equal(got[0].Endpoints, []discoveryv1.Endpoint{want}) {
		t.Errorf("imported %+v", got)
	}
}

func TestImportForHeadlessIsHiddenFromKubeProxy(t *testing.T) {
	imp := serviceImport(http)
	imp.Spec.Type = mcsv1beta1.Headless
	importation := Importation{
		Import: imp, DerivedService: "web-clusterset", Cluster: "c1", Own: true, MaxEndpoints: 100,
		Ports: []mcsv1beta1.ServicePort{http}, Sources: []*discoveryv1.EndpointSlice{source("web-x", full("10.0.0.1"))},
	}
	headless := Import(importation)
	if _, ok := headless[0].Labels[names.LabelHeadless]; !ok {
		t.Errorf("labels %v", headless[0].Labels)
	}
	imp.Spec.Type = mcsv1beta1.ClusterSetIP // the type flips
	changes := Diff([]*discoveryv1.EndpointSlice{&headless[0]}, Import(importation))
	if len(changes.Update) != 1 || len(changes.Create)+len(changes.Delete) != 0 {
		t.Fatalf("changes %+v", changes)
	}
	if _, ok := changes.Update[0].Labels[names.LabelHeadless]; ok {
		t.Error("the label stayed, and kube-proxy would not see the slice")
	}
}

// Pitfall 11: the ports of a slice have the names that they have in the derived Service and in the import.
func TestPortsFollowTheImport(t *testing.T) {
	metrics := mcsv1beta1.ServicePort{Name: "metrics", Port: 9090, Protocol: corev1.ProtocolTCP}
	unnamed := mcsv1beta1.ServicePort{Port: 80, Protocol: corev1.ProtocolTCP}
	dns := mcsv1beta1.ServicePort{Name: "http", Port: 80, Protocol: corev1.ProtocolUDP}
	for _, tt := range []struct {
		name          string
		imported, own []mcsv1beta1.ServicePort
		source        []string // name/protocol
		want          []string
	}{
		{"same", []mcsv1beta1.ServicePort{http}, []mcsv1beta1.ServicePort{http}, []string{"http/TCP"}, []string{"http/TCP"}},
		{"the other clusters have one more", []mcsv1beta1.ServicePort{http, metrics}, []mcsv1beta1.ServicePort{http}, []string{"http/TCP"}, []string{"http/TCP"}},
		{
			"a definition that lost gets no traffic",
			[]mcsv1beta1.ServicePort{http}, []mcsv1beta1.ServicePort{{Name: "http", Port: 8080}}, []string{"http/TCP"}, nil,
		},
		{"same name, other protocol", []mcsv1beta1.ServicePort{dns}, []mcsv1beta1.ServicePort{http}, []string{"http/TCP"}, nil},
		{"one without name gets one", []mcsv1beta1.ServicePort{unnamed}, []mcsv1beta1.ServicePort{unnamed}, []string{"/TCP"}, []string{"80-tcp/TCP", "/TCP"}},
		{
			"one without name gets the same among several",
			[]mcsv1beta1.ServicePort{unnamed, metrics}, []mcsv1beta1.ServicePort{unnamed}, []string{"/TCP"}, []string{"80-tcp/TCP", "/TCP"},
		},
		{"a port that the Service has not", []mcsv1beta1.ServicePort{http}, []mcsv1beta1.ServicePort{http}, []string{"http/TCP", "debug/TCP"}, []string{"http/TCP"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := source("web-x")
			s.Ports = nil
			for _, p := range tt.source {
				name, protocol, _ := strings.Cut(p, "/")
				s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &name, Protocol: ptr.To(corev1.Protocol(protocol)), Port: ptr.To(int32(1))})
			}
			for _, kind := range []mcsv1beta1.ServiceImportType{mcsv1beta1.ClusterSetIP, mcsv1beta1.Headless} {
				imp := serviceImport(tt.imported...)
				imp.Spec.Type = kind
				var got []string
				for _, p := range Import(Importation{
					Import: imp, DerivedService: "d", Cluster: "c1", Own: true,
					Ports: tt.own, Sources: []*discoveryv1.EndpointSlice{s}, MaxEndpoints: 100,
				})[0].Ports {
					got = append(got, *p.Name+"/"+string(*p.Protocol))
				}
				want := slices.Clone(tt.want)
				if kind == mcsv1beta1.Headless && slices.Contains(want, "80-tcp/TCP") {
					want = []string{"/TCP"}
				}
				if !slices.Equal(got, want) {
					t.Errorf("%s: ports %q, want %q", kind, got, want)
				}
			}
		})
	}
}

// What calls itself a part of a source and is not decides nothing: somebody wrote on it.
func TestOnlyPartsOfOurNamesCount(t *testing.T) {
	p := publication(source("web-x", full("10.0.0.1")), source("web-y", full("10.0.0.2")))
	p.Published = pointers(publish(p))
	want := publish(p)
	p.Published[1].Annotations[names.AnnotationSourceSlice] = "web-x"
	p.Published[1].Annotations[names.AnnotationSourcePart] = "-1"
	p.Published[1].Endpoints = p.Published[0].Endpoints
	if diff := cmp.Diff(want, publish(p)); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
	if changes := Diff(p.Published, publish(p)); len(changes.Update) != 1 || len(changes.Create)+len(changes.Delete) > 0 {
		t.Errorf("changes %+v", changes)
	}
}

func drawSources(t *rapid.T) []*discoveryv1.EndpointSlice {
	var sources []*discoveryv1.EndpointSlice
	address := 0
	for i := range rapid.IntRange(0, 4).Draw(t, "slices") {
		s := source(fmt.Sprintf("web-%d", i))
		for range rapid.IntRange(0, 9).Draw(t, "endpoints") {
			address++
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.0.0.%d", address)}})
		}
		sources = append(sources, s)
	}
	return sources
}

func addresses[S any](of []S, endpoints func(S) []discoveryv1.Endpoint) []string {
	var all []string
	for _, s := range of {
		for _, e := range endpoints(s) {
			all = append(all, e.Addresses...)
		}
	}
	slices.Sort(all)
	return all
}

// Pitfall 12: slices correspond one to one as long as they are not too long, then they are
// split, and their endpoints are never thrown together.
func TestNothingIsLostOrDuplicatedAndTheLimitKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := publication(drawSources(t)...)
		p.MaxEndpoints = rapid.IntRange(1, 5).Draw(t, "limit")
		published := publish(p)
		seen := map[string]bool{}
		var onBroker []*discoveryv1.EndpointSlice
		for i := range published {
			if len(published[i].Endpoints) > p.MaxEndpoints {
				t.Fatalf("slice %s has %d endpoints, the limit is %d", published[i].Name, len(published[i].Endpoints), p.MaxEndpoints)
			}
			if seen[published[i].Name] {
				t.Fatalf("two slices are named %s", published[i].Name)
			}
			seen[published[i].Name] = true
			onBroker = append(onBroker, &published[i])
		}
		imported := Import(Importation{
			Import: serviceImport(http), DerivedService: "d", Cluster: "c1",
			Ports: []mcsv1beta1.ServicePort{http}, Sources: onBroker, MaxEndpoints: p.MaxEndpoints,
		})
		want := addresses(p.Sources, func(s *discoveryv1.EndpointSlice) []discoveryv1.Endpoint { return s.Endpoints })
		got := addresses(imported, func(s discoveryv1.EndpointSlice) []discoveryv1.Endpoint { return s.Endpoints })
		if !slices.Equal(want, got) {
			t.Fatalf("imported %v of %v", got, want)
		}
	})
}

// What is planned goes by what there is, so a second plan after the first was carried out
// must be the same, on the broker and for the own import.
func TestApplyingChangesLeavesNothingToChange(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var published, imported []*discoveryv1.EndpointSlice
		for range 3 {
			sources, limit := drawSources(t), rapid.IntRange(1, 5).Draw(t, "limit")
			publish := func() Changes {
				p := publication(sources...)
				p.Published, p.MaxEndpoints = published, limit
				return Diff(published, publish(p))
			}
			importOwn := func() Changes {
				return Diff(imported, Import(Importation{
					Import: serviceImport(http), DerivedService: "d", Cluster: "c1", Own: true, Imported: imported,
					Ports: []mcsv1beta1.ServicePort{http}, Sources: sources, MaxEndpoints: limit,
				}))
			}
			published = apply(published, publish())
			imported = apply(imported, importOwn())
			for _, plan := range []func() Changes{publish, importOwn} {
				if again := plan(); !again.Empty() {
					t.Fatalf("after applying there is still %+v", again)
				}
			}
			want := addresses(sources, func(s *discoveryv1.EndpointSlice) []discoveryv1.Endpoint { return s.Endpoints })
			for _, have := range [][]*discoveryv1.EndpointSlice{published, imported} {
				if got := addresses(have, func(s *discoveryv1.EndpointSlice) []discoveryv1.Endpoint { return s.Endpoints }); !slices.Equal(want, got) {
					t.Fatalf("there is %v of %v", got, want)
				}
			}
		}
	})
}

// apply does what the API server would.
func apply(have []*discoveryv1.EndpointSlice, changes Changes) []*discoveryv1.EndpointSlice {
	byName := map[string]*discoveryv1.EndpointSlice{}
	for _, h := range have {
		byName[h.Name] = h
	}
	for _, s := range changes.Replace {
		delete(byName, s.Name)
	}
	for _, s := range changes.Written() {
		byName[s.Name] = s
	}
	for _, s := range changes.Delete {
		delete(byName, s.Name)
	}
	var all []*discoveryv1.EndpointSlice
	for _, s := range byName {
		all = append(all, s)
	}
	return all
}

// Pitfall 12: with everything in one object, each change would write all of it. Sources may
// hold up to 1,000 endpoints; their order means nothing.
func TestOneEndpointsChangeIsOneUpdate(t *testing.T) {
	large := source("web-large")
	for i := range 1000 {
		large.Endpoints = append(large.Endpoints, full(fmt.Sprintf("10.1.%d.%d", i/256, i%256)))
	}
	sources := []*discoveryv1.EndpointSlice{source("web-a", full("10.0.0.1"), full("10.0.0.2")), large, source("web-b", full("10.0.0.3"))}
	published := pointers(publish(publication(sources...)))
	if len(published) != 12 {
		t.Fatalf("%d slices", len(published))
	}
	imported := pointers(Import(Importation{
		Import: serviceImport(http), DerivedService: "d", Cluster: "c1",
		Ports: []mcsv1beta1.ServicePort{http}, Sources: published, MaxEndpoints: 100,
	}))
	for name, change := range map[string]func(s *discoveryv1.EndpointSlice){
		"another readiness": func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Conditions.Ready = ptr.To(true) },
		"the first goes":    func(s *discoveryv1.EndpointSlice) { s.Endpoints = s.Endpoints[1:] },
		"one is replaced by another in front": func(s *discoveryv1.EndpointSlice) {
			s.Endpoints = append([]discoveryv1.Endpoint{full("10.2.0.1")}, s.Endpoints[1:]...)
		},
	} {
		t.Run(name, func(t *testing.T) {
			for i := range sources[:2] {
				after := slices.Clone(sources)
				after[i] = sources[i].DeepCopy()
				after[i].Annotations[names.AnnotationLastChangeTriggerTime] = "2026-01-02T03:04:06Z"
				change(after[i])
				p := publication(after...)
				p.Published = published
				changes := Diff(published, publish(p))
				if len(changes.Update) != 1 || len(changes.Create)+len(changes.Delete) != 0 {
					t.Errorf("on the broker: changes %+v", changes)
				}
				changes = Diff(imported, Import(Importation{
					Import: serviceImport(http), DerivedService: "d", Cluster: "c1",
					Ports: []mcsv1beta1.ServicePort{http}, Sources: apply(published, changes), MaxEndpoints: 100,
				}))
				if len(changes.Update) != 1 || len(changes.Create)+len(changes.Delete) != 0 {
					t.Errorf("imported: changes %+v", changes)
				}
			}
		})
	}
}

// Of two slices on the broker that claim one origin only the one of the right name counts:
// both would be imported under one name.
func TestOnlySlicesOfTheRightNameAreImported(t *testing.T) {
	p := publication(source("web-x", full("10.0.0.1")))
	published := pointers(publish(p))
	other := published[0].DeepCopy()
	other.Name += "-copy"
	imported := Import(Importation{
		Import: serviceImport(http), DerivedService: "d", Cluster: "c1", Ports: []mcsv1beta1.ServicePort{http},
		Sources: append(published, other),
	})
	if len(imported) != 1 {
		t.Errorf("of one slice and its copy %d are made", len(imported))
	}
}
