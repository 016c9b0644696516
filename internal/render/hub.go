package render

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/names"
)

// HubName is the hub's value of LabelName, and the name of its objects.
const HubName = "atoll-hub"

const (
	// runDir is a directory that the hub may write to.
	runDir = "/run/atoll"
	// flagAddresses is the hub's flag for the addresses of load balancers.
	flagAddresses = "--lb-addresses"
)

// portWebhook is where the hub serves its webhook.
const portWebhook = 9443

// Hub is what a person chooses about the hub of a clusterset. All but the clusterset has a
// usual value.
type Hub struct {
	// Clusterset is the clusterset's namespace on the broker.
	Clusterset string
	// NoWorkloads leaves out what runs: the program is run otherwise.
	NoWorkloads bool
	// WebhookURL is where the API server reaches the hub, where that is not by its Service.
	WebhookURL string
	// Registry, Tag and Replicas are as of Member.
	Registry, Tag string
	Replicas      int32
	// Args are further arguments of the hub.
	Args []string
}

// Manifests returns what a broker has for a hub: custom resource definitions, and the objects
// that need those, in the order in which they are applied.
func (h Hub) Manifests() (crds, objects []*unstructured.Unstructured) {
	crds = install.MustParse(deploy.HubCRDs()...)
	objects = slices.Concat(install.MustParse(deploy.Hub()...), install.Objects(broker.HubAccess(h.Clusterset)...))
	if !h.NoWorkloads {
		objects = append(objects, h.workload()...)
	}
	return crds, append(objects, h.webhook())
}

// workload is what runs of the hub.
func (h Hub) workload() []*unstructured.Unstructured {
	m := Member{Registry: h.Registry, Tag: h.Tag, Replicas: h.Replicas}
	container := corev1.Container{
		Name:  "hub",
		Image: m.image(HubName),
		Args:  append([]string{"--clusterset=" + h.Clusterset}, h.Args...),
		Ports: []corev1.ContainerPort{
			{Name: "webhook", ContainerPort: portWebhook, Protocol: corev1.ProtocolTCP},
			{Name: "metrics", ContainerPort: portMetrics, Protocol: corev1.ProtocolTCP},
			{Name: "probes", ContainerPort: portProbes, Protocol: corev1.ProtocolTCP},
		},
		LivenessProbe:  probe("/healthz", "probes", 10, 6),
		ReadinessProbe: probe("/readyz", "probes", 5, 1),
		Resources:      resources("50m", "128Mi", "1Gi"),
	}
	// Where HAProxy keeps what it needs, in an image that has one.
	container.VolumeMounts = []corev1.VolumeMount{{Name: "run", MountPath: runDir}}
	deployment := m.deployment(HubName, container)
	pod := &deployment.Spec.Template.Spec
	pod.PriorityClassName = "" // which members have
	pod.Volumes = []corev1.Volume{{Name: "run", VolumeSource: corev1.VolumeSource{
		EmptyDir: &corev1.EmptyDirVolumeSource{Medium: corev1.StorageMediumMemory, SizeLimit: ptr.To(resource.MustParse("64Mi"))},
	}}}
	policy := networkPolicy(HubName, "webhook", "metrics", "probes")
	if h.balances() {
		// The ports of load balancers are any, and those below 1024 need no capability then.
		policy.Spec.Ingress = append(policy.Spec.Ingress, networkingv1.NetworkPolicyIngressRule{})
		pod.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}}
	}
	all := install.Objects[client.Object](
		deployment,
		disruptionBudget(HubName),
		policy,
		service(HubName,
			corev1.ServicePort{Name: "webhook", Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("webhook")},
			corev1.ServicePort{Name: "metrics", Port: portMetrics, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromString("metrics")}),
	)
	for _, o := range all {
		o.SetNamespace(names.HubNamespace)
	}
	return all
}

// balances tells whether the hub has load balancers to itself.
func (h Hub) balances() bool {
	return slices.ContainsFunc(h.Args, func(arg string) bool { return arg == flagAddresses || strings.HasPrefix(arg, flagAddresses+"=") })
}

// webhook has the API server ask the hub about MultiClusterServices, and about nothing else. It
// does not for changes that the hub has nothing to say about, so that finalizers can be taken off
// while it is down. The hub puts its certificate authority in by itself; until then, and whenever it can't
// be reached, what it is asked about is refused.
func (h Hub) webhook() *unstructured.Unstructured {
	config := admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{
		Namespace: names.HubNamespace, Name: HubName, Path: ptr.To("/"), Port: ptr.To[int32](443),
	}}
	if h.WebhookURL != "" {
		config = admissionv1.WebhookClientConfig{URL: &h.WebhookURL}
	}
	return install.Objects(&admissionv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: names.HubWebhook, Labels: map[string]string{labelPartOf: partOf}},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:         names.HubWebhook,
			ClientConfig: config,
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule: admissionv1.Rule{
					APIGroups: []string{networkingv1alpha1.GroupVersion.Group}, APIVersions: []string{networkingv1alpha1.GroupVersion.Version},
					Resources: []string{networkingv1alpha1.MultiClusterServiceResource}, Scope: ptr.To(admissionv1.NamespacedScope),
				},
			}},
			MatchConditions: []admissionv1.MatchCondition{{
				Name:       "something-to-say",
				Expression: "request.operation == 'CREATE' || object.spec != oldObject.spec && !has(object.metadata.deletionTimestamp)",
			}},
			FailurePolicy:           ptr.To(admissionv1.Fail),
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			TimeoutSeconds:          ptr.To[int32](5),
		}},
	})[0]
}
