package clusterset

import (
	"context"
	"testing"
	"time"

	"github.com/miekg/dns"
	"go.uber.org/goleak"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	fakesource "k8s.io/client-go/tools/cache/testing"
)

// Pitfall 26: nothing is answered before both kinds are listed; then every change is.
func TestWatch(t *testing.T) {
	defer goleak.VerifyNone(t)
	imports, slices := fakesource.NewFakeControllerSource(), fakesource.NewFakeControllerSource()
	defer imports.Shutdown()
	defer slices.Shutdown()
	pets := headless("shop", "pets", "http")
	imports.Add(vip("shop", "web", "10.42.42.42"))
	imports.Add(pets)
	slices.Add(slice(pets, "c1", "a", "10.0.0.1"))

	c := newClusterset(options{zones: []string{testZone}, ttl: defaultTTL})
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		c.watch(ctx, imports, slices)
	}()
	defer func() {
		cancel()
		<-ended
	}()
	select {
	case <-c.synced:
	case <-time.After(10 * time.Second):
		t.Fatal("not synced after 10 s")
	}
	f := &fixture{Clusterset: c}
	// What was there before is answered at once, without waiting.
	if m := f.ask(t, "pets.shop.svc."+testZone, dns.TypeA); len(m.Answer) != 1 {
		t.Errorf("after the sync: %v", m)
	}
	if serial := c.serial.Load(); serial == 0 {
		t.Error("the SOA's serial is 0")
	}

	slices.Modify(slice(pets, "c1", "a", "10.0.0.1", "10.0.0.2"))
	f.eventually(t, "pets.shop.svc."+testZone, dns.RcodeSuccess, 2)
	slices.Delete(slice(pets, "c1", "a"))
	f.eventually(t, "pets.shop.svc."+testZone, dns.RcodeNameError, 0)
	imports.Modify(vip("shop", "web", "10.42.42.42", "10.42.42.43"))
	f.eventually(t, "web.shop.svc."+testZone, dns.RcodeSuccess, 2)
	imports.Delete(vip("shop", "web"))
	f.eventually(t, "web.shop.svc."+testZone, dns.RcodeNameError, 0)
}

// Pitfall 26: half of the objects make wrong answers, so that none are made of them.
func TestHalfListed(t *testing.T) {
	o := newObjects()
	importStore(o).Add(vip("shop", "web", "10.42.42.42"))
	if changes, ok := o.take(); ok || changes.services != nil {
		t.Errorf("answers are made of %v before anything is listed", changes)
	}
	importStore(o).Replace(nil, "")
	if _, ok := o.take(); ok {
		t.Error("answers are made before slices are listed")
	}
	sliceStore(o).Replace(nil, "")
	if changes, ok := o.take(); !ok || len(changes.services) != 1 || changes.services[0].from != nil {
		t.Errorf("got %v, want the one service that is gone", changes)
	}
}

// What changes no answer costs nothing: a list after a lost connection holds
// everything there is.
func TestRelistTouchesOnlyWhatChanged(t *testing.T) {
	pets := headless("shop", "pets", "http")
	f := newFixture(testZone).with(vip("shop", "web", "10.42.42.42"), pets, slice(pets, "c1", "a", "10.0.0.1"))
	f.imports.Replace([]any{vip("shop", "web", "10.42.42.42"), headless("shop", "pets", "http")}, "")
	f.slices.Replace([]any{slice(pets, "c1", "a", "10.0.0.1")}, "")
	if changes, _ := f.known.take(); len(changes.services) != 0 {
		t.Errorf("%d services were touched", len(changes.services))
	}
	f.slices.Replace([]any{slice(pets, "c1", "a", "10.0.0.2")}, "")
	if changes, _ := f.known.take(); len(changes.services) != 1 || changes.services[0].key.name != "pets" {
		t.Errorf("touched %v", changes)
	}
}

// While another implementation's slices are there too, an import of Atoll's is answered from Atoll's alone, and one
// that changes hands from those of who has it then.
func TestSlicesOfWhoHasTheImport(t *testing.T) {
	const manager = "endpointslice.kubernetes.io/managed-by"
	pets := headless("shop", "pets", "http")
	own, theirs := slice(pets, "c1", "pets-x.c1", "10.0.0.1"), slice(pets, "c1", "pets-x-shop-c1", "10.0.0.1", "10.0.0.9")
	own.Labels[manager], theirs.Labels[manager] = "agent.atoll.dev", "lighthouse-agent.submariner.io"
	f := newFixture(testZone).with(pets, theirs)
	expect := func(when string, records int) {
		t.Helper()
		f.update()
		if m := f.ask(t, "pets.shop.svc."+testZone, dns.TypeA); len(m.Answer) != records {
			t.Errorf("%s: %d addresses, want %d: %v", when, len(m.Answer), records, m.Answer)
		}
	}
	expect("theirs", 2)
	ours := pets.DeepCopy()
	ours.Labels = map[string]string{"atoll.dev/managed-by": "agent.atoll.dev"}
	f.imports.Update(ours)
	expect("handed over, before Atoll's slices are there", 2)
	f.slices.Update(own)
	ready := ours.DeepCopy()
	ready.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionTrue}}
	f.imports.Update(ready)
	expect("handed over", 1)
	f.slices.Delete(theirs)
	expect("theirs are gone", 1)
	f.slices.Update(theirs)
	f.imports.Update(pets)
	expect("handed back", 2)
}

// eventually asks until the answer has that many records.
func (f *fixture) eventually(t *testing.T, qname string, rcode, records int) {
	t.Helper()
	deadline := time.NewTimer(10 * time.Second)
	defer deadline.Stop()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for {
		m := f.ask(t, qname, dns.TypeA)
		if m.Rcode == rcode && len(m.Answer) == records {
			return
		}
		select {
		case <-deadline.C:
			t.Fatalf("still %v, want %s with %d records", m, dns.RcodeToString[rcode], records)
		case <-tick.C:
		}
	}
}
