package importedslice

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/imports/imported"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// roles are the decisions about services with a preference, weights, drained or silent clusters. Other services have none.
type roles struct {
	mu       sync.Mutex
	services map[types.NamespacedName]*roleSet
	// changes are requests whose slice has other roles, or that waited for another slice. decided are services with a new decision.
	changes kit.Changes[Request]
	decided kit.Changes[types.NamespacedName]
}

// Decision returns the decision about a service, and why its TrafficPolicy does not apply.
func (r *Reconciler) Decision(service types.NamespacedName) (choice.Result, error) {
	set := r.roles.of(service, false)
	if set == nil {
		return choice.Result{}, nil
	}
	set.mu.Lock()
	defer set.mu.Unlock()
	return set.result, set.invalid
}

// Roles counts the services by the roles of clusters, with their reasons.
func (r *Reconciler) Roles() map[metrics.Role]int {
	all := map[metrics.Role]int{}
	for _, service := range r.roles.all() {
		result, _ := r.Decision(service)
		for _, c := range result.Clusters {
			all[metrics.Role{Cluster: c.Cluster.String(), Role: c.Role.String(), Reason: string(c.Reason)}]++
		}
	}
	return all
}

// Decided publishes the services with a new decision.
func (r *Reconciler) Decided() *kit.Changes[types.NamespacedName] { return &r.roles.decided }

// roleSet is the decision about one service.
type roleSet struct {
	mu sync.Mutex
	// input is what was decided from, without slices; planned are the slices as they would be without roles, by their source
	// (a Request without ports).
	input   choice.Service
	planned map[Request]*discoveryv1.EndpointSlice
	groups  map[Request][]choice.Group
	result  choice.Result
	// invalid is why the service's TrafficPolicy does not apply.
	invalid error
	// wanted are the slices with their roles. promoted are those of them that bring endpoints on standby into use, until they are
	// written, and waiting are those that waited for others.
	wanted            map[Request]*discoveryv1.EndpointSlice
	promoted, waiting map[Request]bool
	// last are the slices as this process wrote them: the cache shows them a moment later. writing are those that are being written.
	last, writing map[Request]*discoveryv1.EndpointSlice
}

// of returns a service's decision. If it has none, it is created if it is needed.
func (r *roles) of(service types.NamespacedName, needed bool) *roleSet {
	r.mu.Lock()
	defer r.mu.Unlock()
	set := r.services[service]
	if set == nil && needed {
		set = &roleSet{promoted: map[Request]bool{}, waiting: map[Request]bool{}, last: map[Request]*discoveryv1.EndpointSlice{}, writing: map[Request]*discoveryv1.EndpointSlice{}}
		if r.services == nil {
			r.services = map[types.NamespacedName]*roleSet{}
		}
		r.services[service] = set
	}
	return set
}

// source returns the request for all ports of the source.
func (req Request) source() Request {
	req.Ports = ""
	return req
}

// all returns the services that have decisions.
func (r *roles) all() []types.NamespacedName {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Keys(r.services))
}

// choiceOf returns what the roles of a service's endpoints depend on, without its slices, whether there is something to decide,
// and why the service's TrafficPolicy does not apply.
func (r *Reconciler) choiceOf(ctx context.Context, in inputsOf) (s choice.Service, decides bool, invalid, _ error) {
	if in.imp == nil {
		r.Problems.Set(in.service, status.Part{Kind: trafficv1alpha1.TrafficPolicyKind}, status.Problem{})
		return s, false, nil, nil
	}
	s = choice.Service{Name: in.service, Importer: r.Cluster.ID, Headless: in.imp.Spec.Type == mcsv1beta1.Headless, OmitStandby: r.OmitStandby}
	preference, err := r.Cluster.Preference(ctx, in.service, in.exports)
	if err != nil {
		return s, false, nil, fmt.Errorf("reading the TrafficPolicies for %s: %w", in.service, err)
	}
	view, clusterIPs := r.Cluster.View, false
	permitted := view.Permissions()
	for i := range in.exports {
		id := names.ClusterID(in.exports[i].ClusterID)
		c := choice.Cluster{ID: id, Drained: in.exports[i].Drained || permitted.Drains(id), Silent: r.Lost.Silent(id)}
		if member := view.Cluster(id); member != nil && preference.Preference != nil {
			c.Properties = choice.PropertiesOf(member)
			clusterIPs = clusterIPs || id != r.Cluster.ID && member.Spec.AdvertiseMode == brokerv1alpha1.AdvertiseClusterIP
		}
		decides = decides || c.Drained || c.Silent
		s.Clusters = append(s.Clusters, c)
	}
	if preference.Preference == nil {
		r.Problems.Set(in.service, status.Part{Kind: trafficv1alpha1.TrafficPolicyKind}, withoutEffect(in.service, preference, nil))
		return s, decides, nil, nil
	}
	if self := view.Cluster(r.Cluster.ID); self != nil {
		s.ImporterProperties = choice.PropertiesOf(self)
	}
	s.Policy, invalid = choice.PolicyOf(preference.Preference, s.Headless, in.imp.Spec.TrafficDistribution != nil, clusterIPs)
	r.Problems.Set(in.service, status.Part{Kind: trafficv1alpha1.TrafficPolicyKind}, withoutEffect(in.service, preference, invalid))
	return s, decides || s.Policy != nil, invalid, nil
}

