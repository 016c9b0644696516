package clusterset

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
	"strings"

	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// maxName is the longest name, with the dot at its end: 255 octets on the wire,
// RFC 1035 section 2.3.4.
const maxName = 254

// builder makes the answers of services in one zone, one after the other.
type builder struct {
	zone string
	// room is how many bytes the records of one name and type may take.
	room int
	// name, v4 and v6 are those of the host that is at hand.
	name, v4, v6 []byte
}

func newBuilder(zone string) *builder { return &builder{zone: zone, room: replyRoom} }

// built are the answers of a service, and what is another than before among the names
// that its addresses are turned back into.
type built struct {
	answers    *answers // nil: there is no such service
	gone, come []host
}

// build makes the answers of a service. The ones that it had until now, nil if none, save
// work: hosts that are still the same are taken over.
func (b *builder) build(c change, had *answers) built {
	if had == nil {
		had = &answers{}
	}
	d := draft{builder: b, suffix: join(c.key.String()+".svc", b.zone), had: had.hosts, made: &answers{}}
	switch {
	case c.from == nil || len(d.suffix) > maxName:
	case strings.Contains(c.key.name, "."): // the API lets it pass, and nobody could ask for it
	case c.from.kind == mcsv1beta1.ClusterSetIP:
		d.clusterSetIP(c.from)
	case c.from.kind == mcsv1beta1.Headless:
		d.headless(c.from, c.members)
	}
	d.gone = append(d.gone, d.had...)
	if c.from == nil {
		d.made = nil
	} else {
		d.made.below, d.made.hosts = d.below(had.below), slices.Clone(d.hosts)
	}
	return built{d.made, d.gone, d.come}
}

// draft is the answers of one service while they are made.
type draft struct {
	*builder
	suffix string // the service's own name
	made   *answers
	ports  []*portDraft
	// above are names that exist because of others below them.
	above map[string]struct{}
	// had are the hosts from before that were not met again yet, hosts those that
	// there are, gone and come what is different.
	had, hosts, gone, come []host
}

// portDraft is a port and its SRV records.
type portDraft struct {
	portName
	targets []target
	size    int // of the records in a reply, in bytes
}

// clusterSetIP drafts the answers of a service with a virtual IP. Without IPs,
// which are assigned after the import is made, its name exists but has no
// records. Slices play no part: <clusterid>.<svc> and what is below it must not
// exist (specification, 2.3.4).
func (d *draft) clusterSetIP(from *serviceImport) {
	v4, v6 := pack(slices.Clone(from.ips))
	d.made.name(node{name: d.suffix, v4: v4, v6: v6})
	if len(from.ips) == 0 {
		return
	}
	self := d.made.self
	d.hosts, d.come = append(d.hosts, host{node: self}), append(d.come, host{node: self})
	for _, p := range from.ports {
		port := d.port(p.portName)
		port.targets = append(port.targets, target{self, p.number})
		self.srv = append(self.srv, target{self, p.number})
	}
	for _, p := range d.ports {
		p.targets = byNumber(p.targets)
	}
	self.srv = byNumber(self.srv)
}

// byNumber sorts the targets of one host, and takes out what is there twice.
func byNumber(targets []target) []target {
	slices.SortFunc(targets, func(a, b target) int { return cmp.Compare(a.port, b.port) })
	return slices.Clip(slices.Compact(targets))
}

// port returns the draft of a port.
func (d *draft) port(name portName) *portDraft {
	for _, p := range d.ports {
		if p.portName == name {
			return p
		}
	}
	p := &portDraft{portName: name}
	d.ports = append(d.ports, p)
	return p
}

