package dnswiring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// silent are plugins that take zones as arguments but do not answer queries for them.
var silent = []string{"acl", "autopath", "cache", "dnssec", "header", "log", "nsid", "rewrite", "sign", "view"}

// Stock reports whether the cluster's CoreDNS serves a zone with its own option multicluster.
func Stock(c Cluster, zone string) bool {
	if c.CoreDNS == nil {
		return false
	}
	file, err := corefile.Parse(c.CoreDNS.Data[keyCorefile])
	if err != nil {
		return false
	}
	return slices.ContainsFunc(file.Blocks, func(b corefile.Block) bool {
		var taken *ClaimedError
		return errors.As(claimedWithin(b, zone), &taken) && taken.Stock
	})
}

// claimed rejects zones that a Corefile already serves on that port, in their own server block or by a plugin in
// another one.
func claimed(file corefile.File, zones []string, port string) error {
	for _, zone := range zones {
		for _, b := range file.Blocks {
			if serves(b, zone, port) {
				return &ClaimedError{Zone: zone, By: fmt.Sprintf("the server block %q in line %d", strings.Join(b.Keys, " "), b.Line)}
			}
			if !listens(b, port) {
				continue
			}
			if err := claimedWithin(b, zone); err != nil {
				return err
			}
		}
	}
	return nil
}

func claimedWithin(b corefile.Block, zone string) error {
	names := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			return slices.Contains(corefile.ParseKey(w).Zones, zone)
		})
	}
	for _, d := range b.Directives {
		// With this option, the plugin kubernetes itself serves the clusterset.
		for _, line := range d.Body {
			if d.Name == "kubernetes" && line[0] == "multicluster" && names(line[1:]) {
				return &ClaimedError{Zone: zone, By: fmt.Sprintf("the option multicluster of the plugin kubernetes in line %d", d.Line), Stock: true}
			}
		}
		if !slices.Contains(silent, d.Name) && names(d.Args) {
			return &ClaimedError{Zone: zone, By: fmt.Sprintf("the directive %q in line %d", strings.Join(append([]string{d.Name}, d.Args...), " "), d.Line)}
		}
	}
	return nil
}

// serves reports whether a block is for exactly that zone.
func serves(b corefile.Block, zone, port string) bool {
	return slices.ContainsFunc(b.Keys, func(key string) bool {
		a := corefile.ParseKey(key)
		return a.Transport == "dns" && samePort(a.Port, port) && slices.Contains(a.Zones, zone)
	})
}

// listens reports whether a block answers DNS on that port.
func listens(b corefile.Block, port string) bool {
	return slices.ContainsFunc(b.Keys, func(key string) bool {
		a := corefile.ParseKey(key)
		return a.Transport == "dns" && samePort(a.Port, port)
	})
}

func samePort(a, b string) bool {
	usual := func(port string) string {
		if port == "" {
			return "53"
		}
		return port
	}
	return usual(a) == usual(b)
}

// ClaimedError means that the DNS configuration already serves a zone in another way.
type ClaimedError struct {
	Zone string
	// By is the part of Object that serves the zone.
	By, Object string
	// Stock means CoreDNS's own support for multi-cluster services, Lighthouse means Submariner's.
	Stock, Lighthouse bool
}

// claimedByLighthouse sets Lighthouse in an error if the text has Lighthouse's part.
func claimedByLighthouse(err error, text string) error {
	var taken *ClaimedError
	if errors.As(err, &taken) {
		taken.Lighthouse = !taken.Stock && strings.Contains(text, lighthouseBegin)
	}
	return err
}

func (e *ClaimedError) Error() string {
	by := e.By
	if e.Object != "" {
		by = fmt.Sprintf("%s of %s", e.By, e.Object)
	}
	if e.Stock {
		return fmt.Sprintf("%s is already served by %s: CoreDNS itself answers the queries, which also works. To use atoll-dns, remove the option multicluster first", e.Zone, by)
	}
	if e.Lighthouse {
		return fmt.Sprintf("%s is already served by %s, which belongs to Submariner's Lighthouse. To use atoll-dns, see docs/how-to/migration.md, then add --replace-lighthouse"+
			" (and --provider coredns if the Corefile imports coredns-custom)", e.Zone, by)
	}
	return fmt.Sprintf("%s is already served by %s, which Atoll did not write: remove this configuration first", e.Zone, by)
}
