package report

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/merge"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/survey"
)

// Explanation is the path of one service: from the clusters that export it to what a client in
// the asked cluster gets for its name.
type Explanation struct {
	// Name is the service's name in DNS.
	Name string `json:"name"`
	// Cluster is the asked one.
	Cluster string `json:"cluster,omitempty"`
	// Works tells whether a client there reaches an endpoint, as far as this can be told.
	Works bool `json:"works"`
	// Findings say why not, or what is not as somebody has meant it.
	Findings Findings `json:"findings,omitempty"`
	// Exports are those of the service, the one that wins conflicts first.
	Exports []Export `json:"exports,omitempty"`
	// Values are the properties of the merged service.
	Values []merge.Choice `json:"values,omitempty"`
	// Import is what the asked cluster has made of it; absent where it does not import it.
	Import *Import `json:"import,omitempty"`
	// DerivedService is the Service that kube-proxy routes the clusterset IP by.
	DerivedService string `json:"derivedService,omitempty"`
	// Sources are the exporting clusters with their endpoints.
	Sources []Source `json:"sources,omitempty"`
	// Records are what DNS answers.
	Records []Record `json:"records,omitempty"`
	// DNS are the places where the cluster's own DNS is told to ask atoll-dns.
	DNS []string `json:"dns,omitempty"`
}

// Source is one exporting cluster's share of the endpoints.
type Source struct {
	Cluster string `json:"cluster"`
	// Published is how many endpoints it has on the broker.
	Published int `json:"published"`
	// Imported is how many of them the asked cluster has, ReadyHere how many it sends new
	// connections to.
	Imported  int `json:"imported"`
	ReadyHere int `json:"readyHere"`
	// Why says why there are none here, or fewer.
	Why string `json:"why,omitempty"`
}

// Record is what DNS answers to one question.
type Record struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Values are all of them, or some where there are many: Total says how many there are.
	Values []string `json:"values,omitempty"`
	Total  int      `json:"total"`
}

// someValues is how many values of a record are told.
const someValues = 10

// Explain says what a survey with Scope.Service, Endpoints and Installation means for the
// service.
func Explain(s *survey.Survey, service types.NamespacedName) Explanation {
	x := Explanation{Name: service.Name + "." + service.Namespace + ".svc." + survey.Zone, Cluster: s.ClusterID.String()}
	for _, form := range s.Cluster.DNS.Wired {
		x.DNS = append(x.DNS, string(form))
	}
	exports := constituents(s, service)
	if len(exports) > 0 {
		x.Values = merge.Choices(exports)
	}
	x.Exports = ordered(Exports(s), exports)
	x.imported(s)
	x.sources(s, exports)
	x.Records = x.records(s)
	x.findings(s, service, exports)
	for _, source := range x.Sources {
		x.Works = x.Works || source.ReadyHere > 0
	}
	named := len(s.Cluster.DNS.Found) == 0 || len(s.Cluster.DNS.Wired) > 0 // what is not known does not count
	x.Works = x.Works && x.Import != nil && len(x.Records) > 0 && named
	return x
}

// constituents are the exports of the service for the clusterset, as the members merge them.
func constituents(s *survey.Survey, service types.NamespacedName) []merge.Export {
	if s.Broker == nil {
		return nil
	}
	policy := policyOf(s, service)
	var exports []merge.Export
	for _, e := range s.Broker.Exports {
		if e.Spec.Scope != brokerv1alpha1.ScopeHub && e.Spec.ServiceNamespace == service.Namespace && e.Spec.ServiceName == service.Name {
			exports = append(exports, policy.Restrict(e.Spec))
		}
	}
	return exports
}

// policyOf is what the hub says of the service, nil where it says nothing.
func policyOf(s *survey.Survey, service types.NamespacedName) *brokerv1alpha1.ServicePolicySpec {
	for _, p := range s.Broker.Policies {
		if p.Spec.ServiceNamespace == service.Namespace && p.Spec.ServiceName == service.Name {
			return &p.Spec
		}
	}
	return nil
}

// ordered returns exports with those first that win conflicts, and last those that are not
// merged.
func ordered(all []Export, merged []merge.Export) []Export {
	precedence := merge.Precedence(merged)
	rank := func(e Export) int {
		if at := slices.Index(precedence, e.Cluster); at >= 0 {
			return at
		}
		return len(precedence)
	}
	slices.SortStableFunc(all, func(a, b Export) int { return cmp.Compare(rank(a), rank(b)) })
	return all
}

func (x *Explanation) imported(s *survey.Survey) {
	if imports := Imports(s); len(imports) == 1 {
		x.Import = &imports[0]
	}
	for _, service := range s.Cluster.Services {
		if service.Labels[names.LabelManagedBy] == names.AgentManager && x.Import != nil && service.Labels[names.LabelServiceName] == x.Import.Name {
			x.DerivedService = service.Name
		}
	}
}

