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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/lab"
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
		if err := w.lab.Kill(t.Context(), "c1/agent"); err != nil {
			t.Fatal(err)
		}
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

// importersHave waits until the importing clusters hold a port of a service, and an endpoint of c1's where one is given.
func (w *world) importersHave(t *testing.T, service string, port int32, address string) {
	t.Helper()
	for _, cluster := range importers {
		planes.Eventually(t, fmt.Sprintf("%s imports what is valid of %s", cluster, service), func() error {
			imported := &mcsv1beta1.ServiceImport{}
			if err := w.admin[cluster].Get(t.Context(), client.ObjectKey{Namespace: sharedNamespace, Name: service}, imported); err != nil {
				return err
			}
			if !slices.ContainsFunc(imported.Spec.Ports, func(p mcsv1beta1.ServicePort) bool { return p.Port == port }) {
				return fmt.Errorf("its ports are %+v", imported.Spec.Ports)
			}
			if have := w.addressesFrom(t, cluster, sharedNamespace, service, "c1"); address != "" && !slices.Contains(have, address) {
				return fmt.Errorf("its endpoints are %.500v", have)
			}
			return nil
		})
	}
}

// standing is c1's honest record of the service that c2 exports too, as its agent wrote it.
func (w *world) standing() *brokerv1alpha1.ExportedService { return w.honest.DeepCopy() }

// recording writes a record with something wrong in it: of a service that c1 alone exports, and of one that c2 exports too. Of the
// first the valid port arrives, unless nothing of the record can be used.
func (w *world) recording(name string, nothing bool, change func(*brokerv1alpha1.ExportedServiceSpec)) hostileAttempt {
	var service string
	var port int32
	var alone error
	return hostileAttempt{
		name: "a record with " + name,
		do: func(ctx context.Context) error {
			port = w.good()
			service = fmt.Sprintf("evil-%d", port)
			r := w.record(sharedNamespace, service, port)
			change(&r.Spec)
			if alone = w.put(ctx, r); alone != nil && !refused(alone) {
				return alone
			}
			lie := w.standing()
			change(&lie.Spec)
			if err := w.put(ctx, lie); err != nil {
				if !refused(err) {
					return err
				}
				return alone
			}
			return nil
		},
		arrived: func(t *testing.T) {
			if alone == nil && !nothing {
				w.importersHave(t, service, port, "")
			}
		},
	}
}

// slicing writes a slice with something wrong in it. The valid endpoint arrives, unless nothing of the slice can be used.
func (w *world) slicing(name string, family discoveryv1.AddressType, nothing bool, change func(*discoveryv1.EndpointSlice)) hostileAttempt {
	var service, address string
	var port int32
	return hostileAttempt{
		name: "a slice with " + name,
		do: func(ctx context.Context) error {
			port = w.good()
			service = fmt.Sprintf("evil-%d", port)
			address = fmt.Sprintf("198.51.100.%d", 1+port%250)
			if family == discoveryv1.AddressTypeIPv6 {
				address = fmt.Sprintf("2001:db8::%x", port)
			}
			r := w.record(sharedNamespace, service, port)
			r.Spec.Ports = append(r.Spec.Ports, mcsv1beta1.ServicePort{Name: "bad", Protocol: corev1.ProtocolTCP, Port: 81})
			if err := w.put(ctx, r); err != nil {
				return fmt.Errorf("a valid record: %.200s", err) // no refusal: the test is wrong
			}
			s := w.slice(family, sharedNamespace, service, 8080, address)
			change(s)
			return w.put(ctx, s)
		},
		arrived: func(t *testing.T) {
			if !nothing {
				w.importersHave(t, service, port, address)
			}
		},
	}
}

// openBroker takes everything from the broker by which it refuses what a member says of itself: its admission policies and the schema of records.
func (w *world) openBroker(t *testing.T) {
	t.Helper()
	broker := w.admin[lab.Broker]
	bindings := &admissionregistrationv1.ValidatingAdmissionPolicyBindingList{}
	if err := broker.List(t.Context(), bindings, client.MatchingLabels{"atoll.dev/clusterset": place}); err != nil || len(bindings.Items) == 0 {
		t.Fatalf("there are %d bindings of admission policies, %v", len(bindings.Items), err)
	}
	definition := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: metav1.ObjectMeta{Name: "exportedservices.broker.atoll.dev"}}
	if err := broker.Get(t.Context(), client.ObjectKeyFromObject(definition), definition); err != nil {
		t.Fatal(err)
	}
	for _, b := range bindings.Items {
		if err := broker.Delete(t.Context(), b.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	open := definition.DeepCopy()
	open.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"] = apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: ptr.To(true)}
	if err := broker.Update(t.Context(), open); err != nil {
		t.Fatal(err)
	}
	planes.Eventually(t, "the broker takes what it refused", func() error {
		r := w.record(sharedNamespace, "anything", 1)
		r.Spec.Type, r.Spec.ClusterID = "Anycast", "c2"
		return w.member.Create(t.Context(), r, client.DryRunAll)
	})
}
