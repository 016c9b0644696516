package render

import (
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// nobody is the user ID of the programs, as in images without users.
const nobody = 65532

// Ports of the programs.
const (
	portMetrics    = 8080
	portProbes     = 8081
	portDNS        = 1053 // below 1024 it would need a capability
	portDNSMetrics = 9153
	portDNSHealth  = 8080
	portDNSReady   = 8181
)

const labelPartOf, partOf = "app.kubernetes.io/part-of", "atoll"

// priorityName is a PriorityClass that protects the pods from preemption: without agents, imports become outdated;
// without the DNS server, names do not resolve.
const priorityName = "atoll"

// highestPriority is Kubernetes' scheduling.HighestUserDefinablePriority.
const highestPriority = 1_000_000_000

// priority returns the PriorityClass of both programs. An admission policy reserves it for Atoll's namespace
// (deploy/agent). The classes of Kubernetes are no alternative: some clusters allow them only in kube-system.
func priority() []*unstructured.Unstructured {
	return install.Objects(&schedulingv1.PriorityClass{
		TypeMeta:   metav1.TypeMeta{APIVersion: "scheduling.k8s.io/v1", Kind: "PriorityClass"},
		ObjectMeta: metav1.ObjectMeta{Name: priorityName, Labels: map[string]string{labelPartOf: partOf}},
		Value:      highestPriority, Description: "Priority of atoll-agent and atoll-dns, which other programs need to reach services in other clusters.",
	})
}

// agent returns the agent's workload.
func (m Member) agent() []*unstructured.Unstructured {
	container := corev1.Container{
		Name:  "agent",
		Image: m.image(AgentName),
		Args:  m.AgentArgs,
		Env:   append([]corev1.EnvVar{fromField(names.NodeNameVariable, "spec.nodeName")}, m.AgentEnv...),
		Ports: []corev1.ContainerPort{
			{Name: "metrics", ContainerPort: portMetrics, Protocol: corev1.ProtocolTCP},
			{Name: "probes", ContainerPort: portProbes, Protocol: corev1.ProtocolTCP},
		},
		LivenessProbe:  probe("/healthz", "probes", 10, 6),
		ReadinessProbe: probe("/readyz", "probes", 5, 1),
		Resources:      m.Resources.apply(AgentName, agentResources()),
	}
	return install.Objects[client.Object](
		m.deployment(AgentName, container),
		disruptionBudget(AgentName),
		networkPolicy(AgentName, "metrics", "probes"),
		service(AgentName, corev1.ServicePort{Name: "metrics", Port: portMetrics, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("metrics")}),
	)
}

// fromField returns an environment variable with a field of the pod.
func fromField(name, path string) corev1.EnvVar {
	return corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: path}}}
}

// dns returns the DNS server's workload. Cluster DNS forwards to its Service, so users rely on the Service's name and
// port.
func (m Member) dns() []*unstructured.Unstructured {
	container := corev1.Container{
		Name:  "dns",
		Image: m.image(DNSName),
		Args:  []string{"-conf", "/etc/atoll-dns/Corefile", "-dns.port=1053"},
		Ports: []corev1.ContainerPort{
			{Name: "dns", ContainerPort: portDNS, Protocol: corev1.ProtocolUDP},
			{Name: "dns-tcp", ContainerPort: portDNS, Protocol: corev1.ProtocolTCP},
			{Name: "metrics", ContainerPort: portDNSMetrics, Protocol: corev1.ProtocolTCP},
			{Name: "health", ContainerPort: portDNSHealth, Protocol: corev1.ProtocolTCP},
			{Name: "ready", ContainerPort: portDNSReady, Protocol: corev1.ProtocolTCP},
		},
		LivenessProbe:  probe("/health", "health", 10, 6),
		ReadinessProbe: probe("/ready", "ready", 2, 2),
		Resources:      m.Resources.apply(DNSName, dnsResources()),
		VolumeMounts:   []corev1.VolumeMount{{Name: "config", MountPath: "/etc/atoll-dns", ReadOnly: true}},
	}
	deployment := m.deployment(DNSName, container)
	deployment.Spec.Template.Spec.Volumes = []corev1.Volume{{Name: "config", VolumeSource: corev1.VolumeSource{
		ConfigMap: &corev1.ConfigMapVolumeSource{LocalObjectReference: corev1.LocalObjectReference{Name: DNSName}},
	}}}
	// Default avoids a loop with cluster DNS, which forwards to this server.
	deployment.Spec.Template.Spec.DNSPolicy = corev1.DNSDefault
	s := service(DNSName,
		corev1.ServicePort{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromString("dns")},
		corev1.ServicePort{Name: "dns-tcp", Port: 53, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("dns-tcp")},
		corev1.ServicePort{Name: "metrics", Port: portDNSMetrics, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("metrics")},
	)
	return install.Objects[client.Object](
		&corev1.ConfigMap{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta(DNSName),
			Data: map[string]string{"Corefile": deploy.Corefile},
		},
		s,
		deployment,
		disruptionBudget(DNSName),
		networkPolicy(DNSName, "dns", "dns-tcp", "metrics", "health", "ready"),
	)
}

