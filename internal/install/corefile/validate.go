package corefile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/coredns/coredns/plugin"
	"github.com/coredns/coredns/plugin/pkg/parse"
)

// defaultPorts are the ports of keys without port, by transport.
var defaultPorts = map[string]string{"dns": "53", "tls": "853", "quic": "853", "grpc": "443", "https": "443", "https3": "443"}

// Hosts returns the addresses and interfaces at which a block listens, as written. The empty host means all addresses.
func (b Block) Hosts() []string {
	hosts, bound := []string{}, false
	for _, d := range b.Directives {
		if d.Name != "bind" {
			continue
		}
		bound = true
		var except []string
		for _, line := range d.Body {
			if line[0] == "except" {
				except = append(except, line[1:]...)
			}
		}
		for _, host := range d.Args {
			if !slices.Contains(except, host) {
				hosts = append(hosts, host)
			}
		}
	}
	if !bound {
		return []string{""}
	}
	return hosts
}

// Has reports whether a block has a directive.
func (b Block) Has(name string) bool {
	return slices.ContainsFunc(b.Directives, func(d Directive) bool { return d.Name == name })
}

// Validate applies CoreDNS's rules for server blocks to an assembled file. CoreDNS does not start if a key is no zone,
// or if two blocks without the plugin view serve the same zone at the same address and port. Keys whose zone has an
// environment variable are not compared.
func (f File) Validate() error {
	type server struct{ transport, zone, port, host string }
	bound, anyHost := map[server]Block{}, map[server]Block{}
	for _, b := range f.Blocks {
		for _, key := range b.Keys {
			if err := validateKey(key); err != nil {
				return &SyntaxError{File: b.File, Line: b.Line, Err: err}
			}
			a := ParseKey(key)
			for _, zone := range a.Zones {
				for _, host := range b.Hosts() {
					s := server{a.Transport, zone, cmp.Or(a.Port, defaultPorts[a.Transport]), host}
					all := s
					all.host = ""
					other, taken := bound[s]
					if !taken && host == "" {
						other, taken = anyHost[all]
					} else if !taken {
						other, taken = bound[all]
					}
					if taken {
						return &SyntaxError{File: b.File, Line: b.Line, Err: fmt.Errorf("the server block %q serves the zone %s at the same address and port as the server block %q in line %d%s",
							strings.Join(b.Keys, " "), cmp.Or(zone, "."), strings.Join(other.Keys, " "), other.Line, inFile(other, b))}
					}
					if !b.Has("view") {
						bound[s], anyHost[all] = b, b
					}
				}
			}
		}
	}
	return nil
}

// inFile names the file of a block if it is not the file of another block.
func inFile(b, other Block) string {
	if b.File == other.File {
		return ""
	}
	return " of " + b.File
}

func validateKey(key string) error {
	_, rest := parse.Transport(key)
	if HasVariable(rest) {
		return nil
	}
	if _, _, err := plugin.SplitHostPort(rest); err != nil {
		return fmt.Errorf("the key %q is not a zone: %w", key, err)
	}
	return nil
}
