package verify

import (
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/doctor/probe"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
)

// timesEach is the number of connections per expected cluster. With n clusters, a random choice misses one with a
// probability of n times e to the power of -20.
const timesEach = 20

// expectation says which clusters must answer for a Service.
type expectation struct {
	service  string
	clusters []string
}

// name returns a Service's name in clusterset DNS.
func name(service, namespace string) string {
	return service + "." + namespace + ".svc." + survey.Zone
}

func address(service, namespace string) string {
	return net.JoinHostPort(name(service, namespace), strconv.Itoa(probe.Port))
}

// plan returns the probe's plan for the expected Services, with their imported addresses.
func plan(namespace string, all []expectation, addresses map[string][]string, patience time.Duration) probe.Plan {
	p := probe.Plan{Timeout: metav1.Duration{Duration: patience}}
	for _, e := range all {
		for _, address := range addresses[e.service] {
			kind := "A"
			if net.ParseIP(address).To4() == nil {
				kind = "AAAA"
			}
			p.Questions = append(p.Questions, probe.Question{Name: name(e.service, namespace) + ".", Type: kind, Await: true})
		}
		n := 1
		if len(e.clusters) > 1 {
			n = timesEach * len(e.clusters)
		}
		for _, network := range []string{"tcp", "udp"} {
			p.Connections = append(p.Connections, probe.Connection{Network: network, Address: address(e.service, namespace), Times: n, Await: true})
		}
	}
	return p
}

// evaluate checks for each Service that its name resolves and that exactly the expected clusters answer.
func evaluate(cluster, namespace string, r probe.Report, all []expectation) []Case {
	var cases []Case
	for _, e := range all {
		c := Case{Cluster: cluster, Name: "DNS answers for " + e.service}
		c.resolved(r, name(e.service, namespace)+".")
		cases = append(cases, c)
		for _, network := range []string{"tcp", "udp"} {
			c := Case{Cluster: cluster, Name: fmt.Sprintf("%s connection to %s", network, e.service), Failure: "the test pod ended before this step"}
			for _, reached := range r.Connections {
				if reached.Network == network && reached.Address == address(e.service, namespace) {
					c.Failure = ""
					c.reached(reached, e.clusters)
				}
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// resolved checks that DNS has addresses of each address family.
func (c *Case) resolved(r probe.Report, name string) {
	var values, errors []string
	for _, a := range r.Answers {
		if a.Name == name {
			values = append(values, a.Values...)
			c.Seconds = max(c.Seconds, a.Milliseconds/1000)
			if a.Error != "" {
				errors = append(errors, a.Type+": "+a.Error)
			}
		}
	}
	c.Detail = strings.Join(values, " ")
	if len(values) == 0 || len(errors) > 0 {
		c.Failure = fmt.Sprintf("a pod that uses the DNS server %s gets no address: %s. To find the cause: atoll check", strings.Join(r.Resolvers, ", "), strings.Join(errors, "; "))
	}
}

func (c *Case) reached(r probe.Reached, wanted []string) {
	got := slices.Sorted(maps.Keys(r.By))
	c.Seconds = r.Milliseconds / 1000
	c.Detail = fmt.Sprintf("answered by %s, fastest answer in %.1f ms", counts(r.By), r.Milliseconds)
	var wrong []string
	for _, id := range wanted {
		if !slices.Contains(got, id) {
			wrong = append(wrong, "cluster "+id+" has not answered")
		}
	}
	for _, id := range got {
		if !slices.Contains(wanted, id) {
			wrong = append(wrong, "cluster "+id+" answered, but does not export the Service")
		}
	}
	if r.Failed > 0 {
		wrong = append(wrong, fmt.Sprintf("%d of %d connections were not answered: %s", r.Failed, max(1, r.Times), r.Error))
	}
	c.Failure = strings.Join(wrong, "; ")
}

// counts lists how often each cluster answered.
func counts(by map[string]int) string {
	if len(by) == 0 {
		return "no cluster"
	}
	var all []string
	for _, id := range slices.Sorted(maps.Keys(by)) {
		all = append(all, fmt.Sprintf("%s (%d)", id, by[id]))
	}
	return strings.Join(all, ", ")
}
