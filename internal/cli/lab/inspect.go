//go:build linux

package lab

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/lab"
)

func newList() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List this user's labs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names, err := lab.List()
			if err != nil {
				return err
			}
			w := output.NewTable(cmd.OutOrStdout(), "NAME", "UNITS", "SHAPE")
			for _, name := range names {
				fmt.Fprintf(w, "%s\t%s\n", name, summary(name))
			}
			return w.Flush()
		},
	}
}

// summary describes a lab in two columns.
func summary(name string) string {
	l, err := lab.Open(name)
	if err != nil {
		return "-\tdamaged or about to start"
	}
	status, err := l.Status()
	if err != nil {
		return "-\t" + err.Error()
	}
	running := 0
	for _, s := range status {
		if s.Running {
			running++
		}
	}
	return fmt.Sprintf("%d/%d\t%s", running, len(status), l.Spec.Shape)
}

func newStatus(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the units of a lab and whether they run",
		Long: `Shows each unit of a lab with its process id, its state, its share of the machine's
memory, and where it listens; then what runs of Atoll in pods, and what is cut off.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(o.name)
			if err != nil {
				return err
			}
			status, err := l.Status()
			if err != nil {
				return err
			}
			var total int64
			w := output.NewTable(cmd.OutOrStdout(), "UNIT", "PID", "STATE", "MEMORY", "ADDRESS")
			for _, s := range status {
				if s.Running {
					fmt.Fprintf(w, "%s\t%d\trunning\t%s\t%s\n", s.Unit, s.PID, mebibytes(s.Memory), s.Address)
				} else {
					fmt.Fprintf(w, "%s\t-\tdown\t-\t%s\n", s.Unit, s.Address)
				}
				total += s.Memory
			}
			fmt.Fprintf(w, "total\t\t\t%s\t\n", mebibytes(total))
			for _, s := range l.Workloads(cmd.Context()) {
				fmt.Fprintf(w, "%s\t-\t%s\t-\t\n", s.Target, pods(s))
			}
			for _, cut := range l.Spec.Cuts {
				fmt.Fprintf(w, "%s - %s\t\tcut\t\t\n", cut[0], cut[1])
			}
			return w.Flush()
		},
	}
}

// pods says how many pods a part of Atoll has.
func pods(s lab.WorkloadStatus) string {
	switch {
	case s.Err != nil:
		return "unknown: the API server does not answer"
	case s.Wanted == 0:
		return "down"
	default:
		return fmt.Sprintf("%d of %d pods", s.Ready, s.Wanted)
	}
}

func mebibytes(n int64) string { return fmt.Sprintf("%d MiB", n>>20) }

func newKubeconfig(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "kubeconfig",
		Short:   "Print the path of the lab's kubeconfig",
		Long:    "Prints the path of a kubeconfig with the contexts c1 to cN and broker, for programs on this machine.",
		Example: "  export KUBECONFIG=$(atoll lab kubeconfig)",
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(o.name)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(cmd.OutOrStdout(), l.Kubeconfig())
			return err
		},
	}
}

func newLogs(o *options) *cobra.Command {
	var follow bool
	command := &cobra.Command{
		Use:   "logs CLUSTER/UNIT",
		Short: "Print the log of a unit",
		Example: `  atoll lab logs c1/apiserver
  atoll lab logs -f c2/kube-proxy-n1
  atoll lab logs c1/agent                # of all its pods`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := lab.Open(o.name)
			if err != nil {
				return err
			}
			if ok, err := l.PodLogs(cmd.Context(), args[0], follow, cmd.OutOrStdout(), cmd.ErrOrStderr()); ok {
				return err
			}
			path, err := l.FindLog(args[0])
			if err != nil {
				return err
			}
			f, err := os.Open(path)
			if err != nil {
				return fmt.Errorf("reading the log: %w", err)
			}
			defer f.Close()
			return show(cmd.Context(), cmd.OutOrStdout(), f, follow)
		},
	}
	command.Flags().BoolVarP(&follow, "follow", "f", false, "go on with what is added, until interrupted")
	return command
}

// show copies a file that grows, to its present end or until ctx is done.
func show(ctx context.Context, w io.Writer, f io.Reader, follow bool) error {
	for {
		if _, err := io.Copy(w, f); err != nil || !follow {
			return err
		}
		select {
		case <-ctx.Done():
			if errors.Is(ctx.Err(), context.Canceled) {
				return nil
			}
			return ctx.Err()
		case <-time.After(200 * time.Millisecond):
		}
	}
}
