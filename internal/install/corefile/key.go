package corefile

import (
	"slices"
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

// WithDefaultPort returns the file with a port in each DNS key that has none. Whether a key that is a variable has a port is
// unknown.
func (f File) WithDefaultPort(port string) File {
	if port == "" {
		return f
	}
	f.Blocks = slices.Clone(f.Blocks)
	for i := range f.Blocks {
		b := &f.Blocks[i]
		b.Keys = slices.Clone(b.Keys)
		for j, key := range b.Keys {
			if a := ParseKey(key); a.Transport == "dns" && a.Port == "" && len(a.Zones) > 0 {
				b.Keys[j] = key + ":" + port
			}
		}
	}
	return f
}

// Zone normalizes a zone name as ParseKey does.
func Zone(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }
