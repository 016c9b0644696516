package broker

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
)

func newMembers(o *target.Clusterset) *cobra.Command {
	command := &cobra.Command{
		Use:   "members",
		Short: "List, restrict and remove members",
		Long: `By default, a member may export Services of any namespace, with any endpoint addresses. These
commands restrict a member to certain namespaces and address ranges. Permit the member's pod CIDRs and, in
advertise mode cluster-ip, also its Service CIDRs. After "atoll broker deploy --default-exports deny", a
member may export Services only from namespaces that "atoll broker members set" permits.

The broker denies exports from any other namespace. Other members and the hub ignore addresses outside the
permitted ranges and exports from any other namespace, including existing exports.

The settings are in the ConfigMap ` + names.MemberPermissions + ` in the clusterset's namespace. Members can read this
ConfigMap, but only administrators of the broker can write it.`,
	}
	command.AddCommand(newMembersList(o), newMembersSet(o), newMembersRemove(o))
	return command
}

func newMembersList(o *target.Clusterset) *cobra.Command {
	var format output.Format
	command := &cobra.Command{
		Use:   "list [CLUSTER]",
		Short: "List the permissions of members, and exports that other clusters ignore",
		Long: `Lists the permissions of each member:

  OWNS       namespaces that are reserved for the member and their other owners
  EXPORTS    number of services that the member exports
  REFUSED    number of exported services in namespaces that the member may not export
  ADDRESSES  number of endpoint addresses that the member publishes
  OUTSIDE    number of endpoint addresses outside the permitted ranges
  DRAINED    whether the member gets no new connections while other members can serve them
  FROZEN     whether the broker denies new objects of the member
  RECORDS    number of ExportedServices that the member has on the broker, with -o wide
  SLICES     number of EndpointSlices that the member has on the broker, with -o wide
  MISTAKES   invalid entries in the ConfigMap; an invalid entry permits nothing

The row ` + setup.DefaultRow + ` shows the permissions of members without their own setting. This row exists only
if "atoll broker deploy --default-exports" has set these permissions. The command warns if
70 % or more of the clusterset's quota on the broker is in use.`,
		Example: `  atoll broker members list --context broker
  atoll broker members list c2 -o wide --context broker     # with its objects on the broker, and examples of ignored exports`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			now, err := changePermissions(o, cmd, setup.PermissionsChange{})
			if err != nil {
				return err
			}
			rows := now.Members
			if len(args) > 0 {
				if rows = about(rows, args[0]); len(rows) == 0 {
					return fmt.Errorf("cluster %s is not a member, and has no permission settings", args[0])
				}
			}
			return writePermissions(cmd, format, rows)
		},
	}
	addPermissionsFormat(command, &format)
	return command
}

func newMembersSet(o *target.Clusterset) *cobra.Command {
	var format output.Format
	var namespaces, within, owns []string
	var noNamespaces, drained, frozen, dryRun bool
	command := &cobra.Command{
		Use:   "set CLUSTER",
		Short: "Set which namespaces and addresses a member may export, or drain or freeze it",
		Long: `Sets the namespaces and the endpoint address ranges that a member may export. Each flag replaces
the earlier value. Other settings stay. The cluster need not be a member yet.

Give each namespace by name, or give a prefix followed by * for all names with that prefix. If all ranges
have the same IP family, the member may not export addresses of the other IP family. With --dry-run, the
command shows the exports that other clusters would ignore.

--owns reserves namespaces. Only the owners of a namespace may export its Services, so no other member can take
part in these services, or win conflicts with an older export. A namespace may have several owners. A minus sign
after the name ends the ownership. When --namespaces changes, a member's own namespaces stay permitted.

A drained member gets no new connections while other members can serve them, as with "atoll drain".

A frozen member can change and delete its objects on the broker, and renew its heartbeat and its token. It
cannot create records, EndpointSlices or catalogue entries, so its new exports and EndpointSlices do not reach
other clusters. If a member fills the broker's quota, freeze the member, and delete its surplus objects.`,
		Example: `  atoll broker members set c2 --namespaces 'shop,team-a-*' --context broker
  atoll broker members set c2 --namespaces '*' --context broker         # all
  atoll broker members set c2 --no-namespaces --context broker          # all exports of c2 are ignored
  atoll broker members set c2 --ranges 10.2.0.0/16,fd00:2::/48 --context broker --dry-run -o wide
  atoll broker members set c2 --ranges any --context broker             # any address, as by default
  atoll broker members set c2 --owns shop --context broker              # only owners export namespace shop; to undo: --owns shop-
  atoll broker members set c2 --drained --context broker                # no new connections to the member; to undo: --drained=false
  atoll broker members set c2 --frozen --context broker                 # the member cannot create objects on the broker; to undo: --frozen=false`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := names.ParseClusterID(args[0])
			if err != nil {
				return err
			}
			change := setup.PermissionsChange{Cluster: id, DryRun: dryRun}
			if cmd.Flags().Changed("namespaces") || noNamespaces {
				change.SetNamespaces = true
				if change.Namespaces, err = namespacesOf(namespaces, noNamespaces); err != nil {
					return err
				}
			}
			if cmd.Flags().Changed("ranges") {
				change.SetRanges = true
				if change.Ranges, err = rangesOf(within); err != nil {
					return err
				}
			}
			if change.Owns, change.Disowns, err = ownsOf(owns); err != nil {
				return err
			}
			change.SetDrained, change.Drained = cmd.Flags().Changed("drained"), drained
			change.SetFrozen, change.Frozen = cmd.Flags().Changed("frozen"), frozen
			if change.IsEmpty() {
				return errors.New("no setting: add --namespaces, --no-namespaces, --owns, --ranges, --drained or --frozen")
			}
			now, err := changePermissions(o, cmd, change)
			if err != nil {
				return err
			}
			row := about(now.Members, id.String())[0]
			printIgnored(cmd, row)
			rows := []setup.MemberPermissions{row}
			if now.Created {
				rows = now.Members
			}
			return writePermissions(cmd, format, rows)
		},
	}
	addPermissionsFormat(command, &format)
	flags := command.Flags()
	flags.StringSliceVar(&namespaces, "namespaces", nil, "namespaces that the member may export: names, or prefixes that end in *; use '*' for all namespaces")
	flags.BoolVar(&noNamespaces, "no-namespaces", false, "do not permit the member to export any namespace")
	flags.StringSliceVar(&within, "ranges", nil, "permitted address ranges of the member's endpoints, such as 10.2.0.0/16; use any for all addresses")
	flags.StringSliceVar(&owns, "owns", nil, "namespaces that only this member and their other owners may export: names, or prefixes that end in *; a minus sign at the end, as in shop-, ends the ownership")
	flags.BoolVar(&drained, "drained", false, "send the member no new connections while other members can serve them; to undo: --drained=false")
	flags.BoolVar(&frozen, "frozen", false, "deny new objects of the member on the broker; to undo: --frozen=false")
	flags.BoolVar(&dryRun, "dry-run", false, "show the result and change nothing")
	command.MarkFlagsMutuallyExclusive("namespaces", "no-namespaces")
	command.MarkFlagsMutuallyExclusive("owns", "no-namespaces")
	return command
}

