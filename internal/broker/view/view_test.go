package view

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/belief"
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
)

// clusterset is a broker with a view of it. The view's cache contains the objects that the step
// show has put into it.
type clusterset struct {
	client.Reader // reads the broker directly

	view      *View
	from      Connection
	lost      map[names.ClusterID]bool
	removed   map[names.ClusterID]bool
	stored    map[kit.Scope]client.Object // on the broker
	cached    map[kit.Scope]client.Object
	counters  map[names.ClusterID]int64
	versions  int
	now       time.Time
	permitted permissions.Members
	asked     []kit.Scope // keys that the view wants to read
	published []kit.Scope // published keys, expanded to services and slices
	wanted    map[string]bool
	tooMany   bool // a step about fewer objects published a whole member
	member    bool // the step concerns all of a member
	// meanwhile is called between the broker's answer and its arrival.
	meanwhile func(name string)
}

var (
	members  = []names.ClusterID{"c2", "c3"}
	services = []types.NamespacedName{{Namespace: "shop", Name: "web"}, {Namespace: "shop", Name: "db"}, {Namespace: "bank", Name: "web"}}
	sources  = []types.NamespacedName{{Namespace: "shop", Name: "a"}, {Namespace: "shop", Name: "b"}, {Namespace: "bank", Name: "a"}}
)

func newClusterset() *clusterset {
	c := &clusterset{
		lost: map[names.ClusterID]bool{}, removed: map[names.ClusterID]bool{}, wanted: map[string]bool{}, stored: map[kit.Scope]client.Object{}, cached: map[kit.Scope]client.Object{},
		counters: map[names.ClusterID]int64{"c2": 1, "c3": 1, names.HubOwner: 1}, now: time.Now(),
	}
	changes := &kit.Changes[kit.Scope]{}
	changes.Subscribe(func(s kit.Scope) { // like controllers: a change of a member, or of everything, concerns all its existing services and slices
		services, slices := []types.NamespacedName{s.Service}, []kit.Scope{s}
		switch {
		case s == kit.Scope{}:
			services, slices = c.view.Services(), c.view.Slices()
		case s.Slice.Name != "":
			services = nil
		case s.Service.Name == "":
			c.tooMany = c.tooMany || !c.member
			services, slices = c.view.ServicesOf(s.Member), c.view.SlicesBy(s.Member)
		default:
			slices = c.view.SlicesOf(s.Service)
		}
		for _, service := range services {
			c.published = append(c.published, kit.Scope{Service: service, Member: s.Member})
		}
		c.published = append(c.published, slices...)
	})
	c.view = New("set", "c1", func(id names.ClusterID) bool { return c.lost[id] }, changes)
	c.from = Connection{Live: c, Border: border.New("c1", c.view.Wants, border.NewBudget(border.Limits{Endpoints: 40}, c.view.Room))}
	c.view.border = c.from.Border
	c.view.reads.Subscribe(func(key kit.Scope) { c.asked = append(c.asked, key) })
	return c
}

// Get reads the broker.
func (c *clusterset) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	if lease, ok := into.(*coordinationv1.Lease); ok {
		lease.UID = "lease"
		layout.SetCount(lease, c.counters[names.ClusterID(key.Name)], false)
		return nil
	}
	for _, o := range c.stored {
		if o.GetName() == key.Name && reflect.TypeOf(o) == reflect.TypeOf(into) {
			reflect.ValueOf(into).Elem().Set(reflect.ValueOf(o.DeepCopyObject()).Elem())
			if c.meanwhile != nil {
				c.meanwhile(key.Name)
			}
			return nil
		}
	}
	return apierrors.NewNotFound(schema.GroupResource{}, key.Name)
}

// someKey returns the key of a record or a slice, also of this cluster's own, or of a policy.
func someKey(t *rapid.T) kit.Scope {
	if rapid.Bool().Draw(t, "slice") {
		return kit.Scope{Member: rapid.SampledFrom(append(members, "c1")).Draw(t, "member"), Slice: rapid.SampledFrom(sources).Draw(t, "source")}
	}
	return kit.Scope{Service: rapid.SampledFrom(services).Draw(t, "service"), Member: rapid.SampledFrom(append(members, "", "c1")).Draw(t, "member")}
}

// write changes or deletes an object on the broker.
func (c *clusterset) write(t *rapid.T) { c.writeOne(t, someKey(t)) }

func (c *clusterset) writeOne(t *rapid.T, key kit.Scope) {
	if delete(c.stored, key); rapid.IntRange(0, 4).Draw(t, "deleted") == 0 {
		return
	}
	var object client.Object
	switch {
	case key.Slice.Name != "":
		slice := objects.Published(key.Member.String(), key.Slice.Namespace, key.Slice.Name, rapid.SampledFrom([]string{"web", "db"}).Draw(t, "service"))
		slice.Name, slice.Annotations[names.AnnotationSourceSlice] = names.BrokerSlice(key.Member, key.Slice.Namespace, key.Slice.Name), key.Slice.Name
		for i := range rapid.IntRange(0, 30).Draw(t, "endpoints") {
			slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.2.0.%d", i)}})
		}
		if rapid.IntRange(0, 9).Draw(t, "malformed") == 0 {
			slice.Annotations[names.AnnotationSourceSlice] = "other"
		}
		object = slice
	case key.Member == "":
		object = &brokerv1alpha1.ServicePolicy{
			ObjectMeta: metav1.ObjectMeta{Name: names.ServicePolicy(key.Service.Namespace, key.Service.Name)},
			Spec:       brokerv1alpha1.ServicePolicySpec{ServiceNamespace: key.Service.Namespace, ServiceName: key.Service.Name, Consumers: rapid.SliceOfN(rapid.SampledFrom([]string{"c1", "c2"}), 0, 2).Draw(t, "consumers")},
		}
		if rapid.IntRange(0, 9).Draw(t, "edited") == 0 {
			object.(*brokerv1alpha1.ServicePolicy).Spec.ServiceName = rapid.SampledFrom([]string{"web", "db"}).Draw(t, "as")
		}
	default:
		record := layout.Record("set", brokerv1alpha1.ExportedServiceSpec{
			ClusterID: key.Member.String(), ServiceNamespace: key.Service.Namespace, ServiceName: key.Service.Name, Type: "ClusterSetIP", ExportedAt: metav1.Unix(rapid.Int64Range(1, 3).Draw(t, "exported"), 0),
			OnClusterLoss: rapid.SampledFrom([]string{"", names.OnLossKeep}).Draw(t, "loss"), Drained: rapid.Bool().Draw(t, "drained"),
		})
		if rapid.IntRange(0, 9).Draw(t, "malformed") == 0 {
			record.Spec.ServiceName = "other"
		}
		object = record
	}
	layout.SetWithdrawn(object, rapid.IntRange(0, 4).Draw(t, "withdrawn") == 0)
	layout.SetRevision(object, rapid.Int64Range(-1, 5).Draw(t, "revision"))
	c.versions++
	object.SetResourceVersion(strconv.Itoa(c.versions))
	c.stored[key] = object
}

// transformed returns an object as a cache stores it, or nil.
func (c *clusterset) transformed(key kit.Scope) client.Object {
	object := c.stored[key]
	if object == nil {
		return nil
	}
	object = object.DeepCopyObject().(client.Object)
	_, _ = c.from.Border.Transform(object)
	return object
}

// show puts the current version of an object into the cache.
func (c *clusterset) show(t *rapid.T) {
	if !c.showOne(someKey(t)) {
		t.Skip("the object does not exist")
	}
}

func (c *clusterset) showOne(key kit.Scope) bool {
	before, now := c.cached[key], c.transformed(key)
	if c.cached[key] = now; before == nil && now == nil {
		return false
	}
	if now == nil {
		c.from.Border.Forget(before.GetName())
	}
	if key.Slice.Name != "" {
		before, _ := before.(*discoveryv1.EndpointSlice)
		now, _ := now.(*discoveryv1.EndpointSlice)
		c.view.slices.event(c.from.Border, kit.Event[*discoveryv1.EndpointSlice]{Old: before, New: now})
		return true
	}
	if key.Member == "" {
		before, _ := before.(*brokerv1alpha1.ServicePolicy)
		now, _ := now.(*brokerv1alpha1.ServicePolicy)
		c.view.policies.event(c.from.Border, kit.Event[*brokerv1alpha1.ServicePolicy]{Old: before, New: now})
		return true
	}
	old, _ := before.(*brokerv1alpha1.ExportedService)
	record, _ := now.(*brokerv1alpha1.ExportedService)
	c.view.records.event(c.from.Border, kit.Event[*brokerv1alpha1.ExportedService]{Old: old, New: record})
	return true
}

