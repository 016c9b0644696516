package broker

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/cli/output"
	"github.com/atoll-mcs/atoll/internal/cli/steps"
	"github.com/atoll-mcs/atoll/internal/cli/target"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/ranges"
	"github.com/atoll-mcs/atoll/internal/setup"
)

// newRanges returns the commands about which addresses members may have.
func newRanges(o *target.Clusterset) *cobra.Command {
	command := &cobra.Command{
		Use:   "ranges",
		Short: "Say which addresses members' endpoints may have",
		Long: `Nobody checks what addresses a member publishes but the clusters that import them. They leave
out what can't be another cluster's at all. With these commands you say, for each member, in
which ranges its endpoints are: those of its pods or, in advertise mode cluster-ip, also of
its Services. All other members leave out what is outside, at once and whatever that member
does, and so does the hub. A member of which nothing is said may have any address.

A broker that was deployed by an older version does not let them see it; these commands tell where
that is so. Deploy it again then, and the agents look after five minutes at most.

It is kept in the ConfigMap ` + names.AllowedRanges + ` of the clusterset, which members can read
and not write: a key for each member's id, with ranges of both IP families, separated by commas
or spaces. Agents that were installed before there was this do not heed it.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	command.AddCommand(newRangesGet(o), newRangesSet(o), newRangesClear(o))
	return command
}

func newRangesGet(o *target.Clusterset) *cobra.Command {
	var format output.Format
	command := &cobra.Command{
		Use:   "get [CLUSTER]",
		Short: "List which addresses members may have, and what they publish outside",
		Long: `Lists for each member which addresses its endpoints may have: any, none, or those in some ranges.
PUBLISHED is how many addresses it has published, and OUTSIDE how many of these it may not
have, so that the others leave them out. What is written wrongly allows nothing.`,
		Example: `  atoll broker ranges get --context broker
  atoll broker ranges get c2 -o wide     # with examples of what is outside`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			now, err := changeRanges(o, cmd, setup.RangesChange{})
			if err != nil {
				return err
			}
			rows := now.Members
			if len(args) > 0 {
				if rows = about(rows, args[0]); len(rows) == 0 {
					return fmt.Errorf("there is no member %s, and nothing is said of one", args[0])
				}
			}
			return writeRanges(cmd, format, rows)
		},
	}
	addRangesFormat(command, &format)
	return command
}

func newRangesSet(o *target.Clusterset) *cobra.Command {
	var format output.Format
	var dryRun, none bool
	command := &cobra.Command{
		Use:   "set CLUSTER RANGE...",
		Short: "Say in which ranges a member's endpoints are",
		Long: `Says in which ranges a member's endpoints are, in place of what was said of it before. Of an IP
family without a range it may have no address. It need not be a member yet. With --dry-run you
see what of its endpoints would be left out.`,
		Example: `  atoll broker ranges set c2 10.2.0.0/16 fd00:2::/48 --dry-run -o wide
  atoll broker ranges set c2 10.2.0.0/16 fd00:2::/48
  atoll broker ranges set c3 --none      # nothing of what it exports is used`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			id, err := names.ParseClusterID(args[0])
			if err != nil {
				return err
			}
			set := ranges.Set{}
			switch {
			case none && len(args) > 1:
				return errors.New("--none is for no range at all: leave out one or the other")
			case !none:
				if set, err = setup.ParseRanges(args[1:]); err != nil {
					return err
				}
			}
			now, err := changeRanges(o, cmd, setup.RangesChange{Set: map[names.ClusterID]ranges.Set{id: set}, DryRun: dryRun})
			if err != nil {
				return err
			}
			row := about(now.Members, id.String())[0]
			if !row.Member {
				fmt.Fprintf(cmd.ErrOrStderr(), "%s is no member yet\n", id)
			} else if row.Outside > 0 {
				fmt.Fprintf(cmd.ErrOrStderr(), "of the %d addresses that %s publishes %d are outside, for the others to leave out: %s\n", row.Published, id, row.Outside, strings.Join(row.Examples, ", "))
			}
			rows := now.Members
			if !now.First {
				rows = about(rows, id.String())
			}
			return writeRanges(cmd, format, rows)
		},
	}
	addRangesFormat(command, &format)
	command.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be and change nothing")
	command.Flags().BoolVar(&none, "none", false, "allow no address")
	return command
}

