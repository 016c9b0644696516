package check

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/doctor/probe"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
)

const (
	// ownName is a name that every cluster resolves, in any cluster domain.
	ownName = "kubernetes.default.svc"
	// versionName is a name that every clusterset DNS must answer (DNS specification, 2.2).
	versionName = "dns-version." + survey.Zone + "."
	// anyName is a name of no service. Another DNS server may answer for names below svc although atoll-dns answers for the zone.
	anyName = "name.atoll-check.svc." + survey.Zone + "."
	// patience is the time limit of a plan.
	patience = 10 * time.Second
	// large needs many packets at any packet size.
	large = 64 << 10
)

// Plan returns the probe's plan for a pod in a cluster. ca is the broker's certificate authority.
func Plan(e *Evidence, of *Cluster, ca []byte) probe.Plan {
	plan := probe.Plan{
		Timeout: metav1.Duration{Duration: patience},
		Questions: []probe.Question{
			{Name: ownName, Type: "A"}, {Name: ownName, Type: "AAAA"},
			{Name: versionName, Type: "TXT"}, {Name: versionName, Type: "TXT", Server: probe.EachServer},
			{Name: anyName, Type: "SOA", Server: probe.EachServer},
		},
	}
	for _, server := range slices.Concat(of.ClusterDNS, of.AtollDNS) {
		plan.Questions = append(plan.Questions, probe.Question{Name: versionName, Type: "TXT", Server: server})
	}
	if name, kind, _ := of.service(); name != "" {
		plan.Questions = append(plan.Questions, probe.Question{Name: name, Type: kind})
	}
	if of.Broker != "" {
		plan.Servers = []probe.Server{{URL: of.Broker, CA: string(ca)}}
	}
	for i := range e.Clusters {
		switch other := &e.Clusters[i]; {
		case other.Listener == nil:
		case other == of:
			plan.Connections = slices.Concat(plan.Connections, tcp(0, other.Listener.Pod...), programmed(tcp(0, other.Listener.Routed...)))
		default:
			plan.Connections = slices.Concat(plan.Connections, everyWay(other.Listener.Pod), programmed(everyWay(other.Listener.Service)))
		}
	}
	return plan
}

// service returns the name, the record type and the address of a ready import, if there is one. Another DNS server
// may answer for the services although atoll-dns answers for the zone.
func (c *Cluster) service() (name, kind, ip string) {
	if c.Survey == nil {
		return "", "", ""
	}
	for _, i := range report.Imports(c.Survey) {
		if i.Type != string(mcsv1beta1.ClusterSetIP) || len(i.IPs) == 0 || i.Status != string(mcsv1beta1.ServiceImportConditionReady) {
			continue
		}
		if kind = "A"; strings.Contains(i.IPs[0], ":") {
			kind = "AAAA"
		}
		return fmt.Sprintf("%s.%s.svc.%s.", i.Name, i.Namespace, survey.Zone), kind, i.IPs[0]
	}
	return "", "", ""
}

// everyWay connects over TCP, with and without data, and over UDP.
func everyWay(addresses []string) []probe.Connection {
	return slices.Concat(tcp(0, addresses...), tcp(large, addresses...), udp(addresses...))
}

// programmed sets Await for connections to new Services, because kube-proxy needs a moment to program them.
func programmed(services []probe.Connection) []probe.Connection {
	for i := range services {
		services[i].Await = true
	}
	return services
}

func tcp(bytes int, addresses ...string) []probe.Connection {
	var all []probe.Connection
	for _, a := range addresses {
		all = append(all, probe.Connection{Network: "tcp", Address: at(a), Bytes: bytes})
	}
	return all
}

func udp(addresses ...string) []probe.Connection {
	var all []probe.Connection
	for _, a := range addresses {
		all = append(all, probe.Connection{Network: "udp", Address: at(a)})
	}
	return all
}

// at returns the probe's port at an address.
func at(address string) string { return net.JoinHostPort(address, strconv.Itoa(probe.Port)) }

// answers returns the answers from the given servers to a query; none means the pod's own servers.
func (c *Cluster) answers(name, kind string, servers ...string) []probe.Answer {
	if len(servers) == 0 {
		servers = []string{""}
	}
	var all []probe.Answer
	for _, a := range c.Seen.Answers {
		if a.Name == name && a.Type == kind && slices.Contains(servers, a.Server) {
			all = append(all, a)
		}
	}
	return all
}

// reached returns the results of connections to the addresses.
func (c *Cluster) reached(network string, bytes int, addresses []string) []probe.Reached {
	var all []probe.Reached
	for _, r := range c.Seen.Connections {
		if r.Network == network && r.Bytes == bytes && slices.ContainsFunc(addresses, func(a string) bool { return at(a) == r.Address }) {
			all = append(all, r)
		}
	}
	return all
}