// connect makes the view use a new connection.
func (c *clusterset) connect() {
	for key, o := range c.cached {
		if c.stored[key] == nil && o != nil {
			c.from.Border.Forget(o.GetName())
		}
	}
	c.cached = map[kit.Scope]client.Object{}
	var policies []*brokerv1alpha1.ServicePolicy
	var records []*brokerv1alpha1.ExportedService
	var slices []*discoveryv1.EndpointSlice
	for key := range c.stored {
		switch o := c.transformed(key).(type) {
		case *brokerv1alpha1.ServicePolicy:
			c.cached[key], policies = o, append(policies, o)
		case *brokerv1alpha1.ExportedService:
			c.cached[key], records = o, append(records, o)
		case *discoveryv1.EndpointSlice:
			c.cached[key], slices = o, append(slices, o)
		}
	}
	c.view.Replace(c.from.Border, policies, records, slices...)
	c.asked = c.view.reading() // a new reader starts with all keys
}

func (c *clusterset) lose(t *rapid.T) {
	id := rapid.SampledFrom(members).Draw(t, "member")
	c.lost[id], c.member = !c.lost[id], true
	c.view.Lost(id)
}

func (c *clusterset) remove(t *rapid.T) {
	id := rapid.SampledFrom(members).Draw(t, "member")
	c.removed[id], c.member = !c.removed[id], true
	member := objects.Member(id.String())
	if c.removed[id] {
		member.Spec.State = brokerv1alpha1.MemberRemoved
	}
	c.view.member(member)
}

func (c *clusterset) want(t *rapid.T) {
	namespace := rapid.SampledFrom([]string{"shop", "bank"}).Draw(t, "namespace")
	c.wanted[namespace] = !c.wanted[namespace]
	c.view.Want(types.NamespacedName{Namespace: namespace}, c.wanted[namespace])
}

// read reads the keys that the view waits for. Some objects may have changed since the request, and some change before their
// answers arrive.
func (c *clusterset) read(t rapid.TB) {
	keys := c.asked
	c.asked = nil
	if t, ok := t.(*rapid.T); ok {
		left := 3 // changes, so that the last answer is current
		c.meanwhile = func(name string) {
			for key, o := range c.stored {
				if left > 0 && o.GetName() == name && rapid.Bool().Draw(t, "changes meanwhile") {
					left--
					c.writeOne(t, key)
					c.showOne(key)
					return
				}
			}
		}
		defer func() { c.meanwhile = nil }()
	}
	for _, key := range keys {
		if err := c.view.read(context.Background(), c.from, key); err != nil {
			t.Fatal(err)
		}
	}
}

func (c *clusterset) permit(t *rapid.T) {
	data := map[string]string{}
	for _, id := range members {
		if rapid.Bool().Draw(t, "restricted") {
			data[permissions.NamespacesKey(id)] = rapid.SampledFrom([]string{"", "shop", "shop bank"}).Draw(t, "namespaces")
		}
	}
	config := &corev1.ConfigMap{Data: data}
	c.permitted, _ = permissions.Read(config)
	c.view.permit(config)
}

// compare lets all owners compare their objects on the broker and confirm them.
func (c *clusterset) compare(t rapid.TB) {
	counters := map[names.ClusterID]belief.Counter{}
	for id := range c.counters {
		c.counters[id]++
		counters[id] = belief.Counter{Lease: "lease", Count: c.counters[id]}
	}
	c.now = c.now.Add(time.Minute)
	c.view.Observe(c.now, counters)
	c.read(t)
}

// answers returns the view's answers about a service: by member, and "" for the policy.
func (c *clusterset) answers(service types.NamespacedName) map[names.ClusterID]string {
	policy, known := c.view.Policy(service)
	all := map[names.ClusterID]string{"": fmt.Sprint(known)}
	if policy != nil {
		all[""] = policy.ResourceVersion
	}
	exports, awaited := c.view.Service(service)
	for _, e := range exports {
		all[names.ClusterID(e.Spec.ClusterID)] = e.ResourceVersion
	}
	for _, id := range awaited {
		all[id] = "awaited"
	}
	return all
}