func (x *Explanation) sources(s *survey.Survey, exports []merge.Export) {
	clusters := merge.Precedence(exports)
	count := func(list []discoveryv1.EndpointSlice, cluster string) (total, ready int) {
		for _, e := range endpoints(list) {
			if e.Cluster == cluster {
				total++
				if e.State == EndpointReady {
					ready++
				}
			}
		}
		return total, ready
	}
	for _, slice := range s.Cluster.Slices { // also of clusters whose export is not on the broker
		if id := slice.Labels[names.LabelSourceCluster]; !slices.Contains(clusters, id) {
			clusters = append(clusters, id)
		}
	}
	for _, id := range clusters {
		source := Source{Cluster: id}
		source.Imported, source.ReadyHere = count(s.Cluster.Slices, id)
		ready := 0
		if s.Broker != nil {
			source.Published, ready = count(s.Broker.Slices, id)
		}
		source.Why = why(s, source, ready)
		x.Sources = append(x.Sources, source)
	}
}

// why says why a source has fewer ready endpoints here than clients might expect.
func why(s *survey.Survey, source Source, publishedReady int) string {
	since := s.Cluster.Withdrawn[source.Cluster]
	out, _ := outside(s, source.Cluster)
	switch {
	case since != "" && source.ReadyHere == 0:
		return "withdrawn: nothing has answered there since " + since
	case source.ReadyHere > 0 && source.Imported >= source.Published:
		return ""
	case s.Broker == nil:
		return "what the cluster publishes can't be seen, for the broker can't be read"
	case source.Published == 0:
		return "the cluster publishes no endpoints: its Service selects no pods, or none of them has an address"
	case source.Imported == 0 && s.LeftOut[source.Cluster].Services > 0:
		return beyondServices(source.Cluster, s.LeftOut[source.Cluster].Services)
	case out > 0 && source.Cluster != s.ClusterID.String() && source.Imported+out >= source.Published:
		return fmt.Sprintf("%d of them are not imported, for the broker's owner does not allow that cluster their addresses", out)
	case source.Imported < source.Published && s.LeftOut[source.Cluster].Endpoints > 0:
		return fmt.Sprintf("%s exports more endpoints than this cluster takes of one, and %d are left out (--max-endpoints-per-member)", source.Cluster, s.LeftOut[source.Cluster].Endpoints)
	case source.Imported == 0:
		return "none are imported here: see the findings, and Events of the ServiceImport"
	case publishedReady == 0:
		return "none of its pods is ready"
	case source.Imported < source.Published && s.LeftOut != nil: // then it is not the limit
		return "some are not imported: this cluster lacks their IP family, or has their addresses itself (see Events of the ServiceImport), or they are about to come"
	case source.Imported < source.Published:
		return "some are not imported: this cluster lacks their IP family, has their addresses itself, or takes no more of that cluster (see Events of the ServiceImport), or they are about to come"
	}
	return "none of them is ready"
}

// beyondServices says that a cluster exports more services than the asked one takes.
func beyondServices(cluster string, n int) string {
	return fmt.Sprintf("%s exports more services than this cluster takes of one, and %d are left out (--max-services-per-member)", cluster, n)
}

// records are what DNS answers, by what the asked cluster has imported (KEP-1645, "DNS").
func (x *Explanation) records(s *survey.Survey) []Record {
	if x.Import == nil {
		return nil
	}
	values := map[string][]string{}
	add := func(address string) {
		ip, err := netip.ParseAddr(address)
		if err != nil {
			return
		}
		kind := "A"
		if ip.Is6() {
			kind = "AAAA"
		}
		if !slices.Contains(values[kind], address) {
			values[kind] = append(values[kind], address)
		}
	}
	if x.Import.Type == string(mcsv1beta1.Headless) {
		for _, e := range Endpoints(s) {
			if e.State == EndpointReady {
				for _, address := range e.Addresses {
					add(address)
				}
			}
		}
	} else {
		for _, ip := range x.Import.IPs {
			add(ip)
		}
	}
	var records []Record
	for _, kind := range []string{"A", "AAAA"} {
		if all := values[kind]; len(all) > 0 {
			records = append(records, Record{Name: x.Name, Type: kind, Values: all[:min(len(all), someValues)], Total: len(all)})
		}
	}
	return records
}

// findings says what keeps clients in the asked cluster from the service, from its exports to
// the answer of DNS.
func (x *Explanation) findings(s *survey.Survey, service types.NamespacedName, exports []merge.Export) {
	x.unread(s)
	x.exported(s, service, exports)
	if len(exports) > 0 || x.Import != nil {
		x.leftOut(s, exports)
		x.importing(s, service)
	}
	if x.Import != nil && x.Import.Status != foreign {
		x.reachable(s)
	}
	x.allowed(s)
}

func (x *Explanation) unread(s *survey.Survey) {
	switch {
	case s.BrokerErr == nil:
	case errors.Is(s.BrokerErr, survey.ErrNotJoined):
		x.Findings.notJoined()
	default:
		x.Findings.add(Warning, "broker", s.BrokerErr.Error()+": what other clusters export can't be seen", "give the broker's URL as this machine reaches it with --broker-server URL")
	}
	x.Findings.unread(s)
}

