package dns

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
)

func newUninstall() *cobra.Command {
	var o common
	command := &cobra.Command{
		Use:   "uninstall",
		Short: "Undo `atoll dns install`",
		Long: `Removes Atoll's additions from the configuration of the cluster's own DNS. Pods can then no longer
resolve names in clusterset.local. atoll-dns itself keeps running.`,
		Example: `  atoll dns uninstall --dry-run
  atoll dns uninstall --context c1`,
		Args: cobra.MatchAll(cobra.NoArgs, func(*cobra.Command, []string) error { return o.complete() }),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := o.connect()
			if err != nil {
				return err
			}
			changes, err := o.edit(cmd.Context(), c, cmd.OutOrStdout(), clusterdns.Uninstall(o.forms))
			if err == nil && len(changes) == 0 {
				fmt.Fprintln(cmd.ErrOrStderr(), "the cluster's DNS configuration has no additions of Atoll")
			}
			return err
		},
	}
	o.addFlags(command)
	return command
}