// sliceAnswer returns the view's answer about a slice.
func (c *clusterset) sliceAnswer(key kit.Scope) string {
	slice, known := c.view.Slice(key.Member, key.Slice)
	if slice == nil {
		return fmt.Sprint(known)
	}
	return fmt.Sprintf("%s %s %s %d of %s", slice.State, slice.Detail, slice.Value.ResourceVersion, len(slice.Value.Endpoints), layout.Service(slice.Value))
}

func covers(key kit.Scope, service types.NamespacedName, member names.ClusterID) bool {
	return key.Service == service && (key.Member == "" || key.Member == member) && key.Slice.Name == ""
}

// After each step, the published keys cover each changed answer, and the indexes contain all
// services.
func TestAllChangesArePublished(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := newClusterset()
		c.view.limit = 1 // of three services
		for _, id := range rapid.SliceOfDistinct(rapid.SampledFrom(members), rapid.ID).Draw(t, "applied") {
			c.view.AppliedRecord(services[0], id, 3)
			c.view.AppliedSlice(kit.Scope{Member: id, Slice: sources[0]}, services[0], 3)
		}
		c.connect()
		for _, service := range services { // subscriptions begin with everything
			c.published = append(c.published, kit.Scope{Service: service})
		}
		slicesBefore := map[kit.Scope]string{}
		for _, id := range members {
			for _, source := range sources {
				slicesBefore[kit.Scope{Member: id, Slice: source}] = c.sliceAnswer(kit.Scope{Member: id, Slice: source})
			}
		}
		before := map[types.NamespacedName]map[names.ClusterID]string{}
		t.Repeat(map[string]func(*rapid.T){
			"write": c.write, "show": c.show, "show more": c.show, "connect": func(*rapid.T) { c.connect() }, "lose": c.lose, "remove": c.remove, "permit": c.permit, "want": c.want, "read": func(t *rapid.T) { c.read(t) }, "compare": func(t *rapid.T) { c.compare(t) },
			"": func(t *rapid.T) {
				for _, service := range services {
					now := c.answers(service)
					either := maps.Clone(now)
					maps.Copy(either, before[service])
					for id := range either {
						if id == "c1" || now[id] != "" && id != "" && !c.permitted.MayExport(id, service.Namespace) {
							t.Fatalf("%v is believed of %q", service, id)
						}
						if now[id] != before[service][id] && !slices.ContainsFunc(c.published, func(key kit.Scope) bool { return covers(key, service, id) }) {
							t.Fatalf("%v of %q was %q, and is %q; published were %v", service, id, before[service][id], now[id], c.published)
						}
						if id != "" && now[id] != "" && (!slices.Contains(c.view.Services(), service) || !slices.Contains(c.view.ServicesIn(service.Namespace), service) || !slices.Contains(c.view.ServicesOf(id), service)) {
							t.Fatalf("%v of %q is not among its services", service, id)
						}
					}
					before[service] = now
				}
				c.checkSlices(t, slicesBefore)
				c.checkOldest(t)
				drained := c.view.Drained()
				if c.view.drained = nil; !maps.Equal(drained, c.view.Drained()) {
					t.Fatalf("drained are %v, and %v were known", c.view.Drained(), drained)
				}
				for _, key := range c.view.reading() {
					stored, cached := c.stored[key], c.cached[key] // if they differ, an event follows
					if stored != nil && cached != nil && stored.GetResourceVersion() == cached.GetResourceVersion() && !slices.Contains(c.asked, key) {
						t.Fatalf("no read of %v is requested", key)
					}
				}
				if c.tooMany {
					t.Fatal("a change of one object published the whole member")
				}
				c.member = false
				c.published = nil
			},
		})
	})
}

