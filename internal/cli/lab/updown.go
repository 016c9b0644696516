//go:build linux

package lab

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/lab"
)

func newUp(o *options) *cobra.Command {
	up := lab.Options{Shape: lab.Shape{Clusters: 3, Nodes: 1, IPFamily: lab.IPv4}}
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a lab and wait until it is ready",
		Long: `Starts a lab and returns when it is ready: API servers answer, nodes are ready and
each cluster's DNS answers. The lab goes on until "lab down".

A lab that runs already, and is of the same shape, is left as it is; programs of it
that were killed are started again. What a lab has left that crashed or was
interrupted is removed first.`,
		Example: `  atoll lab up
  atoll lab up --name dual --clusters 2 --nodes 3 --ip-family dual
  atoll lab up --name mixed --clusters 3 --ip-family ipv4,ipv6,dual
  atoll lab up --name vips --advertise-mode cluster-ip
  atoll lab up --name api --control-plane-only   # needs no root`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			up.Name, up.Progress = o.name, cmd.ErrOrStderr()
			if _, err := lab.Up(cmd.Context(), up); cmd.Context().Err() != nil {
				return fmt.Errorf("interrupted: what is left of lab %s goes with the next up, or with down", o.name)
			} else if err != nil {
				return err
			}
			what := "nodes,pods"
			if up.ControlPlaneOnly {
				what = "namespaces"
			}
			next(cmd, o, "export KUBECONFIG=$(%s kubeconfig%s); kubectl --context c1 get "+what+" -A")
			return nil
		},
	}
	flags := command.Flags()
	flags.IntVar(&up.Clusters, "clusters", up.Clusters, "how many clusters")
	flags.IntVar(&up.Nodes, "nodes", up.Nodes, "how many nodes in each cluster, in three zones by turns")
	flags.StringVar((*string)(&up.IPFamily), "ip-family", string(up.IPFamily), "addresses of nodes, pods and services: ipv4, ipv6 or dual; or one for each cluster, as ipv4,ipv6,dual")
	flags.BoolVar(&up.ControlPlaneOnly, "control-plane-only", false, "only API servers and controllers, on the loopback interface; needs no root")
	flags.BoolVar(&up.Bare, "bare", false, "leave the clusters without Atoll")
	flags.BoolVar(&up.Hub, "hub", false, "run a hub beside the broker, for MultiClusterServices")
	flags.StringArrayVar(&up.HubArgs, "hub-arg", nil, "argument of the hub; may be repeated")
	flags.StringVar((*string)(&up.AdvertiseMode), "advertise-mode", "pods", "what clusters publish: pods, in a flat network, or cluster-ip, where other clusters reach their Services only; a list by commas gives c1, c2, … a mode each")
	flags.StringVar((*string)(&up.DNS), "dns", "atoll", "what answers for clusterset.local in the clusters' DNS: atoll (atoll-dns) or stock (CoreDNS's own option multicluster)")
	flags.BoolVar(&up.Audit, "audit", false, "have the API servers log every write, with who it was, to logs/audit.log in each cluster's folder")
	flags.StringVar(&up.Programs, "kube-bin", "", "folder with the Kubernetes programs, in place of building them")
	return command
}

func newDown(o *options) *cobra.Command {
	var all bool
	command := &cobra.Command{
		Use:   "down",
		Short: "Remove a lab with all that it has made",
		Long: `Ends all processes of a lab, removes its network namespaces and its files. It works
in whatever state the lab is, and touches nothing that the lab has not made.`,
		Example: `  atoll lab down
  atoll lab down --all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			names := []string{o.name}
			if all {
				var err error
				if names, err = lab.List(); err != nil {
					return err
				}
			}
			var failed error
			for _, name := range names {
				failed = errors.Join(failed, down(cmd, name))
			}
			return failed
		},
	}
	command.Flags().BoolVar(&all, "all", false, "all labs of this user")
	return command
}

func down(cmd *cobra.Command, name string) error {
	err := lab.Down(cmd.Context(), name)
	if errors.Is(err, lab.ErrNoLab) {
		fmt.Fprintf(cmd.ErrOrStderr(), "there is no lab %s\n", name)
		return nil
	}
	if err == nil {
		fmt.Fprintf(cmd.ErrOrStderr(), "lab %s is removed\n", name)
	}
	return err
}
