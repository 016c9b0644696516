// Package get is the command `atoll get`.
package get

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
)

type options struct {
	target.Scoped
	format output.Format
}

// NewCommand returns the command with its sub-commands.
func NewCommand() *cobra.Command {
	command := &cobra.Command{
		Use:   "get",
		Short: "List the clusters, exports, conflicts, imports or endpoints of a clusterset",
		Long: `Lists the objects of a clusterset from one of its members. The commands read the member and, with the
credentials stored in it, the broker. If the broker cannot be read, the lists of clusters and exports
show only data from the member, and the exit status is 1.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(newClusters(), newExports(), newConflicts(), newImports(), newEndpoints())
	return command
}

// newSub returns a subcommand that lists rows.
func newSub[T any](use, short, long, example string, namespaced bool, args cobra.PositionalArgs,
	rows func(*survey.Survey) []T, scope func(*survey.Scope), name func(T) string, columns ...output.Column[T],
) *cobra.Command {
	var o options
	command := &cobra.Command{
		Use: use, Short: short, Long: long, Example: example, Args: args,
		RunE: func(cmd *cobra.Command, args []string) error {
			found, err := o.read(cmd, args, scope)
			if err != nil {
				return err
			}
			if err := output.Rows(cmd.OutOrStdout(), o.format, rows(found), name, columns...); err != nil {
				return err
			}
			return found.BrokerErr // the list is incomplete
		},
	}
	o.AddFlags(command.Flags())
	if namespaced {
		o.AddNamespaceFlags(command.Flags())
	}
	output.AddFlag(command.Flags(), &o.format, output.Table, output.Wide, output.JSON, output.YAML, output.Name)
	return command
}

// read reads the requested objects, and reports on standard error what the cluster did not return.
func (o *options) read(cmd *cobra.Command, args []string, scope func(*survey.Scope)) (*survey.Survey, error) {
	var of survey.Scope
	var err error
	if of.Namespace, err = o.Namespaces(); err != nil {
		return nil, err
	}
	if len(args) > 0 {
		of.Service = args[0]
	}
	if of.Service != "" && of.Namespace == "" {
		return nil, fmt.Errorf("%w: --all-namespaces and the name of a service are mutually exclusive: use --namespace", target.ErrUsage)
	}
	config, err := o.Config()
	if err != nil {
		return nil, err
	}
	of.Broker = o.Broker()
	scope(&of)
	ctx, cancel := context.WithTimeout(cmd.Context(), time.Minute)
	defer cancel()
	found, err := survey.Read(ctx, config, of)
	if err != nil {
		return nil, err
	}
	for _, err := range found.Unread {
		fmt.Fprintln(cmd.ErrOrStderr(), err)
	}
	return found, nil
}

func newClusters() *cobra.Command {
	return newSub("clusters", "List the members of the clusterset", `Lists the members of the clusterset. STATE is one of:
  Ready:   The member sends heartbeats.
  Silent:  The member's heartbeat is missing. This cluster still uses its endpoints.
  Lost:    The member does not answer. Its endpoints are withdrawn from this cluster.
  Joining: The member has never sent a heartbeat.
HEARTBEAT is the age of the last heartbeat, measured by the broker's clock. OVER-BUDGET-OF lists the clusters
whose --member-budget the member exceeds. Some of the member's updates reach these clusters late. With -o wide,
MAY-EXPORT lists the namespaces that the broker permits the member to export. ALLOWED-RANGES lists the permitted
address ranges of the member.`,
		"  atoll get clusters\n  atoll get clusters -o wide --context c1", false, cobra.NoArgs,
		report.Members, func(s *survey.Scope) { s.Namespace, s.Installation = "", true },
		func(m report.Member) string { return m.Cluster },
		output.Column[report.Member]{Header: "CLUSTER", Of: func(m report.Member) string { return m.Cluster }},
		output.Column[report.Member]{Header: "STATE", Of: func(m report.Member) string { return string(m.State) }},
		output.Column[report.Member]{Header: "HEARTBEAT", Of: heartbeat},
		output.Column[report.Member]{Header: "EXPORTS", Of: func(m report.Member) string { return strconv.Itoa(m.Exports) }},
		output.Column[report.Member]{Header: "KUBERNETES", Of: func(m report.Member) string { return output.Text(m.Kubernetes) }},
		output.Column[report.Member]{Header: "AGENT", Of: func(m report.Member) string { return output.Text(m.Agent) }},
		output.Column[report.Member]{Header: "ADVERTISES", Of: func(m report.Member) string { return m.Advertises }},
		output.Column[report.Member]{Header: "REGION", Of: func(m report.Member) string { return output.Text(m.Region) }},
		output.Column[report.Member]{Header: "OVER-BUDGET-OF", Of: func(m report.Member) string { return output.List(m.OverBudgetOf) }},
		output.Column[report.Member]{Header: "MAY-EXPORT", Wide: true, Of: func(m report.Member) string {
			return output.Permitted(!slices.Contains(m.Namespaces, "*"), m.Namespaces, "all")
		}},
		output.Column[report.Member]{Header: "ALLOWED-RANGES", Wide: true, Of: func(m report.Member) string {
			return output.Permitted(m.AllowedRanges != nil, ptr.Deref(m.AllowedRanges, nil), "any")
		}},
		output.Column[report.Member]{Header: "FAMILIES", Wide: true, Of: func(m report.Member) string { return output.List(m.IPFamilies) }},
		output.Column[report.Member]{Header: "PODS", Wide: true, Of: func(m report.Member) string { return output.List(m.PodCIDRs) }},
		output.Column[report.Member]{Header: "SERVICES", Wide: true, Of: func(m report.Member) string { return output.List(m.ServiceCIDRs) }},
	)
}

func heartbeat(m report.Member) string {
	if m.HeartbeatSeconds == nil {
		return "-"
	}
	return duration.HumanDuration(time.Duration(*m.HeartbeatSeconds) * time.Second)
}

func newExports() *cobra.Command {
	return newSub("exports [SERVICE]", "List the exports of the clusterset", `Lists which cluster exports which Service. STATUS is Published for exports of other clusters. For exports
of this cluster, STATUS is Ready, or the reason of the ServiceExport's condition that is not True.`,
		"  atoll get exports -A\n  atoll get exports web -n shop -o wide", true, cobra.MaximumNArgs(1),
		report.Exports, func(*survey.Scope) {},
		func(e report.Export) string { return e.Namespace + "/" + e.Name + "/" + e.Cluster },
		output.Column[report.Export]{Header: "NAMESPACE", Of: func(e report.Export) string { return e.Namespace }},
		output.Column[report.Export]{Header: "NAME", Of: func(e report.Export) string { return e.Name }},
		output.Column[report.Export]{Header: "CLUSTER", Of: func(e report.Export) string { return output.Text(e.Cluster) }},
		output.Column[report.Export]{Header: "TYPE", Of: func(e report.Export) string { return output.Text(e.Type) }},
		output.Column[report.Export]{Header: "PORTS", Of: func(e report.Export) string { return output.List(e.Ports) }},
		output.Column[report.Export]{Header: "STATUS", Of: func(e report.Export) string { return e.Status }},
		output.Column[report.Export]{Header: "AGE", Of: func(e report.Export) string { return age(e.ExportedAt) }},
		output.Column[report.Export]{Header: "MESSAGE", Wide: true, Of: func(e report.Export) string { return output.Text(e.Message) }},
	)
}

