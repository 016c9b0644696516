package render

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// deployments returns a member's Deployments by name.
func deployments(t *testing.T, m Member) map[string]*appsv1.Deployment {
	t.Helper()
	_, objects := m.Manifests()
	return deploymentsOf(t, objects)
}

func deploymentsOf(t *testing.T, objects []*unstructured.Unstructured) map[string]*appsv1.Deployment {
	t.Helper()
	all := map[string]*appsv1.Deployment{}
	for _, o := range objects {
		if o.GetKind() == "Deployment" {
			all[o.GetName()] = converted(t, o, &appsv1.Deployment{})
		}
	}
	return all
}

// converted converts an object to its type.
func converted[T any](t *testing.T, o *unstructured.Unstructured, into *T) *T {
	t.Helper()
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, into); err != nil {
		t.Fatal(err)
	}
	return into
}

// everything returns all objects with workloads: of a member, and of a hub with load balancers.
func everything() []*unstructured.Unstructured {
	_, member := Member{}.Manifests()
	_, hub := Hub{Clusterset: "set", HAProxyImage: "haproxy:2.6"}.Manifests()
	return append(member, hub...)
}

// unrestricted returns the privileges of a pod that it should not have.
func unrestricted(pod corev1.PodSpec) (problems []string) {
	own := ptr.Deref(pod.SecurityContext, corev1.PodSecurityContext{})
	if !ptr.Deref(own.RunAsNonRoot, false) || ptr.Deref(own.RunAsUser, 0) == 0 || ptr.Deref(own.RunAsGroup, 0) == 0 {
		problems = append(problems, "may run as root")
	}
	if own.SeccompProfile == nil || own.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		problems = append(problems, "has all system calls")
	}
	if pod.HostNetwork || pod.HostPID || pod.HostIPC {
		problems = append(problems, "sees its node")
	}
	for _, v := range pod.Volumes {
		if v.ConfigMap == nil && (v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil) {
			problems = append(problems, "mounts "+v.Name+", which is neither a ConfigMap nor a small directory of its own")
		}
	}
	for _, container := range append(pod.InitContainers, pod.Containers...) {
		restricted := ptr.Deref(container.SecurityContext, corev1.SecurityContext{})
		capabilities := ptr.Deref(restricted.Capabilities, corev1.Capabilities{})
		switch {
		case ptr.Deref(restricted.AllowPrivilegeEscalation, true) || ptr.Deref(restricted.Privileged, false) ||
			!slices.Equal(capabilities.Drop, []corev1.Capability{"ALL"}) || len(capabilities.Add) > 0:
			problems = append(problems, container.Name+" may have privileges")
		case restricted.RunAsNonRoot != nil || restricted.RunAsUser != nil || restricted.SeccompProfile != nil:
			problems = append(problems, container.Name+" overrides what is of the pod")
		case !ptr.Deref(restricted.ReadOnlyRootFilesystem, false):
			problems = append(problems, container.Name+" may write to its file system")
		case container.Resources.Requests.Memory().IsZero() || container.Resources.Limits.Memory().IsZero() || container.Resources.Requests.Cpu().IsZero():
			problems = append(problems, container.Name+" asks for no memory, or for any amount")
		}
	}
	return problems
}

func TestWhatRunsHasNoRightsOnItsNode(t *testing.T) {
	all := deploymentsOf(t, everything())
	if len(all) != 3 {
		t.Fatalf("there are %d Deployments", len(all))
	}
	for name, d := range all {
		pod := d.Spec.Template.Spec
		for _, problem := range unrestricted(pod) {
			t.Errorf("%s: %s", name, problem)
		}
		switch container := pod.Containers[0]; {
		case container.LivenessProbe == nil || container.ReadinessProbe == nil:
			t.Errorf("%s lacks a liveness or readiness probe", name)
		case *d.Spec.Replicas != 2 || pod.Affinity.PodAntiAffinity == nil || (pod.PriorityClassName == "") != (name == HubName):
			t.Errorf("%s does not survive the loss of a node", name)
		}
	}
	for _, o := range everything() {
		switch o.GetKind() {
		case "Namespace":
			if o.GetLabels()["pod-security.kubernetes.io/enforce"] != "restricted" {
				t.Errorf("in %s anything may run", install.Name(o))
			}
		case "Pod", "DaemonSet", "StatefulSet", "Job", "CronJob", "ReplicaSet":
			t.Errorf("%s is not looked at by this test", install.Name(o))
		}
	}
}

