package coredns

import (
	"fmt"

	"github.com/miekg/dns"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/objects"
)

// Names of addresses: of a Service's cluster IP, of an IP that no Service has, of endpoints in
// slices with and without the label kubernetes.io/service-name, and of an unknown address.
const (
	foreignIP  = "80.2.0.192.in-addr.arpa."
	labelled   = "1.0.2.10.in-addr.arpa."
	unlabelled = "1.0.1.10.in-addr.arpa."
	nothing    = "9.9.9.10.in-addr.arpa."

	broken = "no answer that can be read"
)

// testPointers queries the names of addresses where CoreDNS's plugin kubernetes answers first,
// as the plugin's manual describes.
func (c *cluster) testPointers() {
	derivedIP := c.createPointers()
	file := c.kubeconfig(envtest.User{Name: "admin", Groups: []string{"system:masters"}})
	for _, tt := range []struct {
		what, zones, option string
		want                map[string]string // "" is for NXDOMAIN
	}{
		{"kubernetes has the reverse zone", "cluster.local in-addr.arpa", "", map[string]string{
			derivedIP:  "web-clusterset.shop.svc.cluster.local.",
			foreignIP:  "foreign.shop.svc.clusterset.local.",
			labelled:   "10-2-0-1.db-clusterset.shop.svc.cluster.local.",
			unlabelled: broken,
			nothing:    "",
		}},
		{"kubernetes has no reverse zone", "cluster.local", "", map[string]string{
			derivedIP:  "web.shop.svc.clusterset.local.",
			foreignIP:  "foreign.shop.svc.clusterset.local.",
			labelled:   "10-2-0-1.c2.db.shop.svc.clusterset.local.",
			unlabelled: "db-0.c1.eu.db.shop.svc.clusterset.local.",
			nothing:    "",
		}},
		{"kubernetes leaves endpoints out", "cluster.local in-addr.arpa", "noendpoints", map[string]string{
			derivedIP:  "web-clusterset.shop.svc.cluster.local.",
			labelled:   "10-2-0-1.c2.db.shop.svc.clusterset.local.",
			unlabelled: "db-0.c1.eu.db.shop.svc.clusterset.local.",
		}},
		{"kubernetes leaves the namespace out", "cluster.local in-addr.arpa", "namespaces default", map[string]string{
			derivedIP: "web.shop.svc.clusterset.local.",
			labelled:  "10-2-0-1.c2.db.shop.svc.clusterset.local.",
		}},
		{"kubernetes leaves the namespace out by its labels, but not here", "cluster.local in-addr.arpa", "namespace_labels team=none", map[string]string{
			derivedIP: "web-clusterset.shop.svc.cluster.local.",
			labelled:  "10-2-0-1.db-clusterset.shop.svc.cluster.local.",
		}},
		{"kubernetes leaves objects out by their labels", "cluster.local in-addr.arpa", "labels app=other", map[string]string{
			derivedIP: "web.shop.svc.clusterset.local.",
			labelled:  "10-2-0-1.c2.db.shop.svc.clusterset.local.",
		}},
	} {
		_, address, _ := start(c.T, fmt.Sprintf(".:0 {\nkubernetes %s {\nkubeconfig %s\nstartup_timeout 1m\nfallthrough in-addr.arpa\n%s\n}\n"+
			"clusterset clusterset.local in-addr.arpa {\nkubeconfig %[2]s\n}\n}\n", tt.zones, file, tt.option))
		c.retry("waiting for PTR records", func() error {
			if m := ask(c.T, "udp", address, foreignIP, dns.TypePTR); len(m.Answer) != 1 {
				return fmt.Errorf("got %v", m)
			}
			return nil
		})
		for qname, want := range tt.want {
			c.wantPointer(tt.what, address, qname, want)
		}
	}
}

func (c *cluster) wantPointer(what, address, qname, want string) {
	c.Helper()
	query := new(dns.Msg)
	query.SetQuestion(qname, dns.TypePTR)
	if want == broken {
		// CoreDNS cannot pack the name and sends no response.
		m, _, err := new(dns.Client).Exchange(query, address)
		if err == nil && m.Rcode != dns.RcodeServerFailure {
			c.Errorf("%s: %s: kubernetes has changed: got %v", what, qname, m)
		}
		return
	}
	switch m, err := exchange(dns.Client{}, query, address); {
	case err != nil:
		c.Errorf("%s: %s: %v", what, qname, err)
	case want == "" && !is(m, dns.RcodeNameError, nil), want != "" && !is(m, dns.RcodeSuccess, []string{want}):
		c.Errorf("%s: %s: got %v, want %q", what, qname, m, want)
	}
}

// createPointers creates the objects for testPointers. It returns the reverse name of the
// derived Service's cluster IP.
func (c *cluster) createPointers() string {
	web := objects.Service("shop", "web-clusterset", 80)
	c.create(web)
	for name, ip := range map[string]string{"web": web.Spec.ClusterIP, "foreign": "192.0.2.80"} {
		i := objects.Import("shop", name)
		i.Spec.IPs, i.Spec.Ports = []string{ip}, []mcsv1beta1.ServicePort{{Port: 80}}
		c.create(i)
	}
	slice := imported("db", "c2", "db-labelled.c2", "10.2.0.1")
	slice.Labels[discoveryv1.LabelServiceName] = "db-clusterset" // Atoll's imported slices have this label
	c.create(slice)
	name, err := dns.ReverseAddr(web.Spec.ClusterIP)
	c.must(err)
	return name
}