func newConflicts() *cobra.Command {
	return newSub("conflicts [SERVICE]", "List the conflicts of the clusterset", `Lists the properties in which exports of one service differ. The oldest export wins: USING is the
value in effect. FROM is the cluster whose export has this value. OTHERS lists other values and their clusters.`,
		"  atoll get conflicts -A\n  atoll get conflicts web -n shop -o yaml", true, cobra.MaximumNArgs(1),
		report.Conflicts, func(*survey.Scope) {},
		func(c report.Conflict) string { return c.Namespace + "/" + c.Name },
		output.Column[report.Conflict]{Header: "NAMESPACE", Of: func(c report.Conflict) string { return c.Namespace }},
		output.Column[report.Conflict]{Header: "NAME", Of: func(c report.Conflict) string { return c.Name }},
		output.Column[report.Conflict]{Header: "PROPERTY", Of: func(c report.Conflict) string { return c.Property }},
		output.Column[report.Conflict]{Header: "USING", Of: func(c report.Conflict) string { return output.Text(c.Using) }},
		output.Column[report.Conflict]{Header: "FROM", Of: func(c report.Conflict) string { return c.From }},
		output.Column[report.Conflict]{Header: "OTHERS", Of: func(c report.Conflict) string {
			var others []string
			for _, cluster := range slices.Sorted(maps.Keys(c.Others)) {
				others = append(others, c.Others[cluster]+" from "+cluster)
			}
			return output.List(others)
		}},
	)
}

