package render

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/cloudprovider/haproxy"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// runDir is a writable directory that the hub and HAProxy share. It outlives containers, but not the pod.
	runDir = "/run/atoll"
	// flagAddresses is the hub's flag for the addresses of load balancers.
	flagAddresses = "--lb-addresses"

	// haproxyName is the ConfigMap with HAProxy's first configuration, haproxyDir its mount path.
	haproxyName, haproxyDir, haproxyFile = "atoll-hub-haproxy", "/etc/atoll-haproxy", "first.cfg"
	// labelEnforce is the namespace label for the enforced Pod Security Standard.
	labelEnforce = "pod-security.kubernetes.io/enforce"
)

// workload returns the hub's workload.
func (h Hub) workload() []*unstructured.Unstructured {
	policy := networkPolicy(HubName, "metrics", "probes")
	if h.balances() {
		policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{}) // load balancers may use any port
	}
	all := install.Objects[client.Object](
		h.deployment(),
		disruptionBudget(HubName),
		policy,
		service(HubName,
			corev1.ServicePort{Name: "metrics", Port: portMetrics, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("metrics")}),
	)
	if h.HAProxyImage != "" {
		all = append(install.Objects(&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta(haproxyName),
			Data: map[string]string{haproxyFile: haproxy.FirstConfiguration(runDir)},
		}), all...)
	}
	for _, o := range all {
		o.SetNamespace(names.HubNamespace)
	}
	return all
}

func (h Hub) deployment() *appsv1.Deployment {
	m := Member{Registry: h.Registry, Tag: h.Tag, Replicas: h.Replicas}
	deployment := m.deployment(HubName, h.container(m.image(HubName)))
	pod := &deployment.Spec.Template.Spec
	pod.PriorityClassName = "" // only members have the PriorityClass
	pod.NodeSelector = h.NodeSelector
	pod.Volumes = []corev1.Volume{{Name: "run", VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("64Mi"))},
	}}}
	if h.HAProxyImage != "" {
		pod.Containers = append(pod.Containers, h.haproxy(pod.Containers[0].SecurityContext))
		pod.Volumes = append(pod.Volumes, corev1.Volume{Name: "haproxy", VolumeSource: corev1.VolumeSource{
			ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: haproxyName}},
		}})
	}
	switch {
	case h.HostNetwork:
		h.onNodes(deployment)
	case h.balances():
		// With this, ports below 1024 need no capability.
		pod.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}}
	}
	return deployment
}

func (h Hub) container(image string) corev1.Container {
	container := corev1.Container{
		Name:  "hub",
		Image: image,
		Args:  []string{"--clusterset=" + h.Clusterset},
		Ports: []corev1.ContainerPort{
			{Name: "metrics", ContainerPort: portMetrics, Protocol: corev1.ProtocolTCP},
			{Name: "probes", ContainerPort: portProbes, Protocol: corev1.ProtocolTCP},
		},
		LivenessProbe:  probe("/healthz", "probes", 10, 6),
		ReadinessProbe: probe("/readyz", "probes", 5, 1),
		Resources:      resources("50m", "128Mi", "1Gi"),
		VolumeMounts:   []corev1.VolumeMount{{Name: "run", MountPath: runDir}},
	}
	if h.balances() {
		// Listen only at the pod's own address, so that load balancers can use the same ports at other addresses.
		container.Env = []corev1.EnvVar{fromField("POD_IP", "status.podIP"), fromField("NODE_IPS", "status.hostIPs")}
		container.Args = append(container.Args, "--node-addresses=$(NODE_IPS)", "--metrics-bind-address=[$(POD_IP)]:8080", "--health-probe-bind-address=[$(POD_IP)]:8081")
	}
	if h.HAProxyImage != "" {
		container.Args = append(container.Args, "--lb-option="+haproxy.Name+".dir="+runDir)
	}
	container.Args = append(container.Args, h.Args...)
	return container
}

// haproxy returns HAProxy's container with the hub's security context.
func (h Hub) haproxy(may *corev1.SecurityContext) corev1.Container {
	return corev1.Container{
		Name:            "haproxy",
		Image:           h.HAProxyImage,
		Command:         []string{"haproxy"},
		Args:            haproxy.Arguments(runDir, haproxyDir+"/"+haproxyFile),
		Resources:       resources("50m", "64Mi", "1Gi"),
		SecurityContext: may.DeepCopy(),
		VolumeMounts:    []corev1.VolumeMount{{Name: "run", MountPath: runDir}, {Name: "haproxy", MountPath: haproxyDir, ReadOnly: true}},
	}
}

// onNodes puts the pods into the host network, at most one per node, because all listen at the same ports.
func (h Hub) onNodes(deployment *appsv1.Deployment) {
	deployment.Spec.Strategy.RollingUpdate = &appsv1.RollingUpdateDeployment{
		MaxSurge: ptr.To(intstr.FromInt32(0)), MaxUnavailable: ptr.To(intstr.FromInt32(1)), // a surge pod would find its ports taken when each node has a pod
	}
	pod := &deployment.Spec.Template.Spec
	pod.HostNetwork, pod.DNSPolicy = true, corev1.DNSClusterFirstWithHostNet
	if !h.LowPorts {
		return
	}
	// A non-root process gets no added capability unless its file has it, and pods cannot change a node's sysctls. So
	// these run as root with one capability.
	own := pod.SecurityContext
	own.RunAsNonRoot, own.RunAsUser, own.RunAsGroup = ptr.To(false), ptr.To[int64](0), ptr.To[int64](0)
	for i := range pod.Containers {
		pod.Containers[i].SecurityContext.Capabilities.Add = []corev1.Capability{"NET_BIND_SERVICE"}
	}
}

// unrestrict sets the Pod Security Standard of the hub's namespace to "privileged", because no other allows the host
// network.
func unrestrict(objects []*unstructured.Unstructured) {
	for _, o := range objects {
		if o.GetKind() == "Namespace" && o.GetName() == names.HubNamespace {
			labels := o.GetLabels()
			labels[labelEnforce] = "privileged"
			o.SetLabels(labels)
		}
	}
}

// balances reports whether the hub has load balancers of its own.
func (h Hub) balances() bool {
	return slices.ContainsFunc(h.Args, func(arg string) bool { return arg == flagAddresses || strings.HasPrefix(arg, flagAddresses+"=") })
}
