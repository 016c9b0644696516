package report

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	mcsendpoints "github.com/atoll-mcs/atoll/internal/mcs/endpoints"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
)

// Prediction says who would serve a service without one of its clusters.
type Prediction struct {
	Name    string `json:"name"`
	Cluster string `json:"cluster"`
	Without string `json:"without"`
	// Ports are sorted. A headless service has one for each family, without name.
	Ports []PredictedPort `json:"ports"`
	// Unread are why objects could not be read on which the prediction depends.
	Unread []string `json:"unread,omitempty"`
}

// PredictedPort is the prediction for one port of one address family.
type PredictedPort struct {
	Family string `json:"family"`
	Port   string `json:"port,omitempty"`
	// Served is set if a cluster would have a ready endpoint.
	Served   bool               `json:"served"`
	Clusters []PredictedCluster `json:"clusters"`
}

// PredictedCluster is one cluster's part.
type PredictedCluster struct {
	Cluster string `json:"cluster"`
	Role    string `json:"role"`
	Reason  string `json:"reason"`
	// Ready and Active count endpoints. Share is the part of all active ones, in percent.
	Ready  int     `json:"ready"`
	Active int     `json:"active"`
	Share  float64 `json:"sharePercent"`
}

// Without predicts from what the broker has now. The survey needs Scope.Service, Endpoints and Traffic.
func Without(s *survey.Survey, service types.NamespacedName, without names.ClusterID) (Prediction, error) {
	p := Prediction{Name: service.Name + "." + service.Namespace + ".svc." + survey.Zone, Cluster: s.ClusterID.String(), Without: without.String()}
	if s.Broker == nil {
		return p, fmt.Errorf("the broker cannot be read: %w", s.BrokerErr)
	}
	exports := notRefused(s, service, constituents(s, service))
	if !slices.ContainsFunc(exports, func(e merge.Export) bool { return e.ClusterID == without.String() }) {
		return p, fmt.Errorf("cluster %s does not export %s, or cluster %s does not import from it", without, service, p.Cluster)
	}
	for _, err := range s.UnreadTraffic {
		p.Unread = append(p.Unread, err.Error())
	}
	input, _ := choiceOf(s, service, exports)
	for i := range input.Clusters {
		input.Clusters[i].Silent = input.Clusters[i].Silent || input.Clusters[i].ID == without
	}
	for _, port := range choice.Decide(input).Ports {
		p.Ports = append(p.Ports, predicted(port, without))
	}
	return p, nil
}

// WithoutAll predicts for all services that a cluster exports and the queried cluster imports. The survey needs Scope.Endpoints and
// Traffic, of all services.
func WithoutAll(s *survey.Survey, without names.ClusterID) ([]Prediction, error) {
	if s.Broker == nil {
		return nil, fmt.Errorf("the broker cannot be read: %w", s.BrokerErr)
	}
	published := map[types.NamespacedName][]discoveryv1.EndpointSlice{}
	for _, slice := range s.Broker.Slices {
		service := types.NamespacedName{Namespace: slice.Labels[names.LabelServiceNamespace], Name: slice.Labels[names.LabelServiceName]}
		published[service] = append(published[service], slice)
	}
	records := map[types.NamespacedName][]brokerv1alpha1.ExportedService{}
	for _, e := range s.Broker.Exports {
		records[e.Spec.Service()] = append(records[e.Spec.Service()], e)
	}
	imported := map[types.NamespacedName][]mcsv1beta1.ServiceImport{}
	for _, i := range s.Cluster.Imports {
		service := types.NamespacedName{Namespace: i.Namespace, Name: i.Name}
		imported[service] = append(imported[service], i)
	}
	accepted := map[string]string{}
	for _, n := range s.Cluster.Namespaces {
		accepted[n.Name] = n.Annotations[names.AnnotationAcceptWeights]
	}
	var all []Prediction
	for service, exports := range records {
		if !slices.ContainsFunc(exports, func(e brokerv1alpha1.ExportedService) bool { return e.Spec.ClusterID == without.String() }) {
			continue
		}
		one, broker := *s, *s.Broker
		broker.Exports, broker.Slices = exports, published[service]
		one.Broker, one.Cluster.Imports, one.Cluster.AcceptWeights, one.UnreadTraffic = &broker, imported[service], accepted[service.Namespace], nil
		if p, err := Without(&one, service, without); err == nil { // else the queried cluster does not import from it
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b Prediction) int { return strings.Compare(a.Name, b.Name) })
	return all, nil
}

