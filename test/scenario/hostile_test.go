package scenario

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// hostileAttempt is something that the administrator of a hostile member tries.
type hostileAttempt struct {
	name string
	// do tries it. An error is a refusal.
	do func(ctx context.Context) error
	// arrived waits until the other clusters have seen it, by something valid that came with it; nil for nothing to see.
	arrived func(t *testing.T)
	// astray says that c1 directs its own share of a service that it exports too to nowhere, which it can.
	astray bool
}

// hostile is a form of TestScenarios: whatever c1 does as an administrator in its own cluster, and on a broker that accepts all that the API does, is
// harmless: clients in all clusters lose no request to a service that c2 exports, to one that c1 and c2 export, and to Services that have nothing to
// do with Atoll, those of them included that are made right afterwards. Its lab is of no use to others after that. What its own cluster's agent publishes
// is less than what the broker can be given, so that is tried nightly; what the broker refuses is tested in test/membership, and nightly here, under
// traffic, too.
func hostile(nightly bool) form {
	dual := DefaultShape
	dual.IPFamily, dual.Nodes = lab.Dual, 2 // as some scripts need them, so that it is their lab
	return form{name: "hostile", shape: dual, run: func(t *testing.T, l *lab.Lab) {
		w := newWorld(t, l)
		count := 0
		group := func(name string, attempts []hostileAttempt) bool {
			count += len(attempts)
			return t.Run(name, func(t *testing.T) { w.run(t, attempts) })
		}
		if nightly && !group("in its own cluster", w.inItsCluster()) {
			return
		}
		// From now on c1's objects on the broker are what its administrator writes.
		planes.NoError(t, w.lab.Kill(t.Context(), "c1/agent"))
		defer w.heartbeats(t)()
		if nightly && !group("on the broker", w.onTheBroker()) {
			return
		}
		w.openBroker(t) // importers validate by themselves
		if !group("on a broker without admission", w.onTheBroker()) {
			return
		}
		t.Run("generated, on such a broker", func(t *testing.T) { w.runGenerated(t, nightly) })
		t.Logf("%d attempts", count)
		if count < 40 {
			t.Errorf("only %d attempts were made", count)
		}
	}}
}

// batch is how many attempts are made before others' clients and Services are looked at: what makes kube-proxy or a merge fail does so
// for as long as it is there, and what attempts make stays until the test ends.
const batch = 10

// run makes the attempts, one after the other, until one is not harmless.
func (w *world) run(t *testing.T, attempts []hostileAttempt) {
	for some := range slices.Chunk(attempts, batch) {
		began, astray := time.Now(), false
		for _, a := range some {
			astray = astray || a.astray
			if !t.Run(a.name, func(t *testing.T) { w.try(t, a) }) {
				return
			}
		}
		if !t.Run("and after \""+some[len(some)-1].name+"\"", func(t *testing.T) { w.undisturbed(t, began, astray) }) {
			return
		}
	}
}

// try makes one attempt, and waits until the others have seen it.
func (w *world) try(t *testing.T, a hostileAttempt) {
	began := time.Now()
	switch err := a.do(t.Context()); {
	case err != nil && !refused(err):
		t.Fatalf("it failed for another reason than a refusal: %v", err)
	case err != nil:
		t.Logf("refused: %.300v", err)
	default:
		took := time.Since(began)
		if a.arrived != nil {
			a.arrived(t)
		}
		t.Logf("accepted after %.1f s, seen after %.1f s", took.Seconds(), time.Since(began).Seconds())
	}
}

// good is the number of the next made-up service's valid port.
func (w *world) good() int32 {
	w.step++
	return 30000 + w.step%10000
}

// A madeUp service is one that only c1 exports, with a valid port and a valid endpoint.
type madeUp struct {
	name, address string
	port          int32
}

func (w *world) makeUp(family discoveryv1.AddressType) madeUp {
	port := w.good()
	m := madeUp{name: fmt.Sprintf("evil-%d", port), address: fmt.Sprintf("198.51.100.%d", 1+port%250), port: port}
	if family == ipv6 {
		m.address = fmt.Sprintf("2001:db8::%x", port)
	}
	return m
}

// importersHave waits until the importing clusters hold the port of such a service, and an endpoint of c1's where one is given.
func (w *world) importersHave(t *testing.T, m madeUp, address string) {
	t.Helper()
	w.untilImported(t, importers, sharedNamespace, m.name, func(cluster string, imported *mcsv1beta1.ServiceImport) error {
		if !slices.ContainsFunc(imported.Spec.Ports, func(p mcsv1beta1.ServicePort) bool { return p.Port == m.port }) {
			return fmt.Errorf("its ports are %+v", imported.Spec.Ports)
		}
		if have := w.addressesFrom(t, cluster, sharedNamespace, m.name, "c1"); address != "" && !slices.Contains(have, address) {
			return fmt.Errorf("its endpoints are %.500v", have)
		}
		return nil
	})
}

