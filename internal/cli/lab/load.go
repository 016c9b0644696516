//go:build linux

package lab

import (
	"fmt"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/lab"
)

func newLoad(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "load IMAGE.tar",
		Short: "Load your own images into all nodes",
		Long: `Loads the images of an archive into the nodes of all clusters, and prints the names of the images. The archive is
the output of "docker save", or an OCI layout in a tar file.

If the image has the tag latest or no tag, the kubelet pulls the image from its registry. If the pull fails, the
pod does not start. To prevent the pull, set imagePullPolicy: IfNotPresent in the pod.`,
		Example: `  docker save my-app:1 > my-app.tar
  atoll lab load my-app.tar
  kubectl --context c1 create deployment my-app --image=my-app:1`,
		Args: cobra.ExactArgs(1),
		RunE: o.in(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			names, err := l.Load(cmd.Context(), args[0])
			for _, name := range names {
				fmt.Fprintln(cmd.OutOrStdout(), name)
			}
			return err
		}),
	}
}
