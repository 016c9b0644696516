package scenario

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/lab"
)

// apiServerPort is where the API servers of labs listen.
const apiServerPort = "6443"

// cleanupTimeout limits the cleanup after a scenario.
const cleanupTimeout = 3 * time.Minute

func faultVerbs() []Verb {
	return []Verb{
		{
			Name: "cut", Args: "A B", Min: 2, Max: 2, Always: true,
			Summary: "blocks all traffic between two clusters, or a cluster and `broker`",
			Check:   checkPair,
			Run: func(ctx context.Context, r *Run, args []string) error {
				r.cut = true
				return r.lab.Cut(ctx, args[0], args[1])
			},
		},
		{
			Name: "heal", Args: "[A B]", Min: 0, Max: 2, Always: true,
			Summary: "ends the `cut` between A and B, or all cuts; runs after each scenario",
			Check:   checkPair,
			Run: func(ctx context.Context, r *Run, args []string) error {
				if len(args) == 0 {
					r.cut = false
					return r.lab.HealAll(ctx)
				}
				return r.lab.Heal(ctx, args[0], args[1])
			},
		},
		{
			Name: "block", Args: "CLUSTER ADDRESS[,ADDRESS]…", Min: 2, Max: 2, Always: true,
			Summary: "drops packets from the addresses at the cluster's first node, until `unblock` or the end of the scenario",
			Check:   func(s *Script, _ bool, args []string) error { return s.checkCluster(args[0], false) },
			Run: func(ctx context.Context, r *Run, args []string) error {
				r.blocked[args[0]] = true
				return r.nft(ctx, args[0], fmt.Sprintf("add table inet %[1]s; add chain inet %[1]s arriving { type filter hook prerouting priority -400; policy accept; }; add rule inet %[1]s arriving ip saddr { %[2]s } drop", blockTable, args[1]))
			},
		},
		{
			Name: "unblock", Args: "CLUSTER", Min: 1, Max: 1, Always: true,
			Summary: "ends the effect of `block` on the cluster",
			Check:   func(s *Script, _ bool, args []string) error { return s.checkCluster(args[0], false) },
			Run:     func(ctx context.Context, r *Run, args []string) error { return r.unblock(ctx, args[0]) },
		},
		{
			Name: "kill", Args: "CLUSTER/UNIT", Min: 1, Max: 1, Always: true,
			Summary: "kills a program of the cluster: " + unitList(),
			Check:   checkUnit,
			Run: func(ctx context.Context, r *Run, args []string) error {
				r.killed[args[0]] = true
				return r.lab.Kill(ctx, args[0])
			},
		},
		{
			Name: "kill-leader", Args: "CLUSTER", Min: 1, Max: 1, Always: true,
			Summary: "kills the cluster's leading agent with SIGKILL; the kubelet restarts the agent",
			Check:   func(s *Script, _ bool, args []string) error { return s.checkCluster(args[0], false) },
			Run:     func(ctx context.Context, r *Run, args []string) error { return r.killLeader(ctx, args[0]) },
		},
		{
			Name: "proxy-mode", Args: "CLUSTER MODE", Min: 2, Max: 2, Always: true,
			Summary: "restarts the cluster's kube-proxy in mode `nftables` or `iptables`; reverted after the scenario",
			Check: func(s *Script, _ bool, args []string) error {
				_, err := choice(lab.ProxyMode(args[1]), lab.ProxyNFTables, lab.ProxyIPTables)
				return errors.Join(s.checkCluster(args[0], false), err)
			},
			Run: func(ctx context.Context, r *Run, args []string) error {
				r.proxied[args[0]] = true
				return r.lab.UseProxyMode(ctx, args[0], lab.ProxyMode(args[1]))
			},
		},
		{
			Name: "reset", Args: "CLUSTER", Min: 1, Max: 1, Always: true,
			Summary: "closes all connections, including watches, to the API server of a cluster or the `broker`",
			Check:   func(s *Script, _ bool, args []string) error { return s.checkCluster(args[0], true) },
			Run: func(ctx context.Context, r *Run, args []string) error {
				flags := []string{"--kill", "--tcp", "--numeric", "--no-header", "state", "established", "sport", "=", ":" + apiServerPort}
				result := r.do(ctx, args[0], Command{Program: "ss", Args: flags})
				if result.Err != nil {
					return result.Err
				}
				if r.output = result.Stdout; strings.TrimSpace(r.output) == "" {
					return fmt.Errorf("there was no connection with the API server of %s", args[0])
				}
				return nil
			},
		},
		{
			Name: "start", Args: "CLUSTER/UNIT", Min: 1, Max: 1, Always: true,
			Summary: "restarts a killed unit and waits until it is ready; runs after each scenario",
			Check:   checkUnit,
			Run:     func(ctx context.Context, r *Run, args []string) error { return r.startUnit(ctx, args[0]) },
		},
	}
}

