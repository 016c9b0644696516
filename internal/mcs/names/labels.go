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
	// LabelServiceName is the name of the multi-cluster service that an object belongs to.
	LabelServiceName = "multicluster.kubernetes.io/service-name"
	// LabelSourceCluster is the id of the cluster that an object comes from.
	LabelSourceCluster = "multicluster.kubernetes.io/source-cluster"
	// LabelServiceNamespace is set on objects on the broker, with the namespace of their service in the
	// member clusters.
	LabelServiceNamespace = "atoll.dev/service-namespace"
	// LabelManagedBy is set on ServiceImports, derived Services and ServiceExports that Atoll created. Its
	// value is AgentManager, or AggregateManager for a ServiceImport on the broker.
	LabelManagedBy = "atoll.dev/managed-by"
	// LabelClusterset is set on the namespace of a clusterset on the broker.
	LabelClusterset = "atoll.dev/clusterset"
	// LabelAdvertiseMode is set on EndpointSlices on the broker whose endpoint is a Service's cluster IP. Its
	// value is the mode.
	LabelAdvertiseMode = "atoll.dev/advertise-mode"
	// LabelClusters is set on ServiceImports on the broker, with the ids of the exporting clusters, joined by
	// underscores, for kubectl get -L.
	LabelClusters = "atoll.dev/clusters"
	// LabelExports is set on a namespace by administrators: whether Services may be exported from it. In
	// system namespaces it also controls imports.
	LabelExports = "atoll.dev/exports"
	// ExportsAllowed is the value of LabelExports that permits exports.
	ExportsAllowed = "allowed"
	// LabelHeadless keeps kube-proxy from watching an EndpointSlice that it does not need.
	LabelHeadless = "service.kubernetes.io/headless"

	// AnnotationDerivedService is set on a ServiceImport, with the name of its derived Service, for
	// implementations of the Gateway API.
	AnnotationDerivedService = "multicluster.kubernetes.io/derived-service"
	// AnnotationExported is set on a ServiceImport and its derived Service, and lists the labels and
	// annotations that were exported. Atoll does not change others.
	AnnotationExported = "atoll.dev/exported-metadata"
	// AnnotationClusters is set on ServiceImports on the broker, with the ids of all exporting clusters,
	// sorted and joined by commas. The broker's admission policy reads it.
	AnnotationClusters = "atoll.dev/clusters"
	// AnnotationSourceSlice is set on EndpointSlices on the broker and on imported ones, with the name of the
	// original EndpointSlice in its own cluster.
	AnnotationSourceSlice = "atoll.dev/source-slice"
	// AnnotationRevision is set on objects that members write to the broker, with a number that increases
	// with each write; and on imported EndpointSlices, with the number of the original.
	AnnotationRevision = "atoll.dev/revision"
	// AnnotationRefused exists only in the cache of an agent, on EndpointSlices of other clusters: how many
	// of their parts the agent left out as invalid, and which.
	AnnotationRefused = "atoll.dev/refused"
	// AnnotationState is set to StateWithdrawn on objects on the broker when their owner has ended them. An
	// object that is missing without it was not removed by its owner.
	AnnotationState = "atoll.dev/state"
	// StateWithdrawn is the value of AnnotationState of an object that its owner has ended.
	StateWithdrawn = "Withdrawn"
	// AnnotationCompared is set on the heartbeat of a member: how often the member has found exactly its own
	// objects on the broker.
	AnnotationCompared = "atoll.dev/compared"
	// AnnotationBrokerRefuses is set on the heartbeat of a member while the broker has refused an object of
	// the member for ten minutes or more. Objects of the member that are missing then do not count as ended.
	AnnotationBrokerRefuses = "atoll.dev/broker-refuses"
	// AnnotationPolicy is set on a ServiceExport that the agent created for a policy of the hub, with that
	// policy (JSON).
	AnnotationPolicy = "atoll.dev/policy"
	// AnnotationApplied is set on a ServiceImport, with the revisions of the merged exports: "c1=12,c2=34".
	AnnotationApplied = "atoll.dev/applied-revisions"
	// AnnotationExpires is set on the ServiceAccount of a join file, with the time (RFC 3339) when its token
	// expires.
	AnnotationExpires = "atoll.dev/expires"
	// AnnotationDNSWiring is set on DNS configuration objects that cannot hold comments, with what atoll dns
	// install added to them.
	AnnotationDNSWiring = "atoll.dev/dns-wiring"
	// AnnotationOnClusterLoss is set on a ServiceExport by users: OnLossWithdraw or OnLossKeep, for the
	// Service's endpoints when this cluster is lost.
	AnnotationOnClusterLoss = "atoll.dev/on-cluster-loss"
	// AnnotationRefuseImports is set on a namespace by administrators: the ids of the clusters, separated by
	// commas, whose exports are not imported into it, or "*" for all other clusters.
	AnnotationRefuseImports = "atoll.dev/refuse-imports"
	// AnnotationLastChangeTriggerTime is the time of the change that led to an EndpointSlice, for latency
	// metrics.
	AnnotationLastChangeTriggerTime = "endpoints.kubernetes.io/last-change-trigger-time"

	// AgentManager is the value of LabelManagedBy, and of endpointslice.kubernetes.io/managed-by on
	// EndpointSlices that Atoll manages.
	AgentManager = "agent.atoll.dev"
	// AggregateManager is the value of LabelManagedBy on ServiceImports on the broker. Importing clusters
	// ignore them.
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
	// OnLossWithdraw makes importing clusters withdraw the endpoints. It is the default.
	OnLossWithdraw = "withdraw"
	// OnLossKeep makes importing clusters keep the endpoints, for clients that try one endpoint after the
	// other.
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

// FinalizerLoadBalancer is the prefix of finalizers of MultiClusterServices. The rest is the name of the
// provider that has, or may have, a load balancer for the object.
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
