// Package get is the command `atoll get`.
package get

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/printable"
)

type options struct {
	target.Scoped
	contexts []string
	format   output.Format
}

// in is a row of one of several contexts.
type in[T any] struct {
	Context string `json:"context"`
	Item    T      `json:"item"`
}

// NewCommand returns the command with its sub-commands.
func NewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "get",
		Short: "List the clusters, exports, conflicts, imports, endpoints or settings of a clusterset",
		Long: `Lists the objects of a clusterset from one of its members. The commands read the member and, with
the credentials stored in the member, the broker. If the commands cannot read the broker, the lists of clusters
and conflicts are empty, the list of exports shows only the member's own exports, and the exit status is 1.
With several --context, or --all, the lists have a column CONTEXT.`,
	}
	command.AddCommand(newClusters(), newExports(), newConflicts(), newImports(), newEndpoints(), newConfig())
	return command
}

// newSub returns a subcommand that lists rows.
func newSub[T any](use, short, long, example string, namespaced bool, args cobra.PositionalArgs,
	rows func(*survey.Survey) []T, scope func(*survey.Scope), name func(T) string, columns output.Columns[T],
) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, err := o.scope("", args); err != nil {
				return err // of the command line
			}
			clusters, err := o.Configs(o.contexts)
			if err != nil {
				return err
			}
			var all []in[T]
			var failed []error
			for _, c := range clusters {
				found, err := o.read(cmd, c, args, scope)
				switch {
				case err == nil:
					err = found.BrokerErr // the list is incomplete
					for _, row := range rows(found) {
						all = append(all, in[T]{c.Context, row})
					}
				case len(clusters) == 1:
					return err
				}
				if err != nil && len(clusters) > 1 {
					err = fmt.Errorf("context %s: %w", c, err)
				}
				failed = append(failed, err)
			}
			if err := write(cmd, o.format, all, len(clusters) > 1, name, columns); err != nil {
				return err
			}
			err = errors.Join(failed...)
			if namespace, _ := o.In(clusters[0].Context).Namespaces(); namespaced && len(all) == 0 && namespace != "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "No resources found in namespace %s. For all namespaces, add -A.\n", namespace)
			} else if len(all) == 0 && err == nil {
				fmt.Fprintln(cmd.ErrOrStderr(), "No resources found.")
			}
			return err
		},
	}
	o.AddContextsFlags(command.Flags(), &o.contexts)
	o.AddAllFlag(command.Flags())
	if namespaced {
		o.AddNamespaceFlags(command.Flags())
	}
	output.AddFlag(command.Flags(), &o.format, output.Table, output.Wide, output.JSON, output.YAML, output.Name)
	return command
}

// write writes rows, with their contexts if there are several.
func write[T any](cmd *cobra.Command, format output.Format, all []in[T], several bool, name func(T) string, columns output.Columns[T]) error {
	if !several {
		var rows []T
		for _, one := range all {
			rows = append(rows, one.Item)
		}
		return output.Rows(cmd.OutOrStdout(), format, rows, name, columns)
	}
	return output.Rows(cmd.OutOrStdout(), format, all, func(one in[T]) string { return one.Context + "/" + name(one.Item) }, output.Columns[in[T]]{
		Headers: append([]string{"CONTEXT"}, columns.Headers...),
		Wide:    columns.Wide,
		Cells:   func(one in[T]) []any { return append([]any{one.Context}, columns.Cells(one.Item)...) },
	})
}

// scope returns what to read in a context.
func (o *options) scope(context string, args []string) (of survey.Scope, err error) {
	if of.Namespace, err = o.In(context).Namespaces(); err != nil {
		return of, err
	}
	if len(args) > 0 {
		of.Service = args[0]
	}
	if of.Service != "" && of.Namespace == "" {
		return of, fmt.Errorf("%w: --all-namespaces and the name of a service are mutually exclusive: use --namespace", target.ErrUsage)
	}
	return of, nil
}

