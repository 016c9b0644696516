package dnswiring

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// listener is a set of ports at the same addresses, at which a DNS server answers pods.
type listener struct {
	// ports are as written; the empty port is the default.
	ports []string
	// binds are the directives with the addresses.
	binds []string
	hosts []string
	// absorbed are addresses with a server of their own beside a server at all addresses. A server block for a zone
	// cannot be in both.
	absorbed []string
}

// listenersOf returns where a DNS server answers for the cluster's own names: the ports and addresses of the blocks with
// the plugin kubernetes. Without such blocks at the addresses and ports that pods use, it returns those of the root zone, and
// of blocks that forward cluster.local.
func listenersOf(file corefile.File, ports []string) ([]listener, error) {
	receives := func(l listener) bool {
		return !l.isLocal() && (len(ports) == 0 || slices.ContainsFunc(l.ports, func(p string) bool { return onPort(p, ports) }))
	}
	for _, anyway := range []bool{false, true} { // pods' queries may take a way that the Corefile does not show
		for _, keys := range []func(corefile.Block) []corefile.Address{kubernetesKeys, rootKeys} {
			all, err := listeners(file, keys)
			if err != nil {
				return nil, err
			}
			if len(all) > 0 && (anyway || slices.ContainsFunc(all, receives)) {
				return all, nil
			}
		}
	}
	return nil, errors.New("no server block of the Corefile serves the root zone or uses the plugin kubernetes: check whether this Corefile belongs to the cluster's DNS")
}

// isLocal reports whether pods cannot reach any of the addresses: other blocks of the server forward to them.
func (l listener) isLocal() bool {
	return len(l.hosts) > 0 && !slices.ContainsFunc(l.hosts, func(host string) bool {
		ip, err := netip.ParseAddr(host)
		return host != "lo" && (err != nil || !ip.IsLoopback())
	})
}

// onPort reports whether a port of a key may be one of the given ports. The value of a variable is unknown.
func onPort(port string, ports []string) bool {
	return corefile.HasVariable(port) || slices.ContainsFunc(ports, func(p string) bool {
		return corefile.HasVariable(p) || cmp.Or(p, "53") == cmp.Or(port, "53")
	})
}

// listeners returns the ports of the given keys of each block, grouped by addresses. At one port, no two listeners have
// an address in common, because CoreDNS does not start if two blocks serve a zone at the same address.
func listeners(file corefile.File, keys func(corefile.Block) []corefile.Address) (all []listener, err error) {
	var ports []string
	blocks := map[string][]corefile.Block{}
	for _, b := range file.Blocks {
		for _, a := range keys(b) {
			if len(a.Zones) == 0 && a.Port == "" {
				return nil, fmt.Errorf("the port of the server block %q in line %d is unknown, because the key is an environment variable: write the key as ZONE:PORT", strings.Join(b.Keys, " "), b.Line)
			}
			i := slices.IndexFunc(ports, func(other string) bool { return cmp.Or(other, "53") == cmp.Or(a.Port, "53") })
			if i < 0 {
				i, ports = len(ports), append(ports, a.Port)
			}
			blocks[ports[i]] = append(blocks[ports[i]], b)
		}
	}
	for _, port := range ports {
		for _, group := range overlapping(blocks[port]) {
			l := listener{binds: bindsOf(group), hosts: hostsOf(group)}
			l.absorbed = absorbedBy(l.hosts, group)
			i := slices.IndexFunc(all, func(other listener) bool { return slices.Equal(other.binds, l.binds) })
			if i < 0 {
				i, all = len(all), append(all, l)
			}
			all[i].absorbed = slices.Compact(slices.Sorted(slices.Values(slices.Concat(all[i].absorbed, l.absorbed))))
			all[i].ports = append(all[i].ports, port)
		}
	}
	return all, nil
}

// overlapping groups blocks that listen on common addresses. A block without bind listens on all addresses.
func overlapping(blocks []corefile.Block) (groups [][]corefile.Block) {
	for _, b := range blocks {
		hosts := b.Hosts()
		group := []corefile.Block{b}
		var rest [][]corefile.Block
		for _, other := range groups {
			theirs := hostsOf(other)
			common := func(host string) bool { return slices.Contains(theirs, host) }
			if slices.ContainsFunc(hosts, common) || slices.Contains(hosts, "") || common("") {
				group = append(slices.Clone(other), group...)
			} else {
				rest = append(rest, other)
			}
		}
		groups = append(rest, group)
	}
	return groups
}