// checkOldest checks that of a member's permitted records the oldest ones count, and only as many as the limit.
func (c *clusterset) checkOldest(t *rapid.T) {
	for _, id := range members {
		var all []*brokerv1alpha1.ExportedService
		for _, service := range services {
			if e := c.view.records.objects.find(kit.Scope{Service: service, Member: id}); e != nil && e.believed != nil {
				all = append(all, e.believed.Value) // also without its content
			}
		}
		slices.SortFunc(all, func(a, b *brokerv1alpha1.ExportedService) int {
			return cmp.Or(a.Spec.ExportedAt.Compare(b.Spec.ExportedAt.Time), strings.Compare(a.Spec.Service().String(), b.Spec.Service().String()))
		})
		for i, record := range all {
			service := record.Spec.Service()
			answer := c.view.records.objects.Get(kit.Scope{Service: service, Member: id})
			counts := answer.Object != nil && answer.Object.State != border.Stub && i < c.view.limit && c.permitted.MayExport(id, service.Namespace)
			if got, _ := c.view.Record(id, service); (got != nil) != counts {
				t.Fatalf("record %d of %d of %s counts: %v", i, len(all), id, got != nil)
			}
			if slices.Contains(c.view.TooManyOf(service), id) != (i >= c.view.limit) {
				t.Fatalf("record %d of %d of %s is beyond the limit: %v", i, len(all), id, c.view.TooManyOf(service))
			}
		}
		if beyond := max(0, len(all)-c.view.limit); c.view.TooMany()[id] != beyond {
			t.Fatalf("%d of %s are too many, want %d", c.view.TooMany()[id], id, beyond)
		}
	}
}

// checkSlices checks that every changed slice was published, by its key and for its services,
// that the indexes contain it, and that a wanted slice has its content or is being read.
func (c *clusterset) checkSlices(t *rapid.T, before map[kit.Scope]string) {
	for key, was := range before {
		is := c.sliceAnswer(key)
		published := func(service string) bool {
			return slices.ContainsFunc(c.published, func(p kit.Scope) bool {
				return p.Member == key.Member && p.Slice == key.Slice && (service == "" || p.Service.String() == service)
			})
		}
		_, serviceBefore, _ := strings.Cut(was, " of ")
		_, service, _ := strings.Cut(is, " of ")
		if is != was && (!published(serviceBefore) || !published(service)) {
			t.Fatalf("%v was %q, and is %q; published were %v", key, was, is, c.published)
		}
		slice, _ := c.view.Slice(key.Member, key.Slice)
		if slice != nil && (!slices.Contains(c.view.SlicesOf(layout.Service(slice.Value)), key) || !slices.Contains(c.view.SlicesBy(key.Member), key) || !slices.Contains(c.view.Slices(), key)) {
			t.Fatalf("%v is %q, and not among the slices", key, is)
		}
		if name := names.BrokerSlice(key.Member, key.Slice.Namespace, key.Slice.Name); c.stored[key] == nil && c.cached[key] == nil && c.from.Border.Waits(name) {
			t.Fatalf("%v is gone, and waits for room", key)
		}
		if slice != nil && slice.State == border.Stub && c.wanted[key.Slice.Namespace] {
			t.Fatalf("%v is wanted, and is %q", key, is)
		}
		if c.view.slices.objects.Get(key).State == Believed && slice.State == border.OverLimit && !c.from.Border.Waits(slice.Value.Name) && c.wanted[key.Slice.Namespace] && !slices.Contains(c.view.reading(), key) {
			t.Fatalf("the budget has room for %v, but the slice is not read", key)
		}
		before[key] = is
	}
}

// An object that the broker has lost counts until its owner has compared twice since the
// importer first read the owner's counter. The same holds for a policy.
func TestConfirmed(t *testing.T) {
	c, web := newClusterset(), services[0]
	policy := &brokerv1alpha1.ServicePolicy{
		ObjectMeta: metav1.ObjectMeta{Name: names.ServicePolicy(web.Namespace, web.Name), Annotations: map[string]string{names.AnnotationRevision: strconv.Itoa(4)}},
		Spec:       brokerv1alpha1.ServicePolicySpec{ServiceNamespace: web.Namespace, ServiceName: web.Name},
	}
	c.view.AppliedPolicy(policy)
	c.view.AppliedRecord(web, "c2", 4)
	c.connect()
	for count := range 4 {
		_, awaited := c.view.Service(web)
		found, _ := c.view.Policy(web)
		if (len(awaited) > 0) != (count < 3) || (found != nil) != (count < 3) {
			t.Errorf("after %d comparisons: policy %v, awaited %v", count, found, awaited)
		}
		c.compare(t)
	}
}

