package lab

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"

	"github.com/atoll-mcs/atoll/cloudprovider/haproxy"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Units of the hub and HAProxy, on the broker's node, which runs no pods.
const (
	unitHub     = "hub"
	unitHAProxy = "haproxy"
)

// balancerAddresses are the load balancer addresses on the broker's node: the two after each of its own, one per
// provider.
func (n *Node) balancerAddresses() (embedded, proxied []netip.Addr) {
	for _, a := range n.Addresses {
		embedded, proxied = append(embedded, a.Next()), append(proxied, a.Next().Next())
	}
	return embedded, proxied
}

func (l *Lab) balancerDir(c *Cluster) string { return filepath.Join(l.Dir(c.Name), "lb") }

// startHAProxy starts HAProxy if it is installed. In production, a service does that.
func (l *Lab) startHAProxy(ctx context.Context, c *Cluster) error {
	program, err := haproxy.Program()
	if err != nil || l.Spec.ControlPlaneOnly {
		return nil
	}
	dir, first := l.balancerDir(c), "haproxy-first.cfg"
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("creating HAProxy's directory: %w", err)
	}
	u := l.unit(c, unitHAProxy, "", "", haproxy.Arguments(dir, filepath.Join(l.Dir(c.Name), first))...)
	u.Argv[0] = program
	u.Files = map[string]string{first: haproxy.FirstConfiguration(dir)}
	return l.Run(ctx, u)
}

// balancerArgs are the hub's flags for load balancer addresses; none without nodes.
func (l *Lab) balancerArgs(c *Cluster) (args []string) {
	if l.Spec.ControlPlaneOnly {
		return nil
	}
	embedded, proxied := c.Nodes[0].balancerAddresses()
	for i := range embedded {
		args = append(args, "--lb-addresses="+embedded[i].String(), "--lb-addresses=haproxy="+proxied[i].String())
	}
	return append(args, "--lb-option=haproxy.dir="+l.balancerDir(c))
}

// installHub installs the hub like atoll's commands, and starts it as a process with a pod's credentials.
func (l *Lab) installHub(ctx context.Context) error {
	target, err := l.target(Broker)
	if err != nil {
		return err
	}
	c, err := l.Spec.Cluster(Broker)
	if err != nil {
		return err
	}
	ports, err := FreePorts(1)
	if err != nil {
		return err
	}
	health := ports[0].String()
	hub := render.Hub{Clusterset: broker.DefaultNamespace, NoWorkloads: true}
	if err := setup.DeployHub(ctx, target, hub, setup.Settings{"no-workloads": "true"}, false); err != nil {
		return fmt.Errorf("deploying the hub: %w", err)
	}
	kubeconfig, err := l.accountKubeconfig(ctx, c, names.HubNamespace, names.HubAccount)
	if err != nil {
		return err
	}
	if err := l.startHAProxy(ctx, c); err != nil {
		return err
	}
	args := []string{
		"--kubeconfig", filepath.Join(l.Dir(c.Name), "hub.conf"), "--leader-elect=false", "--metrics-bind-address=0",
		"--health-probe-bind-address", health,
	}
	args = append(args, l.balancerArgs(c)...)
	u := l.atollUnit(c, unitHub, health, render.HubName, append(args, l.Spec.HubArgs...)...)
	u.Files = map[string]string{"hub.conf": string(kubeconfig)}
	u.Probe = "http://" + health + "/healthz"
	return l.Run(ctx, u)
}
