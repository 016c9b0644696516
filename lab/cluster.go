package lab

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os/exec"
	"path/filepath"

	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/lab/podrunner"
)

// startCluster starts the units of a cluster, or of the broker, and waits until
// it is ready.
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
	if len(c.PodCIDRs) == 0 { // there are no pods
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

// startNodes starts what runs pods, and services on each node.
func (l *Lab) startNodes(ctx context.Context, c *Cluster) error {
	units := []Unit{l.scheduler(c)}
	if !l.Spec.Kubelet {
		runner, err := l.podRunner(c)
		if err != nil {
			return err
		}
		units = append(units, runner)
	} else if err := l.startKubelets(ctx, c); err != nil {
		return err
	}
	for i := range c.Nodes {
		units = append(units, l.kubeProxy(c, &c.Nodes[i], i+1))
	}
	for _, u := range units {
		if err := l.Run(ctx, u); err != nil {
			return err
		}
	}
	return nil
}

// images are the programs of this machine that stand for images, by repository.
func (l *Lab) images() map[string][]string {
	return map[string][]string{
		"registry.k8s.io/coredns/coredns":               {filepath.Join(l.Spec.Programs, "coredns")},
		"registry.k8s.io/pause":                         {"sleep", "infinity"},
		"atoll.dev/lab/echo":                            {l.Spec.Atoll, "lab", "echo"},
		"alpine/socat":                                  {"socat"},
		render.DefaultRegistry + "/" + render.AgentName: {"/" + render.AgentName},
		render.DefaultRegistry + "/" + render.DNSName:   {"/" + render.DNSName},
		render.DefaultRegistry + "/" + render.HubName:   {"/" + render.HubName},
		// These have a shell, as this machine.
		"busybox": {}, "alpine": {}, "debian": {}, "ubuntu": {},
	}
}

// imagePrograms are the programs of images that are not this machine's of the same name:
// Atoll's own, where they are in its images, and busybox's nslookup, if it is installed,
// which prints names without a dot at the end, and people's scripts count on it.
func (l *Lab) imagePrograms() map[string]map[string]string {
	programs := map[string]map[string]string{}
	for _, name := range []string{render.AgentName, render.DNSName, render.HubName} {
		programs[render.DefaultRegistry+"/"+name] = map[string]string{"/" + name: filepath.Join(filepath.Dir(l.Spec.Atoll), name)}
	}
	busybox, err := exec.LookPath("busybox")
	nslookup, errThere := exec.LookPath("nslookup") // something to put it in the place of
	if err == nil && errThere == nil {
		programs["busybox"] = map[string]string{nslookup: busybox}
	}
	return programs
}

// podRunner runs the pods of all nodes of a cluster.
func (l *Lab) podRunner(c *Cluster) (Unit, error) {
	config := podrunner.Config{
		Lab: l.Name(), Cluster: c.Name,
		Kubeconfig:    filepath.Join(l.Dir(c.Name), "podrunner.conf"),
		StateDir:      filepath.Join(l.Dir(c.Name), "pods"),
		ClusterDomain: clusterDomain, ClusterDNS: texts(c.DNS),
		Images:        l.images(),
		ImagePrograms: l.imagePrograms(),
		ServingCert:   l.pki(c, "kubelet.crt"), ServingKey: l.pki(c, "kubelet.key"), ClientCA: l.pki(c, "ca.crt"),
		InitCommand: []string{l.Spec.Atoll, "lab", "container-init"},
	}
	for _, n := range c.Nodes {
		config.Nodes = append(config.Nodes, podrunner.Node{
			Name: n.Name, Zone: n.Zone, Region: n.Region, Namespace: n.Namespace, Addresses: n.Addresses, PodCIDRs: n.PodCIDRs,
		})
	}
	data, err := json.MarshalIndent(config, "", "  ")
	if err != nil {
		return Unit{}, fmt.Errorf("writing the pod runner's configuration: %w", err)
	}
	kubelet := net.JoinHostPort(c.Nodes[0].Addresses[0].String(), "10250")
	u := l.unit(c, unitPodRunner, kubelet, "")
	u.Probe = "tcp://" + kubelet
	u.Argv = []string{l.Spec.Atoll, "lab", "pod-runner", "--config", filepath.Join(l.Dir(c.Name), "podrunner.json")}
	u.Files = map[string]string{"podrunner.json": string(data)}
	return u, nil
}
