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
// Service that is being deleted gets no ServiceExport, but keeps one until the Service is gone.
func decide(in inputsOf, self names.ClusterID) action {
	wanted := in.policy != nil && in.policy.Spec.Provides(self.String()) &&
		in.service != nil && contribution.Validate(in.service).Valid
	switch {
	case in.export == nil && wanted && in.service.DeletionTimestamp == nil:
		return create
	case in.export == nil || in.export.DeletionTimestamp != nil || !contribution.ByPolicy(in.export):
		return none
	case wanted:
		return annotate
	case in.known:
		return remove
	}
	return none
}
