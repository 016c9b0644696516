package check

import (
	"errors"
	"time"

	"github.com/atoll-mcs/atoll/internal/doctor/outpost"
	"github.com/atoll-mcs/atoll/internal/doctor/probe"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// Evidence is the input of Evaluate.
type Evidence struct {
	Clusters []Cluster
	// Before means that the clusters have not joined yet, which is no problem then.
	Before bool
	// Image is the image of the test pods if the user has named it.
	Image string
	// NoPods means that no pods may run in the clusters.
	NoPods bool
}

// rank sorts clusters; results between clusters come last.
func (e *Evidence) rank(name string) int {
	for i := range e.Clusters {
		if e.Clusters[i].Name == name {
			return i
		}
	}
	return len(e.Clusters)
}

// Cluster is the evidence of one cluster. Errors say why a part is missing.
type Cluster struct {
	// Name is the cluster's ID. It is the context if there is no ID or another cluster has the same one.
	Name string
	// Context is the kubeconfig context, empty for the current one.
	Context string
	// On names the cluster in commands.
	On command.Cluster

	// Unreached is why the API server could not be read; then all else is empty.
	Unreached error
	// Version is the version of Kubernetes, RoundTrip the time of a small request.
	Version   string
	RoundTrip time.Duration
	// Ahead is how far the API server's clock is ahead of this machine's; 0 if they may agree.
	Ahead time.Duration
	// UID identifies the cluster.
	UID string
	// Lacks are required APIs that are not served. Definitions says why Atoll's own are not served or cannot be
	// installed.
	Lacks       []string
	Definitions error
	// ReadyNodes is the number of usable Nodes, Nodes the number of all.
	ReadyNodes, Nodes int

	// MayInstall says which permissions for an installation the user lacks.
	MayInstall error
	// Agent, DNS and OnBroker are the missing permissions of the agents, of atoll-dns and, on the broker, of the
	// member.
	Agent, DNS, OnBroker Rights

	// Survey is the state of Atoll.
	Survey *survey.Survey
	// Broker is the broker's URL, from the membership or from the join file to be used.
	Broker string

	// Clustersets are those that this API server is the broker of.
	Clustersets []BrokerSide

	// Services and Pods are the known IP ranges.
	Services, Pods []string
	// Running are addresses of running pods with their own network, a part of them in a large cluster. PodsUnread says why
	// they could not be listed.
	Running    []PodAddress
	PodsUnread error
	// Proxy is the node proxy, or nil if it is not known. OmitsStandby is set if the agent writes no endpoints on standby.
	Proxy        *Proxy
	OmitsStandby bool
	// ClusterDNS are the addresses of cluster DNS, AtollDNS those of atoll-dns.
	ClusterDNS, AtollDNS []string
	// Stock is a CoreDNS with the option multicluster, or nil.
	Stock *Stock

	// Outpost is why pods could not run in the cluster.
	Outpost error
	// Listener is the pod that other clusters connect to, and Seen the report of the probe pod.
	Listener *outpost.Listener
	Seen     *probe.Report
}

// BrokerSide is a clusterset on its broker.
type BrokerSide struct {
	Name string
	// Problems says how the objects that limit members differ from those that atoll deploys. Err says why this is not known.
	Problems []string
	Err      error
}

// OnlyBroker reports whether the cluster is a broker that has not joined, and is not about to. It needs no nodes.
func (e *Evidence) OnlyBroker(c *Cluster) bool {
	return !e.Before && len(c.Clustersets) > 0 && c.Survey != nil && errors.Is(c.Survey.BrokerErr, survey.ErrNotJoined)
}

// Rights are the missing permissions of an account.
type Rights struct {
	Missing []string
	// Checked means that the check was made, Err why not. If both are empty, the check was not tried.
	Checked bool
	Err     error
}

// Stock is a CoreDNS that serves the clusterset itself.
type Stock struct {
	// Image is CoreDNS's image.
	Image string
	// Rights are the missing permissions of its ServiceAccount.
	Rights Rights
}

// member reports whether the cluster has joined.
func (c *Cluster) member() bool { return c.Survey != nil && c.Survey.Server != "" }

// ID returns the cluster's ID, or "" if it is unknown.
func (c *Cluster) ID() string {
	if c.Survey == nil {
		return ""
	}
	return c.Survey.ClusterID.String()
}