func predicted(port choice.PortResult, without names.ClusterID) PredictedPort {
	p := PredictedPort{Family: string(port.AddressType), Port: port.Port}
	for _, c := range port.Clusters {
		if c.Cluster == without {
			continue
		}
		p.Served = p.Served || c.Role == choice.Active
		p.Clusters = append(p.Clusters, PredictedCluster{
			Cluster: c.Cluster.String(), Role: c.Role.String(), Reason: string(c.Reason), Ready: c.Usable, Active: c.Active, Share: math.Round(c.Share),
		})
	}
	return p
}

// notRefused returns the exports of a service from clusters that its namespace does not refuse.
func notRefused(s *survey.Survey, service types.NamespacedName, exports []merge.Export) []merge.Export {
	rules := rulesIn(s, service.Namespace)
	return slices.DeleteFunc(slices.Clone(exports), func(e merge.Export) bool {
		return e.ClusterID != s.ClusterID.String() && rules.Reason(names.ClusterID(e.ClusterID)) != ""
	})
}

// choiceOf returns what the agents decide from, and the preference in it.
func choiceOf(s *survey.Survey, service types.NamespacedName, exports []merge.Export) (choice.Service, *Preference) {
	own, byDefault := policiesFor(s, service)
	accepted, _ := refusal.Parse(s.Cluster.AcceptWeights)
	applied := choice.PreferenceOf(choice.Oldest(own), byDefault, exports, s.ClusterID, func(id names.ClusterID) bool {
		return accepted.Has(id) || s.Broker.Permissions.Owns(id, service.Namespace)
	})
	oldest := choice.OldestExport(exports)
	c := choice.Service{Name: service, Importer: s.ClusterID, Headless: oldest.Type == mcsv1beta1.Headless, OmitStandby: s.Cluster.OmitsStandby()}
	members := map[string]*brokerv1alpha1.MemberCluster{}
	for i := range s.Broker.Members {
		members[s.Broker.Members[i].Name] = &s.Broker.Members[i]
	}
	clusterIPs, ports := false, merge.Resolve(exports).Spec.Ports
	for _, e := range exports {
		id := names.ClusterID(e.ClusterID)
		one := choice.Cluster{ID: id, Drained: isDrained(s, e), Silent: s.Cluster.Silent[e.ClusterID] != ""}
		if m := members[e.ClusterID]; m != nil {
			one.Properties = choice.PropertiesOf(m)
			clusterIPs = clusterIPs || id != s.ClusterID && m.Spec.AdvertiseMode == brokerv1alpha1.AdvertiseClusterIP
		}
		isWithdrawn := s.Cluster.Withdrawn[e.ClusterID] != "" && e.OnClusterLoss != names.OnLossKeep
		for i := range s.Broker.Slices {
			if isWithdrawn {
				break
			}
			if slice := &s.Broker.Slices[i]; slice.Labels[names.LabelSourceCluster] == e.ClusterID && isOfFamily(s, service, slice) {
				one.Slices = append(one.Slices, asImported(s, slice, e.Ports, ports))
			}
		}
		c.Clusters = append(c.Clusters, one)
	}
	if self := members[s.ClusterID.String()]; self != nil {
		c.ImporterProperties = choice.PropertiesOf(self)
	}
	policy, err := choice.PolicyOf(applied.Preference, c.Headless, oldest.TrafficDistribution != nil, clusterIPs)
	c.Policy = policy
	return c, preferenceOf(applied, err)
}

