package convergence

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/coredns/coredns/plugin/pkg/dnstest"
	"github.com/coredns/coredns/plugin/test"
	gocmp "github.com/google/go-cmp/cmp"
	"github.com/miekg/dns"
	discoveryv1 "k8s.io/api/discovery/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/zonefile"
)

// dnsProblems queries the cluster's DNS server for every name that must exist and for some
// names that must not. The expected records are derived from the cluster's objects; other
// findings check these objects.
func (w *world) dnsProblems(f *findings, c *cluster, imports []mcsv1beta1.ServiceImport, of []discoveryv1.EndpointSlice) {
	if !c.dns.Ready() {
		f.add("the DNS server is not ready")
		return
	}
	file := zonefile.Write(zone, pointers(imports), pointers(of))
	questions := map[string]bool{}
	for name := range file {
		if !strings.HasSuffix(name, "ns.dns."+zone) {
			questions[name] = true
			questions["no."+name] = true
		}
	}
	for _, namespace := range namespaces {
		for _, service := range services {
			name := service + "." + namespace + ".svc." + zone
			questions[name], questions["c1."+name] = true, true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(questions)) {
		for _, qtype := range []uint16{dns.TypeA, dns.TypeAAAA, dns.TypeSRV} {
			rcode, answer, _ := file.Resolve(name, qtype)
			got, err := c.dns.ask(name, qtype)
			if err != nil {
				f.add("DNS: %s %s: %v", name, dns.TypeToString[qtype], err)
				return
			}
			var records []string
			for _, rr := range got.Answer {
				records = append(records, zonefile.Data(rr))
			}
			if slices.Sort(records); got.Rcode != rcode || !slices.Equal(records, answer) {
				f.add("DNS: %s %s is %s, want %s (-want +have):\n%s", name, dns.TypeToString[qtype],
					dns.RcodeToString[got.Rcode], dns.RcodeToString[rcode], gocmp.Diff(answer, records))
			}
		}
	}
}

// ask queries as over TCP, so that responses are not truncated.
func (r *resolver) ask(name string, qtype uint16) (*dns.Msg, error) {
	question := new(dns.Msg)
	question.SetQuestion(name, qtype)
	recorder := dnstest.NewRecorder(&test.ResponseWriter{TCP: true})
	_, err := r.ServeDNS(context.Background(), recorder, question)
	return recorder.Msg, err
}

func pointers[T any](all []T) []*T {
	var to []*T
	for i := range all {
		to = append(to, &all[i])
	}
	return to
}