// read reads the requested objects, and reports on standard error what the cluster did not return.
func (o *options) read(cmd *cobra.Command, from checkup.Target, args []string, scope func(*survey.Scope)) (*survey.Survey, error) {
	of, err := o.scope(from.Context, args)
	if err != nil {
		return nil, err
	}
	of.Broker, of.On = o.Broker(), from.On
	scope(&of)
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
	defer cancel()
	found, err := survey.Read(ctx, from.Config, of)
	if err != nil {
		return nil, err
	}
	for _, err := range found.Unread {
		fmt.Fprintln(cmd.ErrOrStderr(), printable.Line(err.Error()))
	}
	return found, nil
}

func newClusters() *cobra.Command {
	return newSub("clusters", "List the members of the clusterset", `Lists the members of the clusterset. STATE is one of:
  Ready:   The member sends heartbeats.
  Silent:  The member's heartbeat is missing. Or its heartbeat is late, and its endpoints do not answer and are on standby.
  Lost:    The member does not answer. Its endpoints are withdrawn from this cluster.
  Joining: The member has never sent a heartbeat.
DRAINED shows how many of the member's exports are drained: all, or a number such as 2 of 7. HEARTBEAT is the
age of the last heartbeat, by the broker's clock. OVER-BUDGET-OF lists the clusters whose --member-budget the
member exceeds. Some of the member's updates reach these clusters late or not at all. With -o wide, MAY-EXPORT
lists the namespaces that the broker permits the member to export, and ALLOWED-RANGES lists the permitted address
ranges of the member.`,
		"  atoll get clusters\n  atoll get clusters -o wide --context c1", false, cobra.NoArgs,
		report.Members, func(s *survey.Scope) { s.Namespace, s.Installation = "", true },
		func(m report.Member) string { return m.Cluster },
		output.Columns[report.Member]{
			Headers: []string{"CLUSTER", "STATE", "HEARTBEAT", "EXPORTS", "KUBERNETES", "AGENT", "ADVERTISES", "REGION", "DRAINED", "OVER-BUDGET-OF"},
			Wide:    []string{"MAY-EXPORT", "ALLOWED-RANGES", "FAMILIES", "PODS", "SERVICES"},
			Cells: func(m report.Member) []any {
				return []any{
					m.Cluster, m.State, output.Heartbeat(m), m.Exports, m.Kubernetes, m.Agent, m.Advertises, m.Region, m.Drained, m.OverBudgetOf,
					output.Permitted(!slices.Contains(m.Namespaces, "*"), m.Namespaces, "all"),
					output.Permitted(m.AllowedRanges != nil, ptr.Deref(m.AllowedRanges, nil), "any"),
					m.IPFamilies, m.PodCIDRs, m.ServiceCIDRs,
				}
			},
		},
	)
}

func newExports() *cobra.Command {
	return newSub("exports [SERVICE]", "List the exports of the clusterset", `Lists which cluster exports which Service. STATUS is Published for exports of other clusters, or
NamespaceNotPermitted if the broker does not permit the export. For exports of this cluster, STATUS is Ready, or
the reason of the ServiceExport's failing or conflict condition. Other values are HubOnly if only the hub's load
balancers use the export, and PortsRestricted or NoPortExposed if a MultiClusterService exposes only some ports,
or none. With -o wide, MESSAGE has the details.`,
		"  atoll get exports -A\n  atoll get exports web -n shop -o wide", true, cobra.MaximumNArgs(1),
		report.Exports, func(*survey.Scope) {},
		func(e report.Export) string { return e.Namespace + "/" + e.Name + "/" + e.Cluster },
		output.Columns[report.Export]{
			Headers: []string{"NAMESPACE", "NAME", "CLUSTER", "TYPE", "PORTS", "STATUS", "AGE"},
			Wide:    []string{"MESSAGE"},
			Cells: func(e report.Export) []any {
				return []any{e.Namespace, e.Name, e.Cluster, e.Type, e.Ports, e.Status, age(e.ExportedAt), e.Message}
			},
		},
	)
}

