package v1alpha1

// ConditionAccepted is the condition that says whether a policy applies to a target.
const ConditionAccepted = "Accepted"

// Reasons of the condition Accepted. It is True for ReasonAccepted, and False for all others.
const (
	// ReasonAccepted means that the policy applies to the target.
	ReasonAccepted = "Accepted"
	// ReasonConflicted means that another policy applies to the target: an older policy for the same target, or the
	// policy of an older export of the service.
	ReasonConflicted = "Conflicted"
	// ReasonInvalidServiceType means that the service is headless. A headless service has no order of clusters.
	ReasonInvalidServiceType = "InvalidServiceType"
	// ReasonTargetNotFound means that the namespace has no object with the kind and name of the target.
	ReasonTargetNotFound = "TargetNotFound"
	// ReasonInvalid means that the policy contradicts the service, for example weights and a trafficDistribution.
	ReasonInvalid = "Invalid"
)
