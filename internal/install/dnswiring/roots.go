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
}

// listenersOf returns where a DNS server answers for the cluster's own names: the ports and addresses of the blocks with
// the plugin kubernetes. Without such blocks at the addresses and ports that pods use, it returns those of the root zone.
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

// listeners returns the ports of the given keys of each block, grouped by addresses.
func listeners(file corefile.File, keys func(corefile.Block) []corefile.Address) (all []listener, err error) {
	for _, b := range file.Blocks {
		l := listener{binds: binds(b), hosts: b.Hosts()}
		for _, a := range keys(b) {
			if len(a.Zones) == 0 && a.Port == "" {
				return nil, fmt.Errorf("the port of the server block %q in line %d is unknown, because the key is an environment variable: write the key as ZONE:PORT", strings.Join(b.Keys, " "), b.Line)
			}
			l.ports = append(l.ports, a.Port)
		}
		if len(l.ports) == 0 {
			continue
		}
		i := slices.IndexFunc(all, func(other listener) bool { return slices.Equal(other.binds, l.binds) })
		if i < 0 {
			all = append(all, listener{binds: l.binds, hosts: l.hosts})
			i = len(all) - 1
		}
		for _, port := range l.ports {
			same := func(other string) bool { return cmp.Or(other, "53") == cmp.Or(port, "53") }
			if !slices.ContainsFunc(all[i].ports, same) {
				all[i].ports = append(all[i].ports, port)
			}
		}
	}
	return all, nil
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

// rootKeys returns the keys of a block for the root zone.
func rootKeys(b corefile.Block) []corefile.Address {
	var keys []corefile.Address
	for _, key := range b.Keys {
		if a := corefile.ParseKey(key); a.Transport == "dns" && slices.Contains(a.Zones, "") {
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
			return slices.ContainsFunc(domains, func(d string) bool { return d == variableZone || zone == d || isBelow(d, zone) })
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
