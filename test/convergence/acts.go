package convergence

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	brokerpkg "github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	made "github.com/atoll-mcs/atoll/test/objects"
)

// systemNamespace accepts imports only if its administrator allows them.
const systemNamespace = metav1.NamespacePublic

// Users change objects with these names. web-clusterset is also the name of web's derived
// Service, so the two can conflict.
var (
	namespaces = []string{"shop", "bank", systemNamespace}
	services   = []string{"web", "db", "7up", "web-clusterset"}
)

// act is a random change or fault.
type act struct {
	weight int
	what   string
	do     func(ctx context.Context, w *world, c *cluster) error
	quiet  time.Duration // time after which the clusterset has converged without repairs; 0 for a fault
	stops  bool          // the act restarts the cluster's agents or their connection
}

const (
	// soon limits an act in quiet mode, in which no periodic comparison repairs a missed event.
	soon = 20 * time.Second
	// graced limits the deletion of a Service. Its record stays for 30 s.
	graced = 30*time.Second + soon
)

// init sets acts, because some acts choose another act at random.
var acts []act

func init() {
	acts = []act{
		{8, "makes or changes a Service", changeService, soon, false},
		{2, "deletes a Service", func(ctx context.Context, w *world, c *cluster) error { return c.deleteService(ctx, w.someName()) }, graced, false},
		{8, "exports, or changes an export", changeExport, soon, false},
		{3, "ends an export", endExport, soon, false},
		{12, "has other endpoints", changeEndpoints, soon, false},
		{8, "has an endpoint in another slice", moveEndpoint, soon, false},
		{8, "prefers other clusters, or none", changePolicy, soon, false},
		{2, "prefers other clusters by default, or none", changeDefault, soon, false},
		{2, "accepts other clusters' policies", accept, soon, false},
		{4, "drains a namespace or everything, or ends that", changeDrain, soon, false},
		{2, "is drained by the broker's administrator, or not any more", drainMember, soon, false},
		{2, "opens or closes a namespace", openNamespace, soon, false},
		{3, "has a namespace more or less", changeNamespace, soon, false},
		{4, "has its imports edited", editImports, soon, false},
		{2, "has its records on the broker edited", editRecords, soon, false},
		{3, "is permitted something else", changePermission, soon, false},
		{4, "has a MultiClusterService created or changed", changeExposure, soon, false},
		{2, "has a MultiClusterService deleted", endExposure, soon, false},
		{1, "misses the end of all MultiClusterServices", missEnd, usual, true},
		{3, "falls silent", fallSilent, soon, true},
		{1, "is removed, and joins again", removeMember, soon, true},
		{2, "has other nodes", changeNodes, soon, false},
		{3, "has something change while its agents are down", changeWhileAway, graced, true},
		{4, "has an agent killed", killAgent, 0, false},
		{1, "has its DNS server killed", killDNS, 0, false},
		{1, "has the hub killed", killHub, 0, false},
		{1, "has the hub in trouble", hinderHub, 0, false},
		{3, "loses its way to the broker", func(_ context.Context, _ *world, c *cluster) error { c.broker.stop(); return nil }, 0, false},
		{3, "loses its API server", func(_ context.Context, _ *world, c *cluster) error { c.local.stop(); return nil }, 0, false},
		{4, "has its watches end", func(_ context.Context, _ *world, c *cluster) error { c.local.reset(); c.broker.reset(); return nil }, 0, false},
		{2, "has its watches end and expire", expire, 0, false},
		{3, "has trouble with its API server", func(_ context.Context, w *world, c *cluster) error { c.local.worsen(w.someTrouble()); return nil }, 0, false},
		{3, "has trouble with the broker", func(_ context.Context, w *world, c *cluster) error { c.broker.worsen(w.someTrouble()); return nil }, 0, false},
		{2, "is cut off from everything", isolate, 0, false},
		{8, "heals", healOne, 0, false},
		{2, "has the broker backed up", backUp, 0, false},
		{2, "has the broker put back", putBack, 0, false},
		{1, "has the broker wiped", wipe, 0, false},
		{3, "has the clusterset made anew, if need be", func(ctx context.Context, w *world, _ *cluster) error { return w.makeClusterset(ctx) }, 0, false},
	}
}

// populate creates objects in a cluster, so that later acts have objects to change.
func (w *world) populate(ctx context.Context, c *cluster) error {
	for range namespaces {
		for _, f := range []func(context.Context, *world, *cluster) error{changeService, changeExport, changeEndpoints, moveEndpoint, changePolicy} {
			if err := f(ctx, w, c); err != nil {
				return err
			}
		}
	}
	return w.exportCommon(ctx, c)
}

