package policyexport

import (
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
)

// verdict is what to do about a ServiceExport.
type verdict int

const (
	leave  verdict = iota
	create         // the hub wants the Service to be exported, and nobody exports it
	remove         // it was made for a policy, and is not wanted any more
	doubt          // it was made for a policy that is not known: the broker may have lost that
)

// state is what there is of one service.
type state struct {
	self string
	// policy is what the hub says, or nil.
	policy *brokerv1alpha1.ServicePolicySpec
	// complete says that the hub itself says that there is no policy where there is none.
	complete bool
	export   *mcsv1beta1.ServiceExport
	// exportable says that there is a Service that can be exported.
	exportable bool
}

// decide says what is to be done. A ServiceExport of somebody else's is as good as one that is
// made here, and it is left alone.
func (s state) decide() verdict {
	wanted := s.policy != nil && s.policy.Provides(s.self) && s.exportable
	switch {
	case s.export == nil && wanted:
		return create
	case s.export == nil || wanted || !contribution.ByPolicy(s.export) || s.export.DeletionTimestamp != nil:
		return leave
	case s.policy == nil && !s.complete:
		return doubt
	}
	return remove
}
