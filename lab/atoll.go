package lab

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/install/setup"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Names of Atoll's units.
const (
	unitAgent = "agent"
	unitDNS   = "dns"
)

const (
	// clustersetZone is the DNS zone of multi-cluster services.
	clustersetZone = "clusterset.local"
	// tokenLifetime exceeds any lab's life. Such a token replaces the one that a pod gets from its kubelet.
	tokenLifetime = 30 * 24 * time.Hour
	// replicas is the number of agent and DNS server pods, with one standby as in production.
	replicas = 2
)

// installClusterset creates a clusterset on the broker, and a hub if the lab has one.
func (l *Lab) installClusterset(ctx context.Context) error {
	if err := l.installBroker(ctx); err != nil {
		return err
	}
	if l.Spec.Hub {
		return l.installHub(ctx)
	}
	return nil
}

// installAtoll creates a clusterset and joins the lab's clusters with the code of atoll's commands. Agents and DNS
// servers run in pods. Without nodes, agents are processes with a pod's credentials.
func installAtoll(ctx context.Context, l *Lab) error {
	if err := l.installClusterset(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	for i := range l.Spec.Clusters {
		c := &l.Spec.Clusters[i]
		if c.Name == Broker {
			continue
		}
		group.Go(func() error {
			if err := l.installMember(ctx, c); err != nil {
				return fmt.Errorf("in %s: %w", c.Name, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// installBroker creates a clusterset on the broker.
func (l *Lab) installBroker(ctx context.Context) error {
	target, err := l.target(Broker)
	if err != nil {
		return err
	}
	return setup.DeployBroker(ctx, target, broker.DefaultNamespace, false)
}

// target returns an install target for a cluster or the broker, as its administrator.
func (l *Lab) target(cluster string) (*install.Target, error) {
	config, err := l.RESTConfig(cluster)
	if err != nil {
		return nil, err
	}
	return install.NewTarget(config, nil)
}

// installMember joins a cluster to the clusterset, and makes its DNS forward to atoll-dns.
func (l *Lab) installMember(ctx context.Context, c *Cluster) error {
	return l.installMemberAs(ctx, c, c.Name)
}

// installMemberAs is installMember with an id that may differ from the cluster's name.
func (l *Lab) installMemberAs(ctx context.Context, c *Cluster, id string) error {
	if err := l.join(ctx, c, id); err != nil {
		return err
	}
	if l.Spec.ControlPlaneOnly {
		if err := l.startAgent(ctx, c); err != nil {
			return err
		}
	} else if err := l.wireDNS(ctx, c, l.Spec.DNS); err != nil {
		return err
	}
	return l.waitMember(ctx, c, id)
}

// Rename makes a cluster leave the clusterset and join with another id, the only way to change an id.
func (l *Lab) Rename(ctx context.Context, cluster, id string) error {
	c, err := l.Spec.Cluster(cluster)
	if err != nil {
		return err
	}
	brokerCluster, err := l.Spec.Cluster(Broker)
	if err != nil {
		return err
	}
	member, err := l.target(c.Name)
	if err != nil {
		return err
	}
	request := setup.LeaveRequest{Broker: credential.At("https://" + brokerCluster.Loopback.String())}
	if err := setup.Leave(ctx, member, request, func(string, ...any) {}); err != nil {
		return fmt.Errorf("making %s leave the clusterset: %w", c.Name, err)
	}
	if err := l.installMemberAs(ctx, c, id); err != nil {
		return fmt.Errorf("making %s join the clusterset as %s: %w", c.Name, id, err)
	}
	return nil
}

// join joins a cluster with an id and a new join file, like atoll's commands.
func (l *Lab) join(ctx context.Context, c *Cluster, name string) error {
	brokerCluster, err := l.Spec.Cluster(Broker)
	if err != nil {
		return err
	}
	onBroker, err := l.target(Broker)
	if err != nil {
		return err
	}
	member, err := l.target(c.Name)
	if err != nil {
		return err
	}
	id, err := names.ParseClusterID(name)
	if err != nil {
		return err
	}
	file, err := setup.CreateToken(ctx, onBroker, setup.TokenRequest{
		Namespace: broker.DefaultNamespace, Cluster: id, Lifetime: setup.ReplaceLifetime, Replace: true,
		Server: "https://" + brokerCluster.serverFor(c).String(),
	})
	if err != nil {
		return err
	}
	request := setup.JoinRequest{
		File: file, Broker: credential.At("https://" + brokerCluster.Loopback.String()),
		Member: render.Member{NoWorkloads: l.Spec.ControlPlaneOnly, Replicas: replicas, AgentArgs: l.agentArgs(c)},
	}
	return setup.Join(ctx, member, request, func(string, ...any) {})
}

func (l *Lab) agentArgs(c *Cluster) []string {
	args := []string{"--advertise-mode=" + string(c.AdvertiseMode), "--region=" + c.Region}
	for _, cidr := range c.PodCIDRs {
		args = append(args, "--pod-cidr="+cidr.String())
	}
	return append(args, l.Spec.AgentArgs...)
}

// atollUnit returns a unit of a cluster's first node that runs one of Atoll's programs. They share a folder.
func (l *Lab) atollUnit(c *Cluster, name, address, program string, args ...string) Unit {
	u := l.unit(c, name, address, program, args...)
	u.Argv[0] = filepath.Join(filepath.Dir(l.Spec.Atoll), program)
	return u
}

// startAgent starts a cluster's agent as a single process if there are no pods. Without leader election, a restart does
// not wait for a Lease.
func (l *Lab) startAgent(ctx context.Context, c *Cluster) error {
	local, err := l.accountKubeconfig(ctx, c, names.SystemNamespace, render.AgentName)
	if err != nil {
		return err
	}
	args := []string{
		"--kubeconfig", filepath.Join(l.Dir(c.Name), "agent.conf"),
		"--leader-elect=false", "--metrics-bind-address=0", "--health-probe-bind-address=0",
	}
	u := l.atollUnit(c, unitAgent, "", render.AgentName, append(args, l.agentArgs(c)...)...)
	u.Files = map[string]string{"agent.conf": string(local)}
	return l.Run(ctx, u)
}

// waitMember waits until a cluster's agent has registered the cluster, and every node can resolve the clusterset's
// zone.
func (l *Lab) waitMember(ctx context.Context, c *Cluster, id string) error {
	config, err := l.RESTConfig(Broker)
	if err != nil {
		return err
	}
	onBroker, err := broker.Connect(config)
	if err != nil {
		return err
	}
	var units []Unit
	if l.Spec.ControlPlaneOnly {
		units = named(c.Name, unitAgent)
	}
	err = l.wait(ctx, "the agent of "+c.Name, units, func(ctx context.Context) error {
		return onBroker.Get(ctx, client.ObjectKey{Namespace: broker.DefaultNamespace, Name: id}, &brokerv1alpha1.MemberCluster{})
	})
	if err != nil || l.Spec.ControlPlaneOnly {
		return err
	}
	for _, w := range l.workloads(c.Name) {
		if err := l.waitWorkload(ctx, w); err != nil {
			return err
		}
	}
	return l.waitClustersetDNS(ctx, c, l.Spec.DNS)
}

// accountKubeconfig returns a kubeconfig with a service account's token, for programs on the cluster's own nodes.
func (l *Lab) accountKubeconfig(ctx context.Context, cluster *Cluster, namespace, account string) ([]byte, error) {
	kube, err := l.client(cluster.Name)
	if err != nil {
		return nil, err
	}
	seconds := int64(tokenLifetime / time.Second)
	token, err := kube.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("requesting a token for the ServiceAccount %s/%s in %s: %w", namespace, account, cluster.Name, err)
	}
	config, err := clientcmd.LoadFromFile(l.InClusterKubeconfig(cluster.Name))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %s: %w", cluster.Name, err)
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: token.Status.Token}
	}
	return clientcmd.Write(*config)
}
