package corefile

import (
	"strings"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/parse"
)

// Address is what a key of a server block means.
type Address struct {
	// Transport is dns, tls, grpc and the like.
	Transport string
	// Zones are in lower case and end without a dot; the root is empty. They are several
	// where a key is a range of addresses that is not a whole number of labels.
	Zones []string
	// Port is as written, empty for the transport's own.
	Port string
}

// ParseKey reads a key of a server block, as dns://example.org:53 or 10.0.0.0/8, as CoreDNS does. One that CoreDNS can't read is a zone
// of that name.
func ParseKey(key string) Address {
	a := Address{}
	a.Transport, key = parse.Transport(key)
	zones, port, err := plugin.SplitHostPort(key)
	if err != nil {
		zones = []string{key}
	}
	a.Port = port
	for _, zone := range zones {
		a.Zones = append(a.Zones, Zone(plugin.Name(zone).Normalize()))
	}
	return a
}

// Zone writes a zone's name as ParseKey does.
func Zone(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
