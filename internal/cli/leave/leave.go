// Package leave is the command `atoll leave`.
package leave

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var cluster target.Scoped
	var request setup.LeaveRequest
	var ending steps.Ending
	command := &cobra.Command{
		Use:   "leave",
		Short: "Remove a cluster from its clusterset, and uninstall Atoll from the cluster",
		Long: `Removes a cluster from its clusterset. The command undoes atoll dns install, stops the cluster's
agents, deletes the cluster's accounts and exports on the broker, its imports, and then Atoll itself. Pods of
this cluster then can no longer reach services of other clusters by their clusterset names, and other clusters
lose this cluster's endpoints. The command first lists the affected services and asks for confirmation.

Your Services, ServiceExports and TrafficPolicies stay, except the cluster's default TrafficPolicy, but lose the
conditions that Atoll has written. CustomResourceDefinitions that still have objects also stay. You can repeat the
command, even after an interruption.`,
		Example: `  atoll leave --context c1 --dry-run
  atoll leave --context c1
  atoll leave --context c1 --yes --offline      # the broker is gone, or its administrator removes the cluster`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			request.DryRun, request.Broker = ending.DryRun, cluster.Broker()
			member, err := cluster.Connect(steps.Report(cmd, ending.DryRun))
			if err != nil {
				return err
			}
			impact := func() ([]string, error) { return setup.LeaveImpact(cmd.Context(), member, request) }
			if err := ending.Confirm(cmd, "This command removes the cluster from its clusterset.", impact); err != nil {
				return unlessGone(err)
			}
			if err := setup.Leave(cmd.Context(), member, request, steps.Say(cmd)); err != nil {
				return err
			}
			if request.DryRun {
				fmt.Fprintln(cmd.ErrOrStderr(), steps.NothingChanged)
				return nil
			}
			fmt.Fprintln(cmd.ErrOrStderr(), "the cluster has left its clusterset")
			return nil
		},
	}
	flags := command.Flags()
	cluster.AddFlags(flags)
	flags.BoolVar(&request.Offline, "offline", false, "do not connect to the broker; the broker's administrator must remove the cluster from the broker")
	ending.AddFlags(flags)
	return command
}

// unlessGone adds to the error of a cluster that does not answer what to do if the cluster no longer exists.
func unlessGone(err error) error {
	if silent := (*url.Error)(nil); !errors.As(err, &silent) {
		return err
	}
	return &setup.Hint{Err: err, Next: "If the cluster no longer exists, the broker's administrator can remove it: " + command.Broker.Atoll("broker members remove CLUSTER --clusterset CLUSTERSET")}
}
