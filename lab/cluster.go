package lab

import "context"

// startCluster starts the units of a cluster or the broker, and waits until it is ready.
func (l *Lab) startCluster(ctx context.Context, c *Cluster, p *progress) error {
	for _, u := range []Unit{l.etcd(c), l.apiServer(c)} {
		if err := l.Run(ctx, u); err != nil {
			return err
		}
	}
	if err := l.waitAPIServer(ctx, c.Name); err != nil {
		return err
	}
	p.say("%s: API server is ready", c.Name)
	if err := l.Run(ctx, l.controllerManager(c)); err != nil {
		return err
	}
	if len(c.PodCIDRs) == 0 { // no pods
		return l.waitServiceAccount(ctx, c.Name)
	}
	if err := l.writeResolvConf(c); err != nil {
		return err
	}
	if err := l.startNodes(ctx, c); err != nil {
		return err
	}
	if err := l.Apply(ctx, c.Name, clusterDNS(c, DNSAtoll)); err != nil {
		return err
	}
	if err := l.waitNodes(ctx, c); err != nil {
		return err
	}
	p.say("%s: nodes are ready", c.Name)
	return l.waitDNS(ctx, c)
}

// startNodes starts pods and services on each node.
func (l *Lab) startNodes(ctx context.Context, c *Cluster) error {
	units := []Unit{l.scheduler(c)}
	for i := range c.Nodes {
		units = append(units, l.kubeProxy(c, &c.Nodes[i], i+1, l.Spec.ProxyMode))
	}
	for _, u := range units {
		if err := l.Run(ctx, u); err != nil {
			return err
		}
	}
	return l.startKubelets(ctx, c)
}
