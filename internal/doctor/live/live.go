// Package live updates surveys of clusters and of their broker with watches, for programs that show them continuously.
//
// It reads with the rights that it is given, and writes nothing. What it cannot read is in a survey's Unread.
package live

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Clusterset is a broker and some of its members.
type Clusterset struct {
	Members []*Member
	locate  credential.Locate
	direct  *rest.Config
	changed func(at int, service types.NamespacedName)

	mu     sync.Mutex
	broker *broker
	// why is why there is no new connection to the broker; nil while it is still looked for. attempts counts the connections.
	why      error
	attempts int
}

// Member is a cluster that is watched.
type Member struct {
	checkup.Target
	feed *feed
}

// broker is a clusterset on its broker.
type broker struct {
	feed       *feed
	clock      *survey.Clock
	clusterset string
	server     string
}

// Contact says whether an API server answers.
type Contact struct {
	// Answered is when it answered last; zero for never. Err is why it does not answer now.
	Answered time.Time
	Err      error
	// Unread are why kinds could not be read. Complete is set when all others have been.
	Unread   []error
	Complete bool
}

// isWhole reports whether all has been read.
func (c Contact) isWhole() bool { return c.Complete && len(c.Unread) == 0 }

// OfBroker is the place of changes on the broker. Other places are indexes of Members.
const OfBroker = -1

// New returns a clusterset. changed is called for each change with its place and the service that it concerns, or zero for all; it
// must not block.
// The broker is reached as locate says, with the credentials of a member; direct, if not nil, is another way, with other rights.
func New(targets []checkup.Target, locate credential.Locate, direct *rest.Config, changed func(at int, service types.NamespacedName)) (*Clusterset, error) {
	c := &Clusterset{locate: locate, direct: direct, changed: changed}
	for at, t := range targets {
		f, err := newFeed(t.Config, memberKinds(), func(service types.NamespacedName) { changed(at, service) })
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t, err)
		}
		c.Members = append(c.Members, &Member{t, f})
	}
	return c, nil
}

// Run watches until ctx is done.
func (c *Clusterset) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, m := range c.Members {
		all.Go(func() { m.feed.run(ctx, func(error) bool { return false }) })
	}
	all.Go(func() { c.runBroker(ctx) })
	all.Wait()
}

