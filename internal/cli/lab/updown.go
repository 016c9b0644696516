//go:build linux

package lab

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/lab"
)

func newUp(o *options) *cobra.Command {
	up := lab.Options{Shape: lab.Shape{Clusters: 3, Nodes: 1, IPFamily: lab.IPv4}}
	command := &cobra.Command{
		Use:   "up",
		Short: "Start a lab and wait until it is ready",
		Long: `Starts a lab. The command ends when the API servers answer, the nodes are ready and the DNS of each cluster
answers. The lab runs until "lab down".

If a lab of the same shape already runs, the command only starts killed programs of the lab. It first removes
the leftovers of a crashed or interrupted lab.`,
		Example: `  atoll lab up
  atoll lab up --name dual --clusters 2 --nodes 3 --ip-family dual
  atoll lab up --name mixed --clusters 3 --ip-family ipv4,ipv6,dual
  atoll lab up --name vips --advertise-mode cluster-ip
  atoll lab up --name older --kubernetes v1.36.3 --proxy-mode iptables
  atoll lab up --name api --control-plane-only   # needs no root`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			up.Name, up.Progress = o.name, cmd.ErrOrStderr()
			if _, err := lab.Up(cmd.Context(), up); cmd.Context().Err() != nil {
				return fmt.Errorf("the command was interrupted: the next atoll lab up or atoll lab down removes the leftovers of lab %s", o.name)
			} else if err != nil {
				return err
			}
			what := "nodes,pods"
			if up.ControlPlaneOnly {
				what = "namespaces"
			}
			next(cmd, o, "export KUBECONFIG=$(%s kubeconfig%s); kubectl --context c1 get "+what+" -A")
			if !up.Bare {
				fmt.Fprintln(cmd.ErrOrStderr(), "in the browser: "+command.Quoted(cmd.Root().CommandPath())+" console --all")
			}
			return nil
		},
	}
	flags := command.Flags()
	flags.IntVar(&up.Clusters, "clusters", up.Clusters, "number of clusters")
	flags.IntVar(&up.Nodes, "nodes", up.Nodes, "number of nodes of each cluster; the nodes are in three zones")
	flags.StringVar((*string)(&up.IPFamily), "ip-family", string(up.IPFamily), "IP families of nodes, pods and services: ipv4, ipv6 or dual; or a list with one value for each cluster, such as ipv4,ipv6,dual")
	flags.BoolVar(&up.ControlPlaneOnly, "control-plane-only", false, "run only API servers and controllers, on the loopback interface; needs no root")
	flags.BoolVar(&up.Bare, "bare", false, "do not install Atoll")
	flags.BoolVar(&up.Hub, "hub", false, "run a hub for MultiClusterServices")
	flags.StringArrayVar(&up.HubArgs, "hub-arg", nil, "argument of the hub; may be repeated")
	flags.StringVar((*string)(&up.AdvertiseMode), "advertise-mode", "pods", "addresses that clusters publish: pods, or cluster-ip if clusters reach only each other's Services; or a list with one value for each cluster, separated by commas")
	flags.StringVar((*string)(&up.DNS), "dns", "atoll", "DNS server for clusterset.local: atoll (atoll-dns) or stock (CoreDNS's own option multicluster)")
	addKubernetes(flags, &up.Kubernetes)
	flags.StringVar((*string)(&up.ProxyMode), "proxy-mode", "nftables", "mode of kube-proxy: nftables or iptables")
	flags.BoolVar(&up.Audit, "audit", false, "log every write request and its user to logs/audit.log in each cluster's directory")
	flags.StringVar(&up.Programs, "kube-bin", "", "directory with the Kubernetes programs; default is to build the programs")
	return command
}

func newDown(o *options) *cobra.Command {
	var all bool
	command := &cobra.Command{
		Use:   "down",
		Short: "Remove a lab and everything that it created",
		Long: `Ends all processes of a lab and deletes its network namespaces and files, whatever the state of the lab.
The command changes nothing that the lab did not create.`,
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
	command.Flags().BoolVar(&all, "all", false, "remove all labs of this user")
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
