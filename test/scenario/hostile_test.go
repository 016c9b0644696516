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

// hostileAttempt is an attack by the administrator of a hostile member.
type hostileAttempt struct {
	name string
	// do makes the attempt. An error is a refusal.
	do func(ctx context.Context) error
	// arrived waits until the other clusters have processed the attempt, by a valid change that
	// came with it; nil if no change is visible.
	arrived func(t *testing.T)
	// astray allows that c1 sends its own share of a shared service's requests nowhere.
	astray bool
}

// hostile is a form of TestScenarios. The administrator of c1 attacks from c1's cluster, and on
// a broker that accepts everything its API allows. Clients in all clusters must lose no
// request: neither to a service that c2 exports, nor to a service of c1 and c2, nor to Services
// that Atoll does not manage, including new Services. Afterwards other scenarios cannot use the
// lab. Attempts on the broker run nightly, because they include everything that c1's agent can
// publish. test/membership tests the broker's admission; the nightly form also tests it under
// traffic.
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
		// From now on c1's administrator writes c1's objects on the broker.
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

// batch is the number of attempts between two checks of the other clusters' clients and
// Services. Effects on kube-proxy or on a merge last as long as their cause, and the objects of
// attempts stay until the test ends.
const batch = 10

// run makes the attempts in order, until an attempt does harm.
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

// try makes an attempt and waits until the other clusters have processed it.
func (w *world) try(t *testing.T, a hostileAttempt) {
	began := time.Now()
	switch err := a.do(t.Context()); {
	case err != nil && !refused(err):
		t.Fatalf("the attempt failed, but not by a refusal: %v", err)
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

// A madeUp service is exported only by c1, with a valid port and a valid endpoint.
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

// importersHave waits until the importers have the service's port, and an endpoint of c1 if
// address is set.
func (w *world) importersHave(t *testing.T, m madeUp, address string) {
	t.Helper()
	w.untilImported(t, importers, sharedNamespace, m.name, func(cluster string, imported *mcsv1beta1.ServiceImport) error {
		if !slices.ContainsFunc(imported.Spec.Ports, func(p mcsv1beta1.ServicePort) bool { return p.Port == m.port }) {
			return fmt.Errorf("the import has the ports %+v", imported.Spec.Ports)
		}
		if have := w.addressesFrom(t, cluster, sharedNamespace, m.name, "c1"); address != "" && !slices.Contains(have, address) {
			return fmt.Errorf("its endpoints are %.500v", have)
		}
		return nil
	})
}

// recording writes invalid records of two services: one that only c1 exports, and one that c2
// exports too. The valid port of the first service arrives, unless the whole record is invalid.
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

// slicing writes an invalid slice. The valid endpoint arrives, unless the whole slice is
// invalid.
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

// openBroker removes the broker's defenses: its admission policies and the schema of records.
func (w *world) openBroker(t *testing.T) {
	t.Helper()
	broker := w.admin[lab.Broker]
	bindings := &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}
	if err := broker.List(t.Context(), bindings, client.MatchingLabels{names.LabelClusterset: objects.Clusterset}); err != nil || len(bindings.Items) == 0 {
		t.Fatalf("found %d bindings of admission policies, error %v", len(bindings.Items), err)
	}
	for i := range bindings.Items {
		planes.Delete(t, broker, &bindings.Items[i])
	}
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: objects.Meta("", "exportedservices.broker.atoll.dev")}
	planes.Change(t, broker, definition, func(d *apiextensionsv1.CustomResourceDefinition) {
		anything := apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
		d.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = anything
	})
	planes.Eventually(t, "the broker accepts invalid objects", func() error {
		r := record(sharedNamespace, "anything", 1)
		r.Spec.Type, r.Spec.ClusterID = "Anycast", "c2"
		return w.member.Create(t.Context(), r, client.DryRunAll)
	})
}

// Generated records and slices consist of these values: valid values, values at the limits, and
// invalid values.
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

// changeRecord changes a record's spec and keeps its valid port.
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

// changeSlice changes a slice and keeps its valid port and endpoint.
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
				Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(false)}, // requests reach only the valid endpoint
			})
		case 4:
			key := rapid.SampledFrom([]string{names.AnnotationSourceSlice, names.AnnotationRevision, names.AnnotationLastChangeTriggerTime}).Draw(t, "key")
			s.Annotations[key] = anyText.Draw(t, "value")
		}
	}
}

// generated is a random service of c1, with the valid parts of its objects.
type generated struct {
	service string
	record  *brokerv1alpha1.ExportedService
	slice   *slice
	// recorded and sliced report whether the broker accepted the record and the slice.
	recorded, sliced bool
}

// runGenerated writes random records and slices as c1 on a broker that accepts everything its
// API allows. The importers' API servers accept everything that passes Atoll's validation,
// kube-proxy programs it, and other services are not disturbed.
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
		t.Error("no generated service was valid")
	}
}

// generate writes a random record and slice.
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

// checkGenerated checks that the importers have the valid parts of a service, and that a
// request reaches the service if it has a valid endpoint.
func (w *world) checkGenerated(t *testing.T, g generated, address string) (reached bool) {
	t.Helper()
	if !g.recorded || validation.IdentityProblem(g.record.Spec) != "" {
		return false
	}
	spec, _ := validation.Record(g.record.Spec)
	passed := g.slice.DeepCopy()
	validation.CleanSlice(passed)
	// Importers ignore a slice without a revision, or with a name that does not match its
	// source.
	source := passed.Annotations[names.AnnotationSourceSlice]
	agrees := g.slice.Name == names.BrokerSlice("c1", sharedNamespace, source)
	endpoint := g.sliced && agrees && layout.Revision(passed) > 0 && slices.Contains(spec.IPFamilies, corev1.IPv4Protocol) &&
		slices.ContainsFunc(passed.Endpoints, func(e discoveryv1.Endpoint) bool { return e.Addresses[0] == address })
	policy := ptr.Deref(spec.InternalTrafficPolicy, corev1.ServiceInternalTrafficPolicyCluster)
	answers := endpoint && spec.Type == mcsv1beta1.ClusterSetIP && policy == corev1.ServiceInternalTrafficPolicyCluster && hasPort(spec.Ports, passed.Ports)
	w.untilImported(t, importers, sharedNamespace, g.service, func(cluster string, imported *mcsv1beta1.ServiceImport) error {
		if len(imported.Spec.Ports) != len(spec.Ports) || imported.Spec.Type != spec.Type {
			return fmt.Errorf("the import is %+v, and the record %+v", imported.Spec, spec)
		}
		if have := w.addressesFrom(t, cluster, sharedNamespace, g.service, "c1"); endpoint && !slices.Contains(have, address) {
			return fmt.Errorf("its endpoints are %v", have)
		}
		if !answers {
			return nil
		}
		i := slices.IndexFunc(imported.Spec.IPs, func(ip string) bool { return !strings.Contains(ip, ":") })
		if i < 0 {
			return fmt.Errorf("the import has the addresses %v", imported.Spec.IPs)
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

// hasPort reports whether both lists still contain the valid port.
func hasPort(record []mcsv1beta1.ServicePort, endpoints []discoveryv1.EndpointPort) bool {
	return slices.ContainsFunc(record, func(p mcsv1beta1.ServicePort) bool {
		return p.Name == "good" && p.Port == 80 && p.Protocol == corev1.ProtocolTCP
	}) &&
		slices.ContainsFunc(endpoints, func(p discoveryv1.EndpointPort) bool {
			return ptr.Deref(p.Name, "") == "good" && ptr.Deref(p.Port, 0) == 8080
		})
}
