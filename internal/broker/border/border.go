// Package border decides which objects of other members an importing cluster caches, and how many of each member.
//
// Border.Transform is the cache's transform: the cache never holds anything invalid, so controllers do not validate. A
// transform cannot drop an object. An object that must not be used becomes a refused stub with the reason. An object
// whose service is not wanted here, or an EndpointSlice that exceeds its member's budget, becomes a stub with its
// identity and revision. State reads a cached object's state. Pace delays members' too frequent changes.
package border

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/printable"
	"github.com/atoll-mcs/atoll/internal/mcs/revision"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// State is how much of an object the cache holds.
type State string

const (
	// Full is an object with all of its valid content.
	Full State = "Full"
	// Stub is an object without its content, because its service was not wanted when it was read.
	Stub State = "Stub"
	// OverLimit is an EndpointSlice without its content, because its member's slices exceed their budget.
	OverLimit State = "OverLimit"
	// Refused is an object that must not be used.
	Refused State = "Refused"
	// Withdrawn is an object that its owner has ended.
	Withdrawn State = "Withdrawn"
)

// annotation marks objects that the transform has seen, only in the cache: this process's mark, the state, and a refused
// object's reason.
const annotation = "atoll.dev/border"

// Border decides what a cluster accepts of other members' objects. Create one with New.
type Border struct {
	self   names.ClusterID
	wants  func(service types.NamespacedName) bool // the hub wants all records, whatever it says
	budget *Budget
	// mark is random: a member could forge a fixed one. marks has the annotations of states without a detail: most objects
	// share one.
	mark  string
	marks map[State]string
}

// New returns a cluster's border. wants reports whether a service is wanted. The hub needs all records, but only the endpoints of
// some services.
func New(self names.ClusterID, wants func(service types.NamespacedName) bool, budget *Budget) *Border {
	b := &Border{self: self, wants: wants, budget: budget, mark: rand.Text(), marks: map[State]string{}}
	for _, state := range []State{Full, Stub, OverLimit, Refused, Withdrawn} {
		b.marks[state] = b.mark + " " + string(state)
	}
	return b
}

// Transform is a cache transform (client-go's TransformFunc). It changes and returns the object, and never fails: an
// error would block the first list forever. It is idempotent, because first lists run it twice.
func (b *Border) Transform(object any) (any, error) {
	b.transform(object, false)
	return object, nil
}

// Read is Transform for an object that was read without the cache. It returns false if the cache has got another version of an
// EndpointSlice since Begin: what was read does not count then.
func (b *Border) Read(object any) (current bool) { return b.transform(object, true) }

// Begin announces a Read of a slice, by its name on the broker, until end is called.
func (b *Border) Begin(slice string) (end func()) { return b.budget.Begin(slice) }

func (b *Border) transform(object any, live bool) (current bool) {
	o, ok := object.(metav1.Object)
	if !ok {
		return true
	}
	o.SetManagedFields(nil)
	if mark, _, _ := strings.Cut(o.GetAnnotations()[annotation], " "); mark == b.mark {
		return true
	}
	switch o := object.(type) {
	case *discoveryv1.EndpointSlice:
		return b.slice(o, live)
	case *brokerv1alpha1.ExportedService:
		b.record(o)
	case *brokerv1alpha1.MemberCluster:
		b.member(o)
	}
	return true
}

// ForgetDeleted frees the budget of a slice that the cache no longer has, which Transform does not see. It is a handler for
// kit.Follow.
func (b *Border) ForgetDeleted(_ context.Context, e kit.Event[*discoveryv1.EndpointSlice]) {
	if e.Deleted() {
		b.Forget(e.Old.Name)
	}
}

// Keep counts the content of a slice, by its name on the broker, that is kept although the cache no longer has it. It
// reduces the room for others. Release frees it.
func (b *Border) Keep(slice kit.Scope, name string, content *discoveryv1.EndpointSlice) {
	b.budget.Keep(slice, "kept "+name, SizeOf(content))
}

// Release is described at Keep.
func (b *Border) Release(name string) { b.budget.Forget("kept "+name, false) }

