package dnswiring

import (
	"cmp"
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
			served := zonesOn(b, port)
			if slices.Contains(served, zone) {
				return &ClaimedError{Zone: zone, By: fmt.Sprintf("the server block %q in line %d", strings.Join(b.Keys, " "), b.Line)}
			}
			if len(served) == 0 {
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

// zonesOn returns the zones for which a block answers DNS on that port.
func zonesOn(b corefile.Block, port string) (zones []string) {
	for _, key := range b.Keys {
		if a := corefile.ParseKey(key); a.Transport == "dns" && cmp.Or(a.Port, "53") == cmp.Or(port, "53") {
			zones = append(zones, a.Zones...)
		}
	}
	return zones
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