// recording writes a record with something wrong in it: of a service that c1 alone exports, and of one that c2 exports too. Of the
// first the valid port arrives, unless nothing of the record can be used.
func (w *world) recording(name string, nothing bool, change func(*recordSpec)) hostileAttempt {
	m := w.makeUp(ipv4)
	a := hostileAttempt{name: "a record with " + name, do: func(ctx context.Context) error {
		alone, lie := record(sharedNamespace, m.name, m.port), w.honest.DeepCopy()
		change(&alone.Spec)
		change(&lie.Spec)
		refusal := w.put(ctx, alone)
		if err := w.put(ctx, lie); err != nil && !refused(err) {
			return err
		}
		return refusal
	}}
	if !nothing {
		a.arrived = func(t *testing.T) { w.importersHave(t, m, "") }
	}
	return a
}

// slicing writes a slice with something wrong in it. The valid endpoint arrives, unless nothing of the slice can be used.
func (w *world) slicing(name string, family discoveryv1.AddressType, nothing bool, change func(*slice)) hostileAttempt {
	m := w.makeUp(family)
	a := hostileAttempt{name: "a slice with " + name, do: func(ctx context.Context) error {
		r := record(sharedNamespace, m.name, m.port)
		r.Spec.Ports = append(r.Spec.Ports, mcsv1beta1.ServicePort{Name: "bad", Protocol: corev1.ProtocolTCP, Port: 81})
		if err := w.put(ctx, r); err != nil {
			return fmt.Errorf("a valid record: %.200s", err) // no refusal: the test is wrong
		}
		s := published(family, sharedNamespace, m.name, m.address)
		change(s)
		return w.put(ctx, s)
	}}
	if !nothing {
		a.arrived = func(t *testing.T) { w.importersHave(t, m, m.address) }
	}
	return a
}

// openBroker takes everything from the broker by which it refuses what a member says of itself: its admission policies and the schema of records.
func (w *world) openBroker(t *testing.T) {
	t.Helper()
	broker := w.admin[lab.Broker]
	bindings := &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}
	if err := broker.List(t.Context(), bindings, client.MatchingLabels{names.LabelClusterset: objects.Clusterset}); err != nil || len(bindings.Items) == 0 {
		t.Fatalf("there are %d bindings of admission policies, %v", len(bindings.Items), err)
	}
	for i := range bindings.Items {
		planes.Delete(t, broker, &bindings.Items[i])
	}
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: objects.Meta("", "exportedservices.broker.atoll.dev")}
	planes.Change(t, broker, definition, func(d *apiextensionsv1.CustomResourceDefinition) {
		anything := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
		d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = anything
	})
	planes.Eventually(t, "the broker takes what it refused", func() error {
		r := record(sharedNamespace, "anything", 1)
		r.Spec.Type, r.Spec.ClusterID = "Anycast", "c2"
		return w.member.Create(t.Context(), r, client.DryRunAll)
	})
}

// Values that generated records and slices are made of: valid ones, those at the limits, and nonsense.
var (
	anyNumber   = rapid.OneOf(rapid.SampledFrom([]int32{0, -1, 1, 81, 443, 65535, 65536, 70000, 1<<31 - 1, -1 << 31}), rapid.Int32())
	anyName     = rapid.OneOf(rapid.SampledFrom([]string{"", "good", "a", "x-1", "UPPER", "a_b", "-a", "a.b", "a b", "a\nb", "ä", strings.Repeat("x", 63), strings.Repeat("x", 64), strings.Repeat("x", 5000)}), rapid.StringMatching(`[a-z]([-a-z0-9]{0,10}[a-z0-9])?`))
	anyProtocol = rapid.SampledFrom([]corev1.Protocol{"TCP", "UDP", "SCTP", "", "tcp", "QUIC", "\x00"})
	anyText     = rapid.OneOf(anyName, rapid.String())
	anyAddress  = rapid.OneOf(
		rapid.SampledFrom([]string{"198.51.100.1", "2001:db8::1", "2001:DB8::1", "127.0.0.1", "::1", "169.254.169.254", "fe80::1", "64:ff9b::7f00:1", "::ffff:10.0.0.1", "0.0.0.0", "::", "255.255.255.255", "224.0.0.1", "010.1.1.1", "1.2.3", "x", ""}),
		rapid.Custom(func(t *rapid.T) string {
			return netip.AddrFrom4([4]byte(rapid.SliceOfN(rapid.Byte(), 4, 4).Draw(t, "v4"))).String()
		}),
		rapid.Custom(func(t *rapid.T) string {
			return netip.AddrFrom16([16]byte(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(t, "v6"))).String()
		}),
	)
)

