package outpost

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/doctor/probe"
	"github.com/atoll-mcs/atoll/internal/install"
)

const (
	// startTime is how long a pod may take to start, including an image pull.
	startTime = time.Minute
	// nobody is the pods' user ID, as in Atoll's own pods.
	nobody = 65532
	// labelApp distinguishes the server from the clients.
	labelApp = "app.kubernetes.io/name"
	// listenerName is the name of the listening pod and its Service.
	listenerName = "listener"
)

// Listener is a pod that answers other probes.
type Listener struct {
	// Node is the pod's node.
	Node string
	// Pod are the pod's addresses, Service those of a Service that selects it.
	Pod, Service []string
	// Routed are the addresses of a Service without selector, whose EndpointSlices this program writes as Atoll does.
	Routed []string
}

// Listen starts the listening pod and creates both Services.
func (p *Outpost) Listen(ctx context.Context) (*Listener, error) {
	pod, err := p.Start(ctx)
	if err != nil {
		return nil, err
	}
	service, err := p.Service(ctx, listenerName, true)
	if err != nil {
		return nil, err
	}
	routed, err := p.Service(ctx, "routed", false)
	if err != nil {
		return nil, err
	}
	l := &Listener{Node: pod.Spec.NodeName, Service: service.Spec.ClusterIPs, Routed: routed.Spec.ClusterIPs}
	for _, ip := range pod.Status.PodIPs {
		l.Pod = append(l.Pod, ip.IP)
		if err := p.slice(ctx, routed, ip.IP); err != nil {
			return nil, err
		}
	}
	return l, nil
}

// Start starts only the listening pod and waits until it is ready.
func (p *Outpost) Start(ctx context.Context) (*corev1.Pod, error) {
	pod := p.pod(listenerName, "serve", p.Identity)
	pod.Spec.Containers[0].ReadinessProbe = &corev1.Probe{
		ProbeHandler:  corev1.ProbeHandler{TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromInt32(probe.Port)}},
		PeriodSeconds: 1,
	}
	return p.run(ctx, pod, startTime, ready)
}

// slice writes an EndpointSlice of a Service as Atoll does, not managed by the built-in controller.
func (p *Outpost) slice(ctx context.Context, of *corev1.Service, address string) error {
	family := discoveryv1.AddressTypeIPv4
	if strings.Contains(address, ":") {
		family = discoveryv1.AddressTypeIPv6
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:   of.Name + "-" + strings.ToLower(string(family)),
			Labels: map[string]string{discoveryv1.LabelServiceName: of.Name, discoveryv1.LabelManagedBy: "atoll.dev-" + p.Command},
		},
		AddressType: family,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)}}},
	}
	for _, port := range of.Spec.Ports {
		slice.Ports = append(slice.Ports, discoveryv1.EndpointPort{Name: ptr.To(port.Name), Protocol: ptr.To(port.Protocol), Port: ptr.To(port.Port)})
	}
	if _, err := p.kube.DiscoveryV1().EndpointSlices(p.Name).Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating an EndpointSlice: %w", err)
	}
	return nil
}

// Service creates a Service for the listening pod, with or without selector.
func (p *Outpost) Service(ctx context.Context, name string, selects bool) (*corev1.Service, error) {
	var selector map[string]string
	if selects {
		selector = map[string]string{labelApp: listenerName}
	}
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.ServiceSpec{
			Selector: selector, IPFamilyPolicy: ptr.To(corev1.IPFamilyPolicyPreferDualStack),
			Ports: []corev1.ServicePort{
				{Name: "tcp", Port: probe.Port, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt32(probe.Port)},
				{Name: "udp", Port: probe.Port, Protocol: corev1.ProtocolUDP, TargetPort: intstr.FromInt32(probe.Port)},
			},
		},
	}
	made, err := p.kube.CoreV1().Services(p.Name).Create(ctx, service, metav1.CreateOptions{})
	if err != nil {
		return nil, fmt.Errorf("creating a Service: %w", err)
	}
	return made, nil
}

