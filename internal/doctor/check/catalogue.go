package check

import (
	"strings"
)

// ID is a check's. It never changes its meaning, and that of one that is not made any more is not
// used again.
type ID string

// The checks of one cluster.
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

// The checks between clusters.
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

// Entry is what a check is about.
type Entry struct {
	ID ID
	// Subject is what checks are listed under.
	Subject string
	// Title says what is so when all is well.
	Title string
}

// The subjects, in their order.
const (
	subjectAPI     = "API server"
	subjectRights  = "rights"
	subjectInstall = "installation"
	subjectBroker  = "broker"
	subjectNetwork = "network"
	subjectDNS     = "DNS"
	subjectBetween = "between clusters"
)

// Catalogue lists all checks in the order in which they are told.
var Catalogue = []Entry{
	{APIServer, subjectAPI, "the API server answers"},
	{APIVersions, subjectAPI, "it serves what Atoll needs"},
	{Definitions, subjectAPI, "the custom resource definitions fit"},
	{Nodes, subjectAPI, "there are nodes that are ready"},
	{InstallRights, subjectRights, "you may install Atoll"},
	{AgentRights, subjectRights, "atoll-agent may do what it has to"},
	{DNSRights, subjectRights, "atoll-dns may do what it has to"},
	{BrokerRights, subjectRights, "the member may do on the broker what it has to"},
	{Membership, subjectInstall, "the cluster is a member of a clusterset"},
	{AgentRuns, subjectInstall, "atoll-agent runs"},
	{DNSRuns, subjectInstall, "atoll-dns runs"},
	{Credentials, subjectInstall, "the credentials for the broker are renewed in time"},
	{Heartbeat, subjectInstall, "the broker has the cluster's heartbeat"},
	{BrokerReached, subjectBroker, "pods reach the broker"},
	{BrokerLatency, subjectBroker, "the broker answers fast"},
	{BrokerClock, subjectBroker, "the clocks of the broker and the nodes agree"},
	{BrokerHere, subjectBroker, "this machine can read the broker"},
	{PodsRun, subjectNetwork, "pods run and reach each other"},
	{Routing, subjectNetwork, "the addresses of Services are routed as Atoll needs"},
	{KubeProxy, subjectNetwork, "kube-proxy runs on all nodes"},
	{PodRanges, subjectNetwork, "the cluster's address ranges do not overlap each other"},
	{OwnDNS, subjectDNS, "pods find the cluster's own names"},
	{Wiring, subjectDNS, "the cluster's DNS asks for the clusterset's names"},
	{NodeLocal, subjectDNS, "NodeLocal DNSCache does, too"},
	{ClustersetDNS, subjectDNS, "atoll-dns answers pods"},
	{Names, subjectDNS, "pods find the clusterset's names"},
	{StockCoreDNS, subjectDNS, "CoreDNS can answer for the clusterset by itself"},
	{Identity, subjectBetween, "these are different clusters with different ids"},
	{Clusterset, subjectBetween, "they are members of one clusterset"},
	{Clocks, subjectBetween, "their clocks agree"},
	{Ranges, subjectBetween, "their address ranges do not overlap"},
	{Families, subjectBetween, "they have an IP family in common"},
	{Versions, subjectBetween, "they run the same version of Atoll"},
	{Connections, subjectBetween, "connections come through"},
	{Datagrams, subjectBetween, "UDP comes through"},
	{LargeOnes, subjectBetween, "large packets come through"},
}

// entry finds a check; one that is not in the catalogue is a mistake in this package.
func entry(id ID) Entry {
	for _, e := range Catalogue {
		if e.ID == id {
			return e
		}
	}
	panic("no such check: " + id)
}

// page is where the checks are documented.
const page = "docs/checks.md"

// Anchor is where a check is documented.
func (id ID) Anchor() string { return page + "#" + strings.ToLower(string(id)) }