// runBroker connects to the broker, and again when its credentials are no longer accepted: the agents renew them.
func (c *Clusterset) runBroker(ctx context.Context) {
	for wait := firstWait; ctx.Err() == nil; wait = min(2*wait, askInterval) {
		b, err := c.reach(ctx)
		c.mu.Lock()
		if c.why = err; c.stillReads() {
			c.why = nil // its name, or the credentials for it, may not have been read yet
		}
		c.mu.Unlock()
		if err == nil {
			c.take(b)
		}
		c.changed(OfBroker, types.NamespacedName{})
		if err == nil {
			b.feed.run(ctx, apierrors.IsUnauthorized)
			if b.feed.state().isWhole() {
				wait = firstWait
			}
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// take makes a connection the one that is shown. One before stays, as old, until all has been read from the new one, or the API
// server refuses to show it.
func (c *Clusterset) take(b *broker) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broker == b {
		return
	}
	contact := b.feed.state()
	if c.broker == nil || contact.Complete && !slices.ContainsFunc(contact.Unread, mayPass) {
		c.broker = b
		c.attempts++
	}
}

// mayPass reports whether an error may end without anybody's doing.
func mayPass(err error) bool { return !apierrors.IsForbidden(err) && !apierrors.IsNotFound(err) }

// stillReads reports whether a member that answers is being read for the first time.
func (c *Clusterset) stillReads() bool {
	return slices.ContainsFunc(c.Members, func(m *Member) bool {
		contact := m.Contact()
		return !contact.Complete && contact.Err == nil
	})
}

// Name returns the clusterset's name: as the broker has it, or as the first member does; "" while it is unknown.
func (c *Clusterset) Name() string {
	if b, _ := c.connected(); b != nil {
		return b.clusterset
	}
	for _, m := range c.Members {
		if s := m.Overview(); s.Clusterset != "" {
			return s.Clusterset
		}
	}
	return ""
}

// BrokerServices returns the services that the broker has, and a text that is different when there is a new connection to it, or when
// the members have other permissions.
func (c *Clusterset) BrokerServices() (all []types.NamespacedName, revision string) {
	c.mu.Lock()
	b := c.broker
	revision = strconv.Itoa(c.attempts)
	c.mu.Unlock()
	if b == nil {
		return nil, revision
	}
	for _, key := range b.feed.kinds[exports].informer.GetIndexer().ListIndexFuncValues(byService) {
		if namespace, name, found := strings.Cut(key, "/"); found {
			all = append(all, types.NamespacedName{Namespace: namespace, Name: name})
		}
	}
	for _, config := range objects[*corev1.ConfigMap](b.feed, permitted, types.NamespacedName{}) {
		revision += " " + config.ResourceVersion
	}
	return all, revision
}

// reach finds the broker by the first member that answers and knows it.
func (c *Clusterset) reach(ctx context.Context) (*broker, error) {
	var failed []error
	name := ""
	if b, _ := c.connected(); b != nil {
		name = b.clusterset
	}
	for _, m := range c.Members {
		own := m.Overview().Clusterset
		switch contact := m.Contact(); {
		case contact.Err != nil:
			failed = append(failed, fmt.Errorf("%s: %w", m, contact.Err))
			continue
		case contact.Answered.IsZero() || m.isReading(properties): // the first member decides, not the fastest
			return nil, fmt.Errorf("%s: it is being read", m)
		case name != "" && own != "" && own != name: // these pages show one clusterset
			continue
		}
		config, clusterset, err := c.access(ctx, m)
		if err != nil {
			failed = append(failed, fmt.Errorf("%s: %w", m, err))
			continue
		}
		clock := &survey.Clock{}
		config.Wrap(clock.Wrap)
		b := &broker{clock: clock, clusterset: clusterset, server: config.Host}
		b.feed, err = newFeed(config, brokerKinds(clusterset), func(service types.NamespacedName) {
			c.take(b)
			c.changed(OfBroker, service)
		})
		return b, err
	}
	return nil, errors.Join(failed...)
}

func (c *Clusterset) access(ctx context.Context, m *Member) (*rest.Config, string, error) {
	if c.direct != nil {
		s := m.Overview()
		if s.Clusterset == "" {
			return nil, "", survey.ErrNotJoined
		}
		return rest.CopyConfig(c.direct), s.Clusterset, nil
	}
	ctx, cancel := context.WithTimeout(ctx, 2*askTime)
	defer cancel()
	return survey.BrokerAccess(ctx, m.Config, m.On, c.locate)
}

// Broker returns what was found on the broker, without EndpointSlices, and the broker's URL. It is nil if the records cannot be read.
// Its Members are nil if the members or their heartbeats cannot be read.
func (c *Clusterset) Broker() (*survey.Broker, string, Contact) {
	b, contact := c.connected()
	if b == nil {
		return nil, "", contact
	}
	found := c.BrokerOf(c.BrokerGeneral(), types.NamespacedName{})
	if found == nil || !b.feed.has(members, heartbeats) {
		return found, b.server, contact
	}
	found.Members = values(objects[*brokerv1alpha1.MemberCluster](b.feed, members, types.NamespacedName{}))
	found.Members = slices.DeleteFunc(found.Members, func(m brokerv1alpha1.MemberCluster) bool { return m.Removed() })
	found.Heartbeats = values(objects[*coordinationv1.Lease](b.feed, heartbeats, types.NamespacedName{}))
	return found, b.server, contact
}

// connected returns the present connection to the broker, or nil, and whether it answers.
func (c *Clusterset) connected() (*broker, Contact) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broker == nil {
		return nil, Contact{Err: c.why}
	}
	contact := c.broker.feed.state()
	if c.why != nil {
		contact.Err = c.why
	}
	return c.broker, contact
}

// BrokerGeneral returns what concerns all services on the broker but its lists: its time, and the members' permissions. It is nil if
// what decides about services cannot be read: records, policies and permissions.
func (c *Clusterset) BrokerGeneral() *survey.Broker {
	b, _ := c.connected()
	if b == nil || !b.feed.has(exports, policies, permitted) {
		return nil
	}
	found := &survey.Broker{}
	found.At, found.RoundTrip = b.clock.Last()
	for _, config := range objects[*corev1.ConfigMap](b.feed, permitted, types.NamespacedName{}) {
		found.Permissions, _ = permissions.Read(config)
	}
	return found
}

// BrokerOf adds to a BrokerGeneral the records of a service, or of all if it is zero.
func (c *Clusterset) BrokerOf(general *survey.Broker, service types.NamespacedName) *survey.Broker {
	b, _ := c.connected()
	if b == nil || general == nil {
		return nil
	}
	found := *general
	found.Exports = values(objects[*brokerv1alpha1.ExportedService](b.feed, exports, service))
	found.Exports = slices.DeleteFunc(found.Exports, func(e brokerv1alpha1.ExportedService) bool { return layout.Withdrawn(&e) })
	found.Policies = values(objects[*brokerv1alpha1.ServicePolicy](b.feed, policies, service))
	found.Policies = slices.DeleteFunc(found.Policies, func(p brokerv1alpha1.ServicePolicy) bool { return layout.Withdrawn(&p) })
	return &found
}

// Contact says whether the cluster answers.
func (m *Member) Contact() Contact { return m.feed.state() }

func (f *feed) state() Contact {
	answered, err := f.contact()
	unread, complete := f.unread()
	return Contact{answered, err, unread, complete}
}

// Survey adds to an Overview what was found in the cluster of a service, or of all if it is zero. It has no broker.
func (m *Member) Survey(general *survey.Survey, service types.NamespacedName) *survey.Survey {
	s := *general
	s.Cluster.Exports = values(objects[*mcsv1beta1.ServiceExport](m.feed, exports, service))
	s.Cluster.Imports = values(objects[*mcsv1beta1.ServiceImport](m.feed, imports, service))
	s.Cluster.Slices = values(objects[*discoveryv1.EndpointSlice](m.feed, endpoints, service))
	return &s
}

// HasEndpoints reports whether the cluster's EndpointSlices have been read.
func (m *Member) HasEndpoints() bool { return m.feed.has(endpoints) }

// KnowsProperties reports whether it is known which ClusterProperties the cluster has, and so its id. A cluster that defines neither
// them nor ServiceExports has none. KnowsLost reports whether it is known which clusters it does not reach.
func (m *Member) KnowsProperties() bool {
	return m.feed.has(properties) || m.lacks(properties) && m.lacks(exports)
}

// KnowsLost is described at KnowsProperties.
func (m *Member) KnowsLost() bool { return m.feed.has(lostClusters) }

// lacks reports whether the cluster does not define a kind.
func (m *Member) lacks(what string) bool { return apierrors.IsNotFound(m.feed.kinds[what].unread()) }

// isReading reports whether a kind is still being read for the first time.
func (m *Member) isReading(what string) bool {
	w := m.feed.kinds[what]
	return !w.synced() && w.unread() == nil
}

// Overview is Survey without services.
func (m *Member) Overview() *survey.Survey {
	s := &survey.Survey{On: m.On}
	s.Unread, _ = m.feed.unread()
	s.Cluster.Properties = map[string]string{}
	for _, p := range objects[*aboutv1beta1.ClusterProperty](m.feed, properties, types.NamespacedName{}) {
		s.Cluster.Properties[p.Name] = p.Spec.Value
	}
	s.ClusterID = names.ClusterID(s.Cluster.Properties[aboutv1beta1.ClusterIDProperty])
	s.Clusterset = s.Cluster.Properties[aboutv1beta1.ClustersetProperty]
	for _, config := range objects[*corev1.ConfigMap](m.feed, lostClusters, types.NamespacedName{}) {
		s.Cluster.SetLost(config.Data)
	}
	return s
}

// The kinds, as messages name them.
const (
	exports, imports, endpoints, properties, lostClusters = "ServiceExports", "ServiceImports", "EndpointSlices", "ClusterProperties", "lost clusters"
	members, heartbeats, policies, permitted              = "members", "heartbeats", "policies", "permissions of members"
)

func ofAll(client.Object) types.NamespacedName { return types.NamespacedName{} }

func itself(o client.Object) types.NamespacedName { return client.ObjectKeyFromObject(o) }

func withoutManagers(o client.Object) { o.SetManagedFields(nil) }

func memberKinds() []kind {
	return []kind{
		{what: exports, object: &mcsv1beta1.ServiceExport{}, list: &mcsv1beta1.ServiceExportList{}, strip: withoutManagers, service: itself},
		{what: imports, object: &mcsv1beta1.ServiceImport{}, list: &mcsv1beta1.ServiceImportList{}, strip: withoutManagers, service: itself},
		{
			what: endpoints, object: &discoveryv1.EndpointSlice{}, list: &discoveryv1.EndpointSliceList{},
			options: []client.ListOption{client.MatchingLabelsSelector{Selector: imported}}, strip: stripSlice,
			service: func(o client.Object) types.NamespacedName {
				return types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetLabels()[names.LabelServiceName]}
			},
		},
		{
			what: properties, object: &aboutv1beta1.ClusterProperty{}, list: &aboutv1beta1.ClusterPropertyList{},
			strip: withoutManagers, service: ofAll, inNoNamespace: true,
		},
		{
			what: lostClusters, object: &corev1.ConfigMap{}, list: &corev1.ConfigMapList{}, strip: withoutManagers, service: ofAll,
			options: []client.ListOption{client.InNamespace(names.SystemNamespace), client.MatchingFields{"metadata.name": names.LostClusters}},
		},
	}
}

