package validation

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/utils/ptr"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// byName sorts ports by name if there are too many: a Service and its EndpointSlices have them in different orders, and the same
// ones must be kept.
func byName[P any](ports []P, name func(P) string) []P {
	if len(ports) <= MaxPorts {
		return ports
	}
	return slices.SortedStableFunc(slices.Values(ports), func(a, b P) int { return cmp.Compare(name(a), name(b)) })
}

// servicePorts returns a record's ports that one Service can have. Of two that clash, the first is kept.
func servicePorts(ports []mcsv1beta1.ServicePort) (kept []mcsv1beta1.ServicePort, refused []Refused) {
	type number struct {
		protocol corev1.Protocol
		port     int32
	}
	named, numbered := map[string]bool{}, map[number]bool{}
	ports = byName(ports, func(p mcsv1beta1.ServicePort) string { return p.Name })
	for _, p := range ports {
		why, at := portProblem(p.Name, p.Protocol, p.AppProtocol), number{protocolOf(p.Protocol), p.Port}
		switch {
		case why != "":
		case p.Port < 1 || p.Port > 65535:
			why = fmt.Sprintf("port number %d is not between 1 and 65535", p.Port)
		case p.Name == "" && len(ports) > 1:
			why = "a Service with several ports must name each port"
		case named[p.Name]:
			why = "another port has the same name"
		case numbered[at]:
			why = fmt.Sprintf("another port has the same number and protocol, %d/%s", p.Port, protocolOf(p.Protocol))
		case len(kept) == MaxPorts:
			why = fmt.Sprintf("at most %d ports are allowed", MaxPorts)
		default:
			kept = append(kept, p)
			named[p.Name], numbered[at] = true, true
			continue
		}
		refused = append(refused, Refused{fmt.Sprintf("port %s %d", quote(p.Name), p.Port), why})
	}
	if len(refused) == 0 {
		return ports, nil
	}
	return kept, refused
}

// slicePorts returns an EndpointSlice's ports that API servers accept and kube-proxy programs. A port without a number
// means all ports: kube-proxy ignores it. The API server accepts any number, but one out of range makes kube-proxy's
// sync fail for all Services.
func slicePorts(ports []discoveryv1.EndpointPort) (kept []discoveryv1.EndpointPort, refused []Refused) {
	named := map[string]bool{}
	ports = byName(ports, func(p discoveryv1.EndpointPort) string { return ptr.Deref(p.Name, "") })
	for _, p := range ports {
		name := ptr.Deref(p.Name, "")
		why := portProblem(name, ptr.Deref(p.Protocol, ""), p.AppProtocol)
		switch {
		case why != "":
		case p.Port != nil && (*p.Port < 1 || *p.Port > 65535):
			why = fmt.Sprintf("port number %d is not between 1 and 65535", *p.Port)
		case named[name]:
			why = "another port has the same name"
		case len(kept) == MaxPorts:
			why = fmt.Sprintf("at most %d ports are allowed", MaxPorts)
		default:
			kept = append(kept, p)
			named[name] = true
			continue
		}
		refused = append(refused, Refused{"port " + quote(name), why})
	}
	if len(refused) == 0 {
		return ports, nil
	}
	return kept, refused
}

// portProblem says why Services and EndpointSlices cannot have a port, "" if they can.
func portProblem(name string, protocol corev1.Protocol, appProtocol *string) string {
	if name != "" && len(validation.IsDNS1123Label(name)) > 0 {
		return "the port name is not a DNS label"
	}
	switch protocol {
	case "", corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP:
	default:
		return "protocol " + quote(string(protocol)) + " is not TCP, UDP or SCTP"
	}
	if appProtocol != nil {
		if problems := validation.IsQualifiedName(*appProtocol); len(problems) > 0 {
			return "appProtocol " + quote(*appProtocol) + ": " + strings.Join(problems, "; ")
		}
	}
	return ""
}

func protocolOf(p corev1.Protocol) corev1.Protocol { return cmp.Or(p, corev1.ProtocolTCP) }