func labels(name string) map[string]string { return map[string]string{LabelName: name} }

func meta(name string) metav1.ObjectMeta {
	all := labels(name)
	all[labelPartOf] = partOf
	return metav1.ObjectMeta{Namespace: names.SystemNamespace, Name: name, Labels: all}
}

// deployment returns a Deployment of several pods, on different nodes where possible. It meets the Pod Security
// Standard "restricted".
func (m Member) deployment(name string, container corev1.Container) *appsv1.Deployment {
	container.SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: ptr.To(false),
		ReadOnlyRootFilesystem:   ptr.To(true),
		Capabilities:             &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	return &appsv1.Deployment{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		ObjectMeta: meta(name),
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(m.replicas()),
			Selector: &metav1.LabelSelector{MatchLabels: labels(name)},
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RollingUpdateDeploymentStrategyType, RollingUpdate: &appsv1.RollingUpdateDeployment{
				MaxSurge: ptr.To(intstr.FromInt32(1)), MaxUnavailable: ptr.To(intstr.FromInt32(0)),
			}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: meta(name).Labels},
				Spec: corev1.PodSpec{
					ServiceAccountName: name,
					PriorityClassName:  priorityName,
					SecurityContext: &corev1.PodSecurityContext{
						RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](nobody), RunAsGroup: ptr.To[int64](nobody),
						SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
					},
					TerminationGracePeriodSeconds: ptr.To[int64](30),
					Affinity:                      apart(name),
					Containers:                    []corev1.Container{container},
				},
			},
		},
	}
}

// apart spreads the pods over nodes and zones where possible.
func apart(name string) *corev1.Affinity {
	term := func(weight int32, key string) corev1.WeightedPodAffinityTerm {
		return corev1.WeightedPodAffinityTerm{Weight: weight, PodAffinityTerm: corev1.PodAffinityTerm{
			TopologyKey: key, LabelSelector: &metav1.LabelSelector{MatchLabels: labels(name)},
		}}
	}
	return &corev1.Affinity{PodAntiAffinity: &corev1.PodAntiAffinity{
		PreferredDuringSchedulingIgnoredDuringExecution: []corev1.WeightedPodAffinityTerm{
			term(100, corev1.LabelHostname), term(50, corev1.LabelTopologyZone),
		},
	}}
}

func probe(path, port string, period, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(port)}},
		PeriodSeconds: period, FailureThreshold: failures, TimeoutSeconds: 2,
	}
}

// resources sets no CPU limit, because throttling would delay bursts.
func resources(cpu, memory, limit string) corev1.ResourceRequirements {
	return corev1.ResourceRequirements{
		Requests: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)},
		Limits:   corev1.ResourceList{corev1.ResourceMemory: resource.MustParse(limit)},
	}
}

func service(name string, ports ...corev1.ServicePort) *corev1.Service {
	return &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta(name),
		Spec: corev1.ServiceSpec{Selector: labels(name), IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicyPreferDualStack), Ports: ports},
	}
}

// disruptionBudget allows one eviction at a time. MaxUnavailable 1 also allows the eviction of a single replica.
func disruptionBudget(name string) *policyv1.PodDisruptionBudget {
	return &policyv1.PodDisruptionBudget{
		TypeMeta: metav1.TypeMeta{APIVersion: "policy/v1", Kind: "PodDisruptionBudget"}, ObjectMeta: meta(name),
		Spec: policyv1.PodDisruptionBudgetSpec{
			MaxUnavailable: ptr.To(intstr.FromInt32(1)), Selector: &metav1.LabelSelector{MatchLabels: labels(name)},
		},
	}
}

// networkPolicy allows ingress only to these ports. It does not restrict egress, because API servers have no address
// that a policy could select.
func networkPolicy(name string, ports ...string) *networkingv1.NetworkPolicy {
	var allowed []networkingv1.NetworkPolicyPort
	for _, port := range ports {
		protocol := corev1.ProtocolTCP
		if port == "dns" {
			protocol = corev1.ProtocolUDP
		}
		allowed = append(allowed, networkingv1.NetworkPolicyPort{Port: ptr.To(intstr.FromString(port)), Protocol: ptr.To(protocol)})
	}
	return &networkingv1.NetworkPolicy{
		TypeMeta: metav1.TypeMeta{APIVersion: "networking.k8s.io/v1", Kind: "NetworkPolicy"}, ObjectMeta: meta(name),
		Spec: networkingv1.NetworkPolicySpec{
			PodSelector: metav1.LabelSelector{MatchLabels: labels(name)},
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress},
			Ingress:     []networkingv1.NetworkPolicyIngressRule{{Ports: allowed}},
		},
	}
}
