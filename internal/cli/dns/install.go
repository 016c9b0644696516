package dns

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
)

type installOptions struct {
	common
	zones   []string
	servers []string

	wiring dnswiring.Wiring // without servers, read them from the Service
}

func newInstall() *cobra.Command {
	var o installOptions
	command := &cobra.Command{
		Use:   "install",
		Short: "Make a cluster's DNS forward clusterset.local to atoll-dns",
		Long: `Adds the zone to the configuration of the cluster's own DNS, and marks its additions. Unless you
set --replace-lighthouse, it changes nothing else. "atoll dns uninstall" removes the additions. Depending on the
DNS provider, the command adds:

  coredns         a server block in CoreDNS's Corefile
  coredns-custom  a key of kube-system/coredns-custom, if the Corefile imports it (AKS, k3s)
  openshift       a server in dns.operator.openshift.io default
  kube-dns        a stub domain in kube-system/kube-dns (GKE)
  nodelocal       a server block in each Corefile of NodeLocal DNSCache, which forwards only
                  cluster.local to the cluster's DNS

The command finds the Corefiles through the pods of the DNS servers. It writes nothing if the cluster already
forwards the zone, and fails if CoreDNS would not start with the change. It also fails if another multi-cluster
DNS, or CoreDNS's own option multicluster, serves the zone. With --replace-lighthouse, it replaces
Submariner's Lighthouse. Scale the Deployment submariner-operator to zero first. Otherwise, the operator restores
Lighthouse's section, and CoreDNS does not start with two sections for the same zone.`,
		Example: `  atoll dns install --dry-run
  atoll dns install --context c1
  atoll dns install --zone clusterset.local --zone 100.10.in-addr.arpa`,
		Args: cobra.MatchAll(cobra.NoArgs, func(*cobra.Command, []string) error { return o.complete() }),
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	o.addFlags(command)
	o.addWiringFlags(command.Flags())
	return command
}

// addWiringFlags adds the flags for the contents of the DNS configuration.
func (o *installOptions) addWiringFlags(flags *pflag.FlagSet) {
	flags.StringSliceVar(&o.zones, "zone", []string{"clusterset.local"}, "zones to forward to atoll-dns; replaces the zones of an earlier install")
	flags.StringSliceVar(&o.servers, "server", nil, "addresses of atoll-dns; default is the addresses of the Service of atoll-dns")
	flags.BoolVar(&o.wiring.ReplaceLighthouse, "replace-lighthouse", false, "replace the configuration of Submariner's Lighthouse")
}

func (o *installOptions) complete() error {
	if err := o.common.complete(); err != nil {
		return err
	}
	var err error
	if o.wiring.Servers, err = parseServers(o.servers); err != nil {
		return err
	}
	o.wiring.Zones = parseZones(o.zones)
	check := o.wiring
	if len(check.Servers) == 0 {
		check.Servers = []netip.Addr{netip.IPv4Unspecified().Next()}
	}
	return check.Validate()
}

func (o *installOptions) run(cmd *cobra.Command) error {
	ctx := cmd.Context()
	c, err := o.connect()
	if err != nil {
		return err
	}
	if err := o.findServers(ctx, c); err != nil {
		return err
	}
	if o.wiring.ReplaceLighthouse {
		note, err := operatorStopped(ctx, c, o.Command())
		if err != nil {
			return err
		}
		if note != "" {
			fmt.Fprintf(cmd.ErrOrStderr(), "note: %s\n", note)
		}
	}
	changes, err := o.edit(ctx, c, cmd.OutOrStdout(), clusterdns.Install(o.wiring, o.forms))
	if err != nil {
		return err
	}
	o.explain(cmd.ErrOrStderr(), changes)
	return nil
}

// findServers reads the addresses of atoll-dns from its Service, unless flags give them.
func (o *installOptions) findServers(ctx context.Context, c client.Reader) (err error) {
	if len(o.wiring.Servers) == 0 {
		o.wiring.Servers, err = clusterdns.Servers(ctx, c)
	}
	return err
}

// explain prints notes and the next steps.
func (o *installOptions) explain(w io.Writer, changes []dnswiring.Change) {
	writeNotes(w, changes)
	switch {
	case !slices.ContainsFunc(changes, func(c dnswiring.Change) bool { return !c.None() }):
		fmt.Fprintf(w, "the cluster's DNS already forwards %s to atoll-dns\n", o.wiring.Zones[0])
	case o.dryRun:
		fmt.Fprintln(w, "next: run the same command without --dry-run")
	default:
		fmt.Fprintf(w, "next: wait one minute, then run in a pod: nslookup -type=txt dns-version.%s\n", o.wiring.Zones[0])
	}
}

// writeNotes prints the warnings about changes.
func writeNotes(w io.Writer, changes []dnswiring.Change) {
	for _, c := range changes {
		for _, note := range c.Warnings {
			fmt.Fprintf(w, "note: %s: %s\n", dnswiring.Name(c.Object()), note)
		}
	}
}