// host adds the host that is at hand, whose rank is not below those of the hosts before.
// The one that there was is taken if it is the same.
func (d *draft) host(rank uint64) *node {
	for len(d.had) > 0 && d.had[0].rank <= rank {
		old := d.had[0]
		d.had = d.had[1:]
		if old.node.name == string(d.name) && bytes.Equal(old.node.v4, d.v4) && bytes.Equal(old.node.v6, d.v6) {
			d.hosts = append(d.hosts, old)
			return old.node
		}
		d.gone = append(d.gone, old)
	}
	h := host{rank, &node{name: string(d.name), v4: bytes.Clone(d.v4), v6: bytes.Clone(d.v6)}}
	d.hosts, d.come = append(d.hosts, h), append(d.come, h)
	return h.node
}

// below returns all names below the service, sorted. Those of hosts that did not change
// are in had already.
func (d *draft) below(had []entry) []entry {
	if d.made.self == nil {
		return nil
	}
	fresh := d.portEntries()
	for _, h := range d.come {
		if h.node != d.made.self {
			fresh = append(fresh, entry{d.relative(h.node), h.node})
		}
	}
	for name := range d.above {
		fresh = append(fresh, entry{rest: name})
	}
	slices.SortFunc(fresh, compareEntries)

	gone := make(map[*node]struct{}, len(d.gone))
	for _, h := range d.gone {
		gone[h.node] = struct{}{}
	}
	all := make([]entry, 0, len(d.hosts)+len(fresh))
	add := func(e entry) {
		if last := len(all) - 1; last < 0 || all[last].rest != e.rest {
			all = append(all, e)
		}
	}
	for _, e := range had {
		if _, ok := gone[e.node]; ok || e.node == nil || len(e.node.srv) > 0 {
			continue // not that of a host that is left
		}
		for len(fresh) > 0 && compareEntries(fresh[0], e) < 0 {
			add(fresh[0])
			fresh = fresh[1:]
		}
		add(e)
	}
	for _, e := range fresh {
		add(e)
	}
	return slices.Clip(all)
}

// compareEntries orders by name, and one with records before the same without: it may
// exist for both reasons.
func compareEntries(a, b entry) int {
	switch {
	case a.rest != b.rest:
		return cmp.Compare(a.rest, b.rest)
	case a.node != nil && b.node == nil:
		return -1
	case a.node == nil && b.node != nil:
		return 1
	}
	return 0
}

// portEntries returns the names that SRV records have, and those above them.
func (d *draft) portEntries() []entry {
	var all []entry
	for _, p := range d.ports {
		name := p.label() + "." + d.suffix
		if len(p.targets) == 0 || len(name) > maxName {
			continue
		}
		n := &node{name: name, srv: slices.Clone(p.targets)}
		all = append(all, entry{d.relative(n), n})
		d.exists("_" + p.protocol)
	}
	return all
}

// exists notes that a name exists because of others below it.
func (d *draft) exists(name string) {
	if d.above == nil {
		d.above = map[string]struct{}{}
	}
	d.above[name] = struct{}{}
}

// relative returns a name without the service's.
func (d *draft) relative(n *node) string { return n.name[:len(n.name)-len(d.suffix)-1] }

// pack sorts addresses, in place, takes out what is there twice, and writes each
// family's one behind the other.
func pack(addrs []netip.Addr) (v4, v6 []byte) {
	slices.SortFunc(addrs, netip.Addr.Compare)
	for _, a := range slices.Compact(addrs) {
		v4, v6 = appendPacked(v4, v6, a)
	}
	return slices.Clip(v4), slices.Clip(v6)
}

// appendPacked writes an address behind those of its family.
func appendPacked(v4, v6 []byte, a netip.Addr) (newV4, newV6 []byte) {
	if a.Is4() {
		b := a.As4()
		return append(v4, b[:]...), v6
	}
	b := a.As16()
	return v4, append(v6, b[:]...)
}

// appendName writes the name of an address's host below a service.
func appendName(to []byte, a *address, suffix string) []byte {
	to = append(a.appendLabel(to), '.')
	to = append(append(to, a.of.cluster...), '.')
	return append(to, suffix...)
}

// parent returns what is above a name, without its first label; false if nothing is.
func parent(name string) (string, bool) {
	_, rest, ok := strings.Cut(name, ".")
	return rest, ok
}