// The record of a lost member is reported as lost and stops to count if it is missing on the
// broker, unless the endpoints are to be kept.
func TestLostMembers(t *testing.T) {
	for loss, kept := range map[string]bool{"": false, names.OnLossKeep: true} {
		c, web := newClusterset(), services[0]
		c.view.Want(web, true)
		record := layout.Record("set", brokerv1alpha1.ExportedServiceSpec{
			ClusterID: "c2", ServiceNamespace: web.Namespace, ServiceName: web.Name, Type: "ClusterSetIP", ExportedAt: metav1.Unix(1, 0), OnClusterLoss: loss,
		})
		layout.SetRevision(record, 1)
		key := kit.Scope{Service: web, Member: "c2"}
		c.stored[key] = record
		c.connect()
		c.lost["c2"] = true
		c.view.Lost("c2")
		if exports, _ := c.view.Service(web); len(exports) != 1 {
			t.Errorf("%q, while the record is there: %+v", loss, exports)
		}
		delete(c.stored, key)
		c.connect()
		if exports, awaited := c.view.Service(web); (len(exports) == 1) != kept || len(awaited) > 0 {
			t.Errorf("%q, after the broker was wiped: %+v, awaited %v", loss, exports, awaited)
		}
	}
}

// A policy that was edited to name another service counts for neither service, and does not
// replace the other service's policy.
func TestEditedPolicy(t *testing.T) {
	c, db := newClusterset(), services[1]
	named := func(service types.NamespacedName, of types.NamespacedName) *brokerv1alpha1.ServicePolicy {
		policy := &brokerv1alpha1.ServicePolicy{
			ObjectMeta: metav1.ObjectMeta{Name: names.ServicePolicy(service.Namespace, service.Name)}, Spec: brokerv1alpha1.ServicePolicySpec{ServiceNamespace: of.Namespace, ServiceName: of.Name},
		}
		layout.SetRevision(policy, 1)
		return policy
	}
	web := services[0]
	c.view.Replace(c.from.Border, []*brokerv1alpha1.ServicePolicy{named(web, web), named(db, db)}, nil)
	c.view.policies.event(c.from.Border, kit.Event[*brokerv1alpha1.ServicePolicy]{Old: named(web, web), New: named(web, db)})
	for range 2 {
		for service, want := range map[types.NamespacedName]State{web: Kept, db: Believed} {
			got := c.view.policies.objects.Get(kit.Scope{Service: service})
			if got.State != want || got.Object.Value.Name != names.ServicePolicy(service.Namespace, service.Name) {
				t.Errorf("%v: %v, want %v", service, got, want)
			}
		}
		c.view.Replace(c.from.Border, []*brokerv1alpha1.ServicePolicy{named(db, db), named(web, db)}, nil) // another connection
	}
}

// Forget drops everything after another replica was the leader. The objects of the new
// connection count, whatever the view believed before.
func TestForget(t *testing.T) {
	c, web := newClusterset(), services[0]
	for _, revision := range []int64{5, 1} {
		c.view.Forget()
		c.view.Want(web, true)
		if _, known := c.view.Policy(web); known || c.view.Known() || len(c.view.Services()) > 0 {
			t.Errorf("the view still knows %v", c.view.Services())
		}
		record := layout.Record("set", brokerv1alpha1.ExportedServiceSpec{ClusterID: "c2", ServiceNamespace: web.Namespace, ServiceName: web.Name, Type: "ClusterSetIP", ExportedAt: metav1.Unix(1, 0)})
		layout.SetRevision(record, revision-1)
		c.stored[kit.Scope{Service: web, Member: "c2"}] = record
		c.connect()
		if exports, _ := c.view.Service(web); len(exports) != 1 || layout.Revision(exports[0]) != revision {
			t.Errorf("of revision %d counts %v", revision, exports)
		}
	}
}

