package lab

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"text/template"
	"time"

	"golang.org/x/sync/errgroup"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/agent"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/names"
)

// Names of Atoll's units.
const (
	unitAgent = "agent"
	unitDNS   = "dns"
)

const (
	// clustersetZone is the zone of multi-cluster services.
	clustersetZone = "clusterset.local"
	// tokenLifetime outlives any lab that somebody plays with.
	tokenLifetime = 30 * 24 * time.Hour
)

//go:embed manifests/atoll-dns.yaml
var atollDNSYAML string

var atollDNSTemplate = template.Must(template.New("atoll-dns.yaml").Parse(atollDNSYAML))

// installAtoll puts Atoll into the lab's clusters and its data model on the broker.
// Agents and DNS servers are processes with credentials that allow what their
// manifests do and nothing else.
func installAtoll(ctx context.Context, l *Lab) error {
	if err := l.installBroker(ctx); err != nil {
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

func (l *Lab) installBroker(ctx context.Context) error {
	if err := l.applyCRDs(ctx, Broker, deploy.BrokerCRDs(), brokerv1alpha1.GroupVersion.String()); err != nil {
		return err
	}
	return l.applyObjects(ctx, Broker, broker.Objects(broker.DefaultNamespace)...)
}

// installMember makes a cluster a member of the clusterset.
func (l *Lab) installMember(ctx context.Context, c *Cluster) error {
	id, err := names.ParseClusterID(c.Name)
	if err != nil {
		return err
	}
	if err := l.applyCRDs(ctx, c.Name, deploy.MemberCRDs(), aboutv1beta1.GroupVersion.String()); err != nil {
		return err
	}
	for _, manifests := range [][][]byte{deploy.Agent(), deploy.DNS()} {
		if err := l.Apply(ctx, c.Name, bytes.Join(manifests, []byte("\n---\n"))); err != nil {
			return err
		}
	}
	if err := l.applyObjects(ctx, c.Name, property(aboutv1beta1.ClusterIDProperty, c.Name),
		property(aboutv1beta1.ClustersetProperty, l.Name())); err != nil {
		return err
	}
	if err := l.applyObjects(ctx, Broker, broker.MemberObjects(broker.DefaultNamespace, id)...); err != nil {
		return err
	}
	if err := l.startAgent(ctx, c, id); err != nil {
		return err
	}
	if !l.Spec.ControlPlaneOnly { // without pods nobody would ask
		if err := l.startDNS(ctx, c); err != nil {
			return err
		}
	}
	return l.waitMember(ctx, c)
}

func property(name, value string) client.Object {
	return &aboutv1beta1.ClusterProperty{
		TypeMeta:   metav1.TypeMeta{APIVersion: aboutv1beta1.GroupVersion.String(), Kind: "ClusterProperty"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       aboutv1beta1.ClusterPropertySpec{Value: value},
	}
}

// atollUnit makes a unit of a cluster's first node that runs one of Atoll's programs,
// which are in one folder.
func (l *Lab) atollUnit(c *Cluster, name, address, program string, args ...string) Unit {
	u := l.unit(c, name, address, program, args...)
	u.Argv[0] = filepath.Join(filepath.Dir(l.Spec.Atoll), program)
	return u
}

// startAgent starts a cluster's agent, which is one process: it waits for no leader's
// lease when it is started again.
func (l *Lab) startAgent(ctx context.Context, c *Cluster, id names.ClusterID) error {
	local, err := l.accountKubeconfig(ctx, c, c, agent.Namespace, "atoll-agent")
	if err != nil {
		return err
	}
	brokerCluster, err := l.Spec.Cluster(Broker)
	if err != nil {
		return err
	}
	remote, err := l.accountKubeconfig(ctx, brokerCluster, c, broker.DefaultNamespace, names.MemberAccount(id))
	if err != nil {
		return err
	}
	args := []string{
		"--cluster-id", c.Name,
		"--kubeconfig", filepath.Join(l.Dir(c.Name), "agent.conf"),
		"--broker-kubeconfig", filepath.Join(l.Dir(c.Name), "agent-broker.conf"),
		"--leader-elect=false",
		"--advertise-mode", string(c.AdvertiseMode),
		"--region", c.Region,
	}
	if l.Spec.ControlPlaneOnly {
		args = append(args, "--metrics-bind-address=0", "--health-probe-bind-address=0")
	} else {
		args = append(args, "--health-probe-bind-address=127.0.0.1:8092")
	}
	for _, cidr := range c.PodCIDRs {
		args = append(args, "--pod-cidr", cidr.String())
	}
	u := l.atollUnit(c, unitAgent, "", "atoll-agent", append(args, l.Spec.AgentArgs...)...)
	if !l.Spec.ControlPlaneOnly {
		u.Probe = "http://127.0.0.1:8092/readyz"
	}
	u.Files = map[string]string{"agent.conf": string(local), "agent-broker.conf": string(remote)}
	return l.Run(ctx, u)
}

// startDNS starts a cluster's atoll-dns, gives it a Service, and has the cluster's own
// DNS answer for the clusterset's zone.
func (l *Lab) startDNS(ctx context.Context, c *Cluster) error {
	kubeconfig, err := l.accountKubeconfig(ctx, c, c, agent.Namespace, "atoll-dns")
	if err != nil {
		return err
	}
	node := c.Nodes[0]
	u := l.atollUnit(c, unitDNS, join(node.Addresses), "atoll-dns", "-conf", filepath.Join(l.Dir(c.Name), "Corefile"))
	u.Probe = "http://127.0.0.1:8191/ready"
	u.Files = map[string]string{
		"dns.conf": string(kubeconfig),
		"Corefile": corefile(node.Addresses, filepath.Join(l.Dir(c.Name), "dns.conf")),
	}
	if err := l.Run(ctx, u); err != nil {
		return err
	}
	var manifests bytes.Buffer
	if err := atollDNSTemplate.Execute(&manifests, struct {
		Namespace string
		Addresses []netip.Addr
	}{agent.Namespace, node.Addresses}); err != nil {
		panic(err) // the template and its data are ours
	}
	if err := l.Apply(ctx, c.Name, manifests.Bytes()); err != nil {
		return err
	}
	return l.wireDNS(ctx, c, l.Spec.DNS)
}

// corefile configures atoll-dns to listen on a node's addresses.
func corefile(addresses []netip.Addr, kubeconfig string) string {
	binds := make([]string, len(addresses))
	for i, a := range addresses {
		binds[i] = a.String()
	}
	return fmt.Sprintf(`%s:53 {
    bind %s
    errors
    health 127.0.0.1:8090
    ready 127.0.0.1:8191
    prometheus 127.0.0.1:9163
    bufsize 1232
    clusterset {
        kubeconfig %q
    }
}
`, clustersetZone, strings.Join(binds, " "), kubeconfig)
}

// waitMember waits until a cluster's agent has registered it, and until every node gets
// answers for the clusterset's zone.
func (l *Lab) waitMember(ctx context.Context, c *Cluster) error {
	config, err := l.RESTConfig(Broker)
	if err != nil {
		return err
	}
	onBroker, err := broker.Connect(config)
	if err != nil {
		return err
	}
	err = l.wait(ctx, "the agent of "+c.Name, named(c.Name, unitAgent), func(ctx context.Context) error {
		return onBroker.Get(ctx, client.ObjectKey{Namespace: broker.DefaultNamespace, Name: c.Name}, &brokerv1alpha1.MemberCluster{})
	})
	if err != nil || l.Spec.ControlPlaneOnly {
		return err
	}
	return l.waitClustersetDNS(ctx, c, l.Spec.DNS)
}

// applyCRDs applies custom resource definitions and waits until the API server serves
// all their groups, of which probe is one that it has to serve then.
func (l *Lab) applyCRDs(ctx context.Context, cluster string, crds [][]byte, probe string) error {
	if err := l.Apply(ctx, cluster, bytes.Join(crds, []byte("\n---\n"))); err != nil {
		return err
	}
	kube, err := l.client(cluster)
	if err != nil {
		return err
	}
	groups := []string{probe, "multicluster.x-k8s.io/v1beta1"}
	return l.wait(ctx, "the custom resources of "+cluster, named(cluster, unitAPIServer), func(context.Context) error {
		for _, group := range groups {
			if _, err := kube.Discovery().ServerResourcesForGroupVersion(group); err != nil {
				return err
			}
		}
		return nil
	})
}

// applyObjects applies typed objects, whose kinds are set.
func (l *Lab) applyObjects(ctx context.Context, cluster string, objects ...client.Object) error {
	var documents [][]byte
	for _, o := range objects {
		document, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("encoding %s: %w", o.GetName(), err)
		}
		documents = append(documents, document)
	}
	return l.Apply(ctx, cluster, bytes.Join(documents, []byte("---\n")))
}

// accountKubeconfig returns a kubeconfig, for programs on the nodes of the cluster from,
// with a token of a service account of cluster.
func (l *Lab) accountKubeconfig(ctx context.Context, cluster, from *Cluster, namespace, account string) ([]byte, error) {
	kube, err := l.client(cluster.Name)
	if err != nil {
		return nil, err
	}
	seconds := int64(tokenLifetime / time.Second)
	token, err := kube.CoreV1().ServiceAccounts(namespace).CreateToken(ctx, account,
		&authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds}}, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("getting a token of %s/%s in %s: %w", namespace, account, cluster.Name, err)
	}
	config, err := clientcmd.LoadFromFile(l.InClusterKubeconfig(cluster.Name))
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig of %s: %w", cluster.Name, err)
	}
	for name := range config.Clusters {
		config.Clusters[name].Server = "https://" + cluster.serverFor(from).String()
	}
	for name := range config.AuthInfos {
		config.AuthInfos[name] = &api.AuthInfo{Token: token.Status.Token}
	}
	return clientcmd.Write(*config)
}
