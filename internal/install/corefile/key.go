package corefile

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Address is what a key of a server block means.
type Address struct {
	// Transport is dns, tls, grpc and the like.
	Transport string
	// Zones are in lower case and end without a dot; the root is empty. They are several
	// where a key is a range of addresses that is no whole number of labels.
	Zones []string
	// Port is as written, empty for the transport's own.
	Port string
}

// transports are the schemes that CoreDNS knows.
var transports = []string{"dns", "tls", "quic", "grpc", "https", "https3", "unix"}

// ParseKey reads a key of a server block, as dns://example.org:53 or 10.0.0.0/8.
func ParseKey(key string) Address {
	a := Address{Transport: "dns"}
	if transport, rest, ok := strings.Cut(key, "://"); ok && slices.Contains(transports, transport) {
		a.Transport, key = transport, rest
	}
	if i := strings.LastIndexByte(key, ':'); i >= 0 {
		if _, err := strconv.Atoi(key[i+1:]); err == nil {
			key, a.Port = key[:i], key[i+1:]
		}
	}
	if prefix, err := netip.ParsePrefix(key); err == nil {
		a.Zones = reverseZones(prefix)
	} else {
		a.Zones = []string{Zone(key)}
	}
	return a
}

// Zone writes a zone's name as ParseKey does.
func Zone(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// reverseZones are those that hold the names of a range of addresses, and no others.
func reverseZones(p netip.Prefix) []string {
	digit, base, suffix := 8, 10, "in-addr.arpa" // bits to a label
	if p.Addr().Is6() {
		digit, base, suffix = 4, 16, "ip6.arpa"
	}
	p = p.Masked()
	labels := (p.Bits() + digit - 1) / digit
	bytes := p.Addr().AsSlice()
	var zones []string
	for i := range 1 << (labels*digit - p.Bits()) {
		zone := suffix
		for l := range labels {
			value := int(bytes[l*digit/8])
			if digit == 4 {
				value = value >> (4 * (1 - l%2)) & 0xf
			}
			if l == labels-1 {
				value += i
			}
			zone = strconv.FormatInt(int64(value), base) + "." + zone
		}
		zones = append(zones, zone)
	}
	return zones
}
