// Package explain is the command `atoll explain`.
package explain

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/printable"
)

// NewCommand returns the command.
func NewCommand() *cobra.Command {
	var cluster target.Scoped
	var format output.Format
	var namespace, without string
	command := &cobra.Command{
		Use:   "explain [NAMESPACE/]SERVICE",
		Short: "Explain whether a service works in a cluster, and why",
		Long: `Follows one service from the exporting clusters to the pods of one cluster. The output shows the exporting
clusters, the merged properties, the ServiceImport, the endpoints, and the DNS servers. For each property, it
shows the value and the cluster that sets the value. Problems come first.

The first line is the verdict, which also determines the exit status:

   0  works: pods resolve the name and reach ready endpoints on all ports, and nothing is pending
  79  does not work
  80  works in part: some pods cannot resolve the name, some endpoints or ports are missing, or changes are pending
  81  cannot tell: the command found no fault, but could not read some data, for example on the broker, no
      exporting cluster with endpoints sends heartbeats, or another DNS server may answer for the name`,
		Example: `  atoll explain shop/web --context c2
  atoll explain web -n shop -o json
  atoll explain shop/web --without c3`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			config, err := cluster.Config()
			if err != nil {
				return err
			}
			service, err := parse(&cluster, namespace, args[0])
			if err != nil {
				return err
			}
			found, err := survey.Read(cmd.Context(), config, survey.Scope{
				Namespace: service.Namespace, Service: service.Name, Endpoints: true, Installation: true, Traffic: true,
				Broker: cluster.Broker(), On: cluster.Command(),
			})
			if err != nil {
				return err
			}
			if without != "" {
				return predict(cmd.OutOrStdout(), format, found, service, without)
			}
			x := report.Explain(found, service)
			if err := output.Write(cmd.OutOrStdout(), format, x, print); err != nil {
				return err
			}
			if status := exitStatus[x.Verdict]; status != 0 {
				return target.Exit(status)
			}
			return nil
		},
	}
	cluster.AddFlags(command.Flags())
	command.Flags().StringVarP(&namespace, "namespace", "n", "", "namespace of the service; default is the namespace of the kubeconfig context")
	command.Flags().StringVar(&without, "without", "", "instead of explaining, show which clusters would now serve the service without this exporting cluster; the exit status is 79 if no cluster would serve one of the ports, and 81 if the command could not read all required data")
	output.AddFlag(command.Flags(), &format, output.Table, output.JSON, output.YAML)
	return command
}

// predict shows who would serve a service without a cluster.
func predict(w io.Writer, format output.Format, found *survey.Survey, service types.NamespacedName, without string) error {
	id, err := names.ParseClusterID(without)
	if err != nil {
		return fmt.Errorf("%w: --without: %w", target.ErrUsage, err)
	}
	p, err := report.Without(found, service, id)
	if err != nil {
		return err
	}
	if err := output.Write(w, format, p, printPrediction); err != nil {
		return err
	}
	if slices.ContainsFunc(p.Ports, func(port report.PredictedPort) bool { return !port.Served }) {
		return target.Exit(target.ExitFailed)
	}
	if len(p.Unread) > 0 {
		return target.Exit(exitStatus[report.CannotTell])
	}
	return nil
}