// namespacesOf parses the flags for namespaces.
func namespacesOf(texts []string, none bool) (permissions.Namespaces, error) {
	if none {
		return permissions.Namespaces{}, nil
	}
	set, err := permissions.ParseNamespaces(strings.Join(texts, ","))
	switch {
	case err != nil:
		return set, fmt.Errorf("--namespaces: %w", err)
	case len(set.Texts()) == 0:
		return set, errors.New("--namespaces is empty: set names, prefixes that end in *, or '*' for all namespaces; or use --no-namespaces")
	case slices.Contains(set.Texts(), "*"):
		return permissions.ParseNamespaces("*")
	}
	return set, nil
}

// ownsOf parses the flag for reserved namespaces.
func ownsOf(texts []string) (owns, disowns []string, _ error) {
	for _, text := range texts {
		pattern, ends := strings.CutSuffix(text, "-")
		set, err := permissions.ParseNamespaces(pattern)
		switch all := set.Texts(); {
		case err != nil:
			return nil, nil, fmt.Errorf("--owns: %w", err)
		case len(all) != 1:
			return nil, nil, fmt.Errorf("--owns: %q is not one namespace or prefix", text)
		case all[0] == "*":
			return nil, nil, errors.New("--owns: * would reserve all namespaces: name them, or give prefixes")
		case ends:
			disowns = append(disowns, all[0])
		default:
			owns = append(owns, all[0])
		}
	}
	return owns, disowns, nil
}

// anyAddress is the value of --ranges that removes the restriction. It is not a valid range.
const anyAddress = "any"

// rangesOf parses the flag for ranges; nil means any address.
func rangesOf(texts []string) (*ranges.Set, error) {
	if len(texts) == 1 && texts[0] == anyAddress {
		return nil, nil
	}
	set, err := ranges.Parse(strings.Join(texts, ","))
	switch {
	case err != nil:
		return nil, fmt.Errorf("--ranges: %w", err)
	case len(set.Texts()) == 0:
		return nil, errors.New("--ranges is empty: set address ranges, or --ranges " + anyAddress + " to permit all addresses")
	}
	return &set, nil
}

// printIgnored lists a member's exports that the other clusters ignore.
func printIgnored(cmd *cobra.Command, row setup.MemberPermissions) {
	say := steps.Say(cmd)
	if !row.Member {
		say("cluster %s is not a member yet", row.Cluster)
	}
	if row.NotPermitted > 0 {
		say("%d of the %d services that cluster %s exports are in namespaces that the cluster may not export. Other clusters ignore these exports.", row.NotPermitted, row.Exports, row.Cluster)
	}
	if row.Outside > 0 {
		say("%d of the %d addresses that cluster %s publishes are outside the permitted ranges. Other clusters do not import these addresses.", row.Outside, row.Addresses, row.Cluster)
	}
	if len(row.Examples) > 0 {
		say("Examples: %s", strings.Join(row.Examples, ", "))
	}
}

