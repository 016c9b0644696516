//go:build linux

package lab

import (
	"context"
	"errors"
	"fmt"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/lab"
)

func newExec(o *options) *cobra.Command {
	command := &cobra.Command{
		Use:   "exec CLUSTER[/NODE] -- COMMAND [ARGUMENT...]",
		Short: "Run a local program in the network of a node",
		Long: `Runs a local program in the network namespace of a cluster's first node, of a given node, or of the broker.
The command exits with the exit status of the program. The program uses the cluster's DNS. kubectl and atoll
have a kubeconfig context for each cluster.`,
		Example: `  atoll lab exec c2 -- dig +short kubernetes.default.svc.cluster.local
  atoll lab exec c1/n2 -- ip route
  atoll lab exec broker -- sh`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(program(args)) == 0 {
				return errors.New("name a cluster and a command")
			}
			if strings.HasPrefix(program(args)[0], "-") {
				return fmt.Errorf("%s is not a command: write flags before the name of the cluster", program(args)[0])
			}
			return nil
		},
		RunE: o.in(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			// The program has the terminal itself, with its control sequences. The terminal interrupts the program directly. The program decides whether it ends.
			ctx, stop := signal.NotifyContext(context.WithoutCancel(cmd.Context()), syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			return passOn(l.Exec(ctx, args[0], program(args), lab.Streams{
				In: cmd.InOrStdin(), Out: output.Raw(cmd.OutOrStdout()), Err: output.Raw(cmd.ErrOrStderr()),
			}))
		}),
	}
	command.Flags().SetInterspersed(false) // flags after the cluster belong to the program
	return command
}

// program returns the program's arguments, after the cluster.
func program(args []string) []string {
	if len(args) < 2 {
		return nil
	}
	if args[1] == "--" {
		return slices.Clone(args[2:])
	}
	return slices.Clone(args[1:])
}