// exportCommon exports the common service with some endpoints. Policies have an effect only where several clusters serve a port.
func (w *world) exportCommon(ctx context.Context, c *cluster) error {
	if !c.users.namespaces[w.common.Namespace] {
		return nil
	}
	service := made.Service(w.common.Namespace, w.common.Name)
	service.Spec.Ports = slices.Clone(ports[:1])
	return errors.Join(
		c.makeService(ctx, service), c.makeSlice(ctx, c.someSlice(w.random, service, 0)), c.makeExport(ctx, made.Export(w.common.Namespace, w.common.Name)),
	)
}

// someName returns a random name of a Service that users change.
func (w *world) someName() types.NamespacedName {
	return types.NamespacedName{Namespace: namespaces[w.random.IntN(len(namespaces))], Name: w.names[w.random.IntN(len(w.names))]}
}

func (w *world) someTrouble() trouble {
	return trouble{refuse: 0.4 * w.random.Float64(), lose: 0.3 * w.random.Float64(), slow: time.Duration(w.random.IntN(3)) * 700 * time.Millisecond}
}

// someAct returns a random act, by weight.
func (w *world) someAct(some []act) act {
	all := 0
	for _, a := range some {
		all += a.weight
	}
	n := w.random.IntN(all)
	return some[slices.IndexFunc(some, func(a act) bool { n -= a.weight; return n < 0 })]
}

// happen runs an act in a cluster.
func (w *world) happen(ctx context.Context, a act, c *cluster) error {
	w.note("%s %s", c.id, a.what)
	// Agents and the hub may write an object between an act's read and its write.
	if err := retry.RetryOnConflict(retry.DefaultRetry, func() error { return a.do(ctx, w, c) }); err != nil {
		return fmt.Errorf("%s %s: %w", c.id, a.what, err)
	}
	return nil
}

func (w *world) someCluster() *cluster { return w.clusters[w.random.IntN(len(w.clusters))] }

// while pauses for a random time, usually zero. The longer times exceed timeouts of an agent.
func (w *world) while(ctx context.Context) {
	longest := []time.Duration{0, 0, 0, 5 * time.Millisecond, 100 * time.Millisecond, 100 * time.Millisecond, 2 * time.Second, 15 * time.Second, 80 * time.Second}
	if d := longest[w.random.IntN(len(longest))]; d > 0 {
		pause(ctx, time.Duration(w.random.Int64N(int64(d))))
	}
}

// changeService creates or changes a Service. Usually its endpoints follow.
func changeService(ctx context.Context, w *world, c *cluster) error {
	key := w.someName()
	if !c.users.namespaces[key.Namespace] {
		return nil
	}
	service := someService(w.random, key)
	if err := c.makeService(ctx, service); err != nil {
		return err
	}
	if c.users.services[key] == nil {
		return nil
	}
	if len(c.users.slicesOf(key)) > 0 && w.random.IntN(3) == 0 {
		return nil // an event of the Service alone
	}
	for _, s := range c.users.slicesOf(key) {
		s = s.DeepCopy()
		s.Ports = nil
		for _, p := range service.Spec.Ports {
			s.Ports = append(s.Ports, discoveryv1.EndpointPort{Name: &p.Name, Protocol: &p.Protocol, Port: &p.Port, AppProtocol: p.AppProtocol})
		}
		if err := c.makeSlice(ctx, s); err != nil {
			return err
		}
	}
	if len(c.users.slicesOf(key)) == 0 {
		return c.makeSlice(ctx, c.someSlice(w.random, service, 0))
	}
	return nil
}

func changeExport(ctx context.Context, w *world, c *cluster) error {
	key := w.someName()
	if !c.users.namespaces[key.Namespace] {
		return nil
	}
	return c.makeExport(ctx, someExport(w.random, key))
}

func endExport(ctx context.Context, w *world, c *cluster) error {
	if key := w.someName(); c.users.exports[key] != nil {
		return c.deleteExport(ctx, key)
	}
	return nil
}

