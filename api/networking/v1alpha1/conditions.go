package v1alpha1

// Conditions of a MultiClusterService.
const (
	// ConditionServiceFound says whether there is the Service, with the ports that are named,
	// beside the MultiClusterService.
	ConditionServiceFound = "ServiceFound"
	// ConditionClustersFound says whether all clusters that are named are members.
	ConditionClustersFound = "ClustersFound"
	// ConditionExported says whether any cluster exports the Service.
	ConditionExported = "Exported"
)

// Reasons of these conditions.
const (
	// ReasonFound is that of what is as it should be.
	ReasonFound = "Found"
	// ReasonNoService says that there is no Service of this name.
	ReasonNoService = "NoService"
	// ReasonNoSuchPort says that the Service lacks a port that is named.
	ReasonNoSuchPort = "NoSuchPort"
	// ReasonNoSuchCluster says that a cluster that is named is no member, so far.
	ReasonNoSuchCluster = "NoSuchCluster"
	// ReasonExported says that there are clusters that export the Service.
	ReasonExported = "Exported"
	// ReasonNotExported says that there are none.
	ReasonNotExported = "NotExported"
)
