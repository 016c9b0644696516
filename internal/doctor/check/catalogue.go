package check

import (
	"slices"
	"strings"
)

// ID identifies a check. IDs keep their meaning and are never reused.
type ID string

// Checks of one cluster.
const (
	APIServer     ID = "ATOLL1001"
	APIVersions   ID = "ATOLL1002"
	Definitions   ID = "ATOLL1003"
	Nodes         ID = "ATOLL1004"
	InstallRights ID = "ATOLL1101"
	AgentRights   ID = "ATOLL1102"
	DNSRights     ID = "ATOLL1103"
	BrokerRights  ID = "ATOLL1104"
	Membership    ID = "ATOLL1201"
	AgentRuns     ID = "ATOLL1202"
	DNSRuns       ID = "ATOLL1203"
	Credentials   ID = "ATOLL1204"
	Heartbeat     ID = "ATOLL1205"
	BrokerReached ID = "ATOLL1301"
	BrokerLatency ID = "ATOLL1302"
	BrokerClock   ID = "ATOLL1303"
	BrokerHere    ID = "ATOLL1304"
	PodsRun       ID = "ATOLL1401"
	Routing       ID = "ATOLL1402"
	KubeProxy     ID = "ATOLL1403"
	PodRanges     ID = "ATOLL1404"
	OwnDNS        ID = "ATOLL1501"
	Wiring        ID = "ATOLL1502"
	NodeLocal     ID = "ATOLL1503"
	ClustersetDNS ID = "ATOLL1504"
	Names         ID = "ATOLL1505"
	StockCoreDNS  ID = "ATOLL1506"
)

// Checks between clusters.
const (
	Identity    ID = "ATOLL2001"
	Clusterset  ID = "ATOLL2002"
	Clocks      ID = "ATOLL2003"
	Ranges      ID = "ATOLL2004"
	Families    ID = "ATOLL2005"
	Versions    ID = "ATOLL2006"
	Connections ID = "ATOLL2101"
	Datagrams   ID = "ATOLL2102"
	LargeOnes   ID = "ATOLL2103"
)

// Entry describes a check.
type Entry struct {
	ID ID
	// Subject is the heading for the check.
	Subject string
	// Title is the statement that a successful check confirms.
	Title string
}

// Subjects in their order.
const (
	subjectAPI     = "API server"
	subjectRights  = "permissions"
	subjectInstall = "installation"
	subjectBroker  = "broker"
	subjectNetwork = "network"
	subjectDNS     = "DNS"
	subjectBetween = "between clusters"
)

// Catalogue lists all checks in the order of the report.
var Catalogue = []Entry{
	{APIServer, subjectAPI, "the API server answers"},
	{APIVersions, subjectAPI, "the API versions that Atoll needs are served"},
	{Definitions, subjectAPI, "CustomResourceDefinitions are compatible"},
	{Nodes, subjectAPI, "nodes are ready"},
	{InstallRights, subjectRights, "you have the permissions to install Atoll"},
	{AgentRights, subjectRights, "atoll-agent has the permissions it needs"},
	{DNSRights, subjectRights, "atoll-dns has the permissions it needs"},
	{BrokerRights, subjectRights, "the member has the permissions it needs on the broker"},
	{Membership, subjectInstall, "the cluster is a member of a clusterset"},
	{AgentRuns, subjectInstall, "atoll-agent runs"},
	{DNSRuns, subjectInstall, "atoll-dns runs"},
	{Credentials, subjectInstall, "credentials for the broker are valid"},
	{Heartbeat, subjectInstall, "the cluster sends heartbeats"},
	{BrokerReached, subjectBroker, "pods reach the broker"},
	{BrokerLatency, subjectBroker, "the broker answers quickly"},
	{BrokerClock, subjectBroker, "clocks of the broker and the nodes agree"},
	{BrokerHere, subjectBroker, "this machine can read the broker"},
	{PodsRun, subjectNetwork, "pods run and reach each other"},
	{Routing, subjectNetwork, "Services without selectors are routed to their endpoints"},
	{KubeProxy, subjectNetwork, "kube-proxy runs on all nodes"},
	{PodRanges, subjectNetwork, "address ranges of pods and Services do not overlap"},
	{OwnDNS, subjectDNS, "pods resolve the cluster's own names"},
	{Wiring, subjectDNS, "the cluster's DNS forwards clusterset.local to atoll-dns"},
	{NodeLocal, subjectDNS, "NodeLocal DNSCache forwards clusterset.local to atoll-dns"},
	{ClustersetDNS, subjectDNS, "atoll-dns answers pods"},
	{Names, subjectDNS, "pods resolve names of the clusterset"},
	{StockCoreDNS, subjectDNS, "CoreDNS answers for clusterset.local itself"},
	{Identity, subjectBetween, "the contexts are different clusters with different ids"},
	{Clusterset, subjectBetween, "the clusters are members of one clusterset"},
	{Clocks, subjectBetween, "the clusters' clocks agree"},
	{Ranges, subjectBetween, "the clusters' address ranges do not overlap"},
	{Families, subjectBetween, "the clusters have an IP family in common"},
	{Versions, subjectBetween, "the clusters run the same version of Atoll"},
	{Connections, subjectBetween, "TCP connections succeed"},
	{Datagrams, subjectBetween, "UDP datagrams arrive"},
	{LargeOnes, subjectBetween, "large packets arrive"},
}

// needPods are the checks that need pods in the clusters.
var needPods = []ID{BrokerReached, BrokerLatency, BrokerClock, PodsRun, Routing, OwnDNS, ClustersetDNS, Names, Families, Connections, Datagrams, LargeOnes}

// NeedsPods reports whether the check needs pods in the clusters, which takes longer.
func (id ID) NeedsPods() bool { return slices.Contains(needPods, id) }

// entry returns a check. An unknown ID is a bug in this package.
func entry(id ID) Entry {
	for _, e := range Catalogue {
		if e.ID == id {
			return e
		}
	}
	panic("no such check: " + id)
}

// page is the documentation of all checks.
const page = "docs/reference/checks.md"

// Anchor returns the documentation of the check.
func (id ID) Anchor() string { return page + "#" + strings.ToLower(string(id)) }
