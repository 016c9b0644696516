// Package zonefile builds the expected zone from API objects according to the multicluster DNS
// specification. Tests compare DNS servers with it. It is slow and simple, and shares no code
// with any server.
package zonefile

import (
	"fmt"
	"maps"
	"net"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/miekg/dns"
	discoveryv1 "k8s.io/api/discovery/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
)

// File is a zone: by name and type, the data of each record.
type File map[string]map[uint16][]string

func (z File) add(name string, qtype uint16, data string) {
	if len(name)+1 > 255 {
		return
	}
	if z[name] == nil {
		z[name] = map[uint16][]string{}
	}
	if qtype != 0 && !slices.Contains(z[name][qtype], data) {
		z[name][qtype] = append(z[name][qtype], data)
	}
}

// Write builds the zone of the services that a cluster imports, from the imports and their
// EndpointSlices.
func Write(zone string, imports []*mcsv1beta1.ServiceImport, of []*discoveryv1.EndpointSlice) File {
	z := File{}
	z.add(zone, dns.TypeSOA, "")
	z.add(zone, dns.TypeNS, "ns.dns."+zone)
	z.add("ns.dns."+zone, dns.TypeA, "192.0.2.53")
	z.add("ns.dns."+zone, dns.TypeAAAA, "2001:db8::53")
	z.add("dns-version."+zone, dns.TypeTXT, "1.0.0")
	z.add("svc."+zone, 0, "")
	for _, i := range imports {
		z.add(i.Namespace+".svc."+zone, 0, "")
		name := i.Name + "." + i.Namespace + ".svc." + zone
		switch i.Spec.Type {
		case mcsv1beta1.ClusterSetIP:
			z.writeClusterSetIP(name, i)
		case mcsv1beta1.Headless:
			z.writeHeadless(name, i, of)
		}
	}
	return z
}

// WriteReverse implements sections 2.3.3 and 2.4.3: each address in the reverse zone points to
// one name of a service or host in the zone primary.
func WriteReverse(reverse, primary string, imports []*mcsv1beta1.ServiceImport, of []*discoveryv1.EndpointSlice) File {
	z := File{}
	z.add(reverse, dns.TypeSOA, "")
	z.add(reverse, dns.TypeNS, "ns.dns."+primary)
	z.add("ns.dns."+primary, dns.TypeA, "192.0.2.53")
	z.add("ns.dns."+primary, dns.TypeAAAA, "2001:db8::53")
	best := map[string]string{}
	for _, i := range imports {
		service := Write(primary, []*mcsv1beta1.ServiceImport{i}, of)
		self := i.Name + "." + i.Namespace + ".svc." + primary
		for name, records := range service {
			isHost := strings.HasSuffix(name, "."+self)
			if !isHost && (name != self || i.Spec.Type == mcsv1beta1.Headless) {
				continue
			}
			for _, ip := range append(records[dns.TypeA], records[dns.TypeAAAA]...) {
				key := func(n string) string { return fmt.Sprintf("%03d %s", strings.Count(n, "."), n) }
				if best[ip] == "" || key(name) < key(best[ip]) {
					best[ip] = name
				}
			}
		}
	}
	for ip, name := range best {
		address, err := dns.ReverseAddr(ip)
		if err != nil {
			panic(err)
		}
		if strings.HasSuffix(address, "."+reverse) {
			z.add(address, dns.TypePTR, name)
		}
	}
	return z
}

// writeClusterSetIP implements section 2.3 of the specification.
func (z File) writeClusterSetIP(name string, i *mcsv1beta1.ServiceImport) {
	z.add(name, 0, "")
	for _, ip := range i.Spec.IPs {
		z.addAddress(name, ip)
		for _, p := range i.Spec.Ports {
			if p.Name != "" {
				z.add(portLabels(p.Name, string(p.Protocol))+name, dns.TypeSRV, srvData(int(p.Port), name))
				z.add(name, dns.TypeSRV, srvData(int(p.Port), name))
			}
		}
	}
}

var clusterID = regexp.MustCompile(`^[a-z0-9-]+(\.[a-z0-9-]+)?$`)

