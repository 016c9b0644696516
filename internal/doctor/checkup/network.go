package checkup

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
	if c.Survey.Broker == nil {
		return
	}
	for _, m := range c.Survey.Broker.Members {
		if m.Name == c.Survey.ClusterID.String() && len(m.Spec.PodCIDRs) > 0 {
			c.Pods = m.Spec.PodCIDRs
		}
	}
}

// services reads kube-proxy and cluster DNS.
func (r *reader) services() {
	c := r.cluster
	system := r.kube.AppsV1().DaemonSets(metav1.NamespaceSystem)
	if d, err := system.Get(r.ctx, "kube-proxy", metav1.GetOptions{}); err == nil {
		c.KubeProxy = d
	}
	c.ClusterDNS = r.clusterIPs(metav1.NamespaceSystem, "kube-dns", "coredns", "rke2-coredns-rke2-coredns")
	c.AtollDNS = r.clusterIPs(names.SystemNamespace, render.DNSName)
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
