//go:build linux

package lab

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/lab"
)

func newCut(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "cut A B",
		Short: "Disconnect two clusters from each other, or a cluster from the broker",
		Long: `Drops all packets between two clusters, or between a cluster and the broker. This affects nodes and pods, both
directions, and established connections. Senders get no error. kubectl on this machine still reaches all clusters
and the broker.`,
		Example: `  atoll lab cut c1 c2
  atoll lab cut c3 broker`,
		Args: cobra.ExactArgs(2),
		RunE: o.in(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			if err := l.Cut(cmd.Context(), args[0], args[1]); err != nil {
				return err
			}
			next(cmd, o, "%s heal%s %s %s", args[0], args[1])
			return nil
		}),
	}
}

func newHeal(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "heal [A B]",
		Short: "End one cut, or all cuts",
		Example: `  atoll lab heal c1 c2
  atoll lab heal`,
		Args: cobra.MatchAll(cobra.MaximumNArgs(2), func(_ *cobra.Command, args []string) error {
			if len(args) == 1 {
				return errors.New("name the two sides of the cut to end, or no side to end all cuts")
			}
			return nil
		}),
		RunE: o.in(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			if len(args) == 0 {
				return l.HealAll(cmd.Context())
			}
			return l.Heal(cmd.Context(), args[0], args[1])
		}),
	}
}

func newKill(o *options) *cobra.Command {
	return &cobra.Command{
		Use:   "kill CLUSTER/UNIT",
		Short: "Kill a program of a cluster, to simulate a crash",
		Long: `Kills a program of a cluster. The program stays down until "lab start".

The units of a cluster are etcd, apiserver, controller-manager and scheduler, the node programs containerd,
kubelet and kube-proxy, and Atoll's agent and dns. kube-proxy stands for kube-proxy on every
node, and kube-proxy-n2 for kube-proxy on node n2. The units of the broker are etcd, apiserver and
controller-manager. "lab status" lists all units.`,
		Example: `  atoll lab kill c1/apiserver
  atoll lab kill broker/etcd`,
		Args: cobra.ExactArgs(1),
		RunE: o.in(func(cmd *cobra.Command, l *lab.Lab, args []string) error {
			if err := l.Kill(cmd.Context(), args[0]); err != nil {
				return err
			}
			next(cmd, o, "%s start%s %s", args[0])
			return nil
		}),
	}
}

func newStart(o *options) *cobra.Command {
	return &cobra.Command{
		Use:     "start CLUSTER/UNIT",
		Short:   "Start a killed program of a cluster",
		Long:    `Starts a killed program of a cluster with the same data, and waits until the program is ready. "lab status" lists all units.`,
		Example: "  atoll lab start c1/apiserver",
		Args:    cobra.ExactArgs(1),
		RunE:    o.in(func(cmd *cobra.Command, l *lab.Lab, args []string) error { return l.Start(cmd.Context(), args[0]) }),
	}
}