// Every port name exists in the container, and every selector selects the pods of exactly one
// Deployment.
func TestNamesFit(t *testing.T) {
	objects := everything()
	all := deploymentsOf(t, objects)
	found := map[string]int{}
	for _, o := range objects {
		var selector map[string]string
		var ports []string
		switch o.GetKind() {
		case "Service":
			selector, _, _ = unstructured.NestedStringMap(o.Object, "spec", "selector")
			ports = collect(o, "targetPort", "spec", "ports")
		case "PodDisruptionBudget":
			selector, _, _ = unstructured.NestedStringMap(o.Object, "spec", "selector", "matchLabels")
		case "NetworkPolicy":
			selector, _, _ = unstructured.NestedStringMap(o.Object, "spec", "podSelector", "matchLabels")
			rules, _, _ := unstructured.NestedSlice(o.Object, "spec", "ingress")
			ports = collect(&unstructured.Unstructured{Object: rules[0].(map[string]any)}, "port", "ports")
			if len(rules) != 1 || len(ports) == 0 {
				t.Errorf("%s allows all ingress", install.Name(o))
			}
		default:
			continue
		}
		d := all[o.GetName()]
		if d == nil || d.Namespace != o.GetNamespace() {
			t.Errorf("%s is of no Deployment", install.Name(o))
			continue
		}
		found[o.GetKind()]++
		for key, value := range selector {
			if d.Spec.Template.Labels[key] != value || len(selector) == 0 {
				t.Errorf("%s selects %v, the pods have %v", install.Name(o), selector, d.Spec.Template.Labels)
			}
		}
		for _, port := range ports {
			if !slices.ContainsFunc(d.Spec.Template.Spec.Containers[0].Ports, func(p corev1.ContainerPort) bool { return p.Name == port }) {
				t.Errorf("%s uses port %s, which does not exist", install.Name(o), port)
			}
		}
	}
	for _, kind := range []string{"Service", "PodDisruptionBudget", "NetworkPolicy"} {
		if found[kind] != len(all) {
			t.Errorf("%d objects of kind %s for %d Deployments", found[kind], kind, len(all))
		}
	}
}

// A hub with load balancers accepts their clients at any port and needs no privileges.
func TestHubWithLoadBalancers(t *testing.T) {
	for _, args := range [][]string{{"--lb-addresses=192.0.2.1"}, {"--verbose", "--lb-addresses", "192.0.2.1"}} {
		_, objects := Hub{Clusterset: "set", Args: args}.Manifests()
		pod := deploymentsOf(t, objects)[HubName].Spec.Template.Spec
		if problems := unrestricted(pod); len(problems) > 0 || len(pod.SecurityContext.Sysctls) != 1 {
			t.Errorf("%v: %v, %v", args, problems, pod.SecurityContext.Sysctls)
		}
		// The hub's own ports listen on the pod's address only, so that load balancers can use
		// the same ports on their addresses.
		hub := pod.Containers[0]
		for i, flag := range []string{"--metrics-bind-address", "--health-probe-bind-address"} {
			if want := fmt.Sprintf("%s=[$(POD_IP)]:%d", flag, hub.Ports[i].ContainerPort); !slices.Contains(hub.Args, want) || hub.Env[0].Name != "POD_IP" {
				t.Errorf("%v: no %s in %v", args, want, hub.Args)
			}
		}
		for _, o := range objects {
			if o.GetKind() != "NetworkPolicy" {
				continue
			}
			rules := converted(t, o, &networkingv1.NetworkPolicy{}).Spec.Ingress
			if !slices.ContainsFunc(rules, func(r networkingv1.NetworkPolicyIngressRule) bool { return len(r.Ports) == 0 && len(r.From) == 0 }) {
				t.Errorf("%v: clients are kept out by %+v", args, rules)
			}
		}
	}
}

