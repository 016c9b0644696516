package check

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Which proxy routes Services, and what it does with endpoints on standby, is known of the usual installations, also while kube-proxy
// still runs beside its replacement.
func TestProxyOf(t *testing.T) {
	daemonSet := func(namespace, name, image string, args ...string) appsv1.DaemonSet {
		d := appsv1.DaemonSet{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
		d.Spec.Template.Spec.Containers = []corev1.Container{{Image: image, Args: args}}
		return d
	}
	kubeProxy := daemonSet("kube-system", "kube-proxy", "registry.k8s.io/kube-proxy:v1.37.0")
	bpf := daemonSet("calico-system", "calico-node", "quay.io/calico/node:v3.31.0")
	bpf.Spec.Template.Spec.Containers[0].Env = []corev1.EnvVar{{Name: "FELIX_BPFENABLED", Value: "true"}}
	for name, tt := range map[string]struct {
		facts   ProxyFacts
		configs map[string]map[string]string
		want    string // product, detail and use of standby, or ""
	}{
		"kubeadm":               {ProxyFacts{DaemonSets: []appsv1.DaemonSet{kubeProxy}}, map[string]map[string]string{"kube-system/kube-proxy": {"config.conf": "kind: KubeProxyConfiguration\nmode: nftables\n"}}, "kube-proxy|mode nftables|" + string(FallsBack)},
		"quoted mode":           {ProxyFacts{DaemonSets: []appsv1.DaemonSet{kubeProxy}}, map[string]map[string]string{"kube-system/kube-proxy": {"config.conf": "mode: \"ipvs\"\n"}}, "kube-proxy|mode ipvs|" + string(FallsBack)},
		"default mode":          {ProxyFacts{DaemonSets: []appsv1.DaemonSet{kubeProxy}}, map[string]map[string]string{"kube-system/kube-proxy": {"config.conf": "mode: \"\"\n"}}, "kube-proxy|mode iptables|" + string(FallsBack)},
		"Cilium instead":        {ProxyFacts{DaemonSets: []appsv1.DaemonSet{kubeProxy, daemonSet("kube-system", "cilium", "quay.io/cilium/cilium:v1.18.2@sha256:00")}}, map[string]map[string]string{"kube-system/cilium-config": {"kube-proxy-replacement": "true"}}, "Cilium|quay.io/cilium/cilium:v1.18.2@sha256:00|" + string(FallsBack)},
		"an older Cilium":       {ProxyFacts{DaemonSets: []appsv1.DaemonSet{daemonSet("kube-system", "cilium", "quay.io/cilium/cilium:v1.17.9")}}, map[string]map[string]string{"kube-system/cilium-config": {"kube-proxy-replacement": "strict"}}, "Cilium|quay.io/cilium/cilium:v1.17.9|" + string(IsTold)},
		"Cilium beside":         {ProxyFacts{DaemonSets: []appsv1.DaemonSet{daemonSet("kube-system", "cilium", "cilium:v1.18.2"), kubeProxy}}, map[string]map[string]string{"kube-system/cilium-config": {"kube-proxy-replacement": "false"}}, "kube-proxy|mode iptables|" + string(FallsBack)},
		"Calico beside":         {ProxyFacts{DaemonSets: []appsv1.DaemonSet{daemonSet("kube-system", "calico-node", "calico/node:v3.31.0"), kubeProxy}}, nil, "kube-proxy|mode iptables|" + string(FallsBack)},
		"Calico's operator":     {ProxyFacts{DaemonSets: []appsv1.DaemonSet{bpf}}, nil, "Calico's eBPF dataplane|quay.io/calico/node:v3.31.0|" + string(IsTold)},
		"Calico's own setting":  {ProxyFacts{DaemonSets: []appsv1.DaemonSet{daemonSet("kube-system", "calico-node", "calico/node:v3.31.0")}, CalicoBPF: true}, nil, "Calico's eBPF dataplane|calico/node:v3.31.0|" + string(IsTold)},
		"Antrea":                {ProxyFacts{DaemonSets: []appsv1.DaemonSet{daemonSet("kube-system", "antrea-agent", "antrea/antrea-agent-ubuntu:v2.5.0")}}, map[string]map[string]string{"kube-system/antrea-config": {"antrea-agent.conf": "antreaProxy:\n  enable: true\n  proxyAll: true\n"}}, "Antrea|antrea/antrea-agent-ubuntu:v2.5.0|" + string(FallsBack)},
		"kube-router":           {ProxyFacts{DaemonSets: []appsv1.DaemonSet{daemonSet("kube-system", "kube-router", "cloudnativelabs/kube-router:v2.6.0", "--run-service-proxy=true")}}, nil, "kube-router|cloudnativelabs/kube-router:v2.6.0|" + string(Misused)},
		"kube-router as router": {ProxyFacts{DaemonSets: []appsv1.DaemonSet{daemonSet("kube-system", "kube-router", "kube-router:v2.6.0", "--run-service-proxy=false"), kubeProxy}}, nil, "kube-proxy|mode iptables|" + string(FallsBack)},
		"OVN-Kubernetes":        {ProxyFacts{DaemonSets: []appsv1.DaemonSet{daemonSet("ovn-kubernetes", "ovnkube-node", "ovn-kube:v1.2")}}, nil, "OVN-Kubernetes|ovn-kube:v1.2|" + string(FallsBack)},
		"k3s":                   {ProxyFacts{Kubelet: "v1.36.1+k3s1"}, nil, "kube-proxy of k3s|v1.36.1+k3s1|" + string(FallsBack)},
		"nothing known":         {ProxyFacts{Kubelet: "v1.36.1", DaemonSets: []appsv1.DaemonSet{daemonSet("shop", "web", "web:v1")}}, nil, ""},
	} {
		tt.facts.Config = func(namespace, name string) map[string]string { return tt.configs[namespace+"/"+name] }
		got := ""
		if p := ProxyOf(tt.facts); p != nil {
			got = p.Name + "|" + p.Detail + "|" + string(p.Standby)
		}
		if got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}
