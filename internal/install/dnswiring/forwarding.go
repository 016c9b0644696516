package dnswiring

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/atoll-mcs/atoll/internal/install/corefile"
)

// Forwarding is how a DNS server treats a zone, whoever configured it.
type Forwarding struct {
	Form Form
	// Forwards means that the server forwards queries for the zone and for its services.
	Forwards bool
	// Unknown means that Atoll cannot tell, because it does not know what a part of the configuration does.
	Unknown bool
	// Elsewhere are the addresses to which the server forwards the queries, except those of atoll-dns.
	Elsewhere []string
	// Below says which names of the zone another server answers.
	Below []Below
	// Suspects says with which directives the server may not start again.
	Suspects []string
	// Invalid says why the server does not start again with its configuration, if it does not.
	Invalid string
}

// Inspect returns how the DNS servers of a cluster treat a zone. servers are the addresses of atoll-dns.
func Inspect(c Cluster, zone string, servers []netip.Addr) ([]Forwarding, error) {
	forms, err := Detect(c)
	if err != nil {
		return nil, err
	}
	var all []Forwarding
	for _, form := range forms {
		t := table{servers: servers}
		unclear := c.unclear(form)
		var err error
		switch form {
		case OpenShift:
			err = t.openShift(c)
		case KubeDNS:
			err = t.stubDomains(c)
		case NodeLocal:
			for _, s := range c.nodeLocal() {
				err = errors.Join(err, t.corefile(s, zone))
			}
		default:
			err = t.corefile(c.coreDNS(), zone)
		}
		f := Forwarding{}
		var invalid *InvalidError
		switch {
		case unclear != nil:
			f.Unknown = true
		case err == nil: // a configuration that Atoll cannot read does not forward
			f = t.forwarding(zone)
		case errors.As(err, &invalid):
			f.Invalid = invalid.Error()
		}
		f.Form, f.Suspects = form, t.suspects
		all = append(all, f)
	}
	return all, nil
}

// table has the routes of each listener of a DNS server.
type table struct {
	servers   []netip.Addr
	listeners [][]route
	suspects  []string
}

// route is where queries for a zone go.
type route struct {
	zone string
	// to are addresses, if the queries are forwarded.
	to []string
	by string
	// unknown means that other plugins may answer or forward the queries.
	unknown bool
}

// forwarding looks a zone up in the routes of all listeners.
func (t table) forwarding(zone string) Forwarding {
	f := Forwarding{Forwards: len(t.listeners) > 0}
	for _, routes := range t.listeners {
		for _, name := range []string{zone, servicesOf(zone)} {
			found := lookup(routes, name)
			f.Forwards = f.Forwards && (len(found.to) > 0 || found.unknown)
			f.Unknown = f.Unknown || found.unknown
			for _, address := range found.to {
				if !t.isServer(address) && !slices.Contains(f.Elsewhere, address) {
					f.Elsewhere = append(f.Elsewhere, address)
				}
			}
		}
		for _, r := range routes {
			if r.zone == servicesOf(zone) || slices.ContainsFunc(r.to, t.isServer) {
				continue
			}
			for _, below := range zonesBelow(r.by, []string{r.zone}, []string{zone}) {
				if !slices.Contains(f.Below, below) {
					f.Below = append(f.Below, below)
				}
			}
		}
	}
	f.Forwards, f.Unknown = f.Forwards && !f.Unknown, f.Forwards && f.Unknown
	return f
}

// lookup returns the route with the longest zone above a name.
func lookup(routes []route, name string) (found route) {
	for _, r := range routes {
		if (r.zone == name || isBelow(name, r.zone)) && (found.by == "" || len(r.zone) > len(found.zone)) {
			found = r
		}
	}
	return found
}

// isServer reports whether a text is an address of atoll-dns, with or without the port 53.
func (t table) isServer(text string) bool {
	text = strings.TrimPrefix(text, "dns://")
	address, err := netip.ParseAddr(text)
	if err != nil {
		withPort, err := netip.ParseAddrPort(text)
		if err != nil || withPort.Port() != 53 {
			return false
		}
		address = withPort.Addr()
	}
	return slices.Contains(t.servers, address)
}