// hostsOf returns the addresses of all blocks. The empty host, which means all addresses, includes the others.
func hostsOf(blocks []corefile.Block) (hosts []string) {
	for _, b := range blocks {
		for _, host := range b.Hosts() {
			if host == "" {
				return []string{""}
			}
			if !slices.Contains(hosts, host) {
				hosts = append(hosts, host)
			}
		}
	}
	return hosts
}

// bindsOf returns bind directives for the addresses of all blocks: those of a block if it has all of the addresses.
func bindsOf(blocks []corefile.Block) (lines []string) {
	rest := hostsOf(blocks)
	for _, b := range blocks {
		missing := func(host string) bool { return !slices.Contains(b.Hosts(), host) }
		if !slices.ContainsFunc(rest, missing) {
			return binds(b)
		}
	}
	for _, b := range blocks {
		for _, d := range b.Directives {
			if line := d.String(); d.Name == "bind" && d.Body != nil && !slices.Contains(lines, line) { // has exceptions
				lines = append(lines, line)
				rest = slices.DeleteFunc(rest, func(host string) bool { return slices.Contains(d.Args, host) })
			}
		}
	}
	if len(rest) > 0 {
		lines = append(lines, "bind "+strings.Join(rest, " "))
	}
	return lines
}

// absorbedBy returns the addresses of blocks that other blocks, without bind, include. Pods cannot reach loopback
// addresses.
func absorbedBy(hosts []string, blocks []corefile.Block) (absorbed []string) {
	for _, b := range blocks {
		for _, host := range b.Hosts() {
			if !slices.Contains(hosts, host) && !slices.Contains(absorbed, host) && !(listener{hosts: []string{host}}).isLocal() {
				absorbed = append(absorbed, host)
			}
		}
	}
	return absorbed
}

// kubernetesKeys returns the keys under which the plugin kubernetes of a block answers for the cluster's domain.
func kubernetesKeys(b corefile.Block) []corefile.Address {
	var domains []string
	for _, d := range b.Directives {
		switch {
		case d.Name != "kubernetes" && d.Name != "kubernetai":
		case len(d.Args) > 0:
			domains = append(domains, d.Args...)
		default:
			domains = append(domains, b.Keys...)
		}
	}
	return keysAbove(b, zonesOf(domains))
}

// rootKeys returns the keys of a block for the root zone, and for the usual domain of clusters if the block forwards its
// queries, as NodeLocal DNSCache does.
func rootKeys(b corefile.Block) []corefile.Address {
	var keys []corefile.Address
	for _, key := range b.Keys {
		a := corefile.ParseKey(key)
		isDomain := slices.Contains(a.Zones, "cluster.local") && b.Has("forward")
		if a.Transport == "dns" && (slices.Contains(a.Zones, "") || isDomain) {
			keys = append(keys, a)
		}
	}
	return keys
}

// keysAbove returns the DNS keys of a block that receive queries for the domains, or else those with a variable as zone.
func keysAbove(b corefile.Block, domains []string) (keys []corefile.Address) {
	var variable []corefile.Address
	for _, key := range b.Keys {
		a := corefile.ParseKey(key)
		if a.Transport != "dns" || len(domains) == 0 {
			continue
		}
		receives := func(zone string) bool {
			return slices.ContainsFunc(domains, func(d string) bool { return d == variableZone || covers(zone, d) })
		}
		switch {
		case len(a.Zones) == 0:
			variable = append(variable, a)
		case slices.ContainsFunc(a.Zones, receives):
			keys = append(keys, a)
		}
	}
	if len(keys) == 0 {
		return variable
	}
	return keys
}

// variableZone stands for a zone that is an environment variable.
const variableZone = "{$}"

// zonesOf returns the zones of keys or arguments, without those of addresses.
func zonesOf(words []string) (zones []string) {
	for _, word := range words {
		parsed := corefile.ParseKey(word).Zones
		if len(parsed) == 0 {
			parsed = []string{variableZone}
		}
		for _, zone := range parsed {
			if zone != "arpa" && !isBelow(zone, "arpa") {
				zones = append(zones, zone)
			}
		}
	}
	return zones
}

// isBelow reports whether a zone is below another one.
func isBelow(zone, other string) bool {
	return zone != other && (other == "" || strings.HasSuffix(zone, "."+other))
}

// binds returns a block's bind directives. Blocks with the same port must listen on the same addresses.
func binds(b corefile.Block) []string {
	var lines []string
	for _, d := range b.Directives {
		if d.Name == "bind" {
			lines = append(lines, d.String())
		}
	}
	return lines
}
