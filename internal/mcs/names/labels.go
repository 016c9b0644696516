package names

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// Labels and annotations on objects that Atoll creates. The upstream ones are from the Multi-Cluster Services API
// (KEP-1645, "Using EndpointSlice objects to track endpoints").
const (
	// LabelServiceName is the name of the multi-cluster service of an object.
	LabelServiceName = "multicluster.kubernetes.io/service-name"
	// LabelSourceCluster is the id of the cluster from which an object comes.
	LabelSourceCluster = "multicluster.kubernetes.io/source-cluster"
	// LabelServiceNamespace is set on objects on the broker: the namespace of their service in the members.
	LabelServiceNamespace = "atoll.dev/service-namespace"
	// LabelManagedBy is set on ServiceImports, derived Services and ServiceExports that Atoll created. Its value is
	// AgentManager, or AggregateManager for a ServiceImport on the broker.
	LabelManagedBy = "atoll.dev/managed-by"
	// LabelClusterset is set on the namespace of a clusterset on the broker. Its value is the name of the clusterset.
	LabelClusterset = "atoll.dev/clusterset"
	// LabelAdvertiseMode is set on an EndpointSlice on the broker if its endpoint is a cluster IP. Its value is the
	// advertise mode.
	LabelAdvertiseMode = "atoll.dev/advertise-mode"
	// LabelClusters is set on ServiceImports on the broker, for kubectl get -L: the ids of the exporting clusters,
	// joined by underscores.
	LabelClusters = "atoll.dev/clusters"
	// LabelExports is set on a namespace by administrators: whether Services of the namespace may be exported. In
	// system namespaces, the label also controls imports.
	LabelExports = "atoll.dev/exports"
	// ExportsAllowed is the value of LabelExports that permits exports, and in system namespaces also imports.
	ExportsAllowed = "allowed"
	// LabelCorefile is set on a ConfigMap that atoll dns install --configmap changed: the name of the ConfigMap with
	// the Corefile.
	LabelCorefile = "atoll.dev/corefile"
	// LabelHeadless is set on EndpointSlices that kube-proxy does not need, so that kube-proxy does not watch them.
	LabelHeadless = "service.kubernetes.io/headless"

	// LabelStandby is set on an imported EndpointSlice if all its endpoints are on standby: the reason, for example
	// Drained. If only some endpoints are on standby, an annotation with this name counts them by reason:
	// "BeyondShare=3".
	LabelStandby = "atoll.dev/standby"
	// AnnotationAbsent is set on an imported EndpointSlice that lacks endpoints of the original EndpointSlice,
	// because this cluster must not or need not use them: the reason, for example FallbackNone.
	AnnotationAbsent = "atoll.dev/absent"
	// AnnotationPorts is set on an imported EndpointSlice that has only some ports of the original EndpointSlice: the
	// first of these ports.
	AnnotationPorts = "atoll.dev/ports"

	// AnnotationDerivedService is set on a ServiceImport, for Gateway API implementations: the derived Service's
	// name.
	AnnotationDerivedService = "multicluster.kubernetes.io/derived-service"
	// AnnotationExported is set on a ServiceImport and its derived Service: the list of exported labels and
	// annotations. Atoll does not change other labels and annotations.
	AnnotationExported = "atoll.dev/exported-metadata"
	// AnnotationClusters is set on ServiceImports on the broker: the ids of all exporting clusters, sorted, joined by
	// commas. The broker's admission policy reads the annotation.
	AnnotationClusters = "atoll.dev/clusters"
	// AnnotationSourceSlice is set on published and imported EndpointSlices: the name of the original EndpointSlice.
	AnnotationSourceSlice = "atoll.dev/source-slice"
	// AnnotationRevision is set on members' objects on the broker: a number that increases with each write. Imported
	// EndpointSlices have the number of the original.
	AnnotationRevision = "atoll.dev/revision"
	// AnnotationRefused exists only in an agent's cache, on EndpointSlices of other clusters: the number of invalid
	// parts that the agent ignores, and examples.
	AnnotationRefused = "atoll.dev/refused"
	// AnnotationState is set to StateWithdrawn on an object on the broker when its owner has withdrawn the object. If
	// an object without this annotation is missing, its owner has not withdrawn the object.
	AnnotationState = "atoll.dev/state"
	// StateWithdrawn is the value of AnnotationState of an object that its owner has withdrawn.
	StateWithdrawn = "Withdrawn"
	// AnnotationCompared is set on a member's heartbeat: how many times the member's objects on the broker matched
	// its exports exactly.
	AnnotationCompared = "atoll.dev/compared"
	// AnnotationBrokerRefuses is set on the heartbeat of a member while the broker has refused an object of the
	// member for ten minutes or more. Missing objects of the member then do not count as withdrawn.
	AnnotationBrokerRefuses = "atoll.dev/broker-refuses"
	// AnnotationPolicy is set on a ServiceExport that the agent created for a policy of the hub: the policy (JSON).
	AnnotationPolicy = "atoll.dev/policy"
	// AnnotationApplied is set on a ServiceImport: the revisions of the merged exports, such as "c1=12,c2=34".
	AnnotationApplied = "atoll.dev/applied-revisions"
	// AnnotationAppliedSpec is set on a ServiceImport: a digest of type, IPs and ports of the spec that Atoll last
	// wrote. If the present spec has another digest, another writer has changed the ServiceImport, and DNS ignores the
	// change.
	AnnotationAppliedSpec = "atoll.dev/applied-spec"
	// AnnotationServiceMetadata is set on a namespace by administrators: the keys of exported labels and annotations
	// that derived Services in the namespace get, separated by commas. "example.org/*" means all keys of a domain,
	// "*" all keys.
	AnnotationServiceMetadata = "atoll.dev/derived-service-metadata"
	// AnnotationDrained is set by administrators (atoll drain) on namespace atoll-system to drain the cluster, on
	// another namespace, or on a ServiceExport. Clients in all clusters then open no new connections to the endpoints
	// in this cluster while another cluster can serve. Its value is the end time (RFC 3339), or "true".
	AnnotationDrained = "atoll.dev/drained"
	// AnnotationFollowsDrains is set on a member's Lease: digests of other members' drains that the member has
	// applied, such as "c1=12ab,c2=34cd". A digest covers the drained records and their revisions.
	AnnotationFollowsDrains = "atoll.dev/follows-drains"
	// AnnotationShift is set on a TrafficPolicy by atoll shift (JSON): the target cluster, the steps, the number of
	// completed steps, and the relative weights of the other clusters.
	AnnotationShift = "atoll.dev/shift"
	// AnnotationShiftEarlier is set on a TrafficPolicy by atoll shift, for --undo: the weights from before the shift
	// (JSON), or "none" if the shift created the policy.
	AnnotationShiftEarlier = "atoll.dev/shift-earlier"
	// AnnotationAcceptWeights is set on a namespace by administrators: the ids of clusters, separated by commas, or
	// "*". Weights and fallback None of these clusters' TrafficPolicies for ServiceExports apply in this namespace.
	AnnotationAcceptWeights = "atoll.dev/accept-weights"
	// AnnotationTokenLifetime is set on a clusterset's namespace on the broker by administrators (atoll broker deploy
	// --token-lifetime): the longest lifetime of a member's token, as a Go duration.
	AnnotationTokenLifetime = "atoll.dev/token-lifetime"
	// AnnotationRegistry is set on a clusterset's namespace on the broker by administrators (atoll broker deploy
	// --registry): the registry of the images. Join files contain this registry.
	AnnotationRegistry = "atoll.dev/registry"
	// AnnotationExpires is set on the ServiceAccount of a join file: the time when its token expires (RFC 3339).
	AnnotationExpires = "atoll.dev/expires"
	// AnnotationDNSWiring is set by atoll dns install on OpenShift's DNS object, and on the ConfigMaps kube-dns and
	// coredns-custom (only if the command created it): the zones that the command added, and the parts that it created.
	AnnotationDNSWiring = "atoll.dev/dns-wiring"
	// AnnotationOnClusterLoss is set on a ServiceExport by users: whether importing clusters withdraw (OnLossWithdraw) or
	// keep (OnLossKeep) the endpoints when this cluster is lost.
	AnnotationOnClusterLoss = "atoll.dev/on-cluster-loss"
	// AnnotationRefuseImports is set on a namespace by administrators: the ids of clusters whose exports the
	// namespace refuses, separated by commas, or "*" for all other clusters.
	AnnotationRefuseImports = "atoll.dev/refuse-imports"
	// AnnotationLastChangeTriggerTime is the time of an EndpointSlice's last change, for latency metrics.
	AnnotationLastChangeTriggerTime = "endpoints.kubernetes.io/last-change-trigger-time"

	// AgentManager is the value of LabelManagedBy, and of endpointslice.kubernetes.io/managed-by on EndpointSlices
	// that Atoll manages.
	AgentManager = "agent.atoll.dev"
	// AggregateManager is the value of LabelManagedBy on the broker's ServiceImports. Importing clusters ignore these
	// ServiceImports.
	AggregateManager = "aggregate.atoll.dev"
)

