package broker

import (
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// CleanRecord removes the invalid parts of a member's record in place (package validation), and annotates it with a summary of them.
// It empties the specification of a record that its member has withdrawn, and of one whose identity is invalid or differs from its name. The broker's admission policy denies such
// records, but a broker may lack that policy.
func CleanRecord(record *brokerv1alpha1.ExportedService) {
	ended := layout.Withdrawn(record)
	record.Annotations = nil
	spec := record.Spec
	if ended || validation.IdentityProblem(spec) != "" || record.Name != names.Export(names.ClusterID(spec.ClusterID), spec.ServiceNamespace, spec.ServiceName) {
		record.Spec = brokerv1alpha1.ExportedServiceSpec{}
		return
	}
	clean, refused := validation.Record(spec)
	record.Spec = clean
	if len(refused) > 0 {
		record.Annotations = map[string]string{names.AnnotationRefused: validation.FormatRefused(refused)}
	}
}
