package report

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Explanation is the path of one service, from the exporting clusters to DNS answers in the queried cluster.
type Explanation struct {
	// Name is the service's DNS name.
	Name string `json:"name"`
	// Cluster is the queried cluster.
	Cluster string `json:"cluster,omitempty"`
	// Verdict says whether clients in the cluster reach the service.
	Verdict Verdict `json:"verdict"`
	// Findings are the problems, the worst first.
	Findings Findings `json:"findings,omitempty"`
	// Exports are the service's exports, the winner of conflicts first.
	Exports []Export `json:"exports,omitempty"`
	// Values are the properties of the merged service.
	Values []merge.Choice `json:"values,omitempty"`
	// Import is the queried cluster's import; absent if there is none.
	Import *Import `json:"import,omitempty"`
	// DerivedService is the Service that makes kube-proxy route the clusterset IP.
	DerivedService string `json:"derivedService,omitempty"`
	// Preference is the TrafficPolicy that applies; absent if there is none, or the broker cannot be read.
	Preference *Preference `json:"preference,omitempty"`
	// Sources are the exporting clusters with their endpoints.
	Sources []Source `json:"sources,omitempty"`
	// Records are the DNS answers.
	Records []Record `json:"records,omitempty"`
	// DNS are the cluster's DNS servers that forward clusterset.local to atoll-dns.
	DNS []string `json:"dns,omitempty"`
}

// Verdict says whether a service works for clients in a cluster.
type Verdict string

// Values of Verdict.
const (
	// Works means that clients resolve the name and reach ready endpoints on all ports, that nothing is pending or wrong,
	// and that the survey could read everything needed to know this.
	Works Verdict = "works"
	// WorksInPart means that only some clients reach the service, or not all of it: some DNS servers do not know the
	// name, endpoints or ports are left out, or the import is outdated or incomplete.
	WorksInPart Verdict = "works in part"
	// DoesNotWork means that the name does not resolve or no endpoint is ready.
	DoesNotWork Verdict = "does not work"
	// CannotTell means that no problem was found but a part could not be read, that all exporting clusters with endpoints
	// are silent, that another implementation manages the import, or that another DNS server may answer for the name.
	CannotTell Verdict = "cannot tell"
)

// Record is the DNS answer to one query.
type Record struct {
	Name string `json:"name"`
	Type string `json:"type"`
	// Values are all values, or the first of many. Total is their number.
	Values []string `json:"values,omitempty"`
	Total  int      `json:"total"`
}

// someValues limits Values.
const someValues = 10

// Explain evaluates a survey with Scope.Service, Endpoints and Installation for the service.
func Explain(s *survey.Survey, service types.NamespacedName) Explanation {
	x := Explanation{
		Name: service.Name + "." + service.Namespace + ".svc." + survey.Zone, Cluster: s.ClusterID.String(), DNS: texts(s.Cluster.DNS.Wired),
	}
	exports := constituents(s, service)
	if len(exports) > 0 {
		x.Values = merge.Choices(exports)
	}
	x.Exports = ordered(Exports(s), exports)
	x.imported(s)
	x.sources(s, service, exports)
	x.Records = x.records(s)
	x.Verdict = x.verdict(s, exports, x.findings(s, service, exports))
	return x
}

// verdict is Works only if nothing is wrong: a problem without a finding, or a finding that does not count, would be a lie.
func (x *Explanation) verdict(s *survey.Survey, exports []merge.Export, is path) Verdict {
	served := false
	if x.Import != nil {
		_, _, served = x.Import.unserved(Endpoints(s))
	}
	unread := s.BrokerErr != nil && !errors.Is(s.BrokerErr, survey.ErrNotJoined) || len(s.Unread) > 0
	switch {
	case (x.Import == nil || !served || len(x.Records) == 0) && len(s.Unread) > 0:
		return CannotTell // it may be among the unread objects
	case x.Import == nil, !served, len(x.Records) == 0, !is.routed, !resolves(s), x.stale(s, exports):
		return DoesNotWork
	case unread, !is.current, x.unclear(s), x.Import.Status == foreign:
		return CannotTell
	case len(x.Findings) > 0, slices.ContainsFunc(x.Sources, func(source Source) bool { return source.incomplete }):
		return WorksInPart
	}
	return Works
}

// constituents returns the service's exports that members merge.
func constituents(s *survey.Survey, service types.NamespacedName) []merge.Export {
	if s.Broker == nil {
		return nil
	}
	policy := policyOf(s, service)
	var exports []merge.Export
	for _, e := range s.Broker.Exports {
		if e.Spec.Scope != brokerv1alpha1.ScopeHub && mayExport(s, &e.Spec) && e.Spec.ServiceNamespace == service.Namespace && e.Spec.ServiceName == service.Name {
			if restricted, some := policy.Restrict(e.Spec); some {
				exports = append(exports, restricted)
			}
		}
	}
	return exports
}

// policyOf returns the hub's policy for the service, or nil.
func policyOf(s *survey.Survey, service types.NamespacedName) *brokerv1alpha1.ServicePolicySpec {
	for _, p := range s.Broker.Policies {
		if p.Spec.ServiceNamespace == service.Namespace && p.Spec.ServiceName == service.Name {
			return &p.Spec
		}
	}
	return nil
}

// ordered sorts exports by precedence in conflicts; exports that are not merged come last.
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
	for _, i := range s.Cluster.Imports {
		if x.Import != nil && i.Namespace == x.Import.Namespace && i.Name == x.Import.Name {
			x.DerivedService = i.Annotations[names.AnnotationDerivedService]
		}
	}
}

// records returns the DNS answers for the queried cluster's import (KEP-1645, "DNS").
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
