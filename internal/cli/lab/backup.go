//go:build linux

package lab

import (
	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/lab"
)

func newSnapshot(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "snapshot NAME",
		Short:   "Save a copy of everything that the broker stores",
		Long:    "Saves everything that the broker's API server stores. The command replaces a snapshot with the same name.",
		Example: "  atoll lab snapshot before",
		Args:    cobra.ExactArgs(1),
		RunE: o.in(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			if err := l.Snapshot(cmd.Context(), args[0]); err != nil {
				return err
			}
			next(cmd, o, "%s restore%s %s", args[0])
			return nil
		}),
	}
}

func newRestore(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "restore NAME",
		Short: "Restore the broker from a snapshot",
		Long: `Restores the broker from a snapshot that "lab snapshot" saved. Changes since the snapshot are lost, and objects
that were deleted since the snapshot exist again.`,
		Example: "  atoll lab restore before",
		Args:    cobra.ExactArgs(1),
		RunE:    o.in(func(cmd *cobra.Command, l *lab.Lab, args []string) error { return l.Restore(cmd.Context(), args[0]) }),
	}
}

func newWipe(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "wipe",
		Short: "Delete everything on the broker",
		Long: `Replaces the broker with a new API server at the same address, without a clusterset and without accounts. The
members' credentials do not work until "lab rejoin".`,
		Args: cobra.NoArgs,
		RunE: o.in(func(cmd *cobra.Command, l *lab.Lab, _ []string) error {
			if err := l.Wipe(cmd.Context()); err != nil {
				return err
			}
			all := ""
			for _, c := range l.Spec.Clusters {
				if c.Name != lab.Broker {
					all += " " + c.Name
				}
			}
			next(cmd, o, "%s rejoin%s%s", all)
			return nil
		}),
	}
}

func newRejoin(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "rejoin CLUSTER...",
		Short: "Join clusters to the clusterset with new join files",
		Long: `Creates a clusterset on the broker if the clusterset does not exist, and joins clusters to the clusterset. The
command works like "atoll broker deploy", "atoll broker token create" and "atoll join".`,
		Example: "  atoll lab rejoin c1 c2 c3",
		Args:    cobra.MinimumNArgs(1),
		RunE:    o.in(func(cmd *cobra.Command, l *lab.Lab, args []string) error { return l.Rejoin(cmd.Context(), args...) }),
	}
}