// isOfFamily reports whether the queried cluster imports a service's slices of an IP family.
func isOfFamily(s *survey.Survey, service types.NamespacedName, slice *discoveryv1.EndpointSlice) bool {
	i := slices.IndexFunc(s.Cluster.Imports, func(i mcsv1beta1.ServiceImport) bool {
		return i.Namespace == service.Namespace && i.Name == service.Name
	})
	return i < 0 || len(s.Cluster.Imports[i].Spec.IPFamilies) == 0 || slice.AddressType == "" ||
		slices.Contains(s.Cluster.Imports[i].Spec.IPFamilies, corev1.IPFamily(slice.AddressType))
}

// policiesFor returns the queried cluster's TrafficPolicies for a service's import, and its default.
func policiesFor(s *survey.Survey, service types.NamespacedName) (own []*trafficv1alpha1.TrafficPolicy, byDefault *trafficv1alpha1.TrafficPolicy) {
	for i := range s.Cluster.TrafficPolicies {
		policy := &s.Cluster.TrafficPolicies[i]
		if policy.Namespace == service.Namespace && slices.ContainsFunc(policy.Spec.TargetRefs, func(t trafficv1alpha1.LocalPolicyTargetReference) bool {
			return t.Kind == mcsv1beta1.ServiceImportKindName && t.Name == service.Name
		}) {
			own = append(own, policy)
		}
		if choice.IsDefault(policy) {
			byDefault = policy
		}
	}
	return own, byDefault
}

// asImported returns a published slice with the ports' names in the import, without ports that get no traffic, and without addresses
// that the broker does not permit.
func asImported(s *survey.Survey, slice *discoveryv1.EndpointSlice, exported, imported []mcsv1beta1.ServicePort) *discoveryv1.EndpointSlice {
	same, id := *slice, layout.Cluster(slice)
	if same.Ports = nil; id != s.ClusterID {
		same.Endpoints = slices.DeleteFunc(slices.Clone(slice.Endpoints), func(e discoveryv1.Endpoint) bool {
			return slices.ContainsFunc(e.Addresses, func(text string) bool {
				address, err := netip.ParseAddr(text)
				return err != nil || !s.Broker.Permissions.AllowsAddress(id, address)
			})
		})
	}
	for _, p := range slice.Ports {
		if i := mcsendpoints.Serves(p, exported, imported); i >= 0 {
			p.Name = &imported[i].Name
			same.Ports = append(same.Ports, p)
		}
	}
	return &same
}

// Preference is the TrafficPolicy that applies to a service.
type Preference struct {
	// Policy is the namespace and name of a TrafficPolicy of the queried cluster, or else Exporter is the cluster whose export has one.
	Policy   string `json:"policy,omitempty"`
	Exporter string `json:"exporter,omitempty"`
	// NoEffect is why it, or a part of it, has no effect.
	NoEffect string `json:"noEffect,omitempty"`
}

func preferenceOf(applied choice.Applied, invalid error) *Preference {
	p := &Preference{Exporter: applied.Exporter.String()}
	switch {
	case applied.Preference == nil && applied.Ignored == "":
		return nil
	case applied.Policy != nil:
		p.Policy = applied.Policy.Namespace + "/" + applied.Policy.Name
	case applied.Exporter == "":
		p.Exporter = applied.Ignored.String()
	}
	switch {
	case invalid != nil:
		p.NoEffect = "parts of it have no effect: " + invalid.Error()
	case applied.Ignored != "" && applied.Policy == nil:
		p.NoEffect = "its weights and fallback None have no effect in this cluster"
	case applied.Policy != nil && applied.Ignored == "" && !isRead(applied.Policy):
		p.NoEffect = "its status does not yet show that the agents have read it"
	}
	return p
}

// isRead reports whether a policy has a status for its generation.
func isRead(policy *trafficv1alpha1.TrafficPolicy) bool {
	return !slices.ContainsFunc(policy.Status.Targets, func(t trafficv1alpha1.TargetStatus) bool {
		c := meta.FindStatusCondition(t.Conditions, trafficv1alpha1.ConditionAccepted)
		return c == nil || c.ObservedGeneration != policy.Generation
	}) && len(policy.Status.Targets) > 0
}
