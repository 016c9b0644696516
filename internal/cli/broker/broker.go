// Package broker is the command `atoll broker`, for the administrator of a clusterset.
package broker

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/cli/output"
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
		Use:   "broker",
		Short: "Create a clusterset, and manage its members",
		Long: `The broker is a Kubernetes API server that all members can reach, for example the API server of a member. It
stores the data that members publish. No program of Atoll runs on the broker. A clusterset is a namespace on
the broker. One broker can have several clustersets.

These commands need the permissions of a cluster administrator on the broker.`,
		Example: `  atoll broker deploy --context broker
  atoll broker token create c1 --context broker --output c1.join
  atoll join c1.join --context c1
  atoll broker members set c1 --namespaces 'shop,team-a-*' --context broker`,
	}
	o.AddFlags(command.PersistentFlags())
	command.AddCommand(newDeploy(&o), newToken(&o), newMembers(&o), newUndeploy(&o))
	return command
}

// clusterID parses a command's only argument as a cluster id.
func clusterID(into *names.ClusterID) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) (err error) {
		if err = cobra.ExactArgs(1)(cmd, args); err == nil {
			*into, err = names.ParseClusterID(args[0])
		}
		return err
	}
}

func newDeploy(o *target.Clusterset) *cobra.Command {
	var dryRun, replaceCRDs bool
	var defaultExports setup.DefaultExports
	var tokenLifetime time.Duration
	var registry string
	command := &cobra.Command{
		Use:   "deploy",
		Short: "Create a clusterset on a broker, or upgrade it",
		Long: `Installs a clusterset on the broker: CustomResourceDefinitions, the namespace, the Role of
members, and admission policies that let a member write only its own objects. The command installs no
programs. To upgrade, use "atoll upgrade".

The command also creates a ResourceQuota that protects the broker's etcd, unless a ResourceQuota limits the
clusterset's objects already. It never changes an existing ResourceQuota. --dry-run does not print the
ResourceQuota.

If you omit a flag, its existing setting does not change.

With --default-exports deny, members may export Services only from namespaces that "atoll broker members set"
permits. By default, every member may export Services of all namespaces.

--token-lifetime limits the lifetime of members' tokens, which agents renew. With a short lifetime, a stolen
token expires early, but a member that is off or disconnected for about this time must join again.

--registry sets the registry of Atoll's images. Join files then contain the registry, so "atoll join" needs no
flag. "atoll hub deploy" also takes the images from this registry.`,
		Example: `  atoll broker deploy --context broker
  atoll broker deploy --context broker --clusterset staging   # a second clusterset
  atoll broker deploy --context broker --default-exports deny
  atoll broker deploy --context broker --token-lifetime 24h
  atoll broker deploy --context broker --registry registry.example/atoll
  atoll broker deploy --dry-run                           # print the manifests`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if tokenLifetime != 0 {
				if err := setup.CheckTokenLifetime(tokenLifetime); err != nil {
					return err
				}
			}
			if dryRun {
				crds, objects := setup.BrokerManifests(o.Name, defaultExports)
				return install.Print(output.Raw(cmd.OutOrStdout()), append(crds, objects...)...)
			}
			on, err := o.Connect(steps.Report(cmd, false))
			if err != nil {
				return err
			}
			if err := setup.DeployBroker(cmd.Context(), on, o.Name, replaceCRDs); err != nil {
				return err
			}
			if defaultExports != "" {
				change := setup.PermissionsChange{SetNamespaces: true, Namespaces: defaultExports.Namespaces()}
				if _, err := setup.ChangePermissions(cmd.Context(), on, o.Name, change); err != nil {
					return err
				}
			}
			if tokenLifetime != 0 {
				if err := setup.LimitTokens(cmd.Context(), on, o.Name, tokenLifetime); err != nil {
					return err
				}
			}
			if registry != "" {
				if err := setup.SetRegistry(cmd.Context(), on, o.Name, registry); err != nil {
					return err
				}
			}
			if err := setup.CreateQuota(cmd.Context(), on, o.Name, steps.Say(cmd)); err != nil {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "clusterset %s is deployed on %s\n", o.Name, on.Config.Host)
			steps.Next(cmd, o.Command().Atoll("broker token create CLUSTER --clusterset %s --output CLUSTER.join", o.Name))
			return nil
		},
	}
	command.Flags().BoolVar(&dryRun, "dry-run", false, "print the manifests and change nothing")
	command.Flags().Var(&defaultExports, "default-exports", setup.DefaultExportsUsage)
	command.Flags().DurationVar(&tokenLifetime, "token-lifetime", 0, fmt.Sprintf("longest lifetime of members' tokens, from %v to %v", setup.MinTokenLifetime, rights.MaxTokenLifetime))
	command.Flags().StringVar(&registry, "registry", "", "registry of the images, for join files and the hub; default is "+render.DefaultRegistry)
	command.Flags().BoolVar(&replaceCRDs, "replace-crds", false, "replace CustomResourceDefinitions of other products if they lack a version that Atoll needs")
	return command
}

func newUndeploy(o *target.Clusterset) *cobra.Command {
	var ending steps.Ending
	command := &cobra.Command{
		Use:   "undeploy",
		Short: "Remove a clusterset from its broker",
		Long: `Deletes the namespace of a clusterset, all data that its members have published, and the admission policies
of the clusterset. CustomResourceDefinitions and objects that other clustersets use stay.

All members must leave first: run "atoll leave" in each cluster. Members that have not left keep their imports,
but no longer receive changes from each other. The command lists these members and asks for confirmation.`,
		Example: `  atoll broker undeploy --context broker --dry-run
  atoll broker undeploy --context broker`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			on, err := o.Connect(steps.Report(cmd, ending.DryRun))
			if err != nil {
				return err
			}
			impact := func() ([]string, error) { return setup.UndeployImpact(cmd.Context(), on, o.Name) }
			if err := ending.Confirm(cmd, fmt.Sprintf("This command deletes clusterset %s.", o.Name), impact); err != nil {
				return err
			}
			if err := setup.UndeployBroker(cmd.Context(), on, o.Name, ending.DryRun); err != nil || ending.DryRun {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "clusterset %s is deleted from %s\n", o.Name, on.Config.Host)
			return nil
		},
	}
	ending.AddFlags(command.Flags())
	return command
}
