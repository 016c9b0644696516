package dnswiring

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// socket is a port and an address of a DNS server, as written: either can be an environment variable, and the address can
// be an interface.
type socket struct{ port, host string }

func (s socket) String() string {
	if s.host == "" {
		return "port " + s.port
	}
	return fmt.Sprintf("port %s of %s", s.port, s.host)
}

// distinct returns an error if two sockets of the listeners may be the same. CoreDNS does not start if the server blocks
// for a zone have a socket twice.
func distinct(file corefile.File, roots []listener) error {
	var all []socket
	for _, l := range roots {
		for _, port := range l.ports {
			for _, host := range l.hosts {
				all = append(all, socket{cmp.Or(port, "53"), host})
			}
		}
	}
	for i, a := range all {
		for _, b := range all[:i] {
			if mayBeSame(file, a, b) {
				return fmt.Errorf("it is unknown whether %s and %s are the same, because interfaces and environment variables can stand for any address or port. CoreDNS does not start with a zone twice at one address: write ports and addresses as numbers", b, a)
			}
		}
	}
	return nil
}

// mayBeSame reports whether two different sockets may be the same. They are not if CoreDNS runs with a zone at both.
func mayBeSame(file corefile.File, a, b socket) bool {
	zones := zonesAt(file, b)
	return !a.differs(b) && !slices.ContainsFunc(zonesAt(file, a), func(zone string) bool { return slices.Contains(zones, zone) })
}

// differs reports whether two sockets are different, whatever their interfaces and variables stand for.
func (s socket) differs(other socket) bool {
	if s.port != other.port && !corefile.HasVariable(s.port) && !corefile.HasVariable(other.port) {
		return true
	}
	_, err := netip.ParseAddr(s.host)
	_, otherErr := netip.ParseAddr(other.host)
	return s.host != other.host && err == nil && otherErr == nil
}

// receives reports whether a key of a block receives the queries to a socket, or may receive them. A block without bind has
// a socket of its own beside those of other blocks' addresses.
func (s socket) receives(file corefile.File, b corefile.Block, key corefile.Address) (surely, maybe bool) {
	if key.Transport != "dns" {
		return false, false
	}
	for _, host := range b.Hosts() {
		other := socket{cmp.Or(key.Port, "53"), host}
		surely = surely || other == s
		maybe = maybe || (host == "") == (s.host == "") && mayBeSame(file, s, other)
	}
	return surely, maybe
}

// zonesAt returns the zones that a file serves at a socket. A block with the plugin view may serve a zone again.
func zonesAt(file corefile.File, s socket) (zones []string) {
	for _, b := range file.Blocks {
		if b.Has("view") || !slices.Contains(b.Hosts(), s.host) {
			continue
		}
		for _, key := range b.Keys {
			a := corefile.ParseKey(key)
			if a.Transport != "dns" || cmp.Or(a.Port, "53") != s.port {
				continue
			}
			if zones = append(zones, a.Zones...); len(a.Zones) == 0 {
				zones = append(zones, strings.TrimSuffix(key, ":"+a.Port))
			}
		}
	}
	return zones
}
