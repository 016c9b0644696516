// Command atoll-console serves the pages of `atoll console` in a cluster, to viewers with their own tokens.
package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/atoll-mcs/atoll/internal/console"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/internal/kit/version"
)

func main() {
	var options console.InCluster
	command := &cobra.Command{
		Use:   "atoll-console",
		Short: "Show a clusterset to viewers in the browser",
		Long: `Serves the pages of "atoll console" over HTTP, for an ingress that ends TLS. It has no permissions of its own: each
viewer sees what the viewer's token may read. The token comes with each request (Authorization: Bearer) from a proxy
that authenticates, or the viewer gives it in a form.`,
		Args:          cobra.NoArgs,
		Version:       version.String(),
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(*cobra.Command, []string) error {
			lifecycle.Log(false)
			return options.Run(ctrl.SetupSignalHandler())
		},
	}
	options.AddFlags(command.Flags())
	if err := command.Execute(); err != nil {
		fmt.Fprintln(os.Stderr, "atoll-console:", err)
		os.Exit(1)
	}
}
