package apiserver

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/watch"
)

// history is the number of events of a kind that are kept for watches from earlier versions.
const history = 1000

// store holds all objects. Stored objects are immutable; writes replace them.
type store struct {
	network byte

	mu      sync.Mutex
	version uint64
	tables  map[*kind]*table
	owned   map[types.UID]map[place]bool // dependents, by UID of their owner
	applied map[fieldOwner][]string      // types of applied conditions; the slices are immutable
	nextIP  int
	fast    time.Duration // by how much its clock is
	// writes counts requests that changed an object, by resource. wasted counts requests that
	// did not; unchanged counts the wasted requests that were not refused.
	writes, wasted, unchanged map[string]int
}

// table holds the objects of a kind.
type table struct {
	objects map[types.NamespacedName]Object
	// events holds all events after the version begin.
	events  []event
	begin   uint64
	watches map[*stream]bool
}

// place identifies an object.
type place struct {
	kind *kind
	key  types.NamespacedName
}

// event is one change. old is nil for a creation, new for a deletion.
type event struct {
	version  uint64
	old, new Object
}

func newStore(network byte) *store {
	s := &store{network: network, tables: map[*kind]*table{}, owned: map[types.UID]map[place]bool{}, applied: map[fieldOwner][]string{}, writes: map[string]int{}, wasted: map[string]int{}, unchanged: map[string]int{}}
	for _, k := range kinds {
		s.tables[k] = &table{objects: map[types.NamespacedName]Object{}, watches: map[*stream]bool{}}
	}
	return s
}

// counts returns a copy of a counter.
func (s *store) counts(of map[string]int) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(of)
}

// waste counts a write request that changed nothing.
func (s *store) waste(k *kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wasted[k.plural]++
}

func (t target) key() types.NamespacedName {
	return types.NamespacedName{Namespace: t.namespace, Name: t.name}
}

func (s *store) get(t target) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.lookup(t)
}

// lookup returns an object. The caller holds mu.
func (s *store) lookup(t target) (Object, error) {
	if o := s.tables[t.kind].objects[t.key()]; o != nil {
		return o, nil
	}
	return nil, notFound(t.kind.plural, t.name)
}

// filter selects objects of a kind.
type filter struct {
	kind      *kind
	namespace string
	labels    labels.Selector
	fields    fields.Selector
}

func filterOf(r *http.Request, t target) (filter, error) {
	query := r.URL.Query()
	f := filter{kind: t.kind, namespace: t.namespace}
	var err error
	if f.labels, err = labels.Parse(query.Get("labelSelector")); err != nil {
		return f, badRequest("labelSelector: %v", err)
	}
	if f.fields, err = fields.ParseSelector(query.Get("fieldSelector")); err != nil {
		return f, badRequest("fieldSelector: %v", err)
	}
	return f, nil
}

func (f filter) matches(o Object) bool {
	return o != nil && (f.namespace == "" || o.GetNamespace() == f.namespace) && f.labels.Matches(labels.Set(o.GetLabels())) &&
		(f.fields.Empty() || f.fields.Matches(fields.Set{"metadata.name": o.GetName(), "metadata.namespace": o.GetNamespace()}))
}

// list returns the sorted objects that match the filter, and the current version.
func (s *store) list(f filter) ([]Object, uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.selected(f), s.version
}

// selected returns the matching objects. The caller holds mu.
func (s *store) selected(f filter) []Object {
	var found []Object
	for _, o := range s.tables[f.kind].objects {
		if f.matches(o) {
			found = append(found, o)
		}
	}
	slices.SortFunc(found, func(a, b Object) int {
		return cmp.Or(cmp.Compare(a.GetNamespace(), b.GetNamespace()), cmp.Compare(a.GetName(), b.GetName()))
	})
	return found
}

