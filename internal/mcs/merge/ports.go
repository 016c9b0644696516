package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// mergePorts returns the union of the ports of exports, which come by
// precedence. A Service must not have two ports of one name, nor two of one
// protocol and number, so of two such the one of higher precedence stands
// (KEP-1645, "Service Port"). Every difference between two clusters' sets of ports
// is a conflict; the order in which a Service lists them is none.
func mergePorts(exports []Export) ([]mcsv1beta1.ServicePort, []Conflict) {
	union, origins := unionOfPorts(exports)
	disagree := 0
	for _, e := range exports {
		if !samePorts(e.Ports, union) {
			disagree++
		}
	}
	if disagree == 0 {
		return union, nil
	}
	return union, []Conflict{{
		Reason:  mcsv1beta1.ServiceExportReasonPortConflict,
		Message: portMessage(exports, union, origins, disagree),
	}}
}

// unionOfPorts returns the union, and the cluster that each port was taken from.
func unionOfPorts(exports []Export) (union []mcsv1beta1.ServicePort, origins []string) {
	type number struct {
		protocol corev1.Protocol
		port     int32
	}
	named, numbered := map[string]bool{}, map[number]bool{}
	for _, e := range exports {
		for _, p := range e.Ports {
			p = withDefaults(p)
			n := number{p.Protocol, p.Port}
			if named[p.Name] || numbered[n] {
				continue // clash, in other words
			}
			named[p.Name], numbered[n] = true, true
			union = append(union, p)
			origins = append(origins, e.ClusterID)
		}
	}
	return union, origins
}

// Serves tells whether a cluster with the given ports exposes port, one of the
// import's, with the definition that won. One that does not must get no traffic for
// it. The application protocol is only a hint to clients and does not count.
func Serves(ports []mcsv1beta1.ServicePort, port mcsv1beta1.ServicePort) bool {
	port = withDefaults(port)
	return slices.ContainsFunc(ports, func(p mcsv1beta1.ServicePort) bool {
		p = withDefaults(p)
		return p.Name == port.Name && p.Protocol == port.Protocol && p.Port == port.Port
	})
}

func withDefaults(p mcsv1beta1.ServicePort) mcsv1beta1.ServicePort {
	p.Protocol = cmp.Or(p.Protocol, corev1.ProtocolTCP)
	return p
}

// clash tells whether one Service could not have both ports.
func clash(a, b mcsv1beta1.ServicePort) bool {
	return a.Name == b.Name || (a.Protocol == b.Protocol && a.Port == b.Port)
}

func samePorts(a, b []mcsv1beta1.ServicePort) bool {
	if len(a) != len(b) {
		return false
	}
	for _, p := range a {
		if !slices.ContainsFunc(b, func(q mcsv1beta1.ServicePort) bool { return samePort(p, q) }) {
			return false
		}
	}
	return true
}

func samePort(a, b mcsv1beta1.ServicePort) bool {
	a, b = withDefaults(a), withDefaults(b)
	return a.Name == b.Name && a.Protocol == b.Protocol && a.Port == b.Port &&
		ptr.Deref(a.AppProtocol, "") == ptr.Deref(b.AppProtocol, "")
}

// longestPorts is how much of the ports a message lists, in bytes: the messages of all conflicts share
// one condition.
const longestPorts = 600

// portMessage lists the union by the cluster that each port was taken from, the
// oldest first, and counts what does not fit.
func portMessage(exports []Export, union []mcsv1beta1.ServicePort, origins []string, disagree int) string {
	text, listed := "", 0
	for i, e := range exports {
		from := "service export"
		if i == 0 {
			from = "oldest service export"
		}
		var ports []string
		part := ""
		for j, p := range union {
			if origins[j] != e.ClusterID {
				continue
			}
			longer := fmt.Sprintf("%q from %s in %q", strings.Join(append(ports, describe(p)), ", "), from, e.ClusterID)
			if len(text)+len(longer) > longestPorts {
				return portSentence(strings.TrimSuffix(text+part, " and "), len(union)-listed, disagree, len(exports))
			}
			ports, part, listed = append(ports, describe(p)), longer, listed+1
		}
		if part != "" {
			text += part + " and "
		}
	}
	return portSentence(strings.TrimSuffix(text, " and "), 0, disagree, len(exports))
}

func portSentence(ports string, more, disagree, of int) string {
	if more > 0 {
		ports += fmt.Sprintf(" and %d more ports", more)
	}
	return fmt.Sprintf("Conflicting ports. Using %s. %d/%d clusters disagree.", ports, disagree, of)
}

// describe writes a port as people do: name 80/TCP (application protocol).
func describe(p mcsv1beta1.ServicePort) string {
	s := fmt.Sprintf("%d/%s", p.Port, p.Protocol)
	if p.Name != "" {
		s = p.Name + " " + s
	}
	if p.AppProtocol != nil {
		s += " (" + *p.AppProtocol + ")"
	}
	return s
}