// withoutEffect returns the warning that another cluster's TrafficPolicy, or a part of it, does not count here. The status of a
// TrafficPolicy of this cluster says it itself.
func withoutEffect(service types.NamespacedName, p choice.Applied, invalid error) (problem status.Problem) {
	switch {
	case p.Exporter != "" && invalid != nil:
		problem.Warnings = []status.Warning{{Reason: ReasonPolicyInvalid, Message: fmt.Sprintf(
			"Parts of the TrafficPolicy for the export of cluster %q have no effect in this cluster: %v.", p.Exporter, invalid)}}
	case p.Ignored != "":
		problem.Warnings = []status.Warning{{Reason: ReasonWeightsNotAccepted, Message: fmt.Sprintf(
			"The TrafficPolicy for the export of cluster %q has weights or fallback None, which have no effect in this cluster. To accept them: %s", p.Ignored,
			command.Here.Kubectl("annotate namespace %s %s=%s", service.Namespace, names.AnnotationAcceptWeights, p.Ignored))}}
	}
	return problem
}

// currentChoice is choiceOf with the service's exports as they are now.
func (r *Reconciler) currentChoice(ctx context.Context, req Request, in inputsOf) (s choice.Service, decides bool, invalid, _ error) {
	imp, exported, err := r.gatherImport(ctx, in.service)
	if err != nil {
		return s, false, nil, fmt.Errorf("reading the exports of %s for EndpointSlice %v: %w", in.service, req, err)
	}
	in.imp, in.exports = imp, exported.Imported
	return r.choiceOf(ctx, in)
}

// assign returns the slice to write for a request: some ports of the planned slice, with their endpoints' roles. planned is nil if
// nothing is imported. The set is nil if there is nothing to decide.
func (r *Reconciler) assign(ctx context.Context, req Request, in inputsOf, planned *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, *roleSet, error) {
	input, decides, invalid, err := r.choiceOf(ctx, in)
	if err != nil {
		return nil, nil, err
	}
	set := r.roles.of(in.service, decides || invalid != nil || req.Ports != "")
	if set == nil {
		return planned, nil, nil
	}
	set.mu.Lock()
	if !reflect.DeepEqual(set.input, input) { // what was read before the lock may be older than what was decided from
		if input, decides, invalid, err = r.currentChoice(ctx, req, in); err != nil {
			set.mu.Unlock()
			return nil, nil, err
		}
	}
	changed, decided, err := r.update(ctx, set, req.source(), in.service, input, planned)
	if fmt.Sprint(set.invalid) != fmt.Sprint(invalid) {
		set.invalid, decided = invalid, true
	}
	planned = set.planned[req.source()]
	group, found := set.group(req)
	if !decides && invalid == nil && !set.isSplit() {
		r.roles.forget(in.service, set)
	}
	set.mu.Unlock()
	r.roles.changes.Publish(changed...)
	if decided {
		r.roles.decided.Publish(in.service)
	}
	if err != nil || planned == nil || !found {
		return nil, set, err
	}
	return withRoles(planned, group, req), set, nil
}