func newRangesClear(o *target.Clusterset) *cobra.Command {
	var format output.Format
	var dryRun, all bool
	command := &cobra.Command{
		Use:   "clear CLUSTER...",
		Short: "Let members' endpoints have any address again",
		Long: `Takes back what was said of members, so that their endpoints may have any address. To delete the
ConfigMap does not do that: agents go on by what it said last, for somebody may have lost it.`,
		Example: `  atoll broker ranges clear c2
  atoll broker ranges clear --all`,
		Args: func(_ *cobra.Command, args []string) error {
			if all == (len(args) > 0) {
				return errors.New("say of which clusters, or --all")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			now, err := changeRanges(o, cmd, setup.RangesChange{Clear: args, ClearAll: all, DryRun: dryRun})
			if err != nil {
				return err
			}
			rows := now.Members
			if !all && !now.First {
				rows = about(rows, args...)
			}
			return writeRanges(cmd, format, rows)
		},
	}
	addRangesFormat(command, &format)
	command.Flags().BoolVar(&dryRun, "dry-run", false, "show what would be and change nothing")
	command.Flags().BoolVar(&all, "all", false, "of all clusters")
	return command
}

// changeRanges changes something, or nothing, and returns what holds then. It says who does not heed it, and whether
// something may have held before that does not any more.
func changeRanges(o *target.Clusterset, cmd *cobra.Command, change setup.RangesChange) (*setup.RangesNow, error) {
	on, err := o.Connect(steps.Report(cmd, false))
	if err != nil {
		return nil, err
	}
	now, err := setup.Ranges(cmd.Context(), on, o.Name, change)
	if err != nil {
		return nil, err
	}
	say := steps.Say(cmd)
	for _, role := range slices.Sorted(maps.Keys(now.Blind)) {
		say("not heeded by those who have the role %s, for it does not let them see it: an older version has made it. Run: %s%s", role, now.Blind[role], o.Flags())
	}
	if now.First && !change.ClearAll && slices.ContainsFunc(now.Members, func(r setup.MemberRanges) bool { return r.Member && !r.Restricted }) {
		say("there was no ConfigMap %s. If the broker had one and has lost it, the agents have gone on by that, and from now on go by this alone: "+
			"see below which members may have any address, and set theirs, too", names.AllowedRanges)
	}
	if change.DryRun {
		say("nothing is changed; it would be:")
	}
	return now, nil
}

// about returns the rows about some clusters.
func about(rows []setup.MemberRanges, ids ...string) []setup.MemberRanges {
	return slices.DeleteFunc(slices.Clone(rows), func(r setup.MemberRanges) bool { return !slices.Contains(ids, r.Cluster) })
}

func addRangesFormat(command *cobra.Command, format *output.Format) {
	output.AddFlag(command.Flags(), format, output.Table, output.Wide, output.JSON, output.YAML, output.Name)
}

func writeRanges(cmd *cobra.Command, format output.Format, rows []setup.MemberRanges) error {
	return output.Rows(cmd.OutOrStdout(), format, rows, func(r setup.MemberRanges) string { return r.Cluster },
		output.Column[setup.MemberRanges]{Header: "CLUSTER", Of: func(r setup.MemberRanges) string { return r.Cluster }},
		output.Column[setup.MemberRanges]{Header: "ALLOWED", Of: allowed},
		output.Column[setup.MemberRanges]{Header: "PUBLISHED", Of: func(r setup.MemberRanges) string { return strconv.Itoa(r.Published) }},
		output.Column[setup.MemberRanges]{Header: "OUTSIDE", Of: func(r setup.MemberRanges) string { return strconv.Itoa(r.Outside) }},
		output.Column[setup.MemberRanges]{Header: "MISTAKES", Of: func(r setup.MemberRanges) string { return output.Text(strings.Join(r.Mistakes, "; ")) }},
		output.Column[setup.MemberRanges]{Header: "EXAMPLES", Wide: true, Of: func(r setup.MemberRanges) string { return output.List(r.Examples) }},
	)
}

// allowed is what a member may have, for people.
func allowed(r setup.MemberRanges) string {
	switch {
	case !r.Restricted && !r.Member && len(r.Mistakes) > 0:
		return "-"
	case !r.Restricted:
		return "any"
	case len(r.Ranges) == 0:
		return "none"
	}
	return strings.Join(r.Ranges, ",")
}
