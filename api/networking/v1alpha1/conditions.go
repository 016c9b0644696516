package v1alpha1

// Conditions of a MultiClusterService.
const (
	// ConditionServiceFound reports whether the Service, and the ports that the MultiClusterService selects,
	// exist on the same API server.
	ConditionServiceFound = "ServiceFound"
	// ConditionClustersFound reports whether all selected clusters are members.
	ConditionClustersFound = "ClustersFound"
	// ConditionExported reports whether at least one cluster exports the Service.
	ConditionExported = "Exported"
)

// Reasons of these conditions.
const (
	// ReasonFound is the reason of ServiceFound and ClustersFound when they are True.
	ReasonFound = "Found"
	// ReasonNoService means that no Service of this name exists.
	ReasonNoService = "NoService"
	// ReasonNoSuchPort means that the Service does not have a selected port.
	ReasonNoSuchPort = "NoSuchPort"
	// ReasonNoSuchCluster means that a selected cluster is not a member.
	ReasonNoSuchCluster = "NoSuchCluster"
	// ReasonExported means that at least one cluster exports the Service.
	ReasonExported = "Exported"
	// ReasonNotExported means that no cluster exports the Service.
	ReasonNotExported = "NotExported"
	// ReasonPolicyRefused means that the broker's API server refuses the policy, for example because the name is too long.
	ReasonPolicyRefused = "PolicyRefused"
)
