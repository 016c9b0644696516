package lab

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/atoll-mcs/atoll/lab/network"
)

// pollInterval is the interval between checks while waiting; patience is the limit.
const (
	pollInterval = 50 * time.Millisecond
	patience     = 3 * time.Minute
)

// wait polls until ready returns nil, or one of the units that it depends on has ended. It returns the last error.
func (l *Lab) wait(ctx context.Context, what string, units []Unit, ready func(context.Context) error) error {
	waiting, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		try, cancel := context.WithTimeout(waiting, 2*time.Second)
		err := ready(try)
		cancel()
		if err == nil {
			return nil
		}
		for _, u := range units {
			if !l.alive(u) {
				return fmt.Errorf("waiting for %s: %w", what, l.failed(u))
			}
		}
		select {
		case <-waiting.Done():
			return fmt.Errorf("waiting for %s: %w", what, errors.Join(context.Cause(waiting), err))
		case <-time.After(pollInterval):
		}
	}
}

// withPods adds to an error why pods are not ready, such as a failed image pull or a crash loop.
func withPods(ctx context.Context, client kubernetes.Interface, namespace, selector string, err error) error {
	if ctx.Err() != nil {
		return err // the caller no longer waits
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	pods, failed := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if failed != nil {
		return errors.Join(err, fmt.Errorf("reading the state of the pods: %w", failed))
	}
	for _, pod := range pods.Items {
		say := func(what string, details ...string) {
			err = fmt.Errorf("%w\n  pod %s: %s: %s", err, pod.Name, what, strings.TrimSpace(strings.Join(details, " ")))
		}
		for _, c := range pod.Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status != corev1.ConditionTrue {
				say("the pod is not scheduled to a node", c.Reason, c.Message)
			}
		}
		for _, c := range slices.Concat(pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses) {
			if c.Ready {
				continue
			}
			if w := c.State.Waiting; w != nil {
				say("container "+c.Name+" is waiting", w.Reason, w.Message)
			} else if c.State.Running != nil {
				say("container "+c.Name+" is not ready", "the readiness probe fails")
			}
			if t := cmp.Or(c.State.Terminated, c.LastTerminationState.Terminated); t != nil && t.ExitCode != 0 {
				say(fmt.Sprintf("container %s ended with exit status %d", c.Name, t.ExitCode), t.Reason, t.Message)
			}
		}
	}
	return err
}

// named returns units with only a name, enough to find their process and log.
func named(cluster string, names ...string) []Unit {
	units := make([]Unit, len(names))
	for i, n := range names {
		units[i] = Unit{Cluster: cluster, Name: n}
	}
	return units
}

func (l *Lab) client(cluster string) (kubernetes.Interface, error) {
	config, err := l.RESTConfig(cluster)
	if err != nil {
		return nil, err
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("creating a client for %s: %w", cluster, err)
	}
	return client, nil
}

// waitAPIServer waits until an API server is ready and has created the default namespaces, which happens a little
// later.
func (l *Lab) waitAPIServer(ctx context.Context, cluster string) error {
	client, err := l.client(cluster)
	if err != nil {
		return err
	}
	units := named(cluster, unitEtcd, unitAPIServer)
	if !l.Spec.ControlPlaneOnly {
		units = append(units, named(wholeLab, unitGateway)...)
	}
	return l.wait(ctx, "the API server of "+cluster, units, func(ctx context.Context) error {
		if err := client.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error(); err != nil {
			return err
		}
		for _, name := range []string{metav1.NamespaceDefault, metav1.NamespaceSystem} {
			if _, err := client.CoreV1().Namespaces().Get(ctx, name, metav1.GetOptions{}); err != nil {
				return err
			}
		}
		return nil
	})
}

// waitServiceAccount waits until the controller manager has created the objects that pods need first.
func (l *Lab) waitServiceAccount(ctx context.Context, cluster string) error {
	client, err := l.client(cluster)
	if err != nil {
		return err
	}
	return l.wait(ctx, "the service accounts of "+cluster, named(cluster, unitControllerManager), func(ctx context.Context) error {
		_, err := client.CoreV1().ServiceAccounts(metav1.NamespaceDefault).Get(ctx, "default", metav1.GetOptions{})
		if err == nil {
			_, err = client.CoreV1().ConfigMaps(metav1.NamespaceDefault).Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		}
		return err
	})
}