// changeRecord changes a record's specification, and leaves its valid port.
func changeRecord(t *rapid.T, s *recordSpec) {
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		switch rapid.IntRange(0, 9).Draw(t, "field") {
		case 0, 1, 2:
			s.Ports = append(s.Ports, mcsv1beta1.ServicePort{
				Name: anyName.Draw(t, "name"), Port: anyNumber.Draw(t, "port"),
				Protocol: anyProtocol.Draw(t, "protocol"), AppProtocol: rapid.Ptr(anyText, true).Draw(t, "appProtocol"),
			})
		case 3:
			s.IPFamilies = rapid.SliceOfN(rapid.SampledFrom([]corev1.IPFamily{"IPv4", "IPv6", "IPv5", ""}), 0, 3).Draw(t, "families")
		case 4:
			s.SessionAffinity = rapid.SampledFrom([]corev1.ServiceAffinity{"", "None", "ClientIP", "Cookie"}).Draw(t, "affinity")
			seconds := rapid.Ptr(anyNumber, true).Draw(t, "timeout")
			s.SessionAffinityConfig = &corev1.SessionAffinityConfig{ClientIP: &corev1.ClientIPConfig{TimeoutSeconds: seconds}}
		case 5:
			s.InternalTrafficPolicy = ptr.To(rapid.SampledFrom([]corev1.ServiceInternalTrafficPolicy{"Cluster", "Local", "", "x"}).Draw(t, "policy"))
		case 6:
			s.TrafficDistribution = ptr.To(rapid.SampledFrom([]string{"PreferClose", "PreferSameZone", "PreferSameNode", "", "x"}).Draw(t, "distribution"))
		case 7:
			s.ExportedLabels = rapid.MapOfN(anyText, anyText, 0, 5).Draw(t, "labels")
		case 8:
			s.ExportedAnnotations = rapid.MapOfN(anyText, anyText, 0, 5).Draw(t, "annotations")
		case 9:
			s.Type = rapid.SampledFrom([]mcsv1beta1.ServiceImportType{"ClusterSetIP", "Headless", "", "x"}).Draw(t, "type")
		}
	}
}

// changeSlice changes a slice, and leaves its valid port and its valid endpoint.
func changeSlice(t *rapid.T, s *slice) {
	for range rapid.IntRange(0, 3).Draw(t, "changes") {
		switch rapid.IntRange(0, 4).Draw(t, "field") {
		case 0, 1:
			s.Ports = append(s.Ports, discoveryv1.EndpointPort{
				Name: rapid.Ptr(anyName, true).Draw(t, "name"), Port: rapid.Ptr(anyNumber, true).Draw(t, "port"),
				Protocol: rapid.Ptr(anyProtocol, true).Draw(t, "protocol"), AppProtocol: rapid.Ptr(anyText, true).Draw(t, "appProtocol"),
			})
		case 2, 3:
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{
				Addresses: rapid.SliceOfN(anyAddress, 1, 2).Draw(t, "addresses"),
				Hostname:  rapid.Ptr(anyName, true).Draw(t, "hostname"), Zone: rapid.Ptr(anyText, true).Draw(t, "zone"),
				Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}, // so that requests reach the valid one
			})
		case 4:
			key := rapid.SampledFrom([]string{names.AnnotationSourceSlice, names.AnnotationRevision, names.AnnotationLastChangeTriggerTime}).Draw(t, "key")
			s.Annotations[key] = anyText.Draw(t, "value")
		}
	}
}

// generated is a made-up service of c1's, and what of it passes validation.
type generated struct {
	service string
	record  *brokerv1alpha1.ExportedService
	slice   *slice
	// recorded and sliced tell whether the broker has taken them.
	recorded, sliced bool
}