// MaxLabelValue is the API's limit for a label's value, in characters.
const MaxLabelValue = 63

// ClustersLabel joins cluster ids to a label value with underscores, which no id contains. If they do not fit, it ends
// with the number of the others.
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
	// OnLossWithdraw is the default value of AnnotationOnClusterLoss: importing clusters withdraw the endpoints of a
	// lost cluster.
	OnLossWithdraw = "withdraw"
	// OnLossKeep is a value of AnnotationOnClusterLoss: importing clusters keep the endpoints of a lost cluster, for
	// clients that try several endpoints.
	OnLossKeep = "keep"
)

// SystemNamespaces have Services of the cluster itself. They are neither exported nor imported unless an administrator
// allows it. Those of OpenShift have a prefix.
var SystemNamespaces = []string{"atoll-hub", SystemNamespace, "default", "kube-node-lease", "kube-public", "kube-system"}

// OpenShiftPrefix begins the names of OpenShift's system namespaces.
const OpenShiftPrefix = "openshift-"

// IsSystem reports whether a namespace has Services of the cluster itself: a system namespace, or one of more patterns, in which *
// stands for any text. Invalid patterns match nothing.
func IsSystem(namespace string, more ...string) bool {
	return slices.Contains(SystemNamespaces, namespace) || strings.HasPrefix(namespace, OpenShiftPrefix) || slices.ContainsFunc(more, func(pattern string) bool {
		matches, err := path.Match(pattern, namespace)
		return err == nil && matches
	})
}

