package scenario

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
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
// do with Atoll, those of them included that are made right afterwards. Its lab is of no use to others after that. What the broker refuses is tested
// in test/membership, and nightly here, under traffic, too.
func hostile(nightly bool) form {
	return form{name: "hostile", shape: Shape{Clusters: 3, Nodes: 1, IPFamily: Dual}, run: func(t *testing.T, l *lab.Lab) {
		w := newWorld(t, l)
		count := 0
		group := func(name string, attempts []hostileAttempt) bool {
			count += len(attempts)
			return t.Run(name, func(t *testing.T) { w.run(t, attempts) })
		}
		if !group("in its own cluster", w.inItsCluster()) {
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
