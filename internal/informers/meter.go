package informers

import (
	"context"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/quota"
)

// Metered is by what copies are bounded that hold objects of several members. A copy holds of each as much as its budget allows,
// and where a member is cut off asks the API server for the others' objects alone: then nothing of what it writes comes.
type Metered struct {
	Budget *quota.Budget
	// Label names an object's member.
	Label string
	// Exempt is the member that is not bounded, the own one.
	Exempt string
}

// remake is how often a copy that lacks something looks whether it may be made anew with that.
const remake = 10 * time.Second

// meter is what one copy has of a budget. A nil one bounds nothing.
type meter struct {
	*Metered
	store   func() []any // of the copy
	account *quota.Account
	begun   sync.Once
}

// newMeter returns nil where nothing is bounded.
func (t *Tap) newMeter(store func() []any) *meter {
	if t == nil || t.root().Metered == nil {
		return nil
	}
	return &meter{Metered: t.root().Metered, store: store}
}

func (t *Tap) root() *Tap {
	for t.parent != nil {
		t = t.parent
	}
	return t
}

// begin begins the copy, which goes with ctx, and then a list, and returns which members are not to be listed.
func (m *meter) begin(ctx context.Context) (without []string) {
	if m == nil {
		return nil
	}
	m.begun.Do(func() {
		m.account = m.Budget.NewAccount()
		context.AfterFunc(ctx, m.account.Close)
	})
	return m.account.Begin()
}

// without returns which members are not to be watched.
func (m *meter) without() []string {
	if m == nil {
		return nil
	}
	return m.account.Without()
}

// selecting returns options that select what others do, but for some members'.
func (m *meter) selecting(o *client.ListOptions, without []string) (*client.ListOptions, error) {
	if len(without) == 0 {
		return o, nil
	}
	not, err := labels.NewRequirement(m.Label, selection.NotIn, without)
	if err != nil {
		return nil, err
	}
	if o.LabelSelector == nil {
		o.LabelSelector = labels.Everything()
	}
	o.LabelSelector = o.LabelSelector.Add(*not)
	return o, nil
}

// errWithoutList has a copy be made anew by a list, to which what is held of members that are cut off is added.
func errWithoutList() error { return &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "List"}} }

// list leaves out of a page of a list what there is no room for, and ends the last one with what is held of members that were
// not listed.
func (m *meter) list(list client.ObjectList, without []string) error {
	if m == nil {
		return nil
	}
	items, err := meta.ExtractList(list)
	if err != nil {
		return err
	}
	kept := make([]runtime.Object, 0, len(items))
	for _, item := range items {
		if m.listed(item.(client.Object)) {
			kept = append(kept, item)
		}
	}
	changed := len(kept) < len(items)
	if list.GetContinue() == "" {
		if len(without) > 0 {
			for _, held := range m.held(without) {
				kept, changed = append(kept, held), true
			}
		}
		m.account.End()
	}
	if changed {
		return meta.SetList(list, kept)
	}
	return nil
}

// held returns copies of what is held of members.
func (m *meter) held(of []string) []runtime.Object {
	members := map[string]bool{}
	for _, member := range of {
		members[member] = true
	}
	var held []runtime.Object
	for _, o := range m.store() {
		if object := o.(client.Object); members[object.GetLabels()[m.Label]] {
			held = append(held, object.DeepCopyObject())
		}
	}
	return held
}

// member returns whose an object is, "" for one that is not bounded.
func (m *meter) member(o client.Object) string {
	if id := o.GetLabels()[m.Label]; id != m.Exempt {
		return id
	}
	return ""
}

// listed tells whether the copy is to have an object of a list.
func (m *meter) listed(o client.Object) bool {
	if m == nil {
		return true
	}
	member := m.member(o)
	return member == "" || m.account.Listed(member, o.GetName(), Size(o))
}

func (m *meter) end() {
	if m != nil {
		m.account.End()
	}
}

// changed tells whether the copy is to have a change, and whether its member is cut off.
func (m *meter) changed(what watch.EventType, o client.Object) (ok, cutOff bool) {
	if m == nil {
		return true, false
	}
	member := m.member(o)
	if member == "" {
		return true, false
	}
	size := 0
	if what != watch.Deleted {
		size = Size(o)
	}
	return m.account.Changed(member, o.GetName(), size, ChangeCost(o))
}

// incomplete tells whether the copy is to be made anew, for what a member had left out of it.
func (m *meter) incomplete() bool { return m != nil && m.account.Incomplete() }

// What objects and their parts take up in memory, about.
const (
	objectSize   = 700
	endpointSize = 220
	portSize     = 96
	entrySize    = 40
)

// Size returns about how many bytes an object of the broker's takes up in memory.
func Size(o client.Object) int {
	size := objectSize + len(o.GetName()) + sizeOf(o.GetLabels()) + sizeOf(o.GetAnnotations())
	switch o := o.(type) {
	case *discoveryv1.EndpointSlice:
		size += portSize * len(o.Ports)
		for i := range o.Endpoints {
			size += endpointSize + 24*len(o.Endpoints[i].Addresses) + sizeOf(o.Endpoints[i].DeprecatedTopology)
		}
	case *brokerv1alpha1.ExportedService:
		size += portSize*len(o.Spec.Ports) + sizeOf(o.Spec.ExportedLabels) + sizeOf(o.Spec.ExportedAnnotations)
	case *brokerv1alpha1.MemberCluster:
		for _, cidr := range append(o.Spec.PodCIDRs, o.Spec.ServiceCIDRs...) {
			size += entrySize + len(cidr)
		}
		size += 2 * entrySize * len(o.Spec.OverBudget)
	}
	return size
}

const (
	// pairCost is what it costs importers that kube-proxies program one port of one endpoint.
	pairCost = 40
	// endpointsOfRecord is for how many endpoints the ports of a record count: they are in other objects.
	endpointsOfRecord = 100
)

// ChangeCost returns about how much work a change of an object gives importers, in bytes of memory that would cost as much. What they
// ignore of an object that is too large costs no more than the rest.
func ChangeCost(o client.Object) int {
	cost := Size(o)
	switch o := o.(type) {
	case *discoveryv1.EndpointSlice:
		cost += pairCost * min(len(o.Ports)*len(o.Endpoints), validation.MaxPairs)
	case *brokerv1alpha1.ExportedService:
		cost += pairCost * min(len(o.Spec.Ports), validation.MaxPorts) * endpointsOfRecord
	}
	return cost
}

func sizeOf(m map[string]string) (size int) {
	for key, value := range m {
		size += entrySize + len(key) + len(value)
	}
	return size
}
