package merge

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// export returns a cluster's export, created second seconds after a fixed time.
func export(cluster string, second int, change ...func(*Export)) Export {
	e := Export{
		ClusterID: cluster, ServiceNamespace: "shop", ServiceName: "web",
		ExportedAt: metav1.Unix(int64(1_700_000_000+second), 0),
		Type:       mcsv1beta1.ClusterSetIP,
		Ports:      []mcsv1beta1.ServicePort{port("http", 80)},
		IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
	}
	for _, c := range change {
		c(&e)
	}
	return e
}

func port(name string, number int32, protocol ...corev1.Protocol) mcsv1beta1.ServicePort {
	p := mcsv1beta1.ServicePort{Name: name, Port: number, Protocol: corev1.ProtocolTCP}
	if len(protocol) > 0 {
		p.Protocol = protocol[0]
	}
	return p
}

func ports(p ...mcsv1beta1.ServicePort) func(*Export) { return func(e *Export) { e.Ports = p } }

func families(f ...corev1.IPFamily) func(*Export) { return func(e *Export) { e.IPFamilies = f } }

func affine(seconds int32) func(*Export) {
	return func(e *Export) {
		e.SessionAffinity = corev1.ServiceAffinityClientIP
		e.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: &seconds}}
	}
}

func TestConflicts(t *testing.T) {
	headless := func(e *Export) { e.Type = mcsv1beta1.Headless }
	for _, tt := range []struct {
		name    string
		exports []Export
		want    []string // reason: message
	}{
		{"one export", []Export{export("c1", 0)}, nil},
		{"equal exports", []Export{export("c1", 0), export("c2", 1)}, nil},
		{
			"type, which is the KEP's own example, letter by letter",
			[]Export{export("cluster-1", 0), export("c2", 1, headless), export("c3", 2, headless), export("c4", 3), export("c5", 4)},
			[]string{`TypeConflict: Conflicting type. Using "ClusterSetIP" from oldest service export in "cluster-1". 2/5 clusters disagree.`},
		},
		{
			"oldest is not first, and equal times go by cluster id",
			[]Export{export("c3", 5), export("c2", 0, headless), export("c1", 0)},
			[]string{`TypeConflict: Conflicting type. Using "ClusterSetIP" from oldest service export in "c1". 1/3 clusters disagree.`},
		},
		{
			"ports in another order (Pitfall 3)",
			[]Export{
				export("c1", 0, ports(port("http", 80), port("metrics", 9090))),
				export("c2", 1, ports(port("metrics", 9090), port("http", 80))),
			},
			nil,
		},
		{
			"protocol left out is TCP",
			[]Export{export("c1", 0), export("c2", 1, ports(mcsv1beta1.ServicePort{Name: "http", Port: 80}))},
			nil,
		},
		{
			"ports: one more",
			[]Export{export("c1", 0), export("c2", 1, ports(port("http", 80), port("dns", 53, corev1.ProtocolUDP)))},
			[]string{`PortConflict: Conflicting ports. Using "http 80/TCP" from oldest service export in "c1" and "dns 53/UDP" from service export in "c2". 1/2 clusters disagree.`},
		},
		{
			"ports: same name, other number",
			[]Export{export("c1", 0), export("c2", 1, ports(port("http", 8080)))},
			[]string{`PortConflict: Conflicting ports. Using "http 80/TCP" from oldest service export in "c1". 1/2 clusters disagree.`},
		},
		{
			"ports: same number, other name",
			[]Export{export("c1", 0), export("c2", 1, ports(port("web", 80)))},
			[]string{`PortConflict: Conflicting ports. Using "http 80/TCP" from oldest service export in "c1". 1/2 clusters disagree.`},
		},
		{
			"ports: application protocol",
			[]Export{export("c1", 0), export("c2", 1, func(e *Export) { e.Ports[0].AppProtocol = ptr.To("kubernetes.io/h2c") })},
			[]string{`PortConflict: Conflicting ports. Using "http 80/TCP" from oldest service export in "c1". 1/2 clusters disagree.`},
		},
		{
			"affinity, whose config is then not reported too",
			[]Export{export("c1", 0, affine(60)), export("c2", 1)},
			[]string{`SessionAffinityConflict: Conflicting session affinity. Using "ClientIP" from oldest service export in "c1". 1/2 clusters disagree.`},
		},
		{
			"affinity config, whose timeout is a number to read (Pitfall 9)",
			[]Export{export("c1", 0, affine(60)), export("c2", 1, affine(90))},
			[]string{`SessionAffinityConfigConflict: Conflicting session affinity config. Using "timeout 60 s" from oldest service export in "c1". 1/2 clusters disagree.`},
		},
		{
			"affinity config: the default written out",
			[]Export{
				export("c1", 0, affine(10800)),
				export("c2", 1, func(e *Export) { e.SessionAffinity = corev1.ServiceAffinityClientIP }),
			},
			nil,
		},
		{
			"internal traffic policy, whose default is Cluster",
			[]Export{
				export("c1", 0), export("c2", 1, func(e *Export) { e.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyCluster) }),
				export("c3", 2, func(e *Export) { e.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal) }),
			},
			[]string{`InternalTrafficPolicyConflict: Conflicting internal traffic policy. Using "Cluster" from oldest service export in "c1". 1/3 clusters disagree.`},
		},
		{
			"traffic distribution, of which one value has two names",
			[]Export{
				export("c1", 0, func(e *Export) { e.TrafficDistribution = ptr.To("PreferClose") }),
				export("c2", 1, func(e *Export) { e.TrafficDistribution = ptr.To("PreferSameZone") }),
				export("c3", 2),
			},
			[]string{`TrafficDistributionConflict: Conflicting traffic distribution. Using "PreferSameZone" from oldest service export in "c1". 1/3 clusters disagree.`},
		},
		{
			"labels and annotations, both reported",
			[]Export{
				export("c1", 0, func(e *Export) { e.ExportedLabels = map[string]string{"b": "2", "a": "1"} }),
				export("c2", 1, func(e *Export) { e.ExportedAnnotations = map[string]string{"n": "x"} }),
			},
			[]string{
				`LabelsConflict: Conflicting exported labels. Using "{\"a\",\"1\"; \"b\",\"2\"}" from oldest service export in "c1". 1/2 clusters disagree.`,
				`AnnotationsConflict: Conflicting exported annotations. Using "{}" from oldest service export in "c1". 1/2 clusters disagree.`,
			},
		},
		{
			"labels: none and empty are the same",
			[]Export{export("c1", 0), export("c2", 1, func(e *Export) { e.ExportedLabels = map[string]string{} })},
			nil,
		},
		{
			"IP families",
			[]Export{
				export("c1", 0), export("c2", 1, families(corev1.IPv6Protocol)),
				export("c3", 2, families(corev1.IPv6Protocol, corev1.IPv4Protocol)),
			},
			[]string{`IPFamilyConflict: Conflicting IP families. Using "IPv4, IPv6" from all service exports, in the order of the oldest service export in "c1". 2/3 clusters disagree. Clusters that export only IPv4 addresses: "c1". Clusters that export only IPv6 addresses: "c2".`},
		},
		{
			"IP families: one family less",
			[]Export{
				export("c3", 0, families(corev1.IPv6Protocol, corev1.IPv4Protocol)),
				export("c2", 1), export("c1", 2), export("c4", 3, families(corev1.IPv4Protocol, corev1.IPv6Protocol)),
			},
			[]string{`IPFamilyConflict: Conflicting IP families. Using "IPv6, IPv4" from all service exports, in the order of the oldest service export in "c3". 2/4 clusters disagree. Clusters that export only IPv4 addresses: "c2", "c1".`},
		},
		{
			"IP families: another order is no conflict",
			[]Export{
				export("c1", 0, families(corev1.IPv4Protocol, corev1.IPv6Protocol)),
				export("c2", 1, families(corev1.IPv6Protocol, corev1.IPv4Protocol)),
			},
			nil,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got []string
			for _, c := range Resolve(tt.exports).Conflicts {
				got = append(got, fmt.Sprintf("%s: %s", c.Reason, c.Message))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("conflicts (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOldestValuesWin(t *testing.T) {
	oldest := export("c2", 0, affine(60), ports(port("http", 80)), families(corev1.IPv6Protocol), func(e *Export) {
		e.Type = mcsv1beta1.Headless
		e.InternalTrafficPolicy = ptr.To(corev1.ServiceInternalTrafficPolicyLocal)
		e.TrafficDistribution = ptr.To("PreferSameNode")
		e.ExportedLabels = map[string]string{"l": "1"}
		e.ExportedAnnotations = map[string]string{"a": "1"}
	})
	younger := export("c1", 1, ports(port("http", 81), port("web", 80), port("dns", 53, corev1.ProtocolUDP), port("dns-tcp", 53)))
	got := Resolve([]Export{younger, oldest})
	want := Resolution{
		Spec: mcsv1beta1.ServiceImportSpec{
			Type:                  mcsv1beta1.Headless,
			Ports:                 []mcsv1beta1.ServicePort{port("http", 80), port("dns", 53, corev1.ProtocolUDP), port("dns-tcp", 53)},
			IPFamilies:            []corev1.IPFamily{corev1.IPv6Protocol, corev1.IPv4Protocol},
			SessionAffinity:       corev1.ServiceAffinityClientIP,
			SessionAffinityConfig: oldest.SessionAffinityConfig,
			InternalTrafficPolicy: ptr.To(corev1.ServiceInternalTrafficPolicyLocal),
			TrafficDistribution:   ptr.To("PreferSameNode"),
		},
		Labels:      map[string]string{"l": "1"},
		Annotations: map[string]string{"a": "1"},
		Clusters:    []string{"c1", "c2"},
		Conflicts:   got.Conflicts, // TestConflicts checks the conflicts
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("resolution (-want +got):\n%s", diff)
	}
}

func TestResultSharesNothingWithItsInput(t *testing.T) {
	e := export("c1", 0, affine(60), func(e *Export) { e.ExportedLabels = map[string]string{"a": "1"} })
	before := *e.DeepCopy()
	got := Resolve([]Export{e})
	got.Labels["a"] = "2"
	*got.Spec.SessionAffinityConfig.ClientIP.TimeoutSeconds = 1
	got.Spec.Ports[0].Port = 1
	if diff := cmp.Diff(before, e); diff != "" {
		t.Errorf("changing the result changed its input:\n%s", diff)
	}
}

func TestMessagesStayShort(t *testing.T) {
	long := export("c1", 0, func(e *Export) { e.ExportedAnnotations = map[string]string{"a": strings.Repeat("ä", 20_000)} })
	conflicts := Resolve([]Export{long, export("c2", 1)}).Conflicts
	if len(conflicts) != 1 || len(conflicts[0].Message) > 1000 || !utf8.ValidString(conflicts[0].Message) {
		t.Errorf("conflicts %v", conflicts)
	}
	long = export("c1", 0, func(e *Export) { e.ExportedAnnotations = map[string]string{"a": strings.Repeat("\x00", 20_000)} })
	if conflicts = Resolve([]Export{long, export("c2", 1)}).Conflicts; len(conflicts[0].Message) > 1000 {
		t.Errorf("the message has %d bytes because of a long quoted value", len(conflicts[0].Message))
	}
}

// For many ports the message lists the first and counts the others.
func TestPortsInAMessageAreCounted(t *testing.T) {
	var exports []Export
	for i := range 200 {
		exports = append(exports, export(fmt.Sprintf("%s%03d", strings.Repeat("c", 60), i), i, func(e *Export) {
			e.Ports = nil
			for j := range 5 {
				n := 1 + 5*i + j
				e.Ports = append(e.Ports, mcsv1beta1.ServicePort{Name: fmt.Sprintf("%s%04d", strings.Repeat("p", 11), n), Port: int32(n)})
			}
		}))
	}
	got := Resolve(exports).Conflicts[0].Message
	named := strings.Count(got, "/TCP")
	if want := fmt.Sprintf(" and %d more ports. 200/200 clusters disagree.", 1000-named); len(got) > 1000 || named < 10 || !strings.HasSuffix(got, want) {
		t.Errorf("%d bytes, %d ports: %s", len(got), named, got)
	}
}

// Pitfall 7: the oldest export comes first, whatever the order of arrival. Within the same
// second, the lowest id comes first.
func TestPrecedence(t *testing.T) {
	exports := []Export{export("c1", 2), export("c3", 1), export("c2", 1), export("c4.eu", 0)}
	if diff := cmp.Diff([]string{"c4.eu", "c2", "c3", "c1"}, Precedence(exports)); diff != "" {
		t.Error(diff)
	}
	if exports[0].ClusterID != "c1" {
		t.Error("Precedence sorted its argument")
	}
	if got := Precedence(nil); len(got) > 0 {
		t.Errorf("without exports the precedence is %v", got)
	}
}
