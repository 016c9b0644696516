//go:build linux

package lab

import (
	"fmt"

	"github.com/spf13/cobra"
)

func newLoad(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "load IMAGE.tar",
		Short: "Load your own images into all nodes",
		Long: `Loads the images of an archive into the nodes of all clusters, and prints their names. The archive is the
output of "docker save", or an OCI layout in a tar file.

With the tag latest, or none, a kubelet pulls the image from its registry, and the pod does not start if
that fails, unless it has imagePullPolicy: IfNotPresent.`,
		Example: `  docker save my-app:1 > my-app.tar
  atoll lab load my-app.tar
  kubectl --context c1 create deployment my-app --image=my-app:1`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open(o)
			if err != nil {
				return err
			}
			names, err := l.Load(cmd.Context(), args[0])
			for _, name := range names {
				fmt.Fprintln(cmd.OutOrStdout(), name)
			}
			return err
		},
	}
}
