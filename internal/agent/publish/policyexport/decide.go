package policyexport

import (
	corev1 "k8s.io/api/core/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

type inputsOf struct {
	export  *mcsv1beta1.ServiceExport
	service *corev1.Service
	// policy is the policy that counts, or nil, and known whether that is known.
	policy *brokerv1alpha1.ServicePolicy
	known  bool
	// recorded is set if the record of a missing Service is not withdrawn, or may not be.
	recorded bool
}

// action is a write of a ServiceExport.
type action int

const (
	none action = iota
	create
	annotate // with the policy that it exists for
	remove
)

// decide returns what to do with a ServiceExport. Those of users and those that are being deleted stay as they are. A
// Service that is being deleted gets no ServiceExport. It keeps one until its record is withdrawn, so that a Service that is
// re-created within the record's grace period keeps its export's age, and with it precedence and address.
func decide(in inputsOf, self names.ClusterID) action {
	provides := in.policy != nil && in.policy.Spec.Provides(self.String())
	wanted := provides && in.service != nil && contribution.Validate(in.service).Valid
	switch {
	case in.export == nil && wanted && in.service.DeletionTimestamp == nil:
		return create
	case in.export == nil || in.export.DeletionTimestamp != nil || !contribution.ByPolicy(in.export):
		return none
	case wanted, provides && in.service == nil && in.recorded:
		return annotate
	case in.known:
		return remove
	}
	return none
}