// publishes writes a member's slice with ten endpoints to the broker and to the cache.
func (c *clusterset) publishes(source string, service types.NamespacedName, revision int64) (key kit.Scope) {
	key = kit.Scope{Member: "c2", Slice: types.NamespacedName{Namespace: service.Namespace, Name: source}}
	slice := objects.Published("c2", service.Namespace, source, service.Name)
	for i := range 10 {
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprintf("10.2.0.%d", i)}})
	}
	layout.SetRevision(slice, revision-1)
	c.versions++
	slice.SetResourceVersion(strconv.Itoa(c.versions))
	c.stored[key] = slice
	c.shows(key)
	return key
}

// exports publishes or withdraws the record of c2 for a service.
func (c *clusterset) exports(service types.NamespacedName, revision int64, withdrawn bool) {
	record := objects.Record("c2", service.Namespace, service.Name)
	layout.SetRevision(record, revision-1)
	layout.SetWithdrawn(record, withdrawn)
	key := kit.Scope{Service: service, Member: "c2"}
	before, _ := c.cached[key].(*brokerv1alpha1.ExportedService)
	c.stored[key] = record
	now := c.transformed(key).(*brokerv1alpha1.ExportedService)
	c.cached[key] = now
	c.view.records.event(c.from.Border, kit.Event[*brokerv1alpha1.ExportedService]{Old: before, New: now})
}

func (c *clusterset) shows(key kit.Scope) {
	before, _ := c.cached[key].(*discoveryv1.EndpointSlice)
	now, _ := c.transformed(key).(*discoveryv1.EndpointSlice)
	c.cached[key] = now
	if now == nil {
		delete(c.cached, key)
		c.from.Border.Forget(before.Name)
	}
	c.view.slices.event(c.from.Border, kit.Event[*discoveryv1.EndpointSlice]{Old: before, New: now})
}

// An object that a restore brought back is suspicious if its service is wanted, even if only by
// its namespace. Unwanted objects are never suspicious.
func TestWithdrawnAndRestored(t *testing.T) {
	for wanted, of := range map[string]types.NamespacedName{"the service": services[0], "the namespace": {Namespace: services[0].Namespace}, "nothing": {Namespace: "other"}} {
		c := newClusterset()
		c.view.Want(of, true)
		c.connect()
		key := c.publishes("a", services[0], 8)
		layout.Withdraw(c.stored[key])
		c.shows(key)
		c.publishes("a", services[0], 5)
		if suspicious := c.view.Waits(); suspicious != (wanted != "nothing") {
			t.Errorf("%s is wanted: the restored slice is suspicious: %t", wanted, suspicious)
		}
		if slice, _ := c.view.Slice(key.Member, key.Slice); wanted != "nothing" && slice != nil {
			t.Errorf("%s is wanted: the restored slice counts: %+v", wanted, slice)
		}
	}
}

// An answer that the cache has overtaken does not count against the budget.
func TestOvertakenAnswer(t *testing.T) {
	c := newClusterset()
	budget := border.NewBudget(border.Limits{Endpoints: 4}, c.view.Room) // a slice has ten
	c.from.Border = border.New("c1", c.view.Wants, budget)
	c.view.border = c.from.Border
	c.connect()
	key := c.publishes("a", services[0], 1)
	c.view.Want(services[0], true)
	c.meanwhile = func(string) {
		delete(c.stored, key)
		c.showOne(key)
	}
	c.read(t)
	if used := budget.Usage(); len(used) > 0 {
		t.Errorf("what is gone counts: %v", used)
	}
}

// An object that is kept after a suspicious deletion counts against the budget. Otherwise a
// member could exceed its budget by deleting without withdrawing.
func TestWhatIsKeptCounts(t *testing.T) {
	c := newClusterset()
	c.view.Want(services[0], true)
	c.connect()
	c.exports(services[0], 1, false)
	var keys []kit.Scope
	for _, source := range []string{"a", "b", "c", "d"} {
		key := c.publishes(source, services[0], 1)
		delete(c.stored, key)
		c.shows(key)
		keys = append(keys, key)
	}
	if slice, _ := c.view.Slice("c2", keys[0].Slice); slice == nil || slice.State != border.Full {
		t.Errorf("the first is %+v", slice)
	}
	key := c.publishes("e", services[0], 1)
	if slice, _ := c.view.Slice("c2", key.Slice); slice == nil || slice.State != border.OverLimit {
		t.Errorf("the kept slices should exhaust the budget: %+v", slice)
	}
	for range 4 {
		c.compare(t) // the owner confirms the deletions
	}
	if slice, _ := c.view.Slice("c2", key.Slice); slice == nil || slice.State != border.Full {
		t.Errorf("no budget is free, although no slice is kept any more: %+v", slice)
	}
}