func (s *store) create(t target, o Object) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.namespace != "" {
		o.SetNamespace(t.namespace)
	}
	if o.GetName() == "" && o.GetGenerateName() != "" {
		o.SetName(o.GetGenerateName() + strconv.FormatUint(s.version, 36))
	}
	t.name = o.GetName()
	if t.name == "" {
		return nil, badRequest("the object has no name")
	}
	if t.kind.namespaced && s.tables[namespaces].objects[types.NamespacedName{Name: t.namespace}] == nil {
		return nil, notFound(namespaces.plural, t.namespace)
	}
	if s.tables[t.kind].objects[t.key()] != nil {
		return nil, apierrors.NewAlreadyExists(t.kind.groupResource(), t.name)
	}
	if t.kind.status {
		setStatus(o, t.kind.new())
	}
	o.SetUID(uuid.NewUUID())
	o.SetCreationTimestamp(metav1.NewTime(time.Now().Add(s.fast).Truncate(time.Second)))
	o.SetGeneration(1)
	s.complete(o)
	s.put(place{t.kind, t.key()}, nil, o)
	return o, nil
}

// update replaces an object, or its status, with the result of change. An update without a
// change is not written, as in a real API server.
func (s *store) update(t target, change func(have Object) (Object, error)) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	have, err := s.lookup(t)
	if err != nil {
		return nil, err
	}
	want, err := change(have)
	if err != nil {
		return nil, err
	}
	if v := want.GetResourceVersion(); v != "" && v != have.GetResourceVersion() {
		return nil, apierrors.NewConflict(t.kind.groupResource(), t.name, errOutdated)
	}
	if want, err = only(t, have, want); err != nil {
		return nil, err
	}
	want.SetUID(have.GetUID())
	want.SetCreationTimestamp(have.GetCreationTimestamp())
	want.SetGeneration(have.GetGeneration())
	want.SetResourceVersion(have.GetResourceVersion())
	want.SetManagedFields(nil)
	s.complete(want)
	if equality.Semantic.DeepEqual(have, want) {
		s.wasted[t.kind.plural]++
		s.unchanged[t.kind.plural]++
		return have, nil
	}
	if t.subresource == "" && !sameButMetadata(have, want) {
		want.SetGeneration(have.GetGeneration() + 1)
	}
	s.put(place{t.kind, t.key()}, have, want)
	return want, nil
}

func (s *store) delete(t target, options *metav1.DeleteOptions) (Object, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.lookup(t)
	if err != nil {
		return nil, err
	}
	if p := options.Preconditions; p != nil && (p.UID != nil && *p.UID != o.GetUID() || p.ResourceVersion != nil && *p.ResourceVersion != o.GetResourceVersion()) {
		return nil, apierrors.NewConflict(t.kind.groupResource(), t.name, errOutdated)
	}
	s.remove(place{t.kind, t.key()})
	return o, nil
}

// remove deletes an object and its dependents, and the content of a namespace. The caller holds
// mu.
func (s *store) remove(p place) {
	o := s.tables[p.kind].objects[p.key]
	if o == nil {
		return
	}
	if p.kind == namespaces {
		for _, k := range kinds {
			for key := range s.tables[k].objects {
				if k.namespaced && key.Namespace == p.key.Name {
					s.remove(place{k, key})
				}
			}
		}
	}
	s.put(p, o, nil)
	for dependent := range s.owned[o.GetUID()] {
		s.remove(dependent)
	}
	delete(s.owned, o.GetUID())
}

// put writes an object. The caller holds mu.
func (s *store) put(p place, old, new Object) {
	s.version++
	s.writes[p.kind.plural]++
	t := s.tables[p.kind]
	if new != nil {
		new.SetResourceVersion(strconv.FormatUint(s.version, 10))
		t.objects[p.key] = new
	} else {
		delete(t.objects, p.key)
	}
	s.own(p, old, false)
	s.own(p, new, true)
	e := event{version: s.version, old: old, new: new}
	if t.events = append(t.events, e); len(t.events) > 2*history {
		t.begin = t.events[history-1].version
		t.events = append([]event(nil), t.events[history:]...)
	}
	for w := range t.watches {
		w.add(e)
	}
}

