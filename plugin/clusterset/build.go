package clusterset

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"
	"strings"

	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// maxName is the maximum length of a name with its final dot: 255 octets on the wire (RFC 1035 section 2.3.4).
const maxName = 254

// builder builds the answers of services in one zone. It is not safe for concurrent use.
type builder struct {
	zone string
	// room is the space for records of one name and type, in bytes.
	room int
	// name, v4 and v6 belong to the current host.
	name, v4, v6 []byte
}

func newBuilder(zone string) *builder { return &builder{zone: zone, room: replyRoom} }

// built are the answers of a service and the changes of its PTR targets.
type built struct {
	answers    *answers // nil when the service does not exist
	gone, come []host
}

// build creates the answers of a service. It reuses unchanged hosts of the previous answers, which may be nil.
func (b *builder) build(c change, had *answers) built {
	if had == nil {
		had = &answers{}
	}
	d := draft{builder: b, suffix: join(c.key.String()+".svc", b.zone), had: had.hosts, made: &answers{}}
	switch {
	case c.from == nil || len(d.suffix) > maxName:
	case strings.Contains(c.key.name, "."): // the API allows such names, but DNS cannot query them
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

// draft is the answers of one service under construction.
type draft struct {
	*builder
	suffix string // the service's own name
	made   *answers
	ports  []*portDraft
	// above are empty non-terminals.
	above map[string]struct{}
	// had are the previous hosts not seen yet, hosts the current ones, gone and come the differences.
	had, hosts, gone, come []host
}

// portDraft is a port with its SRV targets.
type portDraft struct {
	portName
	targets []target
	size    int // bytes of the records in a reply
}

// clusterSetIP drafts the answers of a service with a virtual IP. While the import has no IP yet, the name exists
// without records. Slices do not count: <clusterid>.<svc> and names below it must not exist (specification, 2.3.4).
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

// byNumber sorts the targets of one host and removes duplicates.
func byNumber(targets []target) []target {
	slices.SortFunc(targets, func(a, b target) int { return cmp.Compare(a.port, b.port) })
	return slices.Clip(slices.Compact(targets))
}

// port returns the draft of a port, creating it if necessary.
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

// host adds the current host and reuses an equal previous one. Ranks must not decrease between calls.
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

// below returns all names below the service, sorted. had still holds the entries of unchanged hosts.
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
			continue // not an unchanged host
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

// compareEntries sorts by name, and an entry with records before an empty one of the same name.
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

// portEntries returns the names of SRV records and their parents.
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

// exists records an empty non-terminal.
func (d *draft) exists(name string) {
	if d.above == nil {
		d.above = map[string]struct{}{}
	}
	d.above[name] = struct{}{}
}

// relative cuts the service's name from a node's name.
func (d *draft) relative(n *node) string { return n.name[:len(n.name)-len(d.suffix)-1] }

// pack sorts addresses in place, removes duplicates, and concatenates each family's bytes.
func pack(addrs []netip.Addr) (v4, v6 []byte) {
	slices.SortFunc(addrs, netip.Addr.Compare)
	for _, a := range slices.Compact(addrs) {
		v4, v6 = appendPacked(v4, v6, a)
	}
	return slices.Clip(v4), slices.Clip(v6)
}

// appendPacked appends an address to the bytes of its family.
func appendPacked(v4, v6 []byte, a netip.Addr) (newV4, newV6 []byte) {
	if a.Is4() {
		b := a.As4()
		return append(v4, b[:]...), v6
	}
	b := a.As16()
	return v4, append(v6, b[:]...)
}

// appendName appends the name of an address's host.
func appendName(to []byte, a *address, suffix string) []byte {
	to = append(a.appendLabel(to), '.')
	to = append(append(to, a.of.cluster...), '.')
	return append(to, suffix...)
}

// parent returns a name without its first label, or false for the last label.
func parent(name string) (string, bool) {
	_, rest, ok := strings.Cut(name, ".")
	return rest, ok
}