func (l *Lab) waitNodes(ctx context.Context, c *Cluster) error {
	client, err := l.client(c.Name)
	if err != nil {
		return err
	}
	// All kubelets of a machine share one socket for device plugins (pluginapi.KubeletSocket). If two create it at
	// once, one exits, because it expects an init system to restart it.
	isKubelet := func(u Unit) bool { return u.is(unitKubelet) }
	runtimes := slices.DeleteFunc(l.podUnits(c.Name), isKubelet)
	restarts := 3 * len(c.Nodes)
	return l.wait(ctx, "the nodes of "+c.Name, runtimes, func(ctx context.Context) error {
		for _, u := range l.podUnits(c.Name) {
			if !isKubelet(u) || l.alive(u) {
				continue
			}
			if restarts--; restarts < 0 {
				return l.failed(u)
			}
			if err := l.start(u); err != nil {
				return err
			}
		}
		for _, n := range c.Nodes {
			node, err := client.CoreV1().Nodes().Get(ctx, n.Name, metav1.GetOptions{})
			if apierrors.IsNotFound(err) {
				return fmt.Errorf("node %s is not registered", n.Name)
			}
			if err != nil {
				return err
			}
			if c := readiness(node); c.Status != corev1.ConditionTrue {
				return fmt.Errorf("node %s is not ready: %s", n.Name, c.Message)
			}
		}
		return nil
	})
}

func readiness(node *corev1.Node) corev1.NodeCondition {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return c
		}
	}
	return corev1.NodeCondition{Message: "the node's kubelet has not reported a status yet"}
}

// waitDNS waits until each node gets answers from the cluster's DNS at its service address. This shows that pods run
// and kube-proxy is ready.
func (l *Lab) waitDNS(ctx context.Context, c *Cluster) error {
	client, err := l.client(c.Name)
	if err != nil {
		return err
	}
	units := append(named(c.Name, unitControllerManager, unitScheduler), l.podUnits(c.Name)...)
	for i, n := range c.Nodes {
		units := append(units, named(c.Name, onNode(unitKubeProxy, i+1))...)
		for _, a := range c.DNS {
			err := l.wait(ctx, fmt.Sprintf("answers from the DNS of %s at %s to node %s", c.Name, a, n.Name), units, func(ctx context.Context) error {
				return ask(ctx, n.Namespace, a, "kubernetes.default.svc."+clusterDomain)
			})
			if err != nil {
				return withPods(ctx, client, metav1.NamespaceSystem, "k8s-app=kube-dns", err)
			}
		}
	}
	return l.tellZones(ctx, c)
}

// tellZones makes each kube-proxy read its node's zone again. It may miss the first event, because it listens before
// its handler exists (Kubernetes 1.36, NodeTopologyConfig), and then ignores hints.
func (l *Lab) tellZones(ctx context.Context, c *Cluster) error {
	client, err := l.client(c.Name)
	if err != nil {
		return err
	}
	for _, n := range c.Nodes {
		if n.Zone == "" {
			continue
		}
		for _, zone := range []any{nil, n.Zone} {
			patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"labels": map[string]any{corev1.LabelTopologyZone: zone}}})
			if err == nil {
				_, err = client.CoreV1().Nodes().Patch(ctx, n.Name, types.MergePatchType, patch, metav1.PatchOptions{})
			}
			if err != nil {
				return fmt.Errorf("setting the zone of %s for kube-proxy: %w", n.Name, err)
			}
		}
	}
	return nil
}

// ask queries a DNS server for an existing name. The name need not have an address of the family.
func ask(ctx context.Context, from network.Namespace, server netip.Addr, name string) error {
	answer, err := exchange(ctx, from, server, name, dns.TypeA)
	if err != nil {
		return err
	}
	if answer.Rcode != dns.RcodeSuccess {
		return fmt.Errorf("the DNS answer is %s", dns.RcodeToString[answer.Rcode])
	}
	return nil
}

func exchange(ctx context.Context, from network.Namespace, server netip.Addr, name string, qtype uint16) (*dns.Msg, error) {
	ctx, cancel := context.WithTimeout(ctx, 500*time.Millisecond)
	defer cancel()
	conn, err := from.DialContext(ctx, "udp", net.JoinHostPort(server.String(), "53"))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	query := new(dns.Msg).SetQuestion(dns.Fqdn(name), qtype)
	answer, _, err := new(dns.Client).ExchangeWithConnContext(ctx, query, &dns.Conn{Conn: conn})
	return answer, err
}