// writeHeadless implements section 2.4. Once Atoll has set the condition Ready of its import,
// slices of another implementation do not belong to the import. Endpoints on standby have names, and
// belong to the service's name while no other is ready.
func (z File) writeHeadless(name string, i *mcsv1beta1.ServiceImport, of []*discoveryv1.EndpointSlice) {
	alone := false
	for _, c := range i.Status.Conditions {
		alone = alone || c.Type == "Ready" && c.Status != "Unknown" && i.Labels["atoll.dev/managed-by"] == "agent.atoll.dev"
	}
	ready, standby, spare := File{}, File{}, File{}
	for _, s := range of {
		if alone && s.Labels["endpointslice.kubernetes.io/managed-by"] != "agent.atoll.dev" {
			continue
		}
		cluster := s.Labels["multicluster.kubernetes.io/source-cluster"]
		if s.Namespace != i.Namespace || s.Labels["multicluster.kubernetes.io/service-name"] != i.Name || !clusterID.MatchString(cluster) {
			continue
		}
		for _, e := range s.Endpoints {
			onStandby := isStandby(s, e)
			if e.Conditions.Ready != nil && !*e.Conditions.Ready && !onStandby {
				continue
			}
			for _, ip := range e.Addresses {
				if s.AddressType == discoveryv1.AddressTypeFQDN || net.ParseIP(ip) == nil || strings.Contains(ip, ":") != (s.AddressType == discoveryv1.AddressTypeIPv6) {
					continue
				}
				to := ready
				if onStandby {
					to = standby
				}
				to.addAddress(name, ip)
				hostname := strings.NewReplacer(".", "-", ":", "-").Replace(ip)
				if strings.HasSuffix(hostname, "-") {
					hostname += "0"
				}
				if e.Hostname != nil {
					hostname = *e.Hostname
				}
				host := hostname + "." + cluster + "." + name
				if len(host)+1 > 255 {
					continue
				}
				to.addAddress(host, ip)
				if onStandby {
					spare.addAddress(host, ip)
				}
				for _, p := range i.Spec.Ports {
					for _, q := range s.Ports {
						if p.Name != "" && q.Name != nil && *q.Name == p.Name && q.Port != nil && protocol(string(p.Protocol)) == protocol(string(*q.Protocol)) {
							to.add(portLabels(p.Name, string(p.Protocol))+name, dns.TypeSRV, srvData(int(*q.Port), host))
							to.add(name, dns.TypeSRV, srvData(int(*q.Port), host))
						}
					}
				}
			}
		}
	}
	if len(ready) == 0 {
		ready = standby
	}
	for host, records := range spare {
		if ready[host] == nil {
			ready[host] = records
		}
	}
	maps.Copy(z, ready)
}

// isStandby reports whether an endpoint is on standby: its slice says so, and it serves and terminates.
func isStandby(s *discoveryv1.EndpointSlice, e discoveryv1.Endpoint) bool {
	const key = "atoll.dev/standby"
	c := e.Conditions
	return s.Labels[key]+s.Annotations[key] != "" && c.Ready != nil && !*c.Ready && c.Serving != nil && *c.Serving && c.Terminating != nil && *c.Terminating
}

func (z File) addAddress(name, ip string) {
	if strings.Contains(ip, ":") {
		z.add(name, dns.TypeAAAA, net.ParseIP(ip).String())
	} else {
		z.add(name, dns.TypeA, ip)
	}
}

func protocol(p string) string {
	if p == "" {
		return "tcp"
	}
	return strings.ToLower(p)
}

func portLabels(name, proto string) string { return "_" + name + "._" + protocol(proto) + "." }

func srvData(port int, target string) string { return strconv.Itoa(port) + " " + target }

// Resolve returns the answer's code, its records' data, and the data of the
// additional section.
func (z File) Resolve(qname string, qtype uint16) (rcode int, answer, extra []string) {
	qname = strings.ToLower(qname)
	exists := false
	for name := range z {
		exists = exists || name == qname || strings.HasSuffix(name, "."+qname)
	}
	if !exists {
		return dns.RcodeNameError, nil, nil
	}
	answer = slices.Sorted(slices.Values(z[qname][qtype]))
	var targets []string
	for _, data := range answer {
		switch qtype {
		case dns.TypeSRV:
			_, target, _ := strings.Cut(data, " ")
			targets = append(targets, target)
		case dns.TypeNS:
			targets = append(targets, data)
		}
	}
	slices.Sort(targets)
	for _, target := range slices.Compact(targets) {
		for _, t := range []uint16{dns.TypeA, dns.TypeAAAA} {
			for _, ip := range z[target][t] {
				extra = append(extra, target+" "+ip)
			}
		}
	}
	slices.Sort(extra)
	return dns.RcodeSuccess, answer, extra
}

// Data returns the content of a record as a File stores it.
func Data(rr dns.RR) string {
	switch rr := rr.(type) {
	case *dns.A:
		return rr.A.String()
	case *dns.AAAA:
		return rr.AAAA.String()
	case *dns.SRV:
		return srvData(int(rr.Port), rr.Target)
	case *dns.TXT:
		return strings.Join(rr.Txt, "")
	case *dns.NS:
		return rr.Ns
	case *dns.PTR:
		return rr.Ptr
	case *dns.SOA:
		return ""
	default:
		return fmt.Sprintf("unexpected record %v", rr)
	}
}
