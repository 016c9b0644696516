//go:build linux

package lab

import (
	"github.com/spf13/cobra"
)

func newSnapshot(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "snapshot NAME",
		Short:   "Keep a copy of all that the broker stores, as a backup would",
		Long:    "Keeps a copy of all that the broker's API server stores. One of the same name is replaced.",
		Example: "  atoll lab snapshot before",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open(o)
			if err != nil {
				return err
			}
			if err := l.Snapshot(cmd.Context(), args[0]); err != nil {
				return err
			}
			next(cmd, o, "%s restore%s %s", args[0])
			return nil
		},
	}
}

func newRestore(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "restore NAME",
		Short: "Put the broker back to a snapshot",
		Long: `Puts the broker back to what "lab snapshot" kept: what was written since is gone, and what
was deleted since is there again.`,
		Example: "  atoll lab restore before",
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open(o)
			if err != nil {
				return err
			}
			return l.Restore(cmd.Context(), args[0])
		},
	}
}

func newWipe(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "wipe",
		Short: "Take everything from the broker",
		Long: `Has the broker be a new API server at the old address, without a clusterset and without
accounts. The members' credentials are worthless then, until "lab rejoin".`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			l, err := open(o)
			if err != nil {
				return err
			}
			if err := l.Wipe(cmd.Context()); err != nil {
				return err
			}
			next(cmd, o, "%s rejoin%s c1")
			return nil
		},
	}
}

func newRejoin(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "rejoin CLUSTER...",
		Short: "Have clusters join the clusterset with new join files",
		Long: `Makes a clusterset on the broker where there is none, and has clusters join it, by what is
behind "atoll broker deploy", "atoll broker token create" and "atoll join".`,
		Example: "  atoll lab rejoin c1 c2 c3",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			l, err := open(o)
			if err != nil {
				return err
			}
			return l.Rejoin(cmd.Context(), args...)
		},
	}
}