// Run runs a plan in a new pod and returns its report.
func (p *Outpost) Run(ctx context.Context, name string, plan probe.Plan) (probe.Report, error) {
	text, err := json.Marshal(plan)
	if err != nil {
		return probe.Report{}, err
	}
	pod, err := p.run(ctx, p.pod(name, "do", string(text)), startTime+plan.Timeout.Duration, ended)
	if err != nil {
		return probe.Report{}, err
	}
	log, err := p.kube.CoreV1().Pods(p.Name).GetLogs(pod.Name, &corev1.PodLogOptions{}).DoRaw(ctx)
	if err != nil {
		return probe.Report{}, fmt.Errorf("reading the log of pod %s/%s: %w", p.Name, name, err)
	}
	report, err := probe.Decode(string(log))
	if err != nil {
		return report, fmt.Errorf("%w (image %s). Images older than this program contain no test program: set a newer image with --probe-image", err, p.Image)
	}
	return report, nil
}

// run creates a pod, and waits until wanted is true.
func (p *Outpost) run(ctx context.Context, pod *corev1.Pod, patience time.Duration, wanted func(*corev1.Pod) bool) (*corev1.Pod, error) {
	if _, err := p.kube.CoreV1().Pods(p.Name).Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		return nil, fmt.Errorf("creating pod %s: %w", pod.Name, err)
	}
	return p.await(ctx, pod.Name, patience, wanted)
}

// pod returns a pod for a probe. It has no token and meets the Pod Security Standard "restricted".
func (p *Outpost) pod(name string, args ...string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{labelApp: name}},
		Spec: corev1.PodSpec{
			RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: ptr.To(false), EnableServiceLinks: ptr.To(false),
			ActiveDeadlineSeconds: ptr.To(int64((p.Lifetime + grace) / time.Second)), TerminationGracePeriodSeconds: ptr.To[int64](1),
			NodeSelector: map[string]string{corev1.LabelOSStable: string(corev1.Linux)},
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: ptr.To(true), RunAsUser: ptr.To[int64](nobody), RunAsGroup: ptr.To[int64](nobody),
				SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{
				Name: "probe", Image: p.Image, Command: append([]string{"/atoll-agent", "probe"}, args...),
				Resources: resources(),
				SecurityContext: &corev1.SecurityContext{
					AllowPrivilegeEscalation: ptr.To(false), ReadOnlyRootFilesystem: ptr.To(true),
					Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
				},
			}},
		},
	}
}

// resources are small requests and limits, which a ResourceQuota may demand.
func resources() corev1.ResourceRequirements {
	list := func(cpu, memory string) corev1.ResourceList {
		return corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	}
	return corev1.ResourceRequirements{Requests: list("10m", "32Mi"), Limits: list("500m", "256Mi")}
}

func ready(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func ended(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

// await waits until wanted is true. It fails early if the pod has ended.
func (p *Outpost) await(ctx context.Context, name string, patience time.Duration, wanted func(*corev1.Pod) bool) (*corev1.Pod, error) {
	var is *corev1.Pod
	var hopeless error
	err := install.Wait(ctx, patience, func(ctx context.Context) error {
		pod, err := p.kube.CoreV1().Pods(p.Name).Get(ctx, name, metav1.GetOptions{})
		switch {
		case apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err):
			hopeless = fmt.Errorf("reading pod %s/%s: %w", p.Name, name, err)
		case err != nil:
			return fmt.Errorf("reading pod %s/%s: %w", p.Name, name, err)
		case wanted(pod):
			is = pod
		case ended(pod):
			hopeless = fmt.Errorf("pod %s/%s has ended: %s", p.Name, name, state(pod))
		default:
			return fmt.Errorf("pod %s/%s with image %s does not run: %s", p.Name, name, p.Image, state(pod))
		}
		return nil
	})
	return is, cmp.Or(err, hopeless)
}

// state explains why a pod is not ready.
func state(pod *corev1.Pod) string {
	for _, c := range pod.Status.ContainerStatuses {
		switch {
		case c.State.Waiting != nil:
			return strings.TrimSpace(c.State.Waiting.Reason + " " + c.State.Waiting.Message)
		case c.State.Terminated != nil:
			return strings.TrimSpace(fmt.Sprintf("exit status %d %s %s", c.State.Terminated.ExitCode, c.State.Terminated.Reason, c.State.Terminated.Message))
		}
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse {
			return c.Message
		}
	}
	return "the pod is in phase " + string(pod.Status.Phase) + " " + pod.Status.Message
}
