// Package hub is the command `atoll hub`.
package hub

import (
	"cmp"
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/settings"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// NewCommand returns the command with all its sub-commands.
func NewCommand() *cobra.Command {
	var o target.Clusterset
	command := &cobra.Command{
		Use:   "hub",
		Short: "Install the controller of MultiClusterServices on a broker",
		Long: `The hub is optional. It runs in the broker's cluster and implements the MultiClusterServices in that cluster:
members share Services, and load balancers expose the Services. See docs/how-to/multiclusterservice.md.

These commands need the permissions of a cluster administrator on the broker.`,
		Example: `  atoll hub deploy --context broker
  atoll hub remove --context broker`,
	}
	o.AddFlags(command.PersistentFlags())
	command.AddCommand(newDeploy(&o), newRemove(&o))
	return command
}

func newDeploy(o *target.Clusterset) *cobra.Command {
	var hub render.Hub
	var dryRun, replace bool
	command := &cobra.Command{
		Use:   "deploy",
		Short: "Install the hub of a clusterset",
		Long: `Installs the CustomResourceDefinition of MultiClusterServices on the broker, and the hub with its
permissions in the namespace atoll-hub. If you repeat the command and omit a flag, its setting stays. To
upgrade, use "atoll upgrade".

If another product, such as Karmada, has already defined MultiClusterServices, the command installs nothing.
Otherwise, two controllers would act on the same objects. When the other controller has stopped, use
--replace-crds to replace the CustomResourceDefinition. The objects stay.

Load balancers listen on the addresses of the hub's pods. With --host-network, the pods use the addresses of
their nodes, and --node-selector chooses the nodes. With --haproxy-image, HAProxy runs in a second container
of each pod, and keeps running when the hub's container ends. See docs/how-to/load-balancers.md.`,
		Example: `  atoll hub deploy --context broker
  atoll hub deploy --dry-run     # print the manifests
  atoll hub deploy --host-network --low-ports --node-selector edge=true \
    --haproxy-image docker.io/library/haproxy:2.6 --hub-arg --lb-addresses=haproxy=192.0.2.10`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			hub.Clusterset = o.Name
			if dryRun {
				if err := hub.Validate(); err != nil {
					return err
				}
				crds, objects := hub.Manifests()
				return install.Print(output.Raw(cmd.OutOrStdout()), append(crds, objects...)...)
			}
			on, err := o.Connect(steps.Report(cmd, false))
			if err != nil {
				return err
			}
			registry, err := setup.Registry(cmd.Context(), on, o.Name)
			if err != nil {
				return err
			}
			store, _, err := Restore(cmd.Context(), cmd.Flags(), on, registry, &hub)
			if err != nil {
				return err
			}
			if err := setup.DeployHub(cmd.Context(), on, hub, store, replace); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "the hub of clusterset %s is deployed on %s\n", o.Name, on.Config.Host)
			steps.Next(cmd, on.On.Kubectl("apply -f MULTICLUSTERSERVICE.yaml"))
			return nil
		},
	}
	flags := command.Flags()
	flags.BoolVar(&dryRun, "dry-run", false, "print the manifests and change nothing")
	flags.BoolVar(&replace, "replace-crds", false, "replace the CustomResourceDefinition of MultiClusterServices that another product installed")
	AddFlags(flags, &hub)
	return command
}

// AddFlags adds the flags for the hub's deployment.
func AddFlags(flags *pflag.FlagSet, hub *render.Hub) {
	flags.StringVar(&hub.Registry, "registry", render.DefaultRegistry, "registry of the image")
	flags.StringVar(&hub.Tag, "tag", "", "tag of the image; default is the version of this program")
	flags.Int32Var(&hub.Replicas, "replicas", 2, "number of pods; one pod is active and the other pods are on standby")
	flags.StringArrayVar(&hub.Args, "hub-arg", nil, "argument of atoll-hub; may be repeated")
	flags.StringVar(&hub.HAProxyImage, "haproxy-image", "", "image with HAProxy 2.6 or later, which runs in the hub's pods for the provider haproxy")
	flags.BoolVar(&hub.HostNetwork, "host-network", false, "run the pods with hostNetwork, so that load balancers can use the nodes' addresses")
	flags.BoolVar(&hub.LowPorts, "low-ports", false, "with --host-network: let load balancers listen on ports below 1024 (user 0, capability NET_BIND_SERVICE only)")
	flags.StringToStringVar(&hub.NodeSelector, "node-selector", nil, "labels of the nodes on which the pods run, as KEY=VALUE")
	flags.BoolVar(&hub.NoWorkloads, "no-workloads", false, "do not install the Deployment of the hub, for example if the hub runs outside the cluster")
}

// Restore gives the flags that are not set their values in the cluster, and returns what to store. registry is used if no flag has
// ever named one. found is false if the cluster has stored no settings.
func Restore(ctx context.Context, flags *pflag.FlagSet, on *install.Target, registry string, hub *render.Hub) (store setup.Settings, found bool, err error) {
	if store, found, err = settings.Keep(ctx, flags, settings.Hub, on, names.HubNamespace); err != nil {
		return nil, false, err
	}
	if store["registry"] == "" {
		hub.Registry = cmp.Or(registry, render.DefaultRegistry)
	}
	return store, found, hub.Validate()
}

func newRemove(o *target.Clusterset) *cobra.Command {
	var ending steps.Ending
	command := &cobra.Command{
		Use:   "remove",
		Short: "Remove the hub of a clusterset",
		Long: `Removes the hub and its policies. Members then delete the ServiceExports that they created for
MultiClusterServices. The MultiClusterServices and their CustomResourceDefinition stay.

First delete the MultiClusterServices of the type LoadBalancer, so that the hub deletes their load
balancers. Otherwise, a MultiClusterService keeps the finalizer lb.atoll.dev/PROVIDER, and cannot
be deleted without a hub. Its load balancer may remain at the provider, and HAProxy keeps
serving the load balancer. To remove the finalizers manually:

  kubectl patch mcs -n NAMESPACE NAME --type merge -p '{"metadata":{"finalizers":null}}'`,
		Example: `  atoll hub remove --context broker --dry-run
  atoll hub remove --context broker`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			on, err := o.Connect(steps.Report(cmd, ending.DryRun))
			if err != nil {
				return err
			}
			impact := func() ([]string, error) { return setup.HubImpact(cmd.Context(), on) }
			if err := ending.Confirm(cmd, fmt.Sprintf("This command removes the hub of clusterset %s.", o.Name), impact); err != nil {
				return err
			}
			if err := setup.RemoveHub(cmd.Context(), on, o.Name, ending.DryRun); err != nil || ending.DryRun {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "the hub of clusterset %s is removed\n", o.Name)
			return nil
		},
	}
	ending.AddFlags(command.Flags())
	return command
}