// changeEndpoints creates, changes or deletes a slice of a Service.
func changeEndpoints(ctx context.Context, w *world, c *cluster) error {
	service := c.users.services[w.someName()]
	if service == nil {
		return nil
	}
	want := c.someSlice(w.random, service, w.random.IntN(3))
	have := c.users.slices[keyOf(want)]
	switch {
	case have == nil || w.random.IntN(4) == 0:
		return c.makeSlice(ctx, want)
	case w.random.IntN(4) == 0:
		return c.deleteSlice(ctx, have)
	}
	// The update adds, removes and changes endpoints.
	have = have.DeepCopy()
	for i := range have.Endpoints {
		if w.random.IntN(3) == 0 {
			have.Endpoints[i].Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(w.random.IntN(2) == 0)}
		}
	}
	if n := len(have.Endpoints); n > 0 && w.random.IntN(2) == 0 {
		have.Endpoints = slices.Delete(have.Endpoints, w.random.IntN(n), n)
	}
	if w.random.IntN(2) == 0 {
		have.Endpoints = append(have.Endpoints, c.someEndpoint(w.random, have.AddressType))
	}
	return c.makeSlice(ctx, have)
}

// moveEndpoint moves an endpoint to another slice of its Service, or copies it. Both happen
// when a Service gets or loses its selector, and with slices that users write.
func moveEndpoint(ctx context.Context, w *world, c *cluster) error {
	service := c.users.services[w.someName()]
	if service == nil {
		return nil
	}
	all := slices.DeleteFunc(c.users.slicesOf(keyOf(service)), func(s *discoveryv1.EndpointSlice) bool { return len(s.Endpoints) == 0 })
	if len(all) == 0 {
		return nil
	}
	from := all[w.random.IntN(len(all))].DeepCopy()
	to := c.someSlice(w.random, service, w.random.IntN(3))
	if have := c.users.slices[keyOf(to)]; have != nil {
		to = have.DeepCopy()
	}
	i := w.random.IntN(len(from.Endpoints))
	e := *from.Endpoints[i].DeepCopy()
	if to.Name == from.Name || to.AddressType != from.AddressType ||
		slices.ContainsFunc(to.Endpoints, func(o discoveryv1.Endpoint) bool { return o.Addresses[0] == e.Addresses[0] }) {
		return nil
	}
	if w.random.IntN(3) == 0 {
		e.Conditions = discoveryv1.EndpointConditions{Ready: ptr.To(w.random.IntN(2) == 0)}
	}
	to.Endpoints = append(to.Endpoints, e)
	switch w.random.IntN(3) {
	case 0: // the old slice keeps the endpoint too
		return c.makeSlice(ctx, to)
	case 1:
		from.Endpoints = slices.Delete(from.Endpoints, i, i+1)
		return errors.Join(c.makeSlice(ctx, from), c.makeSlice(ctx, to))
	default:
		from.Endpoints = slices.Delete(from.Endpoints, i, i+1)
		return errors.Join(c.makeSlice(ctx, to), c.makeSlice(ctx, from))
	}
}

// openNamespace lets an administrator allow or forbid imports into the system namespace.
func openNamespace(ctx context.Context, _ *world, c *cluster) error {
	if !c.users.namespaces[systemNamespace] {
		return nil
	}
	object := &corev1.Namespace{}
	if err := c.admin.Get(ctx, types.NamespacedName{Name: systemNamespace}, object); err != nil {
		return err
	}
	c.users.open = !c.users.open
	object.Labels = nil
	if c.users.open {
		object.Labels = map[string]string{names.LabelExports: names.ExportsAllowed}
	}
	return c.admin.Update(ctx, object)
}

func changeNamespace(ctx context.Context, w *world, c *cluster) error {
	name := namespaces[w.random.IntN(len(namespaces))]
	if c.users.namespaces[name] && w.random.IntN(2) == 0 {
		return nil // else they are gone most of the time
	}
	return c.makeNamespace(ctx, name, !c.users.namespaces[name])
}

// editImports edits or deletes an object that Atoll manages in the cluster.
func editImports(ctx context.Context, w *world, c *cluster) error {
	found, err := listed(ctx, c.admin, &mcsv1beta1.ServiceImportList{}, &corev1.ServiceList{}, &discoveryv1.EndpointSliceList{})
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(o client.Object) bool {
		managed := o.GetLabels()[names.LabelManagedBy] == names.AgentManager || o.GetLabels()[discoveryv1.LabelManagedBy] == names.AgentManager
		return !managed || o.GetNamespace() == steadyNamespace
	})
	if len(found) == 0 {
		return nil
	}
	o := found[w.random.IntN(len(found))]
	w.note("%s: %T %s", c.id, o, keyOf(o))
	if w.random.IntN(3) == 0 {
		return c.admin.Delete(ctx, o)
	}
	switch o := o.(type) {
	case *mcsv1beta1.ServiceImport:
		o.Spec.Ports, o.Spec.SessionAffinity = nil, corev1.ServiceAffinityClientIP
	case *corev1.Service:
		o.Spec.Selector, o.Spec.Ports = map[string]string{"app": "mine"}, nil
	case *discoveryv1.EndpointSlice:
		if o.Endpoints = nil; w.random.IntN(2) == 0 {
			delete(o.Labels, names.LabelServiceName)
		}
	}
	return client.IgnoreNotFound(c.admin.Update(ctx, o))
}

