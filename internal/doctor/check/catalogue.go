package check

import (
	"slices"
	"strings"
)

// ID identifies a check. IDs keep their meaning and are never reused. Reports are in their order.
type ID string

// Check is a check, with the statement that its success confirms.
type Check struct {
	ID    ID
	Title string
}

// String returns the ID.
func (c Check) String() string { return string(c.ID) }

// Checks of one cluster.
var (
	APIServer     = Check{"ATOLL1001", "the API server answers"}
	APIVersions   = Check{"ATOLL1002", "the API versions that Atoll needs are served"}
	Definitions   = Check{"ATOLL1003", "CustomResourceDefinitions are compatible"}
	Nodes         = Check{"ATOLL1004", "a node is ready"}
	InstallRights = Check{"ATOLL1101", "you have the permissions to install Atoll"}
	AgentRights   = Check{"ATOLL1102", "atoll-agent has the permissions it needs"}
	DNSRights     = Check{"ATOLL1103", "atoll-dns has the permissions it needs"}
	BrokerRights  = Check{"ATOLL1104", "the member has the permissions it needs on the broker"}
	Membership    = Check{"ATOLL1201", "the cluster is a member of a clusterset"}
	AgentRuns     = Check{"ATOLL1202", "atoll-agent runs"}
	DNSRuns       = Check{"ATOLL1203", "atoll-dns runs"}
	Credentials   = Check{"ATOLL1204", "credentials for the broker are valid"}
	Heartbeat     = Check{"ATOLL1205", "the cluster sends heartbeats"}
	Exports       = Check{"ATOLL1206", "the cluster's exports are in effect"}
	Imports       = Check{"ATOLL1207", "the cluster's imports are in effect"}
	ForeignSlices = Check{"ATOLL1208", "imported services have only Atoll's EndpointSlices"}
	Properties    = Check{"ATOLL1209", "ClusterProperties match the membership"}
	Members       = Check{"ATOLL1210", "the other members send heartbeats"}
	BrokerReached = Check{"ATOLL1301", "pods reach the broker"}
	BrokerLatency = Check{"ATOLL1302", "the broker answers quickly"}
	BrokerClock   = Check{"ATOLL1303", "clocks of the broker and the nodes agree"}
	BrokerHere    = Check{"ATOLL1304", "this machine can read the broker"}
	Limits        = Check{"ATOLL1305", "the broker limits members as this version of atoll deploys it"}
	PodsRun       = Check{"ATOLL1401", "pods run and reach each other"}
	Routing       = Check{"ATOLL1402", "Services without selectors are routed to their endpoints"}
	NodeProxy     = Check{"ATOLL1403", "the node proxy runs on all nodes, and can fail over"}
	PodRanges     = Check{"ATOLL1404", "address ranges of pods and Services do not overlap"}
	ServiceRanges = Check{"ATOLL1405", "the address ranges of Services are known"}
	PodAddresses  = Check{"ATOLL1406", "running pods have addresses in the pod CIDR"}
	OwnDNS        = Check{"ATOLL1501", "pods resolve the cluster's own names"}
	Wiring        = Check{"ATOLL1502", "the cluster's DNS forwards clusterset.local to atoll-dns"}
	NodeLocal     = Check{"ATOLL1503", "NodeLocal DNSCache forwards clusterset.local to atoll-dns"}
	ClustersetDNS = Check{"ATOLL1504", "atoll-dns answers pods"}
	Names         = Check{"ATOLL1505", "pods resolve names of the clusterset"}
	StockCoreDNS  = Check{"ATOLL1506", "CoreDNS answers for clusterset.local itself"}
)

// Checks between clusters.
var (
	Identity    = Check{"ATOLL2001", "the contexts are different clusters with different ids"}
	Clusterset  = Check{"ATOLL2002", "the clusters are members of one clusterset"}
	Clocks      = Check{"ATOLL2003", "the clusters' clocks agree"}
	Ranges      = Check{"ATOLL2004", "the clusters' address ranges do not overlap"}
	Families    = Check{"ATOLL2005", "the clusters have an IP family in common"}
	Versions    = Check{"ATOLL2006", "the clusters run the same version of Atoll"}
	Connections = Check{"ATOLL2101", "TCP connections succeed"}
	Datagrams   = Check{"ATOLL2102", "UDP datagrams arrive"}
	LargeOnes   = Check{"ATOLL2103", "large packets arrive"}
)

// subjects are the headings of the checks, by the first digits of their IDs.
var subjects = map[ID]string{
	"ATOLL10": "API server",
	"ATOLL11": "permissions",
	"ATOLL12": "installation",
	"ATOLL13": "broker",
	"ATOLL14": "network",
	"ATOLL15": "DNS",
	"ATOLL20": "between clusters",
	"ATOLL21": "between clusters",
}

// needPods are the checks that need pods in the clusters.
var needPods = []Check{BrokerReached, BrokerLatency, BrokerClock, PodsRun, Routing, OwnDNS, ClustersetDNS, Names, Families, Connections, Datagrams, LargeOnes}

// NeedsPods reports whether the check needs pods in the clusters, which takes longer.
func (id ID) NeedsPods() bool {
	return slices.ContainsFunc(needPods, func(c Check) bool { return c.ID == id })
}

// page is the documentation of all checks.
const page = "docs/reference/checks.md"

// Anchor returns the documentation of the check.
func (id ID) Anchor() string { return page + "#" + strings.ToLower(string(id)) }
