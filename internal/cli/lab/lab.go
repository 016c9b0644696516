//go:build linux

// Package lab is the command `atoll lab`.
package lab

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/echo"
)

// ErrUsage is in the chain of errors that the caller made.
var ErrUsage = lab.ErrUsage

// options are the flags of all subcommands.
type options struct {
	name string
}

// NewCommand returns the command with all its sub-commands.
func NewCommand() *cobra.Command {
	var o options
	command := &cobra.Command{
		Use:   "lab",
		Short: "Run real Kubernetes clusters on this machine",
		Long: `A lab is a set of Kubernetes clusters, c1 to cN, and a broker on one Linux machine without Docker. Each
cluster has its own etcd, kube-apiserver, kube-controller-manager and kube-scheduler. Each node has a
kubelet, containerd and kube-proxy in a network namespace. Pods of all clusters reach each other.

A lab with pods and nodes needs root, containerd, runc, CNI plugins and nft. Atoll builds the Kubernetes programs from source
once, which takes some minutes. To use existing Kubernetes programs, set --kube-bin or ATOLL_KUBE_BIN to their
directory.`,
		Example: `  atoll lab up --clusters 2
  export KUBECONFIG=$(atoll lab kubeconfig)
  kubectl --context c1 get nodes
  atoll lab exec c2 -- dig +short kubernetes.default.svc.cluster.local
  atoll lab cut c1 c2
  atoll lab down`,
	}
	command.PersistentFlags().StringVar(&o.name, "name", cmp.Or(os.Getenv("ATOLL_LAB"), lab.DefaultName), "name of the lab; default is the value of ATOLL_LAB. Several labs can run at the same time")
	command.AddCommand(
		newUp(&o), newDown(&o), newList(), newStatus(&o), newKubeconfig(&o), newPrograms(), newExec(&o), newLogs(&o),
		newCut(&o), newHeal(&o), newKill(&o), newStart(&o), newLoad(&o), newSnapshot(&o), newRestore(&o), newWipe(&o), newRejoin(&o),
	)
	command.AddCommand(echo.NewCommand(), newGateway())
	return command
}

// in returns a command's function that has the lab, which must have started completely: others have nothing to run in or to
// break.
func (o *options) in(run func(*cobra.Command, *lab.Lab, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		l, err := lab.Open(o.name)
		if err != nil {
			return err
		}
		if !l.Spec.Ready {
			return fmt.Errorf("lab %s is not running, or is still starting. To start the lab: atoll lab up --name %[1]s", o.name)
		}
		return run(cmd, l, args)
	}
}

// next prints the next step to standard error.
func next(cmd *cobra.Command, o *options, format string, args ...any) {
	lab := command.Quoted(cmd.Root().CommandPath()) + " lab"
	flag := ""
	if o.name != "" && cmd.Flag("name") != nil && cmd.Flag("name").Changed {
		flag = " --name " + o.name
	}
	fmt.Fprintf(cmd.ErrOrStderr(), "next: "+format+"\n", append([]any{lab, flag}, args...)...)
}

// passOn converts a program's failure to an error with the same exit status; for a signal, 128 plus its number, as in
// shells.
func passOn(err error) error {
	var exit *exec.ExitError
	if !errors.As(err, &exit) {
		return err
	}
	if w, ok := exit.Sys().(syscall.WaitStatus); ok && w.Signaled() {
		return target.Exit(128 + int(w.Signal()))
	}
	return target.Exit(exit.ExitCode())
}