// editRecords deletes an object of the cluster on the broker.
func editRecords(ctx context.Context, w *world, c *cluster) error {
	found, err := listed(ctx, w.admin, &brokerv1alpha1.ExportedServiceList{}, &discoveryv1.EndpointSliceList{})
	if err != nil {
		return err
	}
	found = slices.DeleteFunc(found, func(o client.Object) bool {
		return o.GetLabels()[names.LabelSourceCluster] != c.id.String() || o.GetLabels()[names.LabelServiceNamespace] == steadyNamespace
	})
	if len(found) == 0 {
		return nil
	}
	return w.admin.Delete(ctx, found[w.random.IntN(len(found))])
}

// listed returns all objects of some kinds.
func listed(ctx context.Context, c client.Client, lists ...client.ObjectList) (all []client.Object, err error) {
	for _, l := range lists {
		err = errors.Join(err, c.List(ctx, l), meta.EachListItem(l, func(o runtime.Object) error {
			all = append(all, o.(client.Object))
			return nil
		}))
	}
	return all, err
}

func killAgent(_ context.Context, w *world, c *cluster) error {
	return c.restartAgent(w.random.IntN(len(c.agents)))
}

func killDNS(_ context.Context, _ *world, c *cluster) error {
	if err := c.dns.end(); err != nil {
		return err
	}
	return c.startDNS()
}

// expire ends all watches and makes their resource versions too old to resume.
func expire(_ context.Context, w *world, c *cluster) error {
	c.api.Forget()
	w.broker.Forget()
	c.local.reset()
	c.broker.reset()
	return nil
}

// isolate cuts a cluster off from the broker and from all other clusters.
func isolate(_ context.Context, w *world, c *cluster) error {
	c.broker.stop()
	c.isolated = true
	for _, g := range w.guards {
		if g.cluster != c { // an isolated cluster does not withdraw endpoints
			g.excuse(c.id.String())
		}
	}
	return nil
}

// healOne ends the faults of a cluster.
func healOne(_ context.Context, _ *world, c *cluster) error {
	c.local.heal()
	c.broker.heal()
	c.isolated = false
	return nil
}

func backUp(ctx context.Context, w *world, _ *cluster) error {
	members, err := list(ctx, w.admin, &brokerv1alpha1.MemberClusterList{})
	if err != nil || w.wiped || slices.ContainsFunc(members.Items, func(m brokerv1alpha1.MemberCluster) bool { return m.Removed() }) {
		return err // known: an importer believes a restored removal, although the member has joined again since
	}
	w.backup, w.backedUp = w.broker.Backup(), time.Now()
	return nil
}

// restoring is the least time between a backup and its restore. Members detect the restore by
// their heartbeats, which they have renewed meanwhile.
const restoring = 20 * time.Second

// putBack restores the last backup of the broker, with old resource versions, whatever the
// broker stores now.
func putBack(ctx context.Context, w *world, _ *cluster) error {
	if w.backup == nil || time.Since(w.backedUp) < restoring {
		return nil
	}
	w.broker.Restore(w.backup)
	w.wiped = false
	w.endConnections()
	return w.restored(ctx)
}

// wipe deletes the clusterset's namespace, or replaces the broker with an empty broker at the
// same address. Members may reconnect one by one.
func wipe(ctx context.Context, w *world, _ *cluster) error {
	if w.wiped {
		return nil
	}
	w.wiped = true
	if w.random.IntN(2) == 0 {
		return w.admin.Delete(ctx, made.Namespace(brokerpkg.DefaultNamespace))
	}
	w.broker.Restore(w.empty)
	for _, c := range w.clusters {
		if w.random.IntN(2) == 0 {
			c.broker.stop()
		}
	}
	w.endConnections()
	return nil
}

// endConnections ends requests and watches to a broker that was replaced.
func (w *world) endConnections() {
	for _, c := range w.clusters {
		c.broker.reset()
	}
	if w.hub != nil {
		w.hub.way.reset()
	}
}