// Forget frees the budget of a slice, by its name on the broker, whose content is not held any more.
func (b *Border) Forget(slice string) { b.budget.Forget(slice, false) }

// Waits reports whether a slice, by its name on the broker, waits for room in its member's budget.
func (b *Border) Waits(slice string) bool { return b.budget.Waits(slice) }

// State returns the state of an object that Transform has seen, and a refused object's reason.
func (b *Border) State(o metav1.Object) (state State, detail string) {
	if b.isOwn(o) {
		return finished(o), ""
	}
	rest, ours := strings.CutPrefix(o.GetAnnotations()[annotation], b.mark+" ")
	if !ours {
		return Refused, "the object is not from the program's cache"
	}
	text, detail, _ := strings.Cut(rest, " ")
	return State(text), detail
}

// isOwn reports whether an object is this cluster's own. Transform leaves such objects unmarked: they are written back.
func (b *Border) isOwn(o metav1.Object) bool {
	switch o := o.(type) {
	case *brokerv1alpha1.ExportedService:
		return o.Spec.ClusterID == b.self.String()
	case *brokerv1alpha1.MemberCluster:
		return o.Spec.ClusterID == b.self.String()
	}
	return o.GetLabels()[names.LabelSourceCluster] == b.self.String()
}

// set sets an object's state.
func (b *Border) set(o metav1.Object, state State, detail string) {
	annotations := o.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	if annotations[annotation] = b.marks[state]; detail != "" {
		annotations[annotation] = b.mark + " " + string(state) + " " + detail
	}
	o.SetAnnotations(annotations)
}

// refuse reduces an object's metadata to its identity.
func (b *Border) refuse(o metav1.Object, reason string) {
	o.SetLabels(nil)
	o.SetAnnotations(nil)
	o.SetOwnerReferences(nil)
	o.SetFinalizers(nil)
	b.set(o, Refused, reason)
}

func finished(o metav1.Object) State {
	if o.GetAnnotations()[names.AnnotationState] == names.StateWithdrawn {
		return Withdrawn
	}
	return Full
}

// member validates a MemberCluster, except this cluster's own, which stays as it is for comparison.
func (b *Border) member(member *brokerv1alpha1.MemberCluster) {
	if id, err := names.ParseClusterID(member.Spec.ClusterID); err != nil || member.Name != id.String() {
		claimed := member.Spec.ClusterID
		member.Spec = brokerv1alpha1.MemberClusterSpec{}
		b.refuse(member, fmt.Sprintf("the MemberCluster names another cluster, %.70q", claimed))
		return
	}
	if member.Name != b.self.String() {
		member.Spec.OverBudget = validation.OverBudget(member.Spec.OverBudget)
		member.Spec.Properties, _ = validation.Properties(member.Spec.Properties)
		for _, text := range []*string{&member.Spec.ClusterUID, &member.Spec.KubernetesVersion, &member.Spec.AgentVersion, &member.Spec.Region} {
			*text = printable.Line(*text)
		}
		b.set(member, Full, "")
	}
}

// record validates a record, except this cluster's own, which stays as it is for comparison.
func (b *Border) record(record *brokerv1alpha1.ExportedService) {
	spec := record.Spec
	cluster := names.ClusterID(spec.ClusterID)
	problem := validation.IdentityProblem(spec)
	if name := names.Export(cluster, spec.ServiceNamespace, spec.ServiceName); problem == "" && record.Name != name {
		problem = fmt.Sprintf("the ExportedService must have the name %q", name)
	}
	if problem == "" && cluster != b.self {
		problem = revision.Problem(record)
	}
	switch {
	case problem != "":
		record.Spec = brokerv1alpha1.ExportedServiceSpec{}
		b.refuse(record, problem)
		return
	case cluster == b.self:
		return
	}
	state, number := finished(record), record.Annotations[names.AnnotationRevision]
	if state == Full && b.self != names.HubOwner && !b.wants(spec.Service()) {
		state = Stub
	}
	if state != Full {
		record.Spec, record.Annotations = StubOf(spec), map[string]string{names.AnnotationRevision: number}
		b.set(record, state, "")
		return
	}
	clean, refused := validation.Record(spec)
	record.Spec, record.Annotations = clean, map[string]string{names.AnnotationRevision: number}
	if len(refused) > 0 {
		record.Annotations[names.AnnotationRefused] = validation.FormatRefused(refused)
	}
	b.set(record, state, "")
}

