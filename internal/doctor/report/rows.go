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
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
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
	// cluster's own export is Ready, or has the reason of its failing or conflict condition.
	Status string `json:"status"`
	// Message is the message of that condition.
	Message string `json:"message,omitempty"`
}

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
				row.Status, row.Message = notPermitted, "The broker does not permit this cluster to export this namespace."
			}
			rows[row.key()] = row
		}
	}
	for _, e := range s.Cluster.Exports {
		own := Export{Namespace: e.Namespace, Name: e.Name, Cluster: s.ClusterID.String(), ExportedAt: e.CreationTimestamp}
		if row, ok := rows[own.key()]; ok {
			own = row
		}
		own.Status, own.Message = exportStatus(e.Status.Conditions)
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

// exportStatus returns the first problem of an export, then a conflict, then Ready.
func exportStatus(conditions []metav1.Condition) (status, message string) {
	for _, t := range []mcsv1beta1.ServiceExportConditionType{mcsv1beta1.ServiceExportConditionValid, mcsv1beta1.ServiceExportConditionReady} {
		if c := meta.FindStatusCondition(conditions, string(t)); c != nil && c.Status != metav1.ConditionTrue {
			return c.Reason, c.Message
		}
	}
	if c := meta.FindStatusCondition(conditions, string(mcsv1beta1.ServiceExportConditionConflict)); c != nil && c.Status == metav1.ConditionTrue {
		return c.Reason, c.Message
	}
	if ready := meta.FindStatusCondition(conditions, string(mcsv1beta1.ServiceExportConditionReady)); ready != nil {
		return ready.Type, ready.Message
	}
	return noStatus, "No agent has processed this ServiceExport."
}

// noStatus is the status of objects that no agent has handled yet.
const noStatus = "Unseen"

// Import is a service imported by the queried cluster.
type Import struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Type      string   `json:"type"`
	IPs       []string `json:"ips,omitempty"`
	Ports     []string `json:"ports,omitempty"`
	// Clusters are the exporting clusters.
	Clusters       []string `json:"clusters,omitempty"`
	Endpoints      int      `json:"endpoints"`
	ReadyEndpoints int      `json:"readyEndpoints"`
	// Status is Ready or the reason of the Ready condition.
	Status  string      `json:"status"`
	Message string      `json:"message,omitempty"`
	Created metav1.Time `json:"created"`

	applied []string // the other clusters whose records it was made of
}

// Imports lists the queried cluster's imports by namespace and name. It counts endpoints only if the survey has them.
func Imports(s *survey.Survey) []Import {
	ready, total := map[[2]string]int{}, map[[2]string]int{}
	for _, e := range Endpoints(s) {
		key := [2]string{e.Namespace, e.Service}
		total[key]++
		if e.State == EndpointReady {
			ready[key]++
		}
	}
	var all []Import
	for _, i := range s.Cluster.Imports {
		if i.Labels[names.LabelManagedBy] == names.AggregateManager {
			continue // the clusterset's aggregate, if this cluster is also a broker
		}
		key := [2]string{i.Namespace, i.Name}
		row := Import{
			Namespace: i.Namespace, Name: i.Name, Type: string(i.Spec.Type), IPs: i.Spec.IPs, Ports: ports(i.Spec.Ports),
			Endpoints: total[key], ReadyEndpoints: ready[key], Created: i.CreationTimestamp,
		}
		for _, c := range i.Status.Clusters {
			row.Clusters = append(row.Clusters, c.Cluster)
		}
		for id := range layout.Applied(&i) {
			row.applied = append(row.applied, id.String())
		}
		slices.Sort(row.applied)
		row.Status, row.Message = importStatus(i)
		all = append(all, row)
	}
	slices.SortFunc(all, func(a, b Import) int {
		return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
	})
	return all
}

// foreign is the status of a ServiceImport that Atoll did not create.
const foreign = "Foreign"

func importStatus(i mcsv1beta1.ServiceImport) (status, message string) {
	if i.Labels[names.LabelManagedBy] != names.AgentManager {
		return foreign, "Another tool or person created this ServiceImport. Atoll does not change the ServiceImport."
	}
	ready := meta.FindStatusCondition(i.Status.Conditions, string(mcsv1beta1.ServiceImportConditionReady))
	switch {
	case ready == nil:
		return noStatus, "No agent has processed this ServiceImport."
	case ready.Status == metav1.ConditionTrue:
		return ready.Type, ready.Message
	}
	return ready.Reason, ready.Message
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