func printPrediction(w io.Writer, p report.Prediction) error {
	fmt.Fprintf(w, "Without cluster %s, these clusters would serve %s in cluster %s:\n", p.Without, p.Name, p.Cluster)
	table := output.NewTable(w, "FAMILY", "PORT", "CLUSTER", "ROLE", "READY", "SHARE")
	for _, port := range p.Ports {
		if !port.Served {
			fmt.Fprintf(table, "%s\t%s\tnone\t\t0\t\n", port.Family, output.Text(port.Port))
		}
		for _, c := range port.Clusters {
			share := ""
			if c.Active > 0 {
				share = fmt.Sprintf("%.0f%%", c.Share)
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s (%s)\t%d\t%s\n", port.Family, output.Text(port.Port), c.Cluster, c.Role, c.Reason, c.Ready, share)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	for _, why := range p.Unread {
		fmt.Fprintln(w, "This is not certain:", printable.Line(why))
	}
	return nil
}

// exitStatus maps the verdict to the exit status.
var exitStatus = map[report.Verdict]int{report.Works: 0, report.DoesNotWork: target.ExitFailed, report.WorksInPart: 80, report.CannotTell: 81}

// parse parses NAMESPACE/SERVICE, or SERVICE in the given or the context's namespace.
func parse(cluster *target.Scoped, namespace, text string) (types.NamespacedName, error) {
	first, rest, both := strings.Cut(text, "/")
	switch {
	case both && (first == "" || rest == "" || strings.Contains(rest, "/")):
		return types.NamespacedName{}, fmt.Errorf("%w: %q does not have the form NAMESPACE/SERVICE", target.ErrUsage, text)
	case both && namespace != "" && namespace != first:
		return types.NamespacedName{}, fmt.Errorf("%w: --namespace is %s, but %[3]q names namespace %[2]s: name the namespace only once", target.ErrUsage, namespace, first, text)
	case both:
		return types.NamespacedName{Namespace: first, Name: rest}, nil
	}
	namespace, err := cluster.Namespace(namespace)
	return types.NamespacedName{Namespace: namespace, Name: text}, err
}

func print(w io.Writer, x report.Explanation) error {
	sentence := map[report.Verdict]string{
		report.Works: "%s works in cluster %s.", report.WorksInPart: "%s works in part in cluster %s.", report.DoesNotWork: "%s does not work in cluster %s.",
		report.CannotTell: "Cannot tell whether %s works in cluster %s.",
	}[x.Verdict]
	fmt.Fprintf(w, sentence+"\n", x.Name, output.Text(x.Cluster))
	output.Findings(w, x.Findings)
	if len(x.Exports) > 0 {
		fmt.Fprintln(w, "\nEXPORTED BY")
		for i, e := range x.Exports {
			wins := ""
			if i == 0 && len(x.Exports) > 1 && len(x.Values) > 0 {
				wins = ", the oldest export, whose values are used"
			}
			fmt.Fprintf(w, "  %s since %s%s (%s)\n", output.Text(e.Cluster), e.ExportedAt.UTC().Format("2006-01-02T15:04:05Z"), wins, e.Status)
			if e.IsRestricted() {
				fmt.Fprintf(w, "    %s\n", output.Text(e.Message))
			}
		}
	}
	if len(x.Values) > 0 {
		fmt.Fprintln(w, "\nMERGED TO")
		if err := values(w, x.Values); err != nil {
			return err
		}
	}
	if i := x.Import; i != nil {
		fmt.Fprintf(w, "\nIMPORTED AS\n  ServiceImport %s/%s, %s, %s\n", i.Namespace, i.Name, i.Type, i.Status)
		if x.DerivedService != "" {
			fmt.Fprintf(w, "  clusterset IP %s of Service %s\n", output.Text(i.IPs), x.DerivedService)
		}
	}
	if len(x.Sources) > 0 {
		fmt.Fprintln(w, "\nENDPOINTS")
		table := output.NewTable(w, "  CLUSTER", "PUBLISHED", "HERE", "READY", "")
		for _, s := range x.Sources {
			fmt.Fprintf(table, "  %s\t%d\t%d\t%d\t%s\n", s.Cluster, s.Published, s.Imported, s.ReadyHere, printable.Line(s.Reason))
		}
		if err := table.Flush(); err != nil {
			return err
		}
		preference(w, x.Preference)
		for _, s := range x.Sources {
			if s.Unproven {
				fmt.Fprintf(w, "  No endpoint of cluster %[1]s has answered this cluster's agent over TCP so far. If cluster %[1]s fails, its endpoints stay in use until the agent withdraws them.\n", s.Cluster)
			}
		}
	}
	if len(x.Records) > 0 {
		fmt.Fprintln(w, "\nDNS")
		for _, r := range x.Records {
			more := ""
			if r.Total > len(r.Values) {
				more = fmt.Sprintf(" and %d more", r.Total-len(r.Values))
			}
			fmt.Fprintf(w, "  %s %s %s%s\n", r.Name, r.Type, strings.Join(r.Values, " "), more)
		}
		if len(x.DNS) > 0 {
			fmt.Fprintf(w, "  The cluster's DNS forwards queries to atoll-dns (%s).\n", strings.Join(x.DNS, ", "))
		}
	}
	return nil
}

// preference names the TrafficPolicy that applies.
func preference(w io.Writer, p *report.Preference) {
	if p == nil {
		return
	}
	what := "TrafficPolicy " + p.Policy
	if p.Exporter != "" {
		what = "the TrafficPolicy for the export of cluster " + p.Exporter
	}
	if p.NoEffect != "" {
		what += ", but " + p.NoEffect
	}
	fmt.Fprintf(w, "  Preference: %s.\n", what)
}

func values(w io.Writer, choices []merge.Choice) error {
	table := output.NewTable(w)
	for _, c := range choices {
		var others []string
		for _, cluster := range slices.Sorted(maps.Keys(c.Others)) {
			others = append(others, "not "+c.Others[cluster]+" from "+cluster)
		}
		fmt.Fprintf(table, "  %s\t%s\tfrom %s\t%s\n", c.Property, output.Text(c.Using), c.From, printable.Line(strings.Join(others, "; ")))
	}
	return table.Flush()
}
