//go:build linux

package lab

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/lab"
)

// summary describes a lab in a list.
type summary struct {
	Name string `json:"name"`
	// Running is the number of running units.
	Running int `json:"running"`
	Units   int `json:"units"`
	// Shape is nil if it is unknown; Problem then says why.
	Shape   *lab.Shape `json:"shape,omitempty"`
	Problem string     `json:"problem,omitempty"`
}

func newList() *cobra.Command {
	var format output.Format
	command := &cobra.Command{
		Use:   "list",
		Short: "List this user's labs",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names, err := lab.List()
			if err != nil {
				return err
			}
			var all []summary
			for _, name := range names {
				all = append(all, summarize(name))
			}
			return writeList(cmd.OutOrStdout(), format, all)
		},
	}
	output.AddFlag(command.Flags(), &format, output.Table, output.JSON, output.YAML, output.Name)
	return command
}

func summarize(name string) summary {
	l, err := lab.Open(name)
	if err != nil {
		return summary{Name: name, Problem: "the lab is damaged or about to start"}
	}
	status, err := l.Status()
	if err != nil {
		return summary{Name: name, Problem: err.Error()}
	}
	s := summary{Name: name, Units: len(status), Shape: &l.Spec.Shape}
	for _, u := range status {
		if u.Running {
			s.Running++
		}
	}
	return s
}

func writeList(w io.Writer, format output.Format, all []summary) error {
	return output.Rows(w, format, all, func(s summary) string { return s.Name }, output.Columns[summary]{
		Headers: []string{"NAME", "UNITS", "SHAPE"},
		Cells: func(s summary) []any {
			if s.Shape == nil {
				return []any{s.Name, "", s.Problem}
			}
			return []any{s.Name, fmt.Sprintf("%d/%d", s.Running, s.Units), s.Shape.String()}
		},
	})
}

// part is a row of a lab's status: a unit, Atoll's pods of a kind in a cluster, or a cut.
type part struct {
	// Unit is CLUSTER/UNIT, or the two sides of a cut.
	Unit  string `json:"unit"`
	PID   int    `json:"pid,omitempty"`
	State string `json:"state"`
	// MemoryBytes is the unit's share of the machine's memory.
	MemoryBytes int64  `json:"memoryBytes,omitempty"`
	Address     string `json:"address,omitempty"`
}

func newStatus(o *options) *cobra.Command {
	var format output.Format
	command := &cobra.Command{
		Use:   "status",
		Short: "Show the units of a lab and their state",
		Long: `Shows the process id, state, memory and addresses of each unit of a lab, then Atoll's pods and the
disconnected clusters.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := lab.Open(o.name)
			if err != nil {
				return err
			}
			parts, err := inspect(cmd.Context(), l)
			if err != nil {
				return err
			}
			return writeStatus(cmd.OutOrStdout(), format, parts)
		},
	}
	output.AddFlag(command.Flags(), &format, output.Table, output.JSON, output.YAML)
	return command
}

func inspect(ctx context.Context, l *lab.Lab) ([]part, error) {
	units, err := l.Status()
	if err != nil {
		return nil, err
	}
	var all []part
	for _, u := range units {
		state := "down"
		if u.Running {
			state = "running"
		}
		all = append(all, part{Unit: u.Unit.String(), PID: u.PID, State: state, MemoryBytes: u.Memory, Address: u.Address})
	}
	for _, w := range l.Workloads(ctx) {
		all = append(all, part{Unit: w.Target, State: podsState(w)})
	}
	for _, cut := range l.Spec.Cuts {
		all = append(all, part{Unit: cut[0] + " - " + cut[1], State: "cut"})
	}
	return all, nil
}

// podsState describes the pods of a part of Atoll.
func podsState(w lab.WorkloadStatus) string {
	switch {
	case apierrors.IsNotFound(w.Err):
		return "not installed"
	case w.Err != nil:
		return "unknown: the API server does not answer"
	case w.Wanted == 0:
		return "down"
	}
	return fmt.Sprintf("%d of %d pods", w.Ready, w.Wanted)
}

func writeStatus(w io.Writer, format output.Format, parts []part) error {
	return output.Rows(w, format, parts, nil, output.Columns[part]{
		Headers: []string{"UNIT", "PID", "STATE", "MEMORY", "ADDRESS"},
		Cells: func(p part) []any {
			pid, memory := "", ""
			if p.PID > 0 {
				pid, memory = strconv.Itoa(p.PID), fmt.Sprintf("%d MiB", p.MemoryBytes>>20)
			}
			return []any{p.Unit, pid, p.State, memory, p.Address}
		},
	})
}

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
	command.Flags().BoolVarP(&follow, "follow", "f", false, "print new lines until interrupted")
	return command
}

// show copies a growing file, to its current end or until ctx is done.
func show(ctx context.Context, w io.Writer, f io.Reader, follow bool) error {
	for {
		if _, err := io.Copy(w, f); err != nil || !follow {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(200 * time.Millisecond):
		}
	}
}