func (t *table) openShift(c Cluster) error {
	servers, _, err := openShiftServers(c.OpenShift)
	var routes []route
	for _, s := range servers {
		name, _, _ := unstructured.NestedString(asMap(s), "name")
		zones, _, _ := unstructured.NestedStringSlice(asMap(s), "zones")
		to, _, _ := unstructured.NestedStringSlice(asMap(s), "forwardPlugin", "upstreams")
		for _, zone := range zones {
			routes = append(routes, route{zone: corefile.Zone(zone), to: to, by: fmt.Sprintf("the server %q", name)})
		}
	}
	t.listeners = append(t.listeners, routes)
	return err
}

func (t *table) stubDomains(c Cluster) error {
	var routes []route
	if c.KubeDNS != nil {
		servers, err := readStubs(c.KubeDNS)
		if err != nil {
			return err
		}
		for zone, to := range servers {
			routes = append(routes, route{zone: corefile.Zone(zone), to: to, by: keyStubs})
		}
	}
	t.listeners = append(t.listeners, routes)
	return nil
}

// corefile adds the listeners that answer pods.
func (t *table) corefile(s source, zone string) error {
	file, err := s.assemble()
	if err == nil {
		err = s.validate(file)
	}
	if err != nil {
		return err
	}
	t.suspects = append(t.suspects, s.inlineBraces(file)...)
	if hasOwnPlugins(s.image) {
		t.suspects = append(t.suspects, s.unknownPlugins(file)...)
	}
	roots, err := listenersOf(file, s.ports)
	if err != nil {
		return err
	}
	for _, l := range roots {
		for _, port := range l.ports {
			for _, host := range slices.Concat(l.hosts, l.absorbed) {
				t.listeners = append(t.listeners, t.routes(s, file, zone, port, host))
			}
		}
	}
	return nil
}

// routes returns the routes of the blocks that listen at a port and address. CoreDNS has a server for each address, so a
// block without bind receives no queries to an address that another block binds.
func (t *table) routes(s source, file corefile.File, zone, port, host string) (routes []route) {
	var rewritten [][]route // with the routes of their blocks first
	for _, b := range file.Blocks {
		by := fmt.Sprintf("the server block %q in line %d%s", strings.Join(b.Keys, " "), b.Line, s.keyNote(b.File))
		for _, key := range b.Keys {
			a := corefile.ParseKey(key)
			surely, maybe := socket{cmp.Or(port, "53"), host}.receives(file, b, a)
			if !surely && !maybe {
				continue
			}
			for _, served := range a.Zones {
				r := route{zone: served, by: by}
				r.to, r.unknown = t.targets(b, served, zone)
				r.unknown = r.unknown || !surely && (len(r.to) > 0 || served != "")
				routes = append(routes, r)
				rewritten = append(rewritten, append([]route{r}, s.rewrites(b, served, zone)...))
			}
		}
	}
	blocks := routes
	for _, of := range rewritten {
		for _, r := range of[1:] {
			if lookup(blocks, r.zone).by == of[0].by { // the block receives the queries
				routes = append(routes, r)
			}
		}
	}
	return routes
}

// targets returns where a block for a zone forwards queries for the clusterset's zone, if no other plugin may answer or
// change them. unknown means that one may.
func (t *table) targets(b corefile.Block, served, zone string) (to []string, unknown bool) {
	worst := passes
	for _, d := range b.Directives {
		worst = max(worst, obstructs(d, served, zone))
	}
	if worst == obstructed {
		return nil, false
	}
	if to = t.forwarders(b, served, zone); to != nil {
		return to, worst == unclear
	}
	// A plugin that is not CoreDNS's own may forward the queries. In the root block, it has an address of atoll-dns.
	return nil, slices.ContainsFunc(b.Directives, func(d corefile.Directive) bool {
		return isForeign(d) && (served != "" || slices.ContainsFunc(d.Args, t.isServer))
	})
}

// forwarders returns the addresses of the plugin forward. The root zone's upstream servers do not count, unless they are
// atoll-dns.
func (t *table) forwarders(b corefile.Block, served, zone string) []string {
	for _, d := range b.Directives {
		if d.Name != "forward" || len(d.Args) < 2 || excepts(d, zone) {
			continue
		}
		for _, from := range corefile.ParseKey(d.Args[0]).Zones {
			if from != servicesOf(zone) && !covers(from, zone) {
				continue
			}
			to := d.Args[1:] // of the first plugin that matches, in the order of the Corefile
			if from == "" && served == "" && !slices.ContainsFunc(to, t.isServer) {
				return nil
			}
			return to
		}
	}
	return nil
}