// changePermissions applies a change, or none, and returns the permissions. It warns if permissions may have been lost,
// if the broker may not enforce them, and if the quota is nearly full.
func changePermissions(o *target.Clusterset, cmd *cobra.Command, change setup.PermissionsChange) (*setup.Permissions, error) {
	on, err := o.Connect(steps.Report(cmd, false))
	if err != nil {
		return nil, err
	}
	now, err := setup.ChangePermissions(cmd.Context(), on, o.Name, change)
	if err != nil {
		return nil, err
	}
	say := steps.Say(cmd)
	switch problems, err := setup.LimitProblems(cmd.Context(), on, o.Name); {
	case err != nil:
		say("warning: whether the broker limits members was not checked: %v", err)
	case len(problems) > 0:
		say("warning: the broker may not limit its members: %s. Deploy the broker again: %s", strings.Join(problems, "; "), setup.RestoreLimits(on, o.Name))
	}
	warnings, err := setup.QuotaWarnings(cmd.Context(), on, o.Name)
	if err != nil {
		say("warning: the quota was not checked: %v", err)
	}
	for _, w := range warnings {
		say("warning: %s", w)
	}
	if now.Created {
		say("ConfigMap %s did not exist and has been created. If the broker had lost the ConfigMap, agents used its last known settings until now. "+
			"The settings below replace them: check the settings of every member.", names.MemberPermissions)
	}
	if change.DryRun {
		say("The command changed nothing. The result would be:")
	}
	return now, nil
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// about returns a cluster's rows.
func about(rows []setup.MemberPermissions, id string) []setup.MemberPermissions {
	return slices.DeleteFunc(slices.Clone(rows), func(r setup.MemberPermissions) bool { return r.Cluster != id })
}

func addPermissionsFormat(command *cobra.Command, format *output.Format) {
	output.AddFlag(command.Flags(), format, output.Table, output.Wide, output.JSON, output.YAML, output.Name)
}

func writePermissions(cmd *cobra.Command, format output.Format, rows []setup.MemberPermissions) error {
	return output.Rows(cmd.OutOrStdout(), format, rows, func(r setup.MemberPermissions) string { return r.Cluster }, output.Columns[setup.MemberPermissions]{
		Headers: []string{"CLUSTER", "NAMESPACES", "OWNS", "EXPORTS", "REFUSED", "RANGES", "ADDRESSES", "OUTSIDE", "DRAINED", "FROZEN", "MISTAKES"},
		Wide:    []string{"RECORDS", "SLICES", "EXAMPLES"},
		Cells: func(r setup.MemberPermissions) []any {
			namespaces := output.Permitted(!slices.Contains(r.Namespaces, "*"), r.Namespaces, "all")
			within := output.Permitted(!r.AnyAddress, r.Ranges, anyAddress)
			return []any{r.Cluster, namespaces, strings.Join(r.Owns, ","), r.Exports, r.NotPermitted, within, r.Addresses, r.Outside, yes(r.Drained), yes(r.Frozen), strings.Join(r.Mistakes, "; "), r.Records, r.Slices, r.Examples}
		},
	})
}

func newMembersRemove(o *target.Clusterset) *cobra.Command {
	var request setup.RemoveRequest
	var ending steps.Ending
	cmd := &cobra.Command{
		Use:   "remove CLUSTER",
		Short: "Remove a member that no longer exists, or expel a member",
		Long: `Removes a member that no longer exists and therefore cannot leave. The command deletes the member's
permissions, accounts, heartbeat and exports. It lists the services that clients lose and asks for
confirmation. For a cluster that still exists, use "atoll leave".

With --force, the command expels a cluster that still exists. The broker then refuses all requests from the
cluster. Open watches of its agents end within ten minutes. A hostile client can request longer watches, which
end when the broker's API server restarts.`,
		Example: `  atoll broker members remove c3 --context broker --dry-run
  atoll broker members remove c3 --context broker`,
		Args: clusterID(&request.Cluster),
		RunE: func(cmd *cobra.Command, _ []string) error {
			request.Namespace, request.DryRun = o.Name, ending.DryRun
			on, err := o.Connect(steps.Report(cmd, ending.DryRun))
			if err != nil {
				return err
			}
			if err := setup.CheckRemoval(cmd.Context(), on, request); err != nil {
				return err
			}
			impact := func() ([]string, error) { return setup.RemovalImpact(cmd.Context(), on, request) }
			if err := ending.Confirm(cmd, fmt.Sprintf("This command removes cluster %s from clusterset %s.", request.Cluster, o.Name), impact); err != nil {
				return err
			}
			if err := setup.Remove(cmd.Context(), on, request, steps.Say(cmd)); err != nil || request.DryRun {
				return err
			}
			fmt.Fprintf(cmd.ErrOrStderr(), "cluster %s is no longer a member of clusterset %s\n", request.Cluster, o.Name)
			steps.Next(cmd, "if the cluster still exists, remove Atoll from the cluster: "+command.Of(request.Cluster.String()).Atoll("leave --offline"))
			return nil
		},
	}
	ending.AddFlags(cmd.Flags())
	cmd.Flags().BoolVar(&request.Force, "force", false, "expel the member although it still sends heartbeats")
	return cmd
}
