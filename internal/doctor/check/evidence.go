package check

import (
	"time"

	"github.com/atoll-mcs/atoll/internal/doctor/outpost"
	"github.com/atoll-mcs/atoll/internal/doctor/probe"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// Evidence is what was found out.
type Evidence struct {
	Clusters []Cluster
	// Before tells that the clusters are about to join: that they have not yet is no fault.
	Before bool
	// NoPods tells that nothing was to be run in the clusters.
	NoPods bool
}

// rank is a cluster's place; what is between clusters comes last.
func (e *Evidence) rank(name string) int {
	for i := range e.Clusters {
		if e.Clusters[i].Name == name {
			return i
		}
	}
	return len(e.Clusters)
}

// Cluster is what was found out about one. Errors say why something was not.
type Cluster struct {
	// Name is how the cluster is called: its id or, where it has none, or another has the same, its context.
	Name string
	// Context is that of the kubeconfig, empty for the current one.
	Context string
	// On is the cluster as commands name it.
	On command.Cluster

	// Unreached says why there is nothing else.
	Unreached error
	// Version is Kubernetes', RoundTrip how long its API server takes for a small request.
	Version   string
	RoundTrip time.Duration
	// Ahead is by how much the API server's clock is ahead of this machine's, 0 where that may be nothing.
	Ahead time.Duration
	// UID tells clusters apart.
	UID string
	// Lacks are the parts of the API that Atoll needs and that are not served; Definitions says
	// why its own can't be installed, or are not served.
	Lacks       []string
	Definitions error
	// ReadyNodes are those that pods can run on, of all Nodes.
	ReadyNodes, Nodes int

	// MayInstall says why the person may not install Atoll.
	MayInstall error
	// Agent, DNS and OnBroker are what the agents', atoll-dns's and, on the broker, the member's
	// account may not do of what it has to.
	Agent, DNS, OnBroker Rights

	// Survey is what there is of Atoll.
	Survey *survey.Survey
	// Broker is its URL: of the membership, or of the join file that is about to be used.
	Broker string

	// Services and Pods are its address ranges, as far as they are known.
	Services, Pods []string
	// KubeProxy is its DaemonSet, nil where there is none.
	KubeProxy *DaemonSet
	// ClusterDNS are the addresses of the cluster's DNS, AtollDNS of atoll-dns.
	ClusterDNS, AtollDNS []string
	// NodeLocal tells that NodeLocal DNSCache is configured here.
	NodeLocal bool
	// Stock is CoreDNS's own option, nil where it is not used.
	Stock *Stock

	// Outpost says why nothing could be found out from within the cluster.
	Outpost error
	// Listener is the pod that others connect to, and Seen what a pod has found out.
	Listener *outpost.Listener
	Seen     *probe.Report
}

// Rights are what an account may not do.
type Rights struct {
	Missing []string
	// Asked tells that it was found out, Err why not. With neither, nobody has tried to.
	Asked bool
	Err   error
}

// DaemonSet is what runs on each node.
type DaemonSet struct {
	Image         string
	Ready, Wanted int32
}

// Stock is a CoreDNS that answers for the clusterset by itself.
type Stock struct {
	// Image is CoreDNS's.
	Image string
	// Rights are those of its account.
	Rights Rights
}

// member tells whether the cluster has joined.
func (c *Cluster) member() bool { return c.Survey != nil && c.Survey.Server != "" }
