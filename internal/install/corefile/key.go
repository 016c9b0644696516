package corefile

import (
	"strings"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/parse"
)

// Address is a parsed key of a server block.
type Address struct {
	// Transport is dns, tls, grpc and so on.
	Transport string
	// Zones are in lower case, without the final dot; the root is empty. A range of addresses that does not end at a
	// label has several zones. A key whose zone has an environment variable has none.
	Zones []string
	// Port is as written, with environment variables; empty for the transport's default.
	Port string
}

// ParseKey parses a server block's key, such as dns://example.org:53 or 10.0.0.0/8, as CoreDNS does. A key that
// CoreDNS rejects counts as a zone name.
func ParseKey(key string) Address {
	a := Address{}
	a.Transport, key = parse.Transport(key)
	if HasVariable(key) {
		if i := strings.LastIndex(key, ":"); i >= 0 && i < len(key)-1 {
			key, a.Port = key[:i], key[i+1:]
		}
		if HasVariable(key) {
			return a
		}
	}
	zones, port, err := plugin.SplitHostPort(key)
	if err != nil {
		zones = []string{key}
	}
	if a.Port == "" {
		a.Port = port
	}
	for _, zone := range zones {
		a.Zones = append(a.Zones, Zone(plugin.Name(zone).Normalize()))
	}
	return a
}

// Zone normalizes a zone name as ParseKey does.
func Zone(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
