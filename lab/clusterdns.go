package lab

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"strings"
	"text/template"

	"github.com/miekg/dns"
	"golang.org/x/sync/errgroup"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/lab/kubebin"
	"github.com/atoll-mcs/atoll/lab/network"
)

// ClusterDNS selects the DNS server for the clusterset's zone in all clusters. Empty means atoll.
type ClusterDNS string

const (
	// DNSAtoll makes each cluster's CoreDNS forward the zone to atoll-dns, as `atoll dns install` configures it.
	DNSAtoll ClusterDNS = "atoll"
	// DNSStock makes each cluster's CoreDNS answer itself, with the option multicluster of its plugin kubernetes.
	// atoll-dns runs without queries.
	DNSStock ClusterDNS = "stock"
)

func (d ClusterDNS) validate() error {
	if d != "" && d != DNSAtoll && d != DNSStock {
		return fmt.Errorf("%w: the clusterset's DNS must be %s or %s, not %q", ErrUsage, DNSAtoll, DNSStock, d)
	}
	return nil
}

// short writes the default as "", so that equal labs have equal shapes.
func (d ClusterDNS) short() ClusterDNS {
	if d == DNSAtoll {
		return ""
	}
	return d
}

//go:embed manifests/coredns.yaml
var corednsYAML string

var corednsTemplate = template.Must(template.New("coredns.yaml").Parse(corednsYAML))

// clusterDNS returns the manifests of a cluster's own DNS, which serves the clusterset's zone for DNSStock.
func clusterDNS(c *Cluster, d ClusterDNS) []byte {
	families := make([]string, len(c.DNS))
	for i, a := range c.DNS {
		families[i] = "IPv4"
		if a.Is6() {
			families[i] = "IPv6"
		}
	}
	zone := ""
	if d == DNSStock {
		zone = clustersetZone
	}
	var b bytes.Buffer
	if err := corednsTemplate.Execute(&b, struct {
		Domain         string
		DNS            []netip.Addr
		Families       []string
		ClustersetZone string
		Version        string
	}{clusterDomain, c.DNS, families, zone, kubebin.CoreDNSVersion}); err != nil {
		panic(err) // the template and its data are constant
	}
	return b.Bytes()
}

// UseDNS changes the DNS server for the clusterset's zone, and returns when all nodes get its answers.
func (l *Lab) UseDNS(ctx context.Context, d ClusterDNS) error {
	if err := d.validate(); err != nil {
		return err
	}
	if l.Spec.ControlPlaneOnly || l.Spec.Bare {
		return fmt.Errorf("%w: lab %s has no cluster DNS that forwards queries for the clusterset's names", ErrUsage, l.Name())
	}
	if l.Spec.DNS == d.short() {
		return nil
	}
	return l.change(ctx, func(s *Spec) error {
		s.DNS = d.short()
		group, ctx := errgroup.WithContext(ctx)
		for i := range s.Clusters {
			c := &s.Clusters[i]
			if c.Name == Broker {
				continue
			}
			group.Go(func() error {
				if err := l.wireDNS(ctx, c, d); err != nil {
					return err
				}
				return l.waitClustersetDNS(ctx, c, d)
			})
		}
		return group.Wait()
	})
}

// wireDNS configures a cluster's DNS for the clusterset's zone.
func (l *Lab) wireDNS(ctx context.Context, c *Cluster, d ClusterDNS) error {
	if err := l.Apply(ctx, c.Name, clusterDNS(c, d)); err != nil || d == DNSStock {
		return err
	}
	return l.forwardDNS(ctx, c)
}

// forwardDNS makes a cluster's DNS forward the clusterset's zone to atoll-dns, like `atoll dns install`. It writes nothing
// if the DNS already does.
func (l *Lab) forwardDNS(ctx context.Context, c *Cluster) error {
	config, err := l.RESTConfig(c.Name)
	if err != nil {
		return err
	}
	kube, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	return installForward(ctx, kube)
}

func installForward(ctx context.Context, kube client.Client) error {
	servers, err := clusterdns.Servers(ctx, kube)
	if err != nil {
		return err
	}
	wiring := dnswiring.Wiring{Zones: []string{clustersetZone}, Servers: servers}
	if _, err = clusterdns.Edit(ctx, kube, client.ObjectKey{}, clusterdns.Install(wiring, nil), false); err != nil {
		return fmt.Errorf("forwarding %s to atoll-dns: %w", clustersetZone, err)
	}
	return nil
}

// waitClustersetDNS waits until every node gets answers for the clusterset's zone from the expected server, through the
// cluster's DNS.
func (l *Lab) waitClustersetDNS(ctx context.Context, c *Cluster, d ClusterDNS) error {
	version := `"1.0.0"`
	if d == DNSStock {
		version = `"1.1.0"` // the version of a single cluster's DNS specification
	}
	for _, n := range c.Nodes {
		for _, a := range c.DNS {
			what := fmt.Sprintf("answers for %s from the DNS of %s at %s to node %s", clustersetZone, c.Name, a, n.Name)
			err := l.wait(ctx, what, l.podUnits(c.Name), func(ctx context.Context) error {
				return askVersion(ctx, n.Namespace, a, version)
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// askVersion queries a DNS server for the zone's schema version.
func askVersion(ctx context.Context, from network.Namespace, server netip.Addr, want string) error {
	answer, err := exchange(ctx, from, server, "dns-version."+clustersetZone, dns.TypeTXT)
	if err != nil {
		return err
	}
	if len(answer.Answer) != 1 || !strings.HasSuffix(answer.Answer[0].String(), want) {
		return fmt.Errorf("the answer is %s %v, but the expected answer is %s", dns.RcodeToString[answer.Rcode], answer.Answer, want)
	}
	return nil
}
