//go:build linux

package lab

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/atoll-mcs/atoll/lab/kubebin"
)

func newPrograms() *cobra.Command {
	var version, folder string
	command := &cobra.Command{
		Use:   "programs",
		Short: "Print the directory of the Kubernetes programs, and build them if needed",
		Long: fmt.Sprintf(`Prints the path of the directory with the programs that labs use:
%s.

The command builds each version of the programs once, from the Go module registry into the user's cache
directory. A build takes some minutes. The command writes the progress to standard error. Of several versions,
the command prints the directory of the first.`, strings.Join(kubebin.Programs(), ", ")),
		Example: `  # use the kubectl version of the lab
  export PATH=$(atoll lab programs):$PATH
  # build an older version
  atoll lab programs --kubernetes v1.36.3`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if _, _, err := kubebin.Choose(version, folder); err != nil {
				return fmt.Errorf("%w: %w", ErrUsage, err)
			}
			folders, err := kubebin.Ensure(cmd.Context(), cmd.ErrOrStderr(), version, folder)
			if err != nil {
				return fmt.Errorf("finding the Kubernetes programs: %w", err)
			}
			fmt.Fprintln(cmd.OutOrStdout(), folders[0]) // for PATH
			return nil
		},
	}
	addKubernetes(command.Flags(), &version)
	command.Flags().StringVar(&folder, "kube-bin", "", "directory with existing Kubernetes programs")
	return command
}

func addKubernetes(flags *pflag.FlagSet, version *string) {
	flags.StringVar(version, "kubernetes", "", fmt.Sprintf("version of Kubernetes: %s; or a list: c1 gets the first version, c2 the second, and so on, then the broker the next; after the last version, the list starts again; default is the value of %s, or else %s",
		strings.Join(kubebin.Versions, ", "), kubebin.VersionVariable, kubebin.KubernetesVersion))
}
