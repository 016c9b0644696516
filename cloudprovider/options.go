package cloudprovider

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
)

// Annotations that configure the load balancer of a MultiClusterService.
const (
	// AnnotationPrefix is the prefix of these annotations. Other annotations with this prefix are errors.
	AnnotationPrefix = "lb.atoll.dev/"
	// AnnotationProvider is the name of the provider. The default is the hub's default provider.
	AnnotationProvider = AnnotationPrefix + "provider"
	// AnnotationAddress is the requested address, or one address of each IP family, separated by a comma.
	AnnotationAddress = AnnotationPrefix + "address"
	// AnnotationProxyProtocol is the version of the PROXY protocol, v1 or v2, for TCP connections to backends.
	AnnotationProxyProtocol = AnnotationPrefix + "proxy-protocol"
	// AnnotationMaxConnections is the maximum number of connections of each port.
	AnnotationMaxConnections = AnnotationPrefix + "max-connections"
	// AnnotationConnectionRate is the maximum number of new connections of each port per second.
	AnnotationConnectionRate = AnnotationPrefix + "connection-rate"
	// AnnotationAbandon is "true" if the MultiClusterService may be deleted although its load balancer cannot be
	// deleted.
	AnnotationAbandon = AnnotationPrefix + "abandon"
)

var knownAnnotations = []string{
	AnnotationProvider, AnnotationAddress, AnnotationProxyProtocol, AnnotationMaxConnections, AnnotationConnectionRate, AnnotationAbandon,
}

// Options are the parsed annotations of a MultiClusterService.
type Options struct {
	// Provider is a name, or empty for the hub's default.
	Provider string
	// Addresses are the requested ones, at most one of each IP family.
	Addresses []netip.Addr
	// ProxyProtocol is the version, or 0.
	ProxyProtocol int
	// MaxConnections is for each port; 0 is no limit.
	MaxConnections int
	// ConnectionRate is for each port, in new connections per second; 0 is no limit.
	ConnectionRate int
	// Abandon allows deletion of the object even if its load balancer remains.
	Abandon bool
}

// maxLimit is beyond what any machine reaches.
const maxLimit = 10_000_000

// OptionsOf reads the annotations. Its errors have ReasonInvalid and come with the options that could be read.
func OptionsOf(mcs *networkingv1alpha1.MultiClusterService) (Options, error) {
	var o Options
	var wrong []string
	for name, value := range mcs.Annotations {
		if !strings.HasPrefix(name, AnnotationPrefix) {
			continue
		}
		if err := o.read(name, value); err != nil {
			wrong = append(wrong, fmt.Sprintf("annotation %s with value %q is invalid: %v", name, value, err))
		}
	}
	if len(wrong) > 0 {
		slices.Sort(wrong)
		return o, &Error{ReasonInvalid, fmt.Errorf("%s", strings.Join(wrong, "; "))}
	}
	return o, nil
}

func (o *Options) read(name, value string) (err error) {
	switch name {
	case AnnotationProvider:
		o.Provider = value
	case AnnotationAddress:
		o.Addresses, err = readAddresses(value)
	case AnnotationProxyProtocol:
		switch value {
		case "v1":
			o.ProxyProtocol = 1
		case "v2":
			o.ProxyProtocol = 2
		default:
			return fmt.Errorf("set the value to v1 or v2, or remove the annotation")
		}
	case AnnotationMaxConnections:
		o.MaxConnections, err = readLimit(value)
	case AnnotationConnectionRate:
		o.ConnectionRate, err = readLimit(value)
	case AnnotationAbandon:
		if o.Abandon, err = strconv.ParseBool(value); err != nil {
			return fmt.Errorf("set the value to true or false")
		}
	default:
		return fmt.Errorf("the known annotations are %s", strings.Join(knownAnnotations, ", "))
	}
	return err
}

func readAddresses(value string) (addresses []netip.Addr, err error) {
	for text := range strings.SplitSeq(value, ",") {
		a, err := netip.ParseAddr(strings.TrimSpace(text))
		if err != nil || a.Zone() != "" || a.Is4In6() {
			return nil, fmt.Errorf("set the value to one IP address, or to one IPv4 and one IPv6 address separated by a comma")
		}
		if slices.ContainsFunc(addresses, func(b netip.Addr) bool { return b.Is4() == a.Is4() }) {
			return nil, fmt.Errorf("set at most one IPv4 address and one IPv6 address")
		}
		addresses = append(addresses, a)
	}
	return addresses, nil
}

func readLimit(value string) (int, error) {
	n, err := strconv.Atoi(value)
	if err != nil || n < 1 || n > maxLimit {
		return 0, fmt.Errorf("set the value to a number from 1 to %d, or remove the annotation", maxLimit)
	}
	return n, nil
}