// own updates the index of owners for an object.
func (s *store) own(p place, o Object, owned bool) {
	if o == nil {
		return
	}
	for _, owner := range o.GetOwnerReferences() {
		if !owned {
			delete(s.owned[owner.UID], p)
			continue
		}
		if s.owned[owner.UID] == nil {
			s.owned[owner.UID] = map[place]bool{}
		}
		s.owned[owner.UID][p] = true
	}
}

// current returns the newest version.
func (s *store) current() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.version
}

// watchFrom starts a watch after a version. For version 0 it also returns all current objects.
func (s *store) watchFrom(f filter, after uint64) (*stream, []Object, uint64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.tables[f.kind]
	w := newStream(f, after)
	var initial []Object
	if after == 0 {
		initial = s.selected(f)
	} else {
		if after < t.begin {
			return nil, nil, 0, apierrors.NewResourceExpired("the version is too old")
		}
		for _, e := range t.events {
			if e.version > after {
				w.add(e)
			}
		}
	}
	t.watches[w] = true
	return w, initial, s.version, nil
}

// Backup is the content of a server at a moment.
type Backup struct {
	version uint64
	nextIP  int
	objects map[*kind]map[types.NamespacedName]Object
	applied map[fieldOwner][]string
}

// fieldOwner identifies a field manager of an object.
type fieldOwner struct {
	object  types.UID
	manager string
}

func (s *store) backup() *Backup {
	s.mu.Lock()
	defer s.mu.Unlock()
	b := &Backup{version: s.version, nextIP: s.nextIP, objects: map[*kind]map[types.NamespacedName]Object{}, applied: maps.Clone(s.applied)}
	for k, t := range s.tables {
		b.objects[k] = maps.Clone(t.objects)
	}
	return b
}

// restore replaces the content with a backup. All watches end, the history is dropped, and the
// versions since the backup are assigned again.
func (s *store) restore(b *Backup) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version, s.nextIP, s.owned = b.version, b.nextIP, map[types.UID]map[place]bool{}
	s.applied = maps.Clone(b.applied)
	for k, t := range s.tables {
		t.objects, t.events, t.begin = maps.Clone(b.objects[k]), nil, b.version
		for key, o := range t.objects {
			s.own(place{k, key}, o, true)
		}
		for w := range t.watches {
			w.end()
		}
	}
}

// forget drops the events of all kinds.
func (s *store) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, t := range s.tables {
		t.events, t.begin = nil, s.version
	}
}

func (s *store) unwatch(w *stream) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tables[w.filter.kind].watches, w)
}

// seen returns the event type and the object for a watch with this filter.
func (f filter) seen(e event) (watch.EventType, Object) {
	before, after := f.matches(e.old), f.matches(e.new)
	switch {
	case before && after:
		return watch.Modified, e.new
	case after:
		return watch.Added, e.new
	case before:
		gone := e.old.DeepCopyObject().(Object)
		gone.SetResourceVersion(strconv.FormatUint(e.version, 10))
		return watch.Deleted, gone
	}
	return "", nil
}

var namespaces = kindOf("", "v1", "namespaces")

// bootstrap creates the objects that every cluster has.
func (s *store) bootstrap() {
	s.must(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceDefault}})
	s.must(&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespaceSystem}})
	s.must(&networkingv1.ServiceCIDR{
		ObjectMeta: metav1.ObjectMeta{Name: "kubernetes"},
		Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{fmt.Sprintf("10.%d.0.0/16", s.network)}},
	})
	s.must(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "kubernetes"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443}}},
	})
	s.writes = map[string]int{}
}

// must creates an object in an empty server.
func (s *store) must(o Object) {
	for _, k := range kinds {
		if reflect.TypeOf(k.new()) != reflect.TypeOf(o) {
			continue
		}
		o.GetObjectKind().SetGroupVersionKind(k.GroupVersionKind)
		if _, err := s.create(target{kind: k, namespace: o.GetNamespace()}, o); err != nil {
			panic(err) // a fault of bootstrap's, seen by any test
		}
	}
}
