// Package hub is the program atoll-hub as a package. To build a hub with your own load-balancer providers, import them
// and call Main.
package hub

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/atoll-mcs/atoll/internal/hub"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/internal/kit/memory"
	"github.com/atoll-mcs/atoll/internal/kit/version"
)

// Main runs the program with the process's arguments until SIGTERM or SIGINT. On an error it prints to standard error
// and exits with status 1.
func Main() {
	if err := NewCommand().Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "atoll-hub:", err)
		os.Exit(1)
	}
}

// NewCommand returns the program as a command with its flags. It logs to standard error and ends on SIGTERM or SIGINT.
func NewCommand() *cobra.Command {
	var options hub.Options
	command := &cobra.Command{
		Use:   "atoll-hub",
		Short: "Expose Services as their MultiClusterServices specify",
		Long: `Runs the controller of the MultiClusterServices on a clusterset's broker. The hub tells the
members' agents which clusters provide a Service and which clusters import it. It also makes
load balancers send traffic to the endpoints of all provider clusters.

Only MultiClusterServices need the hub. A clusterset works without a hub.

The hub logs JSON to standard error.`,
		Args:          cobra.NoArgs,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			memory.Limit()
			return hub.Run(ctrl.SetupSignalHandler(), options, lifecycle.Log(options.Verbose))
		},
	}
	options.AddFlags(command.Flags())
	return command
}