// The end of an export ends its missing slices, whichever of the two is seen first: they do not count for a later export. A slice
// that somebody brings back stays suspicious.
func TestEndedExport(t *testing.T) {
	for _, first := range []string{"record", "slice"} {
		c, web := newClusterset(), services[0]
		c.view.Want(web, true)
		c.connect()
		c.exports(web, 7, false)
		key := c.publishes("a", web, 7)
		if first == "record" {
			c.exports(web, 8, true)
		}
		delete(c.stored, key)
		c.shows(key)
		if slice, _ := c.view.Slice("c2", key.Slice); (slice != nil) != (first == "slice") {
			t.Errorf("%s first: the missing slice is %v", first, slice)
		}
		c.published = nil
		if first == "slice" {
			c.exports(web, 8, true)
			if !slices.ContainsFunc(c.published, func(p kit.Scope) bool { return p.Slice == key.Slice }) {
				t.Errorf("the end of the slice is not published: %v", c.published)
			}
		}
		c.exports(web, 9, false)
		if slice, known := c.view.Slice("c2", key.Slice); slice != nil || !known || c.view.Waits() {
			t.Errorf("%s first: the slice counts for the next export: %v", first, slice)
		}
		c.publishes("a", web, 6)
		if slice, _ := c.view.Slice("c2", key.Slice); slice != nil {
			t.Errorf("%s first: a slice of before the end counts: %v", first, slice)
		}
		c.publishes("a", web, 9)
		if slice, _ := c.view.Slice("c2", key.Slice); slice == nil {
			t.Errorf("%s first: the next export's slice does not count", first)
		}
	}
}

// A slice that an earlier process applied, and that is missing, is awaited: the record may be missing, too.
func TestAppliedAndMissing(t *testing.T) {
	c, web := newClusterset(), services[0]
	c.view.Want(web, true)
	key := kit.Scope{Member: "c2", Slice: types.NamespacedName{Namespace: web.Namespace, Name: "a"}}
	c.view.AppliedRecord(web, "c2", 4)
	c.view.AppliedSlice(key, web, 4)
	c.connect()
	if slice, known := c.view.Slice(key.Member, key.Slice); slice != nil || known {
		t.Errorf("the slice is %v, known %t", slice, known)
	}
}

// A slice that moves to another service is published for both services.
func TestMovedSlice(t *testing.T) {
	c := newClusterset()
	c.view.Want(types.NamespacedName{Namespace: "shop"}, true)
	c.connect()
	key := c.publishes("a", services[0], 1)
	c.published = nil
	c.publishes("a", services[1], 2)
	for _, service := range services[:2] {
		if !slices.ContainsFunc(c.published, func(p kit.Scope) bool { return p.Service == service && p.Slice == key.Slice }) {
			t.Errorf("nothing is published for %v: %v", service, c.published)
		}
	}
	if len(c.view.SlicesOf(services[0])) != 0 || len(c.view.SlicesOf(services[1])) != 1 {
		t.Errorf("the services have %v and %v", c.view.SlicesOf(services[0]), c.view.SlicesOf(services[1]))
	}
}

// A removed member has no objects. After it joins again, its revisions may start at any number.
func TestRemovedMember(t *testing.T) {
	c := newClusterset()
	c.view.Want(types.NamespacedName{Namespace: "shop"}, true)
	c.connect()
	member := objects.Member("c2")
	for _, revision := range []int64{9, 1} {
		member.Spec.State = ""
		c.view.member(member.DeepCopy())
		key := c.publishes("a", services[0], revision)
		if slice, _ := c.view.Slice("c2", key.Slice); slice == nil || slice.Revision != revision {
			t.Errorf("of revision %d counts %+v", revision, slice)
		}
		member.Spec.State = brokerv1alpha1.MemberRemoved
		c.view.member(member.DeepCopy())
		if slice, known := c.view.Slice("c2", key.Slice); slice != nil || !known {
			t.Errorf("the removed member has %+v", slice)
		}
		delete(c.stored, key)
		c.shows(key)
	}
}
