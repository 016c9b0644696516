// Package report turns a survey into lists, a status with problems and fixes, and the explanation of one service.
//
// Programs read the JSON of its types: fields may be added, but must not change their meaning.
//
// The lists are in rows.go, members.go and endpoints.go, the status in status.go, explanations in explain.go, and
// their problems in obstacles.go.
package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Export is one cluster's export of a service.
type Export struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Cluster   string   `json:"cluster"`
	Type      string   `json:"type,omitempty"`
	Ports     []string `json:"ports,omitempty"`
	// ExportedAt is the creation time of the ServiceExport. The oldest export wins conflicts.
	ExportedAt metav1.Time `json:"exportedAt"`
	// Status of another cluster's export is Published, or NamespaceNotPermitted if all clusters ignore it. The queried
	// cluster's own export is Ready, or has the reason of its failing or conflict condition. Instead of Published and
	// Ready, the status is HubOnly, PortsRestricted or NoPortExposed if clusters import the service not, in part, or not.
	Status string `json:"status"`
	// Message describes the status, for example with the message of the condition.
	Message string `json:"message,omitempty"`

	problem Severity // "" for none
}

// Problem returns how bad the export's status is; "" if it is in effect.
func (e Export) Problem() Severity { return e.problem }

// published is the status of an export known only from the broker.
const published = "Published"

// Exports lists the clusterset's exports by namespace, name and cluster. It includes exports of the queried cluster
// that are not on the broker yet.
func Exports(s *survey.Survey) []Export {
	rows := map[string]Export{}
	if s.Broker != nil {
		for _, e := range s.Broker.Exports {
			row := Export{
				Namespace: e.Spec.ServiceNamespace, Name: e.Spec.ServiceName, Cluster: e.Spec.ClusterID, Type: string(e.Spec.Type),
				Ports: ports(e.Spec.Ports), ExportedAt: e.Spec.ExportedAt, Status: published,
			}
			if !mayExport(s, &e.Spec) {
				row.Status, row.Message, row.problem = notPermitted, "The broker does not permit this cluster to export this namespace.", Error
			} else {
				row.restrict(s, e.Spec)
			}
			rows[row.key()] = row
		}
	}
	for _, e := range s.Cluster.Exports {
		own := Export{Namespace: e.Namespace, Name: e.Name, Cluster: s.ClusterID.String(), ExportedAt: e.CreationTimestamp}
		row, onBroker := rows[own.key()]
		if onBroker {
			own = row
		}
		// The condition does not know what clusters do not import.
		if is := exportCondition(&e, surveyTime(s)); is.problem != "" || !onBroker || !row.IsRestricted() {
			own.Status, own.Message, own.problem = is.status, is.message, is.problem
		}
		rows[own.key()] = own
	}
	all := make([]Export, 0, len(rows))
	for _, row := range rows {
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b Export) int { return strings.Compare(a.key(), b.key()) })
	return all
}

// key sorts by namespace, name and cluster.
func (e Export) key() string { return e.Namespace + "\x00" + e.Name + "\x00" + e.Cluster }

// Import is a service imported by the queried cluster.
type Import struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Type      string   `json:"type"`
	IPs       []string `json:"ips,omitempty"`
	Ports     []string `json:"ports,omitempty"`
	// Clusters are the exporting clusters.
	Clusters []string `json:"clusters,omitempty"`
	// ReadyEndpoints are those of the Endpoints that serve clients: ready, and with a port of the service.
	Endpoints      int `json:"endpoints"`
	ReadyEndpoints int `json:"readyEndpoints"`
	// Status is Ready or the reason of the Ready condition.
	Status  string      `json:"status"`
	Message string      `json:"message,omitempty"`
	Created metav1.Time `json:"created"`

	applied  []string  // the other clusters whose records it was made of
	keys     []portKey // of Ports
	numbers  []int32   // of Ports
	families []corev1.IPFamily
	problem  Severity // "" for none
}

// Problem returns how bad the import's status is; "" if it is in effect.
func (i Import) Problem() Severity { return i.problem }

// IsServedBy reports whether an endpoint of the import is one of its ReadyEndpoints.
func (i *Import) IsServedBy(e Endpoint) bool { return e.canServe(i.isHeadless(), i.keys) }

// isHeadless reports whether the import has no clusterset IP.
func (i *Import) isHeadless() bool { return i.Type == string(mcsv1beta1.Headless) }

// Imports lists the queried cluster's imports by namespace and name. It counts endpoints only if the survey has them.
func Imports(s *survey.Survey) []Import {
	endpoints := map[[2]string][]Endpoint{}
	for _, e := range Endpoints(s) {
		key := [2]string{e.Namespace, e.Service}
		endpoints[key] = append(endpoints[key], e)
	}
	var all []Import
	for _, i := range s.Cluster.Imports {
		if i.Labels[names.LabelManagedBy] == names.AggregateManager {
			continue // the clusterset's aggregate, if this cluster is also a broker
		}
		key := [2]string{i.Namespace, i.Name}
		row := Import{
			Namespace: i.Namespace, Name: i.Name, Type: string(i.Spec.Type), IPs: i.Spec.IPs, Ports: ports(i.Spec.Ports),
			Endpoints: len(endpoints[key]), Created: i.CreationTimestamp, families: i.Spec.IPFamilies,
		}
		called := derived.PortNames(i.Spec.Ports) // in the derived Service and, for kube-proxy, in the slices
		for n, p := range i.Spec.Ports {
			key := keyOf(p)
			if !row.isHeadless() {
				key.name = called[n]
			}
			row.keys, row.numbers = append(row.keys, key), append(row.numbers, p.Port)
		}
		for _, e := range endpoints[key] {
			if row.IsServedBy(e) {
				row.ReadyEndpoints++
			}
		}
		for _, c := range i.Status.Clusters {
			row.Clusters = append(row.Clusters, c.Cluster)
		}
		for id := range layout.Applied(&i) {
			row.applied = append(row.applied, id.String())
		}
		slices.Sort(row.applied)
		is := importCondition(&i, surveyTime(s))
		row.Status, row.Message, row.problem = is.status, is.message, is.problem
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b Import) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return all
}

func ports(list []mcsv1beta1.ServicePort) []string {
	var all []string
	for _, p := range list {
		all = append(all, portText(p.Name, p.Port, p.Protocol))
	}
	return all
}

// portText formats a port as kubectl does, after its name.
func portText(name string, port int32, protocol corev1.Protocol) string {
	text := fmt.Sprintf("%d/%s", port, cmp.Or(protocol, corev1.ProtocolTCP))
	if name != "" {
		text = name + ":" + text
	}
	return text
}

func texts[T ~string](list []T) []string {
	var all []string
	for _, t := range list {
		all = append(all, string(t))
	}
	return all
}