// StubOf returns what is kept of a record whose service is not wanted: its identity, its age, which decides whether the member has
// too many, and what the loss or a drain of the member concerns.
func StubOf(spec brokerv1alpha1.ExportedServiceSpec) brokerv1alpha1.ExportedServiceSpec {
	return brokerv1alpha1.ExportedServiceSpec{
		ClusterID: spec.ClusterID, ServiceNamespace: spec.ServiceNamespace, ServiceName: spec.ServiceName, ExportedAt: spec.ExportedAt,
		OnClusterLoss: spec.OnClusterLoss, Scope: spec.Scope, Drained: spec.Drained,
	}
}

// slice validates an EndpointSlice, and reduces one that is not wanted or not within the budget to a stub. live and current are
// described at Read.
func (b *Border) slice(slice *discoveryv1.EndpointSlice, live bool) (current bool) {
	cluster, err := names.ParseClusterID(slice.Labels[names.LabelSourceCluster])
	namespace, source := slice.Labels[names.LabelServiceNamespace], slice.Annotations[names.AnnotationSourceSlice]
	var problem string
	switch name := names.BrokerSlice(cluster, namespace, source); {
	case err != nil:
		problem = err.Error()
	case slice.Name != name:
		problem = fmt.Sprintf("the EndpointSlice must have the name %.300q", name)
	case cluster == b.self:
		return true
	default:
		problem = revision.Problem(slice)
	}
	if problem != "" {
		current = b.budget.Forget(slice.Name, live)
		slice.Endpoints, slice.Ports = nil, nil
		b.refuse(slice, problem)
		return current
	}
	state := finished(slice)
	validation.CleanSlice(slice)
	dropOldTrigger(slice)
	count, summary := validation.RefusedOf(slice)
	refused := count > 0 && len(slice.Endpoints) == 0
	switch {
	case state != Full || refused:
		current = b.budget.Forget(slice.Name, live)
	case !b.wants(layout.Service(slice)):
		current = b.budget.Forget(slice.Name, live)
		state = Stub
	default:
		of := kit.Scope{Member: cluster, Slice: types.NamespacedName{Namespace: namespace, Name: source}}
		var ok bool
		if ok, current = b.budget.Hold(of, slice.Name, SizeOf(slice), slice.CreationTimestamp.Time, live); ok {
			_, _ = kit.Trim(slice) // cannot fail
			b.set(slice, Full, "")
			return current
		}
		state = OverLimit
	}
	if slice.Endpoints, slice.Ports = nil, nil; refused {
		labels, number := slice.Labels, slice.Annotations[names.AnnotationRevision]
		b.refuse(slice, summary)
		slice.Labels, slice.Annotations[names.AnnotationRevision] = labels, number // keep the identity that it claims
		slice.Annotations[names.AnnotationSourceSlice] = source
		return current
	}
	b.set(slice, state, "")
	return current
}

// oldestTrigger is how old the time of the change that caused a slice's update may be. Node proxies measure their delay from it.
const oldestTrigger = time.Hour

// clockSkew is how far in the future it may be.
const clockSkew = time.Second

// dropOldTrigger removes a time that is older, or in the future: another cluster's clock, or a lie, would spoil the metric.
func dropOldTrigger(slice *discoveryv1.EndpointSlice) {
	at, err := time.Parse(time.RFC3339Nano, slice.Annotations[names.AnnotationLastChangeTriggerTime])
	if age := time.Since(at); err == nil && (age < -clockSkew || age > oldestTrigger) {
		delete(slice.Annotations, names.AnnotationLastChangeTriggerTime)
	}
}
