package checkup

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/doctor/check"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// addresses reads the cluster's IP ranges from its API and its agent's arguments.
func (r *reader) addresses() {
	c := r.cluster
	if ranges, err := r.kube.NetworkingV1().ServiceCIDRs().List(r.ctx, metav1.ListOptions{}); err == nil { // Kubernetes 1.33 or later
		for _, cidr := range ranges.Items {
			c.Services = append(c.Services, cidr.Spec.CIDRs...)
		}
	}
	agent := c.Survey.Cluster.Deployments[render.AgentName].Spec.Template.Spec
	if given := flagValues(agent, "--pod-cidr"); len(given) > 0 {
		c.Pods = given
	}
	if len(c.Services) == 0 {
		c.Services = flagValues(agent, "--service-cidr")
	}
	if c.Survey.Broker == nil {
		return
	}
	for _, m := range c.Survey.Broker.Members {
		if m.Name == c.Survey.ClusterID.String() && len(m.Spec.PodCIDRs) > 0 {
			c.Pods = m.Spec.PodCIDRs
		}
		if m.Name == c.Survey.ClusterID.String() && len(c.Services) == 0 {
			c.Services = m.Spec.ServiceCIDRs
		}
	}
}

// flagValues returns the values of a list flag in the arguments of a pod's containers.
func flagValues(of corev1.PodSpec, flag string) (values []string) {
	for _, container := range of.Containers {
		args := slices.Concat(container.Command, container.Args)
		for i, arg := range args {
			value, found := strings.CutPrefix(arg, flag+"=")
			if arg == flag && i+1 < len(args) {
				value, found = args[i+1], true
			}
			if found && value != "" {
				values = append(values, strings.Split(value, ",")...)
			}
		}
	}
	return values
}

const (
	// podPage and podPages limit the load on the API server of a large cluster.
	podPage, podPages = 500, 10
)

// running reads the addresses of running pods.
func (r *reader) running() {
	options := metav1.ListOptions{FieldSelector: "status.phase=Running", Limit: podPage}
	for range podPages {
		pods, err := r.kube.CoreV1().Pods(metav1.NamespaceAll).List(r.ctx, options)
		if err != nil {
			r.cluster.PodsUnread = err
			return
		}
		for i := range pods.Items {
			r.cluster.Running = append(r.cluster.Running, podAddresses(&pods.Items[i])...)
		}
		if options.Continue = pods.Continue; options.Continue == "" {
			return
		}
	}
}

// podAddresses returns a pod's own addresses: none if it uses its node's network.
func podAddresses(pod *corev1.Pod) (all []check.PodAddress) {
	if pod.Spec.HostNetwork || pod.Status.Phase != corev1.PodRunning {
		return nil
	}
	for _, ip := range pod.Status.PodIPs {
		if address, err := netip.ParseAddr(ip.IP); err == nil {
			all = append(all, check.PodAddress{Pod: pod.Namespace + "/" + pod.Name, IP: address.Unmap()})
		}
	}
	return all
}

// services reads the node proxy and cluster DNS.
func (r *reader) services() {
	c := r.cluster
	c.Proxy = check.ProxyOf(r.proxyFacts())
	c.OmitsStandby = c.Survey.Cluster.OmitsStandby()
	c.ClusterDNS = r.clusterIPs(metav1.NamespaceSystem, "kube-dns", "coredns", "rke2-coredns-rke2-coredns")
	c.AtollDNS = r.clusterIPs(names.SystemNamespace, render.DNSName)
}

// proxyFacts reads what shows which node proxy the cluster has, as far as it may be read.
func (r *reader) proxyFacts() (facts check.ProxyFacts) {
	if all, err := r.kube.AppsV1().DaemonSets(metav1.NamespaceAll).List(r.ctx, metav1.ListOptions{}); err == nil {
		facts.DaemonSets = all.Items
	} else if system, err := r.kube.AppsV1().DaemonSets(metav1.NamespaceSystem).List(r.ctx, metav1.ListOptions{}); err == nil {
		facts.DaemonSets = system.Items
	}
	facts.Config = func(namespace, name string) map[string]string {
		config, err := r.kube.CoreV1().ConfigMaps(namespace).Get(r.ctx, name, metav1.GetOptions{})
		if err != nil {
			return nil
		}
		return config.Data
	}
	felix := &unstructured.Unstructured{}
	felix.SetGroupVersionKind(schema.GroupVersionKind{Group: "crd.projectcalico.org", Version: "v1", Kind: "FelixConfiguration"})
	if r.target != nil && r.target.Get(r.ctx, client.ObjectKey{Name: "default"}, felix) == nil {
		facts.CalicoBPF, _, _ = unstructured.NestedBool(felix.Object, "spec", "bpfEnabled")
	}
	if nodes, err := r.kube.CoreV1().Nodes().List(r.ctx, metav1.ListOptions{Limit: 1}); err == nil && len(nodes.Items) > 0 {
		facts.Kubelet = nodes.Items[0].Status.NodeInfo.KubeletVersion
	}
	return facts
}

// clusterIPs returns the IPs of the first Service that exists.
func (r *reader) clusterIPs(namespace string, services ...string) []string {
	for _, name := range services {
		if s, err := r.kube.CoreV1().Services(namespace).Get(r.ctx, name, metav1.GetOptions{}); err == nil {
			return slices.DeleteFunc(slices.Clone(s.Spec.ClusterIPs), func(ip string) bool { return ip == corev1.ClusterIPNone })
		}
	}
	return nil
}

// stock checks whether the cluster's own CoreDNS serves the clusterset, and has the permissions for it.
func (r *reader) stock() {
	found, err := clusterdns.Read(r.ctx, r.target, client.ObjectKey{})
	if err != nil || !dnswiring.Stock(found, survey.Zone) {
		return
	}
	stock := &check.Stock{}
	account := "coredns"
	if d, err := r.kube.AppsV1().Deployments(metav1.NamespaceSystem).Get(r.ctx, "coredns", metav1.GetOptions{}); err == nil {
		stock.Image = survey.Image(d.Spec.Template.Spec)
		account = cmp.Or(d.Spec.Template.Spec.ServiceAccountName, account)
	}
	stock.Rights = r.may(metav1.NamespaceSystem, account, []requirement{
		{"list", "multicluster.x-k8s.io", "serviceimports", "", ""}, {"watch", "multicluster.x-k8s.io", "serviceimports", "", ""},
	})
	r.cluster.Stock = stock
}
