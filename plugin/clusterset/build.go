package clusterset

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// maxName is the longest name, with the dot at its end: 255 octets on the wire,
// RFC 1035 section 2.3.4.
const maxName = 254

// build makes the answers of one service in a zone from its import and the
// slices that belong to it, in any order. A nil import makes none.
func build(zone string, from *serviceImport, of []*endpointSlice) *answers {
	if from == nil {
		return nil
	}
	b := builder{suffix: join(from.key.String()+".svc", zone), names: map[string]*node{}}
	switch {
	case len(b.suffix) > maxName:
		return &answers{}
	case from.kind == mcsv1beta1.ClusterSetIP:
		return b.clusterSetIP(from)
	case from.kind == mcsv1beta1.Headless:
		return b.headless(from, of)
	default:
		return &answers{}
	}
}

// builder collects the names below one service.
type builder struct {
	suffix string
	names  map[string]*node // by the name relative to the service
}

// clusterSetIP builds the answers of a service with a virtual IP. Without IPs,
// which are assigned after the import is made, its name exists but has no
// records. Slices play no part: <clusterid>.<svc> and what is below it must not
// exist (specification, 2.3.4).
func (b *builder) clusterSetIP(from *serviceImport) *answers {
	self := &node{name: b.suffix}
	self.v4, self.v6 = pack(slices.Clone(from.ips))
	if len(from.ips) > 0 {
		for _, p := range from.ports {
			b.addSRV(p.portName, []target{{self, p.number}})
			self.srv = append(self.srv, target{self, p.number})
		}
		self.srv = compact(self.srv)
	}
	return b.answers(self)
}

// headless builds the answers of a service without virtual IP: its ready
// endpoints' addresses, a name for each host, and SRV records with the ports
// that the slices give, which are the ones that the pods listen on.
func (b *builder) headless(from *serviceImport, of []*endpointSlice) *answers {
	hosts := map[*node][]netip.Addr{}
	ports := map[portName][]target{}
	var all []netip.Addr
	for _, s := range of {
		numbers := matching(from.ports, s.ports)
		for _, a := range s.addresses {
			all = append(all, a.ip)
			host := b.host(a, s.cluster.String())
			if host == nil {
				continue
			}
			hosts[host] = append(hosts[host], a.ip)
			for _, p := range numbers {
				ports[p.portName] = append(ports[p.portName], target{host, p.number})
			}
		}
	}
	if len(all) == 0 {
		return &answers{}
	}
	for host, addrs := range hosts {
		host.v4, host.v6 = pack(addrs)
	}
	self := &node{name: b.suffix}
	self.v4, self.v6 = pack(all)
	for name, targets := range ports {
		self.srv = append(self.srv, targets...)
		b.addSRV(name, targets)
	}
	self.srv = compact(self.srv)
	return b.answers(self)
}

// matching returns the slice's ports that the import names. Others are not the
// service's: names that were made up to tell unnamed ports apart, or the ports
// of a cluster whose definition lost.
func matching(of []servicePort, in []servicePort) []servicePort {
	var found []servicePort
	for _, p := range in {
		if slices.ContainsFunc(of, func(q servicePort) bool { return p.portName == q.portName }) {
			found = append(found, p)
		}
	}
	return found
}

// host returns the node of an endpoint's host name, <hostname>.<clusterid>; nil
// if that name is too long to be asked for.
func (b *builder) host(a address, cluster string) *node {
	label := a.hostname
	if label == "" {
		label = dashed(a.ip)
	}
	length := len(label) + 1 + len(cluster)
	if length+1+len(b.suffix) > maxName {
		return nil
	}
	name := label + "." + cluster + "." + b.suffix
	rest := name[:length]
	n, ok := b.names[rest]
	if !ok {
		n = &node{name: name}
		b.names[rest] = n
	}
	return n
}

// dashed makes a label of an address, as cluster DNS does for endpoints without
// a hostname.
func dashed(ip netip.Addr) string {
	if ip.Is4() {
		return strings.ReplaceAll(ip.String(), ".", "-")
	}
	label := strings.ReplaceAll(ip.String(), ":", "-")
	if strings.HasSuffix(label, "-") {
		label += "0"
	}
	return label
}

// addSRV adds the name that SRV records of one port have.
func (b *builder) addSRV(port portName, targets []target) {
	rest := port.label()
	if len(rest)+1+len(b.suffix) > maxName {
		return
	}
	n, ok := b.names[rest]
	if !ok {
		n = &node{name: rest + "." + b.suffix}
		b.names[rest] = n
	}
	n.srv = compact(append(n.srv, targets...))
}

// answers finishes: it adds the names that exist because of others below them,
// and sorts.
func (b *builder) answers(self *node) *answers {
	below := make([]entry, 0, len(b.names)+2)
	parents := map[string]bool{}
	for rest, n := range b.names {
		below = append(below, entry{rest, n})
		for _, parent, ok := strings.Cut(rest, "."); ok; _, parent, ok = strings.Cut(parent, ".") {
			if b.names[parent] == nil && !parents[parent] {
				parents[parent] = true
				below = append(below, entry{parent, nil})
			}
		}
	}
	slices.SortFunc(below, func(a, b entry) int { return cmp.Compare(a.rest, b.rest) })
	return &answers{self: self, below: below}
}

// compact sorts targets and takes out what is there twice. Sorted by host, so
// that the targets of one host stand together.
func compact(targets []target) []target {
	slices.SortFunc(targets, func(a, b target) int {
		return cmp.Or(cmp.Compare(a.host.name, b.host.name), cmp.Compare(a.port, b.port))
	})
	return slices.Clip(slices.Compact(targets))
}

// pack sorts addresses, in place, takes out what is there twice, and writes each
// family's one behind the other.
func pack(addrs []netip.Addr) (v4, v6 []byte) {
	slices.SortFunc(addrs, netip.Addr.Compare)
	addrs = slices.Compact(addrs)
	for _, a := range addrs {
		if a.Is4() {
			b := a.As4()
			v4 = append(v4, b[:]...)
		} else {
			b := a.As16()
			v6 = append(v6, b[:]...)
		}
	}
	return slices.Clip(v4), slices.Clip(v6)
}
