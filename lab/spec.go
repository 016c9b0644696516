package lab

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"

	"github.com/atoll-mcs/atoll/lab/network"
)

// DefaultName is the default name of a lab.
const DefaultName = "atoll"

// Broker is the name and the context of the broker's API server.
const Broker = "broker"

// clusterDomain is the DNS domain of every cluster.
const clusterDomain = "cluster.local"

// nameMax keeps names of a lab's namespaces and files readable.
const nameMax = 30

var nameRE = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?$`)

// ErrUsage is in the chain of errors for requests that are invalid on any machine.
var ErrUsage = errors.New("invalid request")

// Shape has the user's choices for a lab.
type Shape struct {
	Name     string   `json:"name"`
	Clusters int      `json:"clusters"`
	Nodes    int      `json:"nodes"` // of each cluster
	IPFamily IPFamily `json:"ipFamily"`
	// ControlPlaneOnly labs have API servers on the loopback interface and controllers, but no nodes, pods and
	// namespaces. They need no root.
	ControlPlaneOnly bool `json:"controlPlaneOnly,omitempty"`
	// Bare clusters do not run Atoll.
	Bare bool `json:"bare,omitempty"`
	// Hub adds a hub on the broker's node.
	Hub bool `json:"hub,omitempty"`
	// AdvertiseMode is what the agents publish; the network matches it.
	AdvertiseMode AdvertiseMode `json:"advertiseMode,omitempty"`
	// DNS is the DNS server of the clusterset's zone.
	DNS ClusterDNS `json:"clustersetDNS,omitempty"`
	// Kubernetes are the versions of the Kubernetes programs, separated by commas, or "" if Options.Programs are others.
	// The clusters, and the broker last, take them in turn.
	Kubernetes string `json:"kubernetes,omitempty"`
	// ProxyMode is the mode of kube-proxy.
	ProxyMode ProxyMode `json:"proxyMode,omitempty"`
}

// Spec describes a lab completely. It is on disk before the first part is created.
type Spec struct {
	Shape
	// Fabric is the namespace of the bridge that connects all nodes.
	Fabric   network.Namespace `json:"fabric,omitempty"`
	Clusters []Cluster         `json:"members"` // c1 to cN, then the broker
	// Programs is the folder of kubectl and CoreDNS; Atoll is the program atoll.
	Programs string `json:"programs"`
	Atoll    string `json:"atoll"`
	// AgentArgs are additional arguments of the agents.
	AgentArgs []string `json:"agentArgs,omitempty"`
	// HubArgs are additional arguments of the hub.
	HubArgs []string `json:"hubArgs,omitempty"`
	// Processors is the number of processors for each Kubernetes program.
	Processors int `json:"processors"`
	// Audit makes the API servers log all writes.
	Audit bool `json:"audit,omitempty"`
	// Ready is set when the lab has been up completely once.
	Ready bool `json:"ready"`
	// Cuts are the disconnected pairs.
	Cuts []Pair `json:"cuts,omitempty"`
}

// Cluster is a cluster of a lab, or its broker.
type Cluster struct {
	Name         string         `json:"name"`
	Region       string         `json:"region"`
	Nodes        []Node         `json:"nodes,omitempty"` // the broker has one, without pods
	PodCIDRs     []netip.Prefix `json:"podCIDRs,omitempty"`
	ServiceCIDRs []netip.Prefix `json:"serviceCIDRs"`
	DNS          []netip.Addr   `json:"dns,omitempty"` // addresses of the cluster's DNS service
	// Programs is the folder of the cluster's Kubernetes programs.
	Programs string `json:"programs"`
	// AdvertiseMode is the mode of the cluster's agent, empty for the broker.
	AdvertiseMode AdvertiseMode `json:"advertise,omitempty"`
	// APIServer is the API server's address for nodes and pods, Loopback for this machine. They are equal without
	// nodes.
	APIServer netip.AddrPort `json:"apiServer"`
	Loopback  netip.AddrPort `json:"loopback"`
	Etcd      netip.AddrPort `json:"etcd"`
}

// Node is a node of a cluster: a network namespace.
type Node struct {
	Name      string            `json:"name"`
	Namespace network.Namespace `json:"namespace"`
	Zone      string            `json:"zone,omitempty"`
	Region    string            `json:"region,omitempty"`
	Addresses []netip.Addr      `json:"addresses"`
	PodCIDRs  []netip.Prefix    `json:"podCIDRs,omitempty"`
}

// Pair is an unordered pair of members of a lab.
type Pair [2]string

// validate returns an error that explains the first invalid choice.
func (s Shape) validate() error {
	switch {
	case !nameRE.MatchString(s.Name) || len(s.Name) > nameMax:
		return fmt.Errorf("%w: the lab's name %q must contain only a-z, 0-9 and -, and at most %d characters", ErrUsage, s.Name, nameMax)
	case s.Clusters < 1 || s.Clusters > maxClusters:
		return fmt.Errorf("%w: a lab has 1 to %d clusters, not %d", ErrUsage, maxClusters, s.Clusters)
	case s.Nodes < 1 || s.Nodes > maxNodes:
		return fmt.Errorf("%w: a cluster has 1 to %d nodes, not %d", ErrUsage, maxNodes, s.Nodes)
	case s.Hub && s.Bare:
		return fmt.Errorf("%w: a hub needs a clusterset, but bare clusters have no clusterset", ErrUsage)
	case s.ControlPlaneOnly && s.Nodes > 1:
		return fmt.Errorf("%w: a lab that consists of control planes only has no nodes", ErrUsage)
	}
	if err := s.IPFamily.Check(s.Clusters); err != nil {
		return fmt.Errorf("%w: invalid IP family: %w", ErrUsage, err)
	}
	return errors.Join(s.AdvertiseMode.validate(s.Clusters), s.DNS.validate(), s.ProxyMode.validate())
}

// String formats the shape as flags.
func (s Shape) String() string {
	text := fmt.Sprintf("--name %s --clusters %d", s.Name, s.Clusters)
	if s.ControlPlaneOnly {
		text += " --control-plane-only"
	} else {
		text += fmt.Sprintf(" --nodes %d", s.Nodes)
	}
	text += " --ip-family " + string(s.IPFamily)
	if s.Bare {
		text += " --bare"
	}
	if s.Hub {
		text += " --hub"
	}
	if s.AdvertiseMode != "" {
		text += " --advertise-mode " + string(s.AdvertiseMode)
	}
	if s.DNS != "" {
		text += " --dns " + string(s.DNS)
	}
	if s.Kubernetes != "" {
		text += " --kubernetes " + s.Kubernetes
	}
	if s.ProxyMode != "" {
		text += " --proxy-mode " + string(s.ProxyMode)
	}
	return text
}

// newSpec plans a lab, without the ports on the loopback interface.
func newSpec(s Shape) *Spec {
	spec := &Spec{Shape: s}
	if !s.ControlPlaneOnly {
		spec.Fabric = s.namespace("fabric")
	}
	for i := 1; i <= s.Clusters; i++ {
		spec.Clusters = append(spec.Clusters, s.cluster(fmt.Sprintf("c%d", i), i, s.IPFamily.Of(i)))
	}
	broker := s.cluster(Broker, brokerIndex, s.IPFamily.union()) // all members reach it
	if len(broker.Nodes) > 0 {
		broker.Nodes = []Node{{Name: Broker, Namespace: s.namespace(Broker), Addresses: broker.Nodes[0].Addresses}}
	}
	broker.PodCIDRs, broker.DNS = nil, nil
	spec.Clusters = append(spec.Clusters, broker)
	for i := range s.Clusters {
		spec.Clusters[i].AdvertiseMode = s.AdvertiseMode.Of(i + 1)
	}
	return spec
}

func (s Shape) cluster(name string, index int, f IPFamily) Cluster {
	c := Cluster{Name: name, Region: fmt.Sprintf("r%d", index), ServiceCIDRs: f.serviceCIDRs(index)}
	if s.ControlPlaneOnly {
		return c
	}
	c.PodCIDRs, c.DNS = f.podCIDRs(index), f.dnsAddrs(index)
	c.APIServer = netip.AddrPortFrom(f.nodeAddrs(index, 1)[0], 6443)
	c.Etcd = netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), 2379)
	for j := 1; j <= s.Nodes; j++ {
		node := fmt.Sprintf("%s-n%d", name, j)
		c.Nodes = append(c.Nodes, Node{
			Name:      node,
			Namespace: s.namespace(node),
			Region:    c.Region,
			Zone:      fmt.Sprintf("%s-%c", c.Region, 'a'+(j-1)%3),
			Addresses: f.nodeAddrs(index, j),
			PodCIDRs:  f.nodePodCIDRs(index, j),
		})
	}
	return c
}

// shrinkServices gives the clusters' IPv4 ranges of Services a longer prefix, if bits is not 0.
func (s *Spec) shrinkServices(bits int) {
	for i := range s.Clusters {
		ranges := s.Clusters[i].ServiceCIDRs
		for j, r := range ranges {
			if r.Addr().Is4() && bits > r.Bits() {
				ranges[j] = netip.PrefixFrom(r.Addr(), bits)
			}
		}
	}
}

func (s Shape) namespace(part string) network.Namespace {
	return network.Namespace("atoll-" + s.Name + "-" + part)
}

// namespaces are the namespaces that the lab itself creates.
func (s *Spec) namespaces() []network.Namespace {
	var all []network.Namespace
	if s.Fabric != "" {
		all = append(all, s.Fabric)
	}
	for _, c := range s.Clusters {
		for _, n := range c.Nodes {
			all = append(all, n.Namespace)
		}
	}
	return all
}

// Cluster finds a cluster or the broker by name.
func (s *Spec) Cluster(name string) (*Cluster, error) {
	for i := range s.Clusters {
		if s.Clusters[i].Name == name {
			return &s.Clusters[i], nil
		}
	}
	return nil, fmt.Errorf("%w: lab %[3]s has no cluster %[2]q", ErrUsage, name, s.Name)
}

func (c *Cluster) hasIPv6() bool {
	return slices.ContainsFunc(c.ServiceCIDRs, func(p netip.Prefix) bool { return p.Addr().Is6() })
}

// serverFor is the API server's address for programs on another cluster's nodes: of a family that both have, the
// other's primary one if possible.
func (c *Cluster) serverFor(other *Cluster) netip.AddrPort {
	if len(c.Nodes) == 0 || len(other.Nodes) == 0 {
		return c.APIServer
	}
	for _, from := range other.Nodes[0].Addresses {
		for _, to := range c.Nodes[0].Addresses {
			if from.Is4() == to.Is4() {
				return netip.AddrPortFrom(to, c.APIServer.Port())
			}
		}
	}
	return c.APIServer
}

// ranges are all source addresses of a cluster's traffic.
func (c *Cluster) ranges() []netip.Prefix {
	var all []netip.Prefix
	for _, n := range c.Nodes {
		for _, a := range n.Addresses {
			all = append(all, netip.PrefixFrom(a, a.BitLen()))
		}
	}
	return append(append(all, c.PodCIDRs...), c.ServiceCIDRs...)
}
