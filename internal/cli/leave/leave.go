// Package leave is the command `atoll leave`.
package leave

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/install/setup"
)

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var cluster target.Cluster
	var request setup.LeaveRequest
	command := &cobra.Command{
		Use:   "leave",
		Short: "Take a cluster out of its clusterset, and remove Atoll from it",
		Long: `Removes a cluster from its clusterset: first its agents, then its accounts and all it has
exported from the broker, then what it has imported, and Atoll itself. Services of other
clusters can't be reached by their clusterset names from here any more, and other clusters
lose this one's endpoints.

What people have made stays: Services, and ServiceExports, without the conditions that say
that they are exported. So do custom resource definitions of which there are objects left.
It can be repeated, after it was interrupted too.`,
		Example: `  atoll leave --context c1 --dry-run
  atoll leave --context c1
  atoll leave --context c1 --offline      # the broker is gone, or removes the cluster itself`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			member, err := cluster.Connect(steps.Report(cmd, request.DryRun))
			if err != nil {
				return err
			}
			if err := setup.Leave(cmd.Context(), member, request, steps.Say(cmd)); err != nil || request.DryRun {
				return err
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "the cluster is a member no more")
			return nil
		},
	}
	flags := command.Flags()
	cluster.AddFlags(flags)
	flags.StringVar(&request.BrokerServer, "broker-server", "", "the broker's URL as this machine reaches it, where that is not the cluster's")
	flags.BoolVar(&request.Offline, "offline", false, "leave the cluster's records on the broker, where its administrator removes them")
	flags.BoolVar(&request.DryRun, "dry-run", false, "list what would be deleted and change nothing")
	return command
}
