package v1alpha1

// Conditions of a MultiClusterService.
const (
	// ConditionServiceFound reports whether the Service, and the ports that the MultiClusterService selects,
	// exist on the same API server.
	ConditionServiceFound = "ServiceFound"
	// ConditionClustersFound reports whether all selected clusters are members.
	ConditionClustersFound = "ClustersFound"
	// ConditionExported reports whether all providerClusters export the Service. Without providerClusters, it reports
	// whether at least one cluster does.
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
	// ReasonExported means that all providerClusters, or at least one cluster, export the Service.
	ReasonExported = "Exported"
	// ReasonNotExported means that no cluster exports the Service.
	ReasonNotExported = "NotExported"
	// ReasonPartlyExported means that some providerClusters do not export the Service.
	ReasonPartlyExported = "PartlyExported"
	// ReasonPolicyRefused means that the broker's API server refuses the policy, for example because the name is too long.
	ReasonPolicyRefused = "PolicyRefused"
	// ReasonPolicyNotWritten means that the hub has failed to write the policy for 30 seconds.
	ReasonPolicyNotWritten = "PolicyNotWritten"
	// ReasonNoSuchType means that spec.types has no known type.
	ReasonNoSuchType = "NoSuchType"
)
