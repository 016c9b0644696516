// Command atoll-hub is the controller of MultiClusterServices.
package main

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/atoll-mcs/atoll/internal/hub"
	"github.com/atoll-mcs/atoll/internal/version"
)

func main() {
	var options hub.Options
	command := &cobra.Command{
		Use:   "atoll-hub",
		Short: "Expose Services as MultiClusterServices say",
		Long: `The controller of the MultiClusterServices on a clusterset's broker. It tells the members'
agents which clusters provide and which import a Service, and has load balancers send
traffic to the endpoints of all providers.

A clusterset works without it: only MultiClusterServices need it.

It logs JSON to standard error.`,
		Args:          cobra.NoArgs,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			level := slog.LevelInfo
			if options.Verbose {
				level = slog.LevelDebug
			}
			log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
			return hub.Run(ctrl.SetupSignalHandler(), options, log)
		},
	}
	options.AddFlags(command.Flags())
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "atoll-hub:", err)
		os.Exit(1)
	}
}
