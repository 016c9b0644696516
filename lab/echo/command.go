package echo

import (
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

// NewCommand returns the command `echo`, which serves until SIGTERM.
func NewCommand() *cobra.Command {
	var o Options
	cmd := &cobra.Command{
		Use:   "echo",
		Short: "Serve a line that says which pod answers (for pods in labs)",
		Long: `Answers over HTTP, TCP and UDP with one line:

  pod=web-0 cluster=c1 node=c1-n1 remote=10.2.1.5 proto=http

Pods in a lab run it as image atoll.dev/lab/echo. Over HTTP it also serves /hostname (the name of the
pod), /healthz (/fail makes it fail, /recover makes it succeed again), and /delay?ms=NUMBER. The names come from POD_NAME (or
the host name), ATOLL_LAB_CLUSTER and NODE_NAME (or ATOLL_LAB_NODE), which the lab sets. An empty address
turns a protocol off.`,
		Example: "  atoll lab echo --http :8080 --tcp :9000 --udp :9000",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx, stop := signal.NotifyContext(cmd.Context(), syscall.SIGTERM, syscall.SIGINT)
			defer stop()
			server, err := Listen(ctx, o, FromEnvironment())
			if err != nil {
				return err
			}
			return server.Serve(ctx)
		},
	}
	cmd.Flags().StringVar(&o.HTTP, "http", ":8080", "address to serve HTTP on")
	cmd.Flags().StringVar(&o.TCP, "tcp", ":9000", "address to serve TCP on")
	cmd.Flags().StringVar(&o.UDP, "udp", ":9000", "address to serve UDP on")
	return cmd
}