// killLeader gives the agent no chance to release its Lease, as a deletion of its pod would.
func (r *Run) killLeader(ctx context.Context, cluster string) error {
	name, err := r.leader(ctx, cluster)
	if err != nil {
		return err
	}
	pod := r.kubectl(ctx, cluster, "get", "pod", name, "-n", "atoll-system", "-o", "jsonpath={.metadata.uid}")
	if pod.Err != nil {
		return pod.Err
	}
	process, err := lab.PodProcess(types.UID(pod.Stdout), "/atoll-agent")
	if err != nil {
		return err
	}
	pid, err := strconv.Atoi(filepath.Base(process))
	if err != nil {
		return fmt.Errorf("killing the leading agent of %s: %w", cluster, err)
	}
	r.output = name
	return unix.Kill(pid, unix.SIGKILL)
}

// leader returns the name of the pod of the cluster's leading agent.
func (r *Run) leader(ctx context.Context, cluster string) (pod string, _ error) {
	leader := r.kubectl(ctx, cluster, "get", "lease", "atoll-agent.atoll.dev", "-n", "atoll-system", "-o", "jsonpath={.spec.holderIdentity}")
	pod, _, _ = strings.Cut(leader.Stdout, "_")
	return pod, leader.Err
}

// units can be killed and started, in this order of dependency. A suffix selects one of several
// instances: kube-proxy-n2.
var units = []string{"etcd", "apiserver", "controller-manager", "scheduler", "kube-proxy", "containerd", "kubelet", "agent", "dns", "hub", "haproxy"}

// brokerUnits are the units of the broker.
var brokerUnits = append(units[:3:3], "hub", "haproxy")

func unitList() string {
	return "`" + strings.Join(units, "`, `") + "`; kills all instances, or one by its number (`kube-proxy-n2`)"
}

var unitNumber = regexp.MustCompile(`-[a-z]?\d+$`)

// kindOf removes the number from a unit's name.
func kindOf(unit string) string { return unitNumber.ReplaceAllString(unit, "") }

func checkPair(s *Script, _ bool, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if len(args) != 2 || args[0] == args[1] && args[0] != unknown {
		return errors.New("two clusters are needed")
	}
	return errors.Join(s.checkCluster(args[0], true), s.checkCluster(args[1], true))
}

func checkUnit(s *Script, _ bool, args []string) error {
	if args[0] == unknown {
		return nil
	}
	cluster, unit, _ := strings.Cut(args[0], "/")
	if err := s.checkCluster(cluster, true); err != nil {
		return err
	}
	if !slices.Contains(units, kindOf(unit)) {
		return fmt.Errorf("unknown unit %q (known: %s)", unit, strings.Join(units, ", "))
	}
	if cluster == Broker && !slices.Contains(brokerUnits, unit) {
		return fmt.Errorf("the broker has no %s", unit)
	}
	return nil
}

// blockTable has the rules of "block".
const blockTable = "atoll_scenario_block"

func (r *Run) nft(ctx context.Context, cluster, script string) error {
	return r.do(ctx, cluster, Command{Program: "nft", Args: []string{script}}).Err
}

func (r *Run) unblock(ctx context.Context, cluster string) error {
	delete(r.blocked, cluster)
	return r.nft(ctx, cluster, fmt.Sprintf("delete table inet %s", blockTable))
}

