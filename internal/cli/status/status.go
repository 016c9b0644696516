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

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
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
		Use:   "status [CONTEXT...]",
		Short: "Show the state of a cluster and its clusterset",
		Long: `Shows the Atoll components in a cluster, the members of the clusterset, and the number of
exported and imported services. The command also shows whether it can reach the broker, and whether the
cluster's DNS forwards clusterset.local to atoll-dns. It then lists each problem with its fix:
  ×  an error: services are not exported, not imported or cannot be resolved
  ‼  a warning: services work, but not as configured
  …  work in progress, which usually completes by itself
The exit status is 1 if there is an error.`,
		Example: `  atoll status --context c1
  atoll status c1 c2 c3
  atoll status --wait --timeout 2m
  atoll status -o json`,
		RunE: func(cmd *cobra.Command, contexts []string) error {
			clusters, err := cluster.Configs(contexts)
			if err != nil {
				return err
			}
			ctx := cmd.Context()
			if wait {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, timeout)
				defer cancel()
			}
			all, err := readAll(ctx, clusters, cluster.Broker(), wait, cmd.ErrOrStderr())
			if len(all) == 0 {
				return err
			}
			if len(clusters) == 1 {
				return errors.Join(err, output.Write(cmd.OutOrStdout(), format, all[0], print), failure(all, wait))
			}
			return errors.Join(err, output.Write(cmd.OutOrStdout(), format, all, printAll), failure(all, wait))
		},
	}
	cluster.AddFlags(command.Flags())
	cluster.AddAllFlag(command.Flags())
	command.Flags().BoolVar(&wait, "wait", false, "wait until no errors and no pending work remain; standard error shows the remaining problem")
	command.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "maximum time to wait with --wait")
	output.AddFlag(command.Flags(), &format, output.Table, output.JSON, output.YAML)
	return command
}

// readAll reads the statuses of clusters, and waits for each if wait is set. A cluster that cannot be read is in the error.
func readAll(ctx context.Context, clusters []checkup.Target, broker credential.Locate, wait bool, progress io.Writer) (all []report.Status, failed error) {
	for _, c := range clusters {
		scope := survey.Scope{Installation: true, Broker: broker, On: c.On}
		read := func(ctx context.Context) (report.Status, error) {
			found, err := survey.Read(ctx, c.Config, scope)
			if err != nil {
				return report.Status{}, err
			}
			return report.NewStatus(found), nil
		}
		readOne := read
		if wait {
			readOne = func(ctx context.Context) (report.Status, error) { return settled(ctx, read, progress) }
		}
		switch status, err := readOne(ctx); {
		case err == nil:
			all = append(all, status)
		case len(clusters) > 1:
			failed = errors.Join(failed, fmt.Errorf("context %s: %w", c.Context, err))
		default:
			failed = err
		}
	}
	return all, failed
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
func failure(all []report.Status, wait bool) error {
	if slices.ContainsFunc(all, report.Status.Failed) {
		return errors.New("the status has errors")
	}
	if wait && slices.ContainsFunc(all, func(s report.Status) bool { return len(s.Unfinished()) > 0 }) {
		return errors.New("some work is still pending")
	}
	return nil
}

func printAll(w io.Writer, all []report.Status) error {
	for i, s := range all {
		if i > 0 {
			fmt.Fprintln(w)
		}
		if err := print(w, s); err != nil {
			return err
		}
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
