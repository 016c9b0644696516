package dnswiring

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// silent are plugins that can name zones but do not answer queries for them.
var silent = []string{
	"acl", "any", "autopath", "bind", "bufsize", "cache", "cancel", "chaos", "debug", "dns64", "dnssec", "dnstap", "errors", "geoip",
	"grpc_server", "header", "health", "https", "https3", "loadbalance", "local", "log", "loop", "metadata", "minimal", "multisocket",
	"nsid", "pprof", "prometheus", "proxyproto", "quic", "ready", "reload", "rewrite", "root", "shed", "siit", "sign", "timeouts", "tls",
	"trace", "transfer", "tsig", "view",
}

// Stock reports whether the cluster's CoreDNS serves a zone with its own option multicluster.
func Stock(c Cluster, zone string) bool {
	if c.CoreDNS == nil {
		return false
	}
	s := c.coreDNS()
	file, err := s.assemble()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(file.Blocks, func(b corefile.Block) bool {
		var taken *ClaimedError
		return errors.As(s.claimedWithin(b, zone), &taken) && taken.Stock
	})
}

// claimed rejects zones that a server already serves at the ports of the listeners, in their own server block or by a
// plugin in another one. It also rejects a block for all services of a zone, because the block would receive their
// queries.
func (s source) claimed(file corefile.File, zones []string, roots []listener) error {
	for _, zone := range zones {
		for _, b := range file.Blocks {
			served, unknown := zonesOn(b, roots)
			block := fmt.Sprintf("the server block %q in line %d%s", strings.Join(b.Keys, " "), b.Line, s.keyNote(b.File))
			switch {
			case slices.Contains(served, zone):
				return s.taken(&ClaimedError{Zone: zone, By: block}, b.File)
			case slices.Contains(served, servicesOf(zone)):
				return s.taken(&ClaimedError{Zone: servicesOf(zone), By: block}, b.File)
			case unknown && len(kubernetesKeys(b)) == 0:
				cm, _ := s.object(b.File)
				return in(cm, fmt.Errorf("it is unknown whether %s serves %s, because its zone is an environment variable: write the zone instead of the variable", block, zone))
			case len(served) == 0 && !unknown:
				continue
			}
			if err := s.claimedWithin(b, zone); err != nil {
				return err
			}
		}
	}
	return nil
}

// takes reports whether a server for a zone receives all queries for one of the zones, or for their services.
func takes(zone string, zones []string) bool {
	return slices.ContainsFunc(zones, func(z string) bool { return zone == z || zone == servicesOf(z) })
}

// belowNotes returns warnings about zones of another server that are below the zones.
func belowNotes(by string, served, zones []string) (notes []string) {
	for _, below := range zonesBelow(by, served, zones) {
		notes = append(notes, below.Text+". Remove this configuration unless it is intended")
	}
	return notes
}

// Below is a zone of another server that is below a zone.
type Below struct {
	Zone string
	// Text names the server and says what this means.
	Text string
}

func (b Below) String() string { return b.Text }

// zonesBelow describes zones of another server that are below the zones.
func zonesBelow(by string, served, zones []string) (all []Below) {
	for _, name := range served {
		below := corefile.Zone(name)
		if !slices.Contains(zones, below) && slices.ContainsFunc(zones, func(z string) bool { return isBelow(below, z) }) {
			all = append(all, Below{below, fmt.Sprintf("%s answers queries for names in %s, so atoll-dns does not receive these queries", by, below)})
		}
	}
	return all
}

// servicesOf returns the domain of a zone's services.
func servicesOf(zone string) string { return "svc." + zone }

// claimedWithin rejects a zone that a plugin of a block serves.
func (s source) claimedWithin(b corefile.Block, zone string) error {
	names := func(words []string) bool {
		return slices.ContainsFunc(words, func(w string) bool {
			return slices.Contains(corefile.ParseKey(w).Zones, zone)
		})
	}
	for _, d := range b.Directives {
		// With this option, the plugin kubernetes itself serves the clusterset.
		for _, line := range d.Body {
			if d.Name == "kubernetes" && line[0] == "multicluster" && names(line[1:]) {
				return s.taken(&ClaimedError{Zone: zone, By: fmt.Sprintf("the option multicluster of the plugin kubernetes in line %d%s", d.Line, s.keyNote(d.File)), Stock: true}, d.File)
			}
		}
		if !slices.Contains(silent, d.Name) && names(d.Args[min(zoneArguments[d.Name], len(d.Args)):]) {
			return s.taken(&ClaimedError{Zone: zone, By: fmt.Sprintf("the directive %q in line %d%s", firstLine(d), d.Line, s.keyNote(d.File))}, d.File)
		}
	}
	return nil
}

func firstLine(d corefile.Directive) string {
	return strings.Join(append([]string{d.Name}, d.Args...), " ")
}

// taken adds the object of a file to an error, and whether the file's part is Lighthouse's.
func (s source) taken(err *ClaimedError, file string) error {
	cm, key := s.object(file)
	err.Object = "configmap " + nameOf(cm)
	err.Lighthouse = !err.Stock && (key == lighthouseKey || key == s.key && strings.Contains(keyRef{cm, key}.text(), lighthouseBegin))
	return err
}

// zonesOn returns the zones for which a block answers DNS at the listeners' ports. unknown means that the block also
// has a key whose zone is a variable.
func zonesOn(b corefile.Block, roots []listener) (zones []string, unknown bool) {
	for _, key := range b.Keys {
		a := corefile.ParseKey(key)
		on := func(l listener) bool { return onPort(a.Port, l.ports) }
		if a.Transport != "dns" || !slices.ContainsFunc(roots, on) {
			continue
		}
		zones = append(zones, a.Zones...)
		unknown = unknown || len(a.Zones) == 0
	}
	return zones, unknown
}

// ClaimedError means that the DNS configuration already serves a zone in another way.
type ClaimedError struct {
	Zone string
	// By is the part of Object that serves the zone.
	By, Object string
	// Stock means CoreDNS's own support for multi-cluster services, Lighthouse means Submariner's.
	Stock, Lighthouse bool
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
		return fmt.Sprintf("%s is already served by %s, which belongs to Submariner's Lighthouse. To use atoll-dns, see docs/how-to/migration.md, then add --replace-lighthouse", e.Zone, by)
	}
	return fmt.Sprintf("%s is already served by %s, which Atoll did not write: remove this configuration first", e.Zone, by)
}