// Load balancers on nodes' addresses need the host network, and perhaps low ports. Hub and
// HAProxy get only the privileges that the flags request.
func TestHubOnNodes(t *testing.T) {
	for _, tt := range []struct {
		low  bool
		want []string
	}{
		{false, []string{"sees its node"}},
		{true, []string{"may run as root", "sees its node", "hub may have privileges", "haproxy may have privileges"}},
	} {
		hub := Hub{
			Clusterset: "set", HostNetwork: true, LowPorts: tt.low, HAProxyImage: "haproxy:2.6", NodeSelector: map[string]string{"edge": "true"},
			Args: []string{"--lb-addresses=haproxy=192.0.2.1"},
		}
		_, objects := hub.Manifests()
		d := deploymentsOf(t, objects)[HubName]
		pod := d.Spec.Template.Spec
		if got := unrestricted(pod); !slices.Equal(got, tt.want) {
			t.Errorf("low ports %v: %q, want %q", tt.low, got, tt.want)
		}
		for _, c := range pod.Containers {
			if add := c.SecurityContext.Capabilities.Add; tt.low && !slices.Equal(add, []corev1.Capability{"NET_BIND_SERVICE"}) || !slices.Equal(c.SecurityContext.Capabilities.Drop, []corev1.Capability{"ALL"}) {
				t.Errorf("%s has %v", c.Name, add)
			}
		}
		if len(pod.SecurityContext.Sysctls) > 0 || pod.DNSPolicy != corev1.DNSClusterFirstWithHostNet || pod.NodeSelector["edge"] != "true" {
			t.Errorf("the pod is %+v", pod)
		}
		if rolling := d.Spec.Strategy.RollingUpdate; rolling.MaxSurge.IntValue() != 0 || rolling.MaxUnavailable.IntValue() != 1 {
			t.Errorf("a rolling update would need two pods on a node: %+v", rolling)
		}
		for _, o := range objects {
			if o.GetKind() == "Namespace" && o.GetLabels()["pod-security.kubernetes.io/enforce"] != "privileged" {
				t.Errorf("%s does not let the pods in", install.Name(o))
			}
		}
	}
	for _, wrong := range []Hub{
		{LowPorts: true}, {NoWorkloads: true, HAProxyImage: "x"}, {NoWorkloads: true, HostNetwork: true}, {NoWorkloads: true, NodeSelector: map[string]string{"a": "b"}},
	} {
		if wrong.Validate() == nil {
			t.Errorf("%+v is let through", wrong)
		}
	}
}

// Hub and HAProxy share a folder, and HAProxy's initial configuration exists.
func TestHubBesideHAProxy(t *testing.T) {
	_, objects := Hub{Clusterset: "set", HAProxyImage: "registry.test/haproxy:2.6"}.Manifests()
	pod := deploymentsOf(t, objects)[HubName].Spec.Template.Spec
	hub, beside := pod.Containers[0], pod.Containers[1]
	if beside.Image != "registry.test/haproxy:2.6" || !slices.Equal(beside.Command, []string{"haproxy"}) {
		t.Errorf("HAProxy is %s %v", beside.Image, beside.Command)
	}
	if arg := "--lb-option=haproxy.dir=/run/atoll"; !slices.Contains(hub.Args, arg) {
		t.Errorf("the hub has no %s, but %v", arg, hub.Args)
	}
	for _, c := range pod.Containers {
		if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "run" && m.MountPath == "/run/atoll" && !m.ReadOnly }) {
			t.Errorf("%s mounts %v", c.Name, c.VolumeMounts)
		}
	}
	for _, o := range objects {
		if o.GetKind() != "ConfigMap" {
			continue
		}
		files := converted(t, o, &corev1.ConfigMap{}).Data
		for _, m := range beside.VolumeMounts {
			i := slices.IndexFunc(pod.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
			if source := pod.Volumes[i].ConfigMap; source == nil || source.Name != o.GetName() {
				continue
			}
			for name := range files {
				if slices.Contains(beside.Args, m.MountPath+"/"+name) {
					return
				}
			}
		}
	}
	t.Errorf("HAProxy's arguments %v name a file that does not exist", beside.Args)
}