// keepRoles returns the slice to write for a request of this cluster while the exports of others, and properties of clusters, are
// unknown, as after a restart without the broker. Its endpoints keep their roles, and its ports stay in their slices.
func (r *Reconciler) keepRoles(ctx context.Context, req Request, service types.NamespacedName, have, planned *discoveryv1.EndpointSlice) (*discoveryv1.EndpointSlice, error) {
	if planned == nil {
		return nil, nil
	}
	var others []*discoveryv1.EndpointSlice
	if have != nil && slices.ContainsFunc(planned.Ports, func(p discoveryv1.EndpointPort) bool { return !hasPort(have, p) }) {
		var err error
		if others, err = r.Cluster.Imported(ctx, service); err != nil {
			return nil, err
		}
	}
	isInOther := func(port discoveryv1.EndpointPort) bool {
		return slices.ContainsFunc(others, func(s *discoveryv1.EndpointSlice) bool {
			of := sources(s)[0]
			return of != req && of.source() == req.source() && hasPort(s, port)
		})
	}
	group := choice.Group{Suffix: req.Ports, Ports: []discoveryv1.EndpointPort{}}
	for _, port := range planned.Ports {
		if hasPort(have, port) || req.Ports == "" && !isInOther(port) {
			group.Ports = append(group.Ports, port)
		}
	}
	if req.Ports != "" && len(group.Ports) == 0 {
		return nil, nil
	}
	group.Endpoints = rolesIn(have, planned)
	return withRoles(planned, group, req), nil
}

// rolesIn returns the decisions for the endpoints of a planned slice that a slice shows, or nil if there are none: endpoints stand
// by that stood by, and those are absent that were left out. A new endpoint gets the role of the others.
func rolesIn(have, planned *discoveryv1.EndpointSlice) []choice.Decision {
	if have == nil {
		return nil
	}
	reasons, absent := layout.StandbyReasons(have), have.Annotations[names.AnnotationAbsent]
	if len(reasons) == 0 && absent == "" {
		return nil
	}
	there := map[string]*discoveryv1.Endpoint{}
	for i := range have.Endpoints {
		there[have.Endpoints[i].Addresses[0]] = &have.Endpoints[i]
	}
	anyReady := slices.ContainsFunc(have.Endpoints, func(e discoveryv1.Endpoint) bool { return ptr.Deref(e.Conditions.Ready, true) })
	decisions := make([]choice.Decision, len(planned.Endpoints))
	for i := range planned.Endpoints {
		e := &planned.Endpoints[i]
		switch before := there[e.Addresses[0]]; {
		case before == nil && absent != "":
			decisions[i] = choice.Decision{Role: choice.Absent, Reason: choice.Reason(absent)}
		case ptr.Deref(e.Conditions.Ready, true) && len(reasons) > 0 && (!anyReady || before != nil && endpoints.IsStandby(before)):
			decisions[i] = choice.Decision{Role: choice.Standby, Reason: choice.Reason(reasons[0])}
		}
	}
	return decisions
}

func (r *roles) forget(service types.NamespacedName, set *roleSet) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.services[service] == set {
		delete(r.services, service)
	}
}

// delete forgets the decision about a deleted import.
func (r *roles) delete(service types.NamespacedName) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.services, service)
}

// update decides again if something has changed, and returns the requests whose slices have other roles.
func (r *Reconciler) update(ctx context.Context, set *roleSet, source Request, service types.NamespacedName, input choice.Service, planned *discoveryv1.EndpointSlice) (changed []Request, decided bool, _ error) {
	switch {
	case set.planned == nil || !reflect.DeepEqual(set.input, input):
		plans, err := r.plans(ctx, service)
		if err != nil {
			return nil, false, err
		}
		set.input, set.planned = input, plans
	case endpoints.SameEndpoints(set.planned[source], planned):
		if planned != nil { // with its revision
			set.planned[source] = planned
			for _, group := range set.groups[source] {
				set.want(source, group)
			}
		}
		return nil, false, nil
	default:
		set.planned = maps.Clone(set.planned)
	}
	if set.planned[source] = planned; planned == nil {
		delete(set.planned, source)
	}
	changed = set.decide()
	for _, req := range changed {
		have, err := r.states(ctx, set, req)
		if err != nil {
			return nil, false, err
		}
		if delete(set.promoted, req); have.promotes(set.wanted[req]) {
			set.promoted[req] = true
		}
	}
	return changed, true, nil
}

