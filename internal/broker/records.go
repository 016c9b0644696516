package broker

import (
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/names"
)

// CleanRecord leaves of a member's record, in place, what may be used of it (package validation), and notes what was left out.
// Of a record that can't be used at all, or whose name does not agree with what it says, the specification is empty: the broker's admission
// policy admits none, but a broker may be without that policy.
func CleanRecord(record *brokerv1alpha1.ExportedService) {
	record.Annotations = nil
	spec := record.Spec
	if validation.IdentityProblem(spec) != "" || record.Name != names.Export(names.ClusterID(spec.ClusterID), spec.ServiceNamespace, spec.ServiceName) {
		record.Spec = brokerv1alpha1.ExportedServiceSpec{}
		return
	}
	clean, refused := validation.Record(spec)
	record.Spec = clean
	if len(refused) > 0 {
		record.Annotations = map[string]string{names.AnnotationRefused: validation.FormatRefused(refused)}
	}
}