func (r *Run) startUnit(ctx context.Context, name string) error {
	if err := r.lab.Start(ctx, name); err != nil {
		return err
	}
	delete(r.killed, name)
	return nil
}

// cleanUp restores the lab to its state before the scenario.
func (r *Run) cleanUp(ctx context.Context) error {
	var failed error
	if r.cut {
		failed = errors.Join(failed, r.lab.HealAll(ctx))
	}
	for _, cluster := range slices.Sorted(maps.Keys(r.blocked)) {
		failed = errors.Join(failed, r.unblock(ctx, cluster))
	}
	for _, unit := range units { // in order of dependency: an API server needs its etcd
		for _, name := range slices.Sorted(maps.Keys(r.killed)) {
			if strings.HasSuffix(kindOf(name), "/"+unit) {
				failed = errors.Join(failed, r.startUnit(ctx, name))
			}
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(r.renamed)) {
		failed = errors.Join(failed, r.lab.Rename(ctx, cluster, cluster))
	}
	if len(r.expelled) > 0 {
		failed = errors.Join(failed, r.rejoin(ctx, slices.Sorted(maps.Keys(r.expelled))))
	}
	for _, cluster := range slices.Sorted(maps.Keys(r.rewired)) {
		failed = errors.Join(failed, r.do(ctx, cluster, Command{Program: "atoll", Args: []string{"dns", "install"}}).Err)
	}
	for _, cluster := range slices.Sorted(maps.Keys(r.proxied)) {
		failed = errors.Join(failed, r.lab.UseProxyMode(ctx, cluster, ""))
	}
	if r.folder != "" {
		failed = errors.Join(failed, os.RemoveAll(r.folder))
	}
	return failed
}

// backupVerbs remove and restore the broker's data.
func backupVerbs() []Verb {
	return []Verb{
		{
			Name: "snapshot", Args: "NAME", Min: 1, Max: 1, Always: true,
			Summary: "backs up the broker",
			Run:     func(ctx context.Context, r *Run, args []string) error { return r.lab.Snapshot(ctx, args[0]) },
		},
		{
			Name: "restore", Args: "NAME", Min: 1, Max: 1, Always: true,
			Summary: "restores the broker from a snapshot and waits until its API server is ready",
			Run:     func(ctx context.Context, r *Run, args []string) error { return r.lab.Restore(ctx, args[0]) },
		},
		{
			Name: "wipe", Args: "", Min: 0, Max: 0, Always: true,
			Summary: "replaces the broker with an empty API server at the same address; `rejoin` runs after the scenario",
			Run: func(ctx context.Context, r *Run, _ []string) error {
				if !r.lab.Shape().Bare {
					for _, cluster := range r.lab.Shape().names() {
						r.expelled[cluster] = true
					}
				}
				return r.lab.Wipe(ctx)
			},
		},
		{
			Name: "rejoin", Args: "CLUSTERS", Min: 1, Max: 1, Always: true,
			Summary: "creates the clusterset if it is missing, and joins the clusters with new join files",
			Check:   func(s *Script, _ bool, args []string) error { return s.checkClusters(args[0], false) },
			Run:     func(ctx context.Context, r *Run, args []string) error { return r.rejoin(ctx, r.clusters(args[0])) },
		},
		{
			Name: "rename", Args: "CLUSTER ID", Min: 2, Max: 2, Always: true,
			Summary: "makes a cluster leave and join with another id; reverted after the scenario",
			Check:   func(s *Script, _ bool, args []string) error { return s.checkClusters(args[0], false) },
			Run: func(ctx context.Context, r *Run, args []string) error {
				r.renamed[args[0]] = true
				return r.lab.Rename(ctx, args[0], args[1])
			},
		},
	}
}

func (r *Run) rejoin(ctx context.Context, clusters []string) error {
	if err := r.lab.Rejoin(ctx, clusters...); err != nil {
		return err
	}
	for _, cluster := range clusters {
		delete(r.expelled, cluster)
	}
	return nil
}