// Closed reports whether a namespace with these labels imports nothing: a system namespace without permission by the
// administrator. A system Service's name means a different Service in each cluster.
func Closed(namespace string, labels map[string]string, more ...string) bool {
	return IsSystem(namespace, more...) && labels[LabelExports] != ExportsAllowed
}

// MemberPermissions is the ConfigMap in a clusterset's namespace on the broker with what each member may export. The
// broker's administrators write it, members read it.
const MemberPermissions = "atoll-members"

// NodeNameVariable is the environment variable that tells an agent its node.
const NodeNameVariable = "NODE_NAME"

// LostClusters is the ConfigMap in SystemNamespace with the members whose endpoints are withdrawn, and since when. Before the
// ids of other members, there is a prefix that no id has: LostSilent for members whose endpoints stand by because they do not
// answer, and LostUnproven for those of which no endpoint has ever answered.
const (
	LostClusters = "atoll-lost-clusters"
	LostSilent   = "silent_"
	LostUnproven = "unproven_"
)

// RememberedMembers is the ConfigMap in SystemNamespace with what this cluster remembers of the other members, so that a restored
// broker does not end or permit more than before.
const RememberedMembers = "atoll-remembered"

// InstallSettings is the name of a ConfigMap with the flags of an installation, in the namespaces of members and hubs.
const InstallSettings = "atoll-config"

// SystemNamespace is the namespace of Atoll's own programs in a member cluster.
const SystemNamespace = "atoll-system"

// HubOwner is the hub's id as an owner of objects on the broker, and its Lease's name. It is not a cluster id.
const HubOwner ClusterID = "hub.atoll.dev"

// HubNamespace is the namespace of atoll-hub on a broker, HubAccount its service account there.
const HubNamespace, HubAccount = "atoll-hub", "atoll-hub"

// FinalizerLoadBalancer is the prefix of MultiClusterServices' finalizers. After the prefix comes the name of the
// provider that may have a load balancer for the object.
const FinalizerLoadBalancer = "lb.atoll.dev/"

// Field managers for server-side apply, one per controller.
const (
	ManagerExport       = "atoll-export"
	ManagerImport       = "atoll-import"
	ManagerPolicy       = "atoll-policy"
	ManagerHub          = "atoll-hub"
	ManagerLoadBalancer = "atoll-load-balancer"
)

// ManagerAggregate is the field manager of aggregates, which several members write.
func ManagerAggregate(cluster ClusterID) string { return "atoll-aggregate-" + cluster.String() }

// MemberAccount names a member's service account on the broker. The broker's admission policy derives the cluster id
// from it.
func MemberAccount(cluster ClusterID) string {
	return MemberAccountPrefix + cluster.String()
}

// MemberAccountPrefix is the prefix of MemberAccount's names.
const MemberAccountPrefix = "member-"

// JoinerAccount names the service account on the broker with which a cluster joins once.
func JoinerAccount(cluster ClusterID) string {
	return JoinerAccountPrefix + cluster.String()
}

// JoinerAccountPrefix is the prefix of JoinerAccount's names.
const JoinerAccountPrefix = "join-"

// CredentialType is the type of the Secrets on the broker that members' tokens are bound to. They have no data.
const CredentialType = "atoll.dev/member-credential"

// MemberCredential names the Secret on the broker that a member's tokens are bound to: they are valid while it exists.
// The UID is that of the used join file's account.
func MemberCredential(cluster ClusterID, joinerUID string) string {
	return MemberAccount(cluster) + "-" + joinerUID
}

// UIDLength is the length of an API server's UIDs (RFC 9562).
const UIDLength = 36

// CredentialJoiner returns the joinerUID in a name from MemberCredential, or "" if the name is not the cluster's.
func CredentialJoiner(cluster ClusterID, name string) string {
	uid, ok := strings.CutPrefix(name, MemberAccount(cluster)+"-")
	if !ok || len(uid) != UIDLength {
		return ""
	}
	return uid
}