func newImports() *cobra.Command {
	return newSub("imports [SERVICE]", "List the imports of a cluster", `Lists the services that a cluster imports. STATUS is Ready, or the reason why the import is not ready.
ENDPOINTS shows the number of ready endpoints and the number of all endpoints.`,
		"  atoll get imports -A\n  atoll get imports web -n shop -o yaml", true, cobra.MaximumNArgs(1),
		report.Imports, func(s *survey.Scope) { s.Endpoints, s.ClusterOnly = true, true },
		func(i report.Import) string { return i.Namespace + "/" + i.Name },
		output.Column[report.Import]{Header: "NAMESPACE", Of: func(i report.Import) string { return i.Namespace }},
		output.Column[report.Import]{Header: "NAME", Of: func(i report.Import) string { return i.Name }},
		output.Column[report.Import]{Header: "TYPE", Of: func(i report.Import) string { return i.Type }},
		output.Column[report.Import]{Header: "IP", Of: func(i report.Import) string { return output.List(i.IPs) }},
		output.Column[report.Import]{Header: "CLUSTERS", Of: func(i report.Import) string { return output.List(i.Clusters) }},
		output.Column[report.Import]{Header: "ENDPOINTS", Of: func(i report.Import) string { return fmt.Sprintf("%d/%d", i.ReadyEndpoints, i.Endpoints) }},
		output.Column[report.Import]{Header: "STATUS", Of: func(i report.Import) string { return i.Status }},
		output.Column[report.Import]{Header: "AGE", Of: func(i report.Import) string { return age(i.Created) }},
		output.Column[report.Import]{Header: "PORTS", Wide: true, Of: func(i report.Import) string { return output.List(i.Ports) }},
		output.Column[report.Import]{Header: "MESSAGE", Wide: true, Of: func(i report.Import) string { return output.Text(i.Message) }},
	)
}

func newEndpoints() *cobra.Command {
	return newSub("endpoints [SERVICE]", "List the endpoints that a cluster has imported", `Lists the endpoints of imported services in a cluster, and the cluster of each endpoint.`,
		"  atoll get endpoints web -n shop\n  atoll get endpoints -A -o name", true, cobra.MaximumNArgs(1),
		report.Endpoints, func(s *survey.Scope) { s.Endpoints, s.ClusterOnly = true, true },
		func(e report.Endpoint) string { return output.List(e.Addresses) },
		output.Column[report.Endpoint]{Header: "NAMESPACE", Of: func(e report.Endpoint) string { return e.Namespace }},
		output.Column[report.Endpoint]{Header: "SERVICE", Of: func(e report.Endpoint) string { return e.Service }},
		output.Column[report.Endpoint]{Header: "CLUSTER", Of: func(e report.Endpoint) string { return e.Cluster }},
		output.Column[report.Endpoint]{Header: "ADDRESS", Of: func(e report.Endpoint) string { return output.List(e.Addresses) }},
		output.Column[report.Endpoint]{Header: "PORTS", Of: func(e report.Endpoint) string { return output.List(e.Ports) }},
		output.Column[report.Endpoint]{Header: "STATE", Of: func(e report.Endpoint) string { return string(e.State) }},
		output.Column[report.Endpoint]{Header: "ZONE", Wide: true, Of: func(e report.Endpoint) string { return output.Text(e.Zone) }},
		output.Column[report.Endpoint]{Header: "HOSTNAME", Wide: true, Of: func(e report.Endpoint) string { return output.Text(e.Hostname) }},
		output.Column[report.Endpoint]{Header: "SLICE", Wide: true, Of: func(e report.Endpoint) string { return e.Slice }},
	)
}

// age formats the time since at like kubectl.
func age(at metav1.Time) string {
	if at.IsZero() {
		return "-"
	}
	return duration.HumanDuration(time.Since(at.Time))
}