// collect returns a field of each element of a list.
func collect(o *unstructured.Unstructured, field string, path ...string) []string {
	list, _, _ := unstructured.NestedSlice(o.Object, path...)
	var all []string
	for _, element := range list {
		name, _ := element.(map[string]any)[field].(string)
		all = append(all, name)
	}
	return all
}

func TestWhatAPersonChooses(t *testing.T) {
	_, with := Member{}.Manifests()
	_, without := Member{NoWorkloads: true}.Manifests()
	if len(without) == 0 || len(without) >= len(with) {
		t.Errorf("%d objects without workloads, %d with workloads", len(without), len(with))
	}
	for _, o := range without {
		if kind := o.GetKind(); kind == "Deployment" || kind == "PriorityClass" || kind == "Service" {
			t.Errorf("%s is rendered without workloads", install.Name(o))
		}
	}
	all := deployments(t, Member{Registry: "registry.test/mirror", Tag: "v9", Replicas: 3, AgentArgs: []string{"--region=eu"}})
	for name, d := range all {
		if image := d.Spec.Template.Spec.Containers[0].Image; image != "registry.test/mirror/"+name+":v9" {
			t.Errorf("%s is of image %s", name, image)
		}
		if *d.Spec.Replicas != 3 {
			t.Errorf("%s has %d replicas", name, *d.Spec.Replicas)
		}
	}
	if args := all[AgentName].Spec.Template.Spec.Containers[0].Args; !slices.Equal(args, []string{"--region=eu"}) {
		t.Errorf("the agent's arguments are %v", args)
	}
	if image := deployments(t, Member{})[AgentName].Spec.Template.Spec.Containers[0].Image; !strings.HasPrefix(image, DefaultRegistry+"/"+AgentName+":") {
		t.Errorf("the usual image is %s", image)
	}
}

// An object comes after its dependencies: namespace, priority class, configuration.
func TestOrder(t *testing.T) {
	_, objects := Member{}.Manifests()
	first := map[string]int{}
	for i, o := range objects {
		if _, ok := first[o.GetKind()]; !ok {
			first[o.GetKind()] = i
		}
		if o.GetNamespace() != "" && first["Namespace"] >= i {
			t.Errorf("%s comes before the namespace", install.Name(o))
		}
	}
	if first["PriorityClass"] > first["Deployment"] {
		t.Error("the Deployments come before their class")
	}
}

// The namespaces without exports by default are the same as those without imports by default.
func TestSystemNamespaces(t *testing.T) {
	_, objects := Member{}.Manifests()
	for _, o := range objects {
		if o.GetName() != "serviceexports-of-system-namespaces.atoll.dev" {
			continue
		}
		expressions, _, _ := unstructured.NestedSlice(o.Object, "spec", "matchResources", "namespaceSelector", "matchExpressions")
		values, _, _ := unstructured.NestedStringSlice(expressions[0].(map[string]any), "values")
		if !slices.Equal(values, names.SystemNamespaces) {
			t.Errorf("exports are refused in %v, imports in %v", values, names.SystemNamespaces)
		}
		return
	}
	t.Error("there is no such binding")
}
