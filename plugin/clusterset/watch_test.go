package clusterset

import (
	"testing"

	"github.com/miekg/dns"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pitfall 26: incomplete objects would cause wrong responses, so no records are built from
// them.
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

// A relist without changes causes no work. After a lost connection the list contains all
// objects.
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

// An import that Atoll manages is answered from Atoll's slices only, even if slices of another
// implementation exist. When the manager of an import changes, the responses change to the new
// manager's slices.
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