// exported is about the asked cluster's own export, and about there being none at all.
func (x *Explanation) exported(s *survey.Survey, service types.NamespacedName, exports []merge.Export) {
	for _, e := range x.Exports {
		switch severity, wrong := e.severity(); {
		case e.Cluster != x.Cluster || !wrong:
		case severity == Warning:
			x.Findings.add(Warning, "export", e.Message, "make the Services, and the ServiceExports' exported labels and annotations, alike in all clusters")
		default:
			x.Findings.add(severity, "export", e.Message, "")
		}
	}
	if len(exports) == 0 && len(x.Exports) > 0 && x.Import == nil && len(x.Findings) == 0 {
		x.Findings.add(Warning, "export", "the service is exported for the hub's load balancers alone, or not on the broker yet: no cluster imports it", "")
	}
	if len(exports) > 0 || s.Broker == nil || len(x.Exports) > 0 {
		return
	}
	do := fmt.Sprintf("in each cluster that has the Service: atoll export %s -n %s", service.Name, service.Namespace)
	if hasService(s, service) {
		x.Findings.add(Error, "export", "no cluster exports this service, although this one has a Service of the name", do)
	} else {
		x.Findings.add(Error, "export", "no cluster exports this service", do)
	}
}

// leftOut is about exports that are not imported because their clusters have too many.
func (x *Explanation) leftOut(s *survey.Survey, exports []merge.Export) {
	for _, e := range exports {
		n := s.LeftOut[e.ClusterID].Services
		if n == 0 || e.ClusterID == x.Cluster || x.Import != nil && slices.Contains(x.Import.Clusters, e.ClusterID) {
			continue
		}
		severity := Error
		if x.Import != nil {
			severity = Warning // other clusters' are
		}
		x.Findings.add(severity, "import", beyondServices(e.ClusterID, n)+", of which this is one",
			"export fewer services there, or have the agents here take more: --max-services-per-member")
	}
}

// importing is about the asked cluster's import.
func (x *Explanation) importing(s *survey.Survey, service types.NamespacedName) {
	namespace, readable := namespaceOf(s, service.Namespace)
	switch {
	case readable && namespace == nil:
		x.Findings.add(Error, "import", "there is no namespace "+service.Namespace+" here, and services are imported into those that there are", "kubectl create namespace "+service.Namespace)
		return
	case namespace != nil && names.Closed(namespace.Name, namespace.Labels):
		x.Findings.add(Error, "import", "namespace "+namespace.Name+" is one of the system's, into which nothing is imported unless that is allowed",
			fmt.Sprintf("kubectl label namespace %s %s=%s", namespace.Name, names.LabelExports, names.ExportsAllowed))
	}
	if s.Broker != nil && !policyOf(s, service).Consumes(x.Cluster) {
		x.Findings.add(Error, "import", "the hub's MultiClusterService says that other clusters import this service, and this one does not", "add "+x.Cluster+" to its consumerClusters or range")
	}
	if x.Import == nil {
		if len(x.Findings) == 0 {
			x.Findings.add(Pending, "import", "there is no ServiceImport yet", fmt.Sprintf("look at the agents (atoll status), and whether the cluster takes no more services of another one: kubectl -n %s get events --field-selector reason=ServicesLimited", service.Namespace))
		}
		return
	}
	switch severity, wrong := x.Import.severity(); {
	case x.Import.Status == foreign:
		x.Findings.add(Error, "import", x.Import.Message, fmt.Sprintf("to have the service imported: kubectl -n %[1]s delete serviceimport %[2]s, or, to have Atoll take it over: kubectl -n %[1]s label serviceimport %[2]s %[3]s=%[4]s", service.Namespace, service.Name, names.LabelManagedBy, names.AgentManager))
	case wrong:
		x.Findings.add(severity, "import", x.Import.Message, "")
	}
}

// reachable is about the endpoints, and the way to them.
func (x *Explanation) reachable(s *survey.Survey) {
	ready := 0
	for _, source := range x.Sources {
		ready += source.ReadyHere
	}
	if ready == 0 {
		x.Findings.add(Error, "endpoints", "no endpoint is ready: connections to the service are refused", "see each cluster's reason below")
	}
	if len(s.Cluster.DNS.Found) > 0 && len(s.Cluster.DNS.Wired) == 0 {
		x.Findings.add(Error, "DNS", "the cluster's own DNS does not ask atoll-dns, so that pods do not find the name", "atoll dns install")
	}
}

// hasService tells whether the asked cluster has a Service of the name.
func hasService(s *survey.Survey, service types.NamespacedName) bool {
	return slices.ContainsFunc(s.Cluster.Services, func(have corev1.Service) bool {
		return have.Namespace == service.Namespace && have.Name == service.Name
	})
}

// namespaceOf returns a namespace of the asked cluster, nil where it is not there, and false where
// nobody knows because namespaces can't be read.
func namespaceOf(s *survey.Survey, name string) (namespace *corev1.Namespace, readable bool) {
	for i, n := range s.Cluster.Namespaces {
		if n.Name == name && n.DeletionTimestamp == nil {
			return &s.Cluster.Namespaces[i], true
		}
	}
	return nil, len(s.Cluster.Namespaces) > 0
}
