// Command atoll-agent runs the MCS controllers of a member cluster.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/internal/doctor/probe"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/internal/kit/memory"
	"github.com/atoll-mcs/atoll/internal/kit/version"
)

func main() {
	var options agent.Options
	command := &cobra.Command{
		Use:   "atoll-agent",
		Short: "Connect this cluster's Services to a clusterset",
		Long: `Runs the agent of one member cluster. The agent publishes each Service that has a
ServiceExport to the clusterset's broker. For the exports of all members, it creates
ServiceImports, derived Services and EndpointSlices in this cluster.

The agent logs JSON to standard error.`,
		Args:          cobra.NoArgs,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			memory.Limit()
			return agent.Run(ctrl.SetupSignalHandler(), options, lifecycle.Log(options.Verbose))
		},
	}
	options.AddFlags(command.Flags())
	command.AddCommand(probe.NewCommand())
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "atoll-agent:", err)
		os.Exit(1)
	}
}
