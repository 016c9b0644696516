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
		Short: "Serve a line that names the pod (for pods in labs)",
		Long: `Answers over HTTP, TCP and UDP with one line:

  pod=web-0 cluster=c1 node=c1-n1 remote=10.2.1.5 proto=http

Pods in a lab run this command as the image atoll.dev/lab/echo. Over HTTP, the server has these other
paths: /hostname returns the name of the pod. /healthz fails after a request for /fail, and succeeds again
after a request for /recover. /delay?ms=NUMBER delays the answer. The lab sets the names in POD_NAME (or
the hostname), ATOLL_LAB_CLUSTER and NODE_NAME (or ATOLL_LAB_NODE). An empty address disables a protocol.`,
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
