package names

import (
	"fmt"
	"slices"
	"strings"
)

// Labels and annotations on the objects that Atoll makes. The upstream ones are
// those of the Multi-Cluster Services API (KEP-1645, "Using EndpointSlice
// objects to track endpoints").
const (
	// LabelServiceName is the name of the multi-cluster service that an object
	// belongs to.
	LabelServiceName = "multicluster.kubernetes.io/service-name"
	// LabelSourceCluster is the id of the cluster that an object comes from.
	LabelSourceCluster = "multicluster.kubernetes.io/source-cluster"
	// LabelServiceNamespace is the namespace, in the member clusters, of the
	// service that an object on the broker belongs to.
	LabelServiceNamespace = "atoll.dev/service-namespace"
	// LabelManagedBy marks a ServiceImport, a derived Service or a ServiceExport as Atoll's. Its
	// value is AgentManager, or AggregateManager for a clusterset's ServiceImport on the broker.
	LabelManagedBy = "atoll.dev/managed-by"
	// LabelClusterset marks the broker namespace of a clusterset.
	LabelClusterset = "atoll.dev/clusterset"
	// LabelAdvertiseMode is on the EndpointSlices on the broker whose endpoint is a
	// Service's cluster IP, with the mode as its value.
	LabelAdvertiseMode = "atoll.dev/advertise-mode"
	// LabelClusters names the exporting clusters on an aggregate, joined by underscores,
	// for kubectl get -L.
	LabelClusters = "atoll.dev/clusters"
	// LabelExports is on a namespace and says whether Services may be exported from it. In
	// those of the system it says too whether other clusters' are imported into it.
	LabelExports = "atoll.dev/exports"
	// ExportsAllowed is the value of LabelExports that allows it.
	ExportsAllowed = "allowed"
	// LabelHeadless keeps kube-proxy from watching an EndpointSlice that it has
	// no use for.
	LabelHeadless = "service.kubernetes.io/headless"

	// AnnotationDerivedService names the derived Service on a ServiceImport, for
	// implementations of the Gateway API.
	AnnotationDerivedService = "multicluster.kubernetes.io/derived-service"
	// AnnotationExported says, on a ServiceImport and its derived Service, which of their
	// labels and annotations are exported ones; all others are somebody else's.
	AnnotationExported = "atoll.dev/exported-metadata"
	// AnnotationClusters names all exporting clusters on an aggregate, sorted and joined
	// by commas. The broker's admission policy goes by it.
	AnnotationClusters = "atoll.dev/clusters"
	// AnnotationSourceSlice is the name, in its own cluster, of the EndpointSlice that one
	// on the broker, or an imported one, was made from.
	AnnotationSourceSlice = "atoll.dev/source-slice"
	// AnnotationRevision is on the objects on the broker that members write, with a number that grows with every write of the object; and on
	// imported EndpointSlices, with that of what they were made from.
	AnnotationRevision = "atoll.dev/revision"
	// AnnotationRefused is on an agent's copy of another cluster's EndpointSlice, and on no API server: how many parts of it
	// were left out as invalid, and which.
	AnnotationRefused = "atoll.dev/refused"
	// AnnotationState is on the objects on the broker that members write, with StateWithdrawn once their owner has ended them: what is missing
	// without it was not removed by its owner.
	AnnotationState = "atoll.dev/state"
	// StateWithdrawn is the value of AnnotationState of an object that its owner has ended.
	StateWithdrawn = "Withdrawn"
	// AnnotationCompared is on a member's heartbeat, with how often the member has found on the broker just what it publishes.
	AnnotationCompared = "atoll.dev/compared"
	// AnnotationBrokerRefuses is on a member's heartbeat as long as the broker refuses something that the member publishes, and has for ten minutes. What is missing
	// of the member then does not count as ended.
	AnnotationBrokerRefuses = "atoll.dev/broker-refuses"
	// AnnotationPolicy is on a ServiceExport that was made for a policy of the hub's, with that policy (JSON).
	AnnotationPolicy = "atoll.dev/policy"
	// AnnotationApplied is on a ServiceImport, with the revisions of the records that it is made of: "c1=12,c2=34".
	AnnotationApplied = "atoll.dev/applied-revisions"
	// AnnotationExpires is on a joiner's service account, with the time (RFC 3339) when the token in the join file expires.
	AnnotationExpires = "atoll.dev/expires"
	// AnnotationDNSWiring records, on objects of a cluster's own DNS that have no room for a
	// comment, what was added to them so that they ask atoll-dns.
	AnnotationDNSWiring = "atoll.dev/dns-wiring"
	// AnnotationOnClusterLoss says, on a ServiceExport, what the other clusters do with the
	// Service's endpoints in this one when they take it for dead: one of the values below.
	AnnotationOnClusterLoss = "atoll.dev/on-cluster-loss"
	// AnnotationRefuseImports is on a namespace with the ids of the clusters, separated by commas, whose exports are not imported
	// into it, or "*" for all other clusters.
	AnnotationRefuseImports = "atoll.dev/refuse-imports"
	// AnnotationLastChangeTriggerTime is kube-proxy's input for its network
	// programming latency.
	AnnotationLastChangeTriggerTime = "endpoints.kubernetes.io/last-change-trigger-time"

	// AgentManager is the value of LabelManagedBy, and of
	// endpointslice.kubernetes.io/managed-by on the EndpointSlices that Atoll manages,
	// which keeps other controllers off them.
	AgentManager = "agent.atoll.dev"
	// AggregateManager is the value of LabelManagedBy on aggregates, which importing
	// clusters have nothing to do with, should the broker be one of them.
	AggregateManager = "aggregate.atoll.dev"
)