// runGenerated writes generated records and slices as c1 on a broker that takes all that the API does. What passes validation is
// accepted by the importing clusters' API servers and programmed by kube-proxy; nothing disturbs others.
func (w *world) runGenerated(t *testing.T, nightly bool) {
	t.Helper()
	limit, first := 10*time.Second, 1 // the same seeds each time
	if nightly {
		limit, first = time.Minute, int(time.Now().Unix())
	}
	pods := &corev1.PodList{}
	if err := w.admin["c1"].List(t.Context(), pods, client.InNamespace(sharedNamespace), client.MatchingLabels{"app": "web"}); err != nil || len(pods.Items) == 0 {
		t.Fatalf("c1 has %d pods, %v", len(pods.Items), err)
	}
	address := pods.Items[0].Status.PodIP
	taken, reached := 0, 0
	for began, seed := time.Now(), first; time.Since(began) < limit; seed += batch {
		since := time.Now()
		var some []generated
		for i := range batch {
			g := w.generate(t, seed+i, address)
			if g.recorded {
				taken++
			}
			some = append(some, g)
		}
		for _, g := range some {
			if w.checkGenerated(t, g, address) {
				reached++
			}
		}
		if w.undisturbed(t, since, false); t.Failed() {
			t.Fatalf("after seeds %d to %d", seed, seed+batch-1)
		}
	}
	t.Logf("seeds from %d: the broker took %d records; %d services were reached", first, taken, reached)
	if reached == 0 {
		t.Error("nothing that was generated was valid")
	}
}

// generate writes a record and a slice.
func (w *world) generate(t *testing.T, seed int, address string) generated {
	g := generated{service: fmt.Sprintf("evil-generated-%d", seed)}
	g.record = rapid.Custom(func(t *rapid.T) *brokerv1alpha1.ExportedService {
		r := record(sharedNamespace, g.service, 80)
		changeRecord(t, &r.Spec)
		return r
	}).Example(seed)
	g.slice = rapid.Custom(func(t *rapid.T) *slice {
		s := published(ipv4, sharedNamespace, g.service, address)
		changeSlice(t, s)
		return s
	}).Example(seed)
	for object, done := range map[client.Object]*bool{g.record.DeepCopy(): &g.recorded, g.slice.DeepCopy(): &g.sliced} {
		err := w.put(t.Context(), object)
		if err != nil && !refused(err) {
			t.Fatalf("seed %d: %v", seed, err)
		}
		*done = err == nil
	}
	return g
}

// checkGenerated checks that the importing clusters have the valid parts, and that a request reaches the service where it can.
func (w *world) checkGenerated(t *testing.T, g generated, address string) (reached bool) {
	t.Helper()
	if !g.recorded || validation.IdentityProblem(g.record.Spec) != "" {
		return false
	}
	spec, _ := validation.Record(g.record.Spec)
	passed := g.slice.DeepCopy()
	validation.CleanSlice(passed)
	// A slice whose name does not agree with what it says of its source is ignored as a whole, and so is one without a revision.
	source := passed.Annotations[names.AnnotationSourceSlice]
	agrees := g.slice.Name == names.BrokerSlice("c1", sharedNamespace, source)
	endpoint := g.sliced && agrees && layout.Revision(passed) > 0 && slices.Contains(spec.IPFamilies, corev1.IPv4Protocol) &&
		slices.ContainsFunc(passed.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Addresses[0] == address })
	policy := ptr.Deref(spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	answers := endpoint && spec.Type == mcsv1beta1.ClusterSetIP && policy == corev1.ServiceInternalTrafficPolicyCluster && hasPort(spec.Ports, passed.Ports)
	w.untilImported(t, importers, sharedNamespace, g.service, func(cluster string, imported *mcsv1beta1.ServiceImport) error {
		if len(imported.Spec.Ports) != len(spec.Ports) || imported.Spec.Type != spec.Type {
			return fmt.Errorf("it is %+v, and the record %+v", imported.Spec, spec)
		}
		if have := w.addressesFrom(t, cluster, sharedNamespace, g.service, "c1"); endpoint && !slices.Contains(have, address) {
			return fmt.Errorf("its endpoints are %v", have)
		}
		if !answers {
			return nil
		}
		i := slices.IndexFunc(imported.Spec.IPs, func(ip string) bool { return !strings.Contains(ip, ":") })
		if i < 0 {
			return fmt.Errorf("it has the addresses %v", imported.Spec.IPs)
		}
		by, err := w.request(t.Context(), cluster, imported.Spec.IPs[i], time.Second)
		if err == nil && by != "c1" {
			err = fmt.Errorf("%s has answered", by)
		}
		reached = err == nil
		return err
	})
	return reached
}

// hasPort tells whether the valid port is left in both.
func hasPort(record []mcsv1beta1.ServicePort, endpoints []discoveryv1.EndpointPort) bool {
	return slices.ContainsFunc(record, func(p mcsv1beta1.ServicePort) bool {
		return p.Name == "good" && p.Port == 80 && p.Protocol == corev1.ProtocolTCP
	}) &&
		slices.ContainsFunc(endpoints, func(p discoveryv1.EndpointPort) bool {
			return ptr.Deref(p.Name, "") == "good" && ptr.Deref(p.Port, 0) == 8080
		})
}
