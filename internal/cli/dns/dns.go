// Package dns is the command `atoll dns`.
package dns

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
)

// NewCommand returns the command with its sub-commands.
func NewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "dns",
		Short: "Configure whether a cluster's DNS forwards clusterset.local to atoll-dns",
	}
	command.AddCommand(newInstall(), newUninstall())
	return command
}

// common are the flags of both subcommands.
type common struct {
	target.Cluster
	providers []string
	configMap string
	dryRun    bool

	forms []dnswiring.Form // empty: detect them
	place client.ObjectKey
}

const providersHelp = `coredns, coredns-custom, openshift, kube-dns or nodelocal, or several, separated by commas`

func (o *common) addFlags(cmd *cobra.Command) {
	o.addPlaceFlags(cmd.Flags())
	cmd.Flags().BoolVar(&o.dryRun, "dry-run", false, "show the changes as a diff, and change nothing")
}

// addPlaceFlags adds the flags that select the cluster and the objects to edit.
func (o *common) addPlaceFlags(flags *pflag.FlagSet) {
	o.AddFlags(flags)
	flags.StringSliceVar(&o.providers, "provider", []string{"auto"}, "DNS providers to change: "+providersHelp+"; default is to detect the providers")
	flags.StringVar(&o.configMap, "configmap", "", "NAMESPACE/NAME of the ConfigMap with CoreDNS's Corefile, if Atoll does not find it")
}

// complete validates the flags.
func (o *common) complete() error {
	var err error
	if o.forms, err = forms(o.providers); err != nil {
		return err
	}
	if o.configMap != "" {
		o.place, err = parseName(o.configMap)
	}
	return err
}

// edit applies decide, prints the changes, and returns them.
func (o *common) edit(ctx context.Context, c client.Client, out io.Writer, decide clusterdns.Decision) ([]dnswiring.Change, error) {
	changes, err := clusterdns.Edit(ctx, c, o.place, decide, o.dryRun)
	for _, change := range changes {
		if err := o.show(out, change); err != nil {
			return changes, err
		}
	}
	return changes, err
}

func (o *common) show(out io.Writer, c dnswiring.Change) error {
	if o.dryRun {
		_, err := io.WriteString(output.Raw(out), c.Diff()) // a patch, and an administrator's file may have CRLF
		return err
	}
	did := "changed"
	switch {
	case c.None():
		did = "unchanged"
	case c.Before == nil:
		did = "created"
	case c.After == nil:
		did = "deleted"
	}
	_, err := fmt.Fprintf(out, "%s %s\n", dnswiring.Name(c.Object()), did)
	return err
}

func (o *common) connect() (client.Client, error) {
	config, err := o.Config()
	if err != nil {
		return nil, err
	}
	return client.New(config, client.Options{})
}