func newConflicts() *cobra.Command {
	return newSub("conflicts [SERVICE]", "List the conflicts of the clusterset", `Lists the properties in which exports of one service differ. The oldest export wins: USING is the
value in effect. FROM is the cluster whose export has this value. OTHERS lists other values and their clusters.`,
		"  atoll get conflicts -A\n  atoll get conflicts web -n shop -o yaml", true, cobra.MaximumNArgs(1),
		report.Conflicts, func(*survey.Scope) {},
		func(c report.Conflict) string { return c.Namespace + "/" + c.Name },
		output.Columns[report.Conflict]{
			Headers: []string{"NAMESPACE", "NAME", "PROPERTY", "USING", "FROM", "OTHERS"},
			Cells: func(c report.Conflict) []any {
				var others []string
				for _, cluster := range slices.Sorted(maps.Keys(c.Others)) {
					others = append(others, c.Others[cluster]+" from "+cluster)
				}
				return []any{c.Namespace, c.Name, c.Property, c.Using, c.From, others}
			},
		},
	)
}

func newImports() *cobra.Command {
	return newSub("imports [SERVICE]", "List the imports of a cluster", `Lists the services that a cluster imports. STATUS is Ready, or the reason why the import is not ready.
Foreign means that another tool or person manages the ServiceImport. ENDPOINTS shows the number of endpoints that
serve clients, which are ready and have a port of the service, and the number of all endpoints.`,
		"  atoll get imports -A\n  atoll get imports web -n shop -o yaml", true, cobra.MaximumNArgs(1),
		report.Imports, func(s *survey.Scope) { s.Endpoints, s.ClusterOnly = true, true },
		func(i report.Import) string { return i.Namespace + "/" + i.Name },
		output.Columns[report.Import]{
			Headers: []string{"NAMESPACE", "NAME", "TYPE", "IP", "CLUSTERS", "ENDPOINTS", "STATUS", "AGE"},
			Wide:    []string{"PORTS", "MESSAGE"},
			Cells: func(i report.Import) []any {
				endpoints := fmt.Sprintf("%d/%d", i.ReadyEndpoints, i.Endpoints)
				return []any{i.Namespace, i.Name, i.Type, i.IPs, i.Clusters, endpoints, i.Status, age(i.Created), i.Ports, i.Message}
			},
		},
	)
}

func newEndpoints() *cobra.Command {
	return newSub("endpoints [SERVICE]", "List the endpoints that a cluster has imported", `Lists the endpoints of imported services in a cluster, and the cluster of each endpoint. Endpoints with the
STATE Standby are ready in their cluster, but get new connections only if no other endpoint is ready.`,
		"  atoll get endpoints web -n shop\n  atoll get endpoints -A -o name", true, cobra.MaximumNArgs(1),
		report.Endpoints, func(s *survey.Scope) { s.Endpoints, s.ClusterOnly = true, true },
		func(e report.Endpoint) string { return output.Text(e.Addresses) },
		output.Columns[report.Endpoint]{
			Headers: []string{"NAMESPACE", "SERVICE", "CLUSTER", "ADDRESS", "PORTS", "STATE"},
			Wide:    []string{"ZONE", "HOSTNAME", "SLICE"},
			Cells: func(e report.Endpoint) []any {
				return []any{e.Namespace, e.Service, e.Cluster, e.Addresses, e.Ports, state(e), e.Zone, e.Hostname, e.Slice}
			},
		},
	)
}

func newConfig() *cobra.Command {
	return newSub("config", "List the settings with which a cluster has joined", `Lists the settings of a cluster's installation: flags of "atoll join" that were given. They are
stored in the ConfigMap atoll-system/atoll-config. "atoll upgrade" and later joins keep them. Environment variables of
the agent are not in the list: the Deployment keeps them.`,
		"  atoll get config --context c1\n  atoll get config --all -o yaml", false, cobra.NoArgs,
		report.Settings, func(s *survey.Scope) { s.Namespace, s.Settings, s.ClusterOnly = "", true, true },
		func(s report.Setting) string { return s.Name },
		output.Columns[report.Setting]{
			Headers: []string{"SETTING", "VALUE"},
			Cells:   func(s report.Setting) []any { return []any{s.Name, s.Values} },
		},
	)
}

// state formats an endpoint's state.
func state(e report.Endpoint) string {
	if e.Reason != "" {
		return fmt.Sprintf("%s (%s)", e.State, e.Reason)
	}
	return string(e.State)
}

// age formats the time since at like kubectl.
func age(at metav1.Time) string {
	if at.IsZero() {
		return ""
	}
	return duration.HumanDuration(time.Since(at.Time))
}
