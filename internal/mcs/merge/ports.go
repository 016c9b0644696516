package merge

import (
	"cmp"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// mergePorts returns the union of the exports' ports; exports are sorted by precedence. A Service cannot have two ports
// with the same name, or with the same protocol and number: the one of higher precedence wins (KEP-1645, "Service
// Port"). Any difference between clusters' sets of ports is a conflict.
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

// unionOfPorts returns the union, and the source cluster of each port.
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
				continue // as clash decides
			}
			named[p.Name], numbered[n] = true, true
			union = append(union, p)
			origins = append(origins, e.ClusterID)
		}
	}
	return union, origins
}

// SameNumber reports whether clients that connect to one port reach the other: they have the same protocol and number. Names
// are what clusters call it, so a cluster serves a port that an older export renames.
func SameNumber(a, b mcsv1beta1.ServicePort) bool {
	return withDefaults(a).Protocol == withDefaults(b).Protocol && a.Port == b.Port
}

func withDefaults(p mcsv1beta1.ServicePort) mcsv1beta1.ServicePort {
	p.Protocol = cmp.Or(p.Protocol, corev1.ProtocolTCP)
	return p
}

// clash reports whether one Service cannot have both ports.
func clash(a, b mcsv1beta1.ServicePort) bool {
	return a.Name == b.Name || SameNumber(a, b)
}

// samePorts reports whether an export has exactly the ports of the union, whose names are unique. A member may export 100 ports and
// change them without pause, so the time must not grow with the square of the number.
func samePorts(export, union []mcsv1beta1.ServicePort) bool {
	if len(export) != len(union) {
		return false
	}
	named := make(map[string]int, len(union))
	for i := range union {
		named[union[i].Name] = i
	}
	for i := range export {
		if at, found := named[export[i].Name]; !found || !samePort(export[i], union[at]) {
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

// longestPorts limits the list of ports in a message, in bytes: all conflicts share one condition.
const longestPorts = 600

// portMessage lists the union by source cluster, the oldest first, and counts the ports that do not fit.
func portMessage(exports []Export, union []mcsv1beta1.ServicePort, origins []string, disagree int) string {
	text, listed := "", 0
	for i, e := range exports {
		format := "%q from service export in %q"
		if i == 0 {
			format = "%q from oldest service export in %q"
		}
		var ports []string
		part := ""
		for j, p := range union {
			if origins[j] != e.ClusterID {
				continue
			}
			longer := fmt.Sprintf(format, strings.Join(append(ports, describe(p)), ", "), e.ClusterID)
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

// describe formats a port: name 80/TCP (application protocol).
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
