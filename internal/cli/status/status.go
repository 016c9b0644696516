// Package status is the command `atoll status`.
package status

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/printable"
)

// again is the polling interval.
const again = time.Second

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var cluster target.Scoped
	var format output.Format
	var wait bool
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "status",
		Short: "Show the state of a cluster and its clusterset",
		Long: `Shows the Atoll components in a cluster, the members of the clusterset, and the number of exported
and imported services. Also shows whether the cluster's broker can be reached, and whether the cluster's DNS
forwards clusterset.local to atoll-dns. The command then lists each problem with its fix:
  ×  an error: services are not exported, not imported or cannot be resolved
  ‼  a warning: services work, but not as configured
  …  work in progress, which usually completes by itself
The exit status is 1 if there is an error.`,
		Example: `  atoll status --context c1
  atoll status --wait --timeout 2m
  atoll status -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			config, err := cluster.Config()
			if err != nil {
				return err
			}
			scope := survey.Scope{Installation: true, Endpoints: false, Broker: cluster.Broker(), On: cluster.Command()}
			read := func(ctx context.Context) (report.Status, error) {
				found, err := survey.Read(ctx, config, scope)
				if err != nil {
					return report.Status{}, err
				}
				return report.NewStatus(found), nil
			}
			var status report.Status
			if wait {
				ctx, cancel := context.WithTimeout(cmd.Context(), timeout)
				defer cancel()
				status, err = settled(ctx, read, cmd.ErrOrStderr())
			} else {
				status, err = read(cmd.Context())
			}
			if err != nil {
				return err
			}
			return errors.Join(output.Write(cmd.OutOrStdout(), format, status, print), failure(status, wait))
		},
	}
	cluster.AddFlags(command.Flags())
	command.Flags().BoolVar(&wait, "wait", false, "wait until no errors and no pending work remain; standard error shows the remaining problem")
	command.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "maximum time to wait with --wait")
	output.AddFlag(command.Flags(), &format, output.Table, output.JSON, output.YAML)
	return command
}

// settled polls until everything is ready, or ctx is done. It writes to progress whenever it waits for something else.
func settled(ctx context.Context, read func(context.Context) (report.Status, error), progress io.Writer) (report.Status, error) {
	var last report.Status
	for seen, reported := false, ""; ; {
		status, err := read(ctx)
		if err == nil {
			last, seen = status, true
		}
		waitingFor, why := unfinished(status, err)
		if waitingFor == "" {
			return last, nil
		}
		if waitingFor != reported && ctx.Err() == nil {
			fmt.Fprintf(progress, "waiting for %s: %s\n", waitingFor, printable.Line(why))
			reported = waitingFor
		}
		select {
		case <-ctx.Done():
			if seen {
				err = nil
			}
			return last, err
		case <-time.After(again):
		}
	}
}

// unfinished returns what the command waits for, "" if nothing, and why.
func unfinished(status report.Status, err error) (what, why string) {
	if err != nil {
		return "the cluster", err.Error()
	}
	findings := status.Unfinished()
	switch len(findings) {
	case 0:
		return "", ""
	case 1:
		return findings[0].About, findings[0].Message
	}
	return fmt.Sprintf("%s and %d more", findings[0].About, len(findings)-1), findings[0].Message
}

// failure returns the error that the command ends with.
func failure(status report.Status, wait bool) error {
	switch {
	case status.Failed():
		return errors.New("the status has errors")
	case wait && len(status.Unfinished()) > 0:
		return errors.New("some work is still pending")
	}
	return nil
}

func print(w io.Writer, s report.Status) error {
	broker := output.Text(s.Broker)
	if s.BrokerMilliseconds != nil {
		broker += fmt.Sprintf(" (%d ms)", *s.BrokerMilliseconds)
	}
	table := output.NewTable(w)
	fmt.Fprintf(table, "cluster\t%s\nclusterset\t%s\nbroker\t%s\n", output.Text(s.Cluster), output.Text(s.Clusterset), broker)
	for _, c := range s.Components {
		fmt.Fprintf(table, "%s\t%d of %d pods ready, %s\n", c.Name, c.Ready, c.Wanted, c.Image)
	}
	fmt.Fprintf(table, "DNS\t%s\n", wired(s.DNS))
	fmt.Fprintf(table, "exports\t%s\nimports\t%s\n", counts(s.Exports), counts(s.Imports))
	if err := table.Flush(); err != nil {
		return err
	}
	if len(s.Members) > 0 {
		fmt.Fprintln(w)
		table := output.NewTable(w, "CLUSTER", "STATE", "HEARTBEAT", "EXPORTS", "AGENT")
		for _, m := range s.Members {
			state := string(m.State)
			if m.Drained != "" {
				state += ", drained: " + m.Drained
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\n", m.Cluster, state, output.Heartbeat(m), m.Exports, output.Text(m.Agent))
		}
		if err := table.Flush(); err != nil {
			return err
		}
	}
	if len(s.Findings) > 0 {
		fmt.Fprintln(w)
		output.Findings(w, s.Findings)
	}
	return nil
}

func wired(forms []string) string {
	if len(forms) == 0 {
		return "does not forward clusterset.local to atoll-dns"
	}
	return "forwards clusterset.local to atoll-dns (" + strings.Join(forms, ", ") + ")"
}

// counts formats the number of each status, Ready first.
func counts(of map[string]int) string {
	if len(of) == 0 {
		return "none"
	}
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(of)) {
		part := fmt.Sprintf("%d %s", of[status], status)
		if status == "Ready" {
			parts = slices.Insert(parts, 0, part)
		} else {
			parts = append(parts, part)
		}
	}
	return strings.Join(parts, ", ")
}