// MaxLabelValue is the API's limit for the value of a label, in characters.
const MaxLabelValue = 63

// ClustersLabel writes the ids of clusters as the value of a label: joined by
// underscores, which no id contains. Where they are too many for that, it ends in how
// many more there are.
func ClustersLabel(ids []string) string {
	joined := strings.Join(ids, "_")
	if len(joined) <= MaxLabelValue {
		return joined
	}
	for n := len(ids) - 1; n > 0; n-- {
		joined = fmt.Sprintf("%s_and_%d_more", strings.Join(ids[:n], "_"), len(ids)-n)
		if len(joined) <= MaxLabelValue {
			return joined
		}
	}
	return fmt.Sprintf("%d_clusters", len(ids))
}

// Values of AnnotationOnClusterLoss.
const (
	// OnLossWithdraw has the endpoints be withdrawn. It is the default.
	OnLossWithdraw = "withdraw"
	// OnLossKeep has them stay, for clients that try one endpoint after the other by themselves.
	OnLossKeep = "keep"
)

// SystemNamespaces are those whose Services are the cluster's own, or nobody's in particular: they
// are neither exported nor imported unless an administrator allows it.
var SystemNamespaces = []string{"default", "kube-node-lease", "kube-public", "kube-system"}

// Closed tells whether other clusters' exports are not imported into a namespace with these labels: one of the
// system's, of which the administrator has not allowed it. What has the name of a system's Service
// would mean another thing in each cluster.
func Closed(namespace string, labels map[string]string) bool {
	return slices.Contains(SystemNamespaces, namespace) && labels[LabelExports] != ExportsAllowed
}

// MemberPermissions is the name of the ConfigMap in a clusterset's namespace, on the broker, in which the broker's
// administrators write what each member may export. Members read it.
const MemberPermissions = "atoll-members"

// LostClusters is the name of the ConfigMap in SystemNamespace with the members whose
// endpoints are withdrawn, and since when.
const LostClusters = "atoll-lost-clusters"

// SystemNamespace is the namespace of Atoll's own programs in a member cluster.
const SystemNamespace = "atoll-system"

// HubOwner stands for the hub among the owners of objects on the broker, and is the name of its Lease in the clusterset's namespace. It is not a cluster id.
const HubOwner ClusterID = "hub.atoll.dev"

// HubNamespace is the namespace of atoll-hub on a broker, HubAccount its service account there.
const HubNamespace, HubAccount = "atoll-hub", "atoll-hub"

// FinalizerLoadBalancer begins the finalizers of MultiClusterServices that say which provider has, or may have, a load
// balancer of the object's; the provider's name is the rest.
const FinalizerLoadBalancer = "lb.atoll.dev/"

// Field managers for server-side apply: one for each controller, which owns the
// fields it applies.
const (
	ManagerExport       = "atoll-export"
	ManagerImport       = "atoll-import"
	ManagerPolicy       = "atoll-policy"
	ManagerHub          = "atoll-hub"
	ManagerLoadBalancer = "atoll-load-balancer"
)

// ManagerAggregate is the field manager of aggregates, which several members write.
func ManagerAggregate(cluster ClusterID) string { return "atoll-aggregate-" + cluster.String() }

// MemberAccount names the service account on the broker that a member
// cluster's agents use. The broker's admission policy derives the cluster id
// that a member may write from it.
func MemberAccount(cluster ClusterID) string {
	return MemberAccountPrefix + cluster.String()
}

// MemberAccountPrefix begins every name that MemberAccount returns.
const MemberAccountPrefix = "member-"

// JoinerAccount names the service account on the broker with which a cluster joins, once.
func JoinerAccount(cluster ClusterID) string {
	return JoinerAccountPrefix + cluster.String()
}

// JoinerAccountPrefix begins every name that JoinerAccount returns.
const JoinerAccountPrefix = "join-"

// CredentialType is the type of the Secrets on the broker that members' tokens are bound to. They hold no data.
const CredentialType = "atoll.dev/member-credential"

// MemberCredential names the Secret on the broker that a member's tokens are bound to: a token is
// valid as long as its Secret exists. The UID is that of the joiner account whose join file was used.
func MemberCredential(cluster ClusterID, joinerUID string) string {
	return MemberAccount(cluster) + "-" + joinerUID
}

// UIDLength is the number of characters of a UID, as the API server makes them (RFC 9562).
const UIDLength = 36

// CredentialJoiner returns the joinerUID that MemberCredential made a name with, or "" if the name is not one of the cluster's.
func CredentialJoiner(cluster ClusterID, name string) string {
	uid, ok := strings.CutPrefix(name, MemberAccount(cluster)+"-")
	if !ok || len(uid) != UIDLength {
		return ""
	}
	return uid
}