// decide decides from the input and the planned slices, and returns the requests whose slices have other roles.
func (s *roleSet) decide() (changed []Request) {
	before := s.groups
	s.groups, s.result = groupsOf(s.input, s.planned)
	s.wanted = map[Request]*discoveryv1.EndpointSlice{}
	for source, groups := range s.groups {
		for _, group := range groups {
			s.want(source, group)
		}
	}
	for _, sources := range []map[Request][]choice.Group{before, s.groups} {
		for source := range sources {
			if !reflect.DeepEqual(before[source], s.groups[source]) {
				changed = append(changed, requestsOf(source, before[source])...)
				changed = append(changed, requestsOf(source, s.groups[source])...)
			}
		}
	}
	return changed
}

func (s *roleSet) want(source Request, group choice.Group) {
	req := source
	req.Ports = group.Suffix
	s.wanted[req] = withRoles(s.planned[source], group, req)
}

// groupsOf decides a service, and returns the groups of each slice.
func groupsOf(input choice.Service, planned map[Request]*discoveryv1.EndpointSlice) (map[Request][]choice.Group, choice.Result) {
	input.Clusters = slices.Clone(input.Clusters)
	for i := range input.Clusters {
		c := &input.Clusters[i]
		for source, slice := range planned {
			if source.Cluster == c.ID {
				c.Slices = append(c.Slices, slice)
			}
		}
	}
	result := choice.Decide(input)
	groups := make(map[Request][]choice.Group, len(planned))
	for source, slice := range planned {
		groups[source] = result.Groups(source.Cluster, slice)
	}
	return groups, result
}

func requestsOf(source Request, groups []choice.Group) (all []Request) {
	for _, g := range groups {
		source.Ports = g.Suffix
		all = append(all, source)
	}
	return all
}

// split knows the imported slices that have only some ports of their sources.
type split struct {
	mu  sync.Mutex
	all map[Request]map[Request]bool // by source
}

// note records that an imported slice exists, or does not any more.
func (s *split) note(req Request, exists bool) {
	if req.Ports == "" {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	of := s.all[req.source()]
	switch {
	case !exists:
		if delete(of, req); len(of) == 0 {
			delete(s.all, req.source())
		}
	case of == nil:
		if s.all == nil {
			s.all = map[Request]map[Request]bool{}
		}
		s.all[req.source()] = map[Request]bool{req: true}
	default:
		of[req] = true
	}
}

// of returns the requests for all slices of a source.
func (s *split) of(source Request) []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request{source}, slices.Collect(maps.Keys(s.all[source]))...)
}

// group returns the group of a request.
func (s *roleSet) group(req Request) (choice.Group, bool) {
	for _, g := range s.groups[req.source()] {
		if g.Suffix == req.Ports {
			return g, true
		}
	}
	return choice.Group{}, false
}

// isSplit reports whether a source has several slices that this process wrote.
func (s *roleSet) isSplit() bool {
	for req := range s.last {
		if req.Ports != "" {
			return true
		}
	}
	return false
}

// has reports whether one of a source's slices is to have a port.
func (s *roleSet) has(source Request, port discoveryv1.EndpointPort) bool {
	if s == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.groups[source], func(g choice.Group) bool {
		return hasPort(&discoveryv1.EndpointSlice{Ports: g.Ports}, port)
	})
}

// plans returns all slices of a service as they would be without roles, by their source.
func (r *Reconciler) plans(ctx context.Context, service types.NamespacedName) (map[Request]*discoveryv1.EndpointSlice, error) {
	all := map[Request]*discoveryv1.EndpointSlice{}
	for _, req := range r.of(ctx, service) {
		source := req.source()
		if _, known := all[source]; known {
			continue
		}
		have, err := imported.Slice(ctx, r.Cluster.Client, source.name())
		if err != nil {
			return nil, fmt.Errorf("reading the imported EndpointSlice of %v: %w", source, err)
		}
		in, err := r.gather(ctx, source, have)
		if err != nil {
			return nil, fmt.Errorf("reading the objects that EndpointSlice %v depends on: %w", source, err)
		}
		plan := decide(in, source, r.Network, r.Cluster.ID).want
		if in.waits || in.kept {
			plan = withoutRoles(have)
		}
		if plan != nil {
			all[source] = plan
		}
	}
	return all, nil
}