func brokerKinds(clusterset string) []kind {
	in := client.InNamespace(clusterset)
	return []kind{
		{
			what: members, object: &brokerv1alpha1.MemberCluster{}, list: &brokerv1alpha1.MemberClusterList{},
			options: []client.ListOption{in}, strip: withoutManagers, service: ofAll,
		},
		{ // their managed fields have the broker's time of each heartbeat
			what: heartbeats, object: &coordinationv1.Lease{}, list: &coordinationv1.LeaseList{},
			options: []client.ListOption{in, client.HasLabels{names.LabelSourceCluster}}, service: ofAll, listed: true,
		},
		{
			what: exports, object: &brokerv1alpha1.ExportedService{}, list: &brokerv1alpha1.ExportedServiceList{},
			options: []client.ListOption{in}, strip: withoutManagers,
			service: func(o client.Object) types.NamespacedName { return o.(*brokerv1alpha1.ExportedService).Spec.Service() },
		},
		{
			what: policies, object: &brokerv1alpha1.ServicePolicy{}, list: &brokerv1alpha1.ServicePolicyList{},
			options: []client.ListOption{in}, strip: withoutManagers,
			service: func(o client.Object) types.NamespacedName { return o.(*brokerv1alpha1.ServicePolicy).Spec.Service() },
		},
		{
			what: permitted, object: &corev1.ConfigMap{}, list: &corev1.ConfigMapList{}, strip: withoutManagers, service: ofAll,
			options: []client.ListOption{in, client.MatchingFields{"metadata.name": names.MemberPermissions}},
		},
	}
}

// imported selects imported slices. On a cluster that is also a broker, slices that members publish have the second label.
var imported = labels.SelectorFromSet(labels.Set{discoveryv1.LabelManagedBy: names.AgentManager}).Add(*notPublished)

var notPublished, _ = labels.NewRequirement(names.LabelServiceNamespace, selection.DoesNotExist, nil)

// stripSlice keeps of an imported slice what lists count: the endpoints' states, and one address of each.
func stripSlice(o client.Object) {
	slice, ok := o.(*discoveryv1.EndpointSlice)
	if !ok {
		return
	}
	withoutManagers(slice)
	slice.OwnerReferences = nil
	for i := range slice.Endpoints {
		e := &slice.Endpoints[i]
		slice.Endpoints[i] = discoveryv1.Endpoint{Addresses: slices.Clone(e.Addresses[:min(1, len(e.Addresses))]), Conditions: e.Conditions}
	}
}
