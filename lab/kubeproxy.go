package lab

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
)

// unitKubeProxy is the name of a unit, followed by -n and the node's number.
const unitKubeProxy = "kube-proxy"

// ProxyMode is the mode of kube-proxy on all nodes. Empty means nftables.
type ProxyMode string

// The modes of kube-proxy.
const (
	ProxyNFTables ProxyMode = "nftables"
	ProxyIPTables ProxyMode = "iptables"
)

func (m ProxyMode) validate() error {
	if m != "" && m != ProxyNFTables && m != ProxyIPTables {
		return fmt.Errorf("%w: the mode of kube-proxy must be %s or %s, not %q", ErrUsage, ProxyNFTables, ProxyIPTables, m)
	}
	return nil
}

// short writes the default as "", so that equal labs have equal shapes.
func (m ProxyMode) short() ProxyMode {
	if m == ProxyNFTables {
		return ""
	}
	return m
}

// checkPrograms returns an error with the fix if a program of the mode is missing, except nft, which cuts need too.
func (m ProxyMode) checkPrograms() error {
	if m != ProxyIPTables {
		return nil
	}
	if _, err := exec.LookPath("iptables-restore"); err != nil {
		return fmt.Errorf("kube-proxy in mode iptables needs a program: %w: install the package iptables", err)
	}
	return nil
}

// UseProxyMode restarts kube-proxy on all nodes of a cluster in a mode, or in the lab's mode if mode is empty. The new
// process deletes the other mode's rules.
func (l *Lab) UseProxyMode(ctx context.Context, cluster string, mode ProxyMode) error {
	mode = cmp.Or(mode, l.Spec.ProxyMode, ProxyNFTables)
	if err := errors.Join(mode.validate(), mode.checkPrograms()); err != nil {
		return err
	}
	c, err := l.Spec.Cluster(cluster)
	if err != nil {
		return err
	}
	if len(c.PodCIDRs) == 0 {
		return fmt.Errorf("%w: %s has no kube-proxy", ErrUsage, cluster)
	}
	for i := range c.Nodes {
		u := l.kubeProxy(c, &c.Nodes[i], i+1, mode)
		if err := l.Run(ctx, u); err != nil {
			return err
		}
		if err := l.waitProbe(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// kubeProxy runs kube-proxy on one node. Zeros keep connection tracking settings that a network namespace cannot
// change.
func (l *Lab) kubeProxy(c *Cluster, n *Node, number int, mode ProxyMode) Unit {
	name := onNode(unitKubeProxy, number)
	health := net.JoinHostPort(n.Addresses[0].String(), "10256")
	config := fmt.Sprintf(`apiVersion: kubeproxy.config.k8s.io/v1alpha1
kind: KubeProxyConfiguration
mode: %[1]s
hostnameOverride: %q
clientConnection:
  kubeconfig: %q
  qps: 500
  burst: 1000
detectLocalMode: ClusterCIDR
clusterCIDR: %q
healthzBindAddress: %q
metricsBindAddress: 127.0.0.1:10249
%[1]s:
  minSyncPeriod: 250ms
conntrack:
  maxPerCore: 0
  min: 0
  tcpEstablishedTimeout: 0s
  tcpCloseWaitTimeout: 0s
`, cmp.Or(mode, ProxyNFTables), n.Name, filepath.Join(l.Dir(c.Name), "kube-proxy.conf"), join(c.PodCIDRs), health)
	u := l.unit(c, name, health, "kube-proxy", "--config="+filepath.Join(l.Dir(c.Name), name+".yaml"))
	u.Namespace, u.Probe = n.Namespace, "http://"+health+"/healthz"
	u.Files = map[string]string{name + ".yaml": config}
	return u
}
