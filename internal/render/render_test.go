package render

import (
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/names"
)

// deployments are those among a member's objects, by name.
func deployments(t *testing.T, m Member) map[string]*appsv1.Deployment {
	t.Helper()
	_, objects := m.Manifests()
	all := map[string]*appsv1.Deployment{}
	for _, o := range objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		d := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, d); err != nil {
			t.Fatal(err)
		}
		all[d.Name] = d
	}
	return all
}

func TestWhatRunsHasNoRightsOnItsNode(t *testing.T) {
	all := deployments(t, Member{})
	if len(all) != 2 {
		t.Fatalf("there are %d Deployments", len(all))
	}
	for name, d := range all {
		pod := d.Spec.Template.Spec
		own, container := pod.SecurityContext, pod.Containers[0]
		restricted := container.SecurityContext
		switch {
		case !*own.RunAsNonRoot || *own.RunAsUser == 0 || *own.RunAsGroup == 0:
			t.Errorf("%s may run as root", name)
		case own.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault:
			t.Errorf("%s has all system calls", name)
		case *restricted.AllowPrivilegeEscalation || ptr.Deref(restricted.Privileged, false) || !slices.Equal(restricted.Capabilities.Drop, []corev1.Capability{"ALL"}) || len(restricted.Capabilities.Add) > 0:
			t.Errorf("%s may have privileges: %+v", name, restricted)
		case !*restricted.ReadOnlyRootFilesystem:
			t.Errorf("%s may write to its file system", name)
		case pod.HostNetwork || pod.HostPID || pod.HostIPC:
			t.Errorf("%s sees its node", name)
		case container.LivenessProbe == nil || container.ReadinessProbe == nil:
			t.Errorf("nobody asks %s how it is", name)
		case container.Resources.Requests.Memory().IsZero() || container.Resources.Limits.Memory().IsZero() || container.Resources.Requests.Cpu().IsZero():
			t.Errorf("%s asks for no memory, or for any amount", name)
		case *d.Spec.Replicas != 2 || pod.Affinity.PodAntiAffinity == nil || pod.PriorityClassName == "":
			t.Errorf("%s does not survive the loss of a node", name)
		}
		for _, v := range pod.Volumes {
			if v.ConfigMap == nil {
				t.Errorf("%s mounts %s, which is no ConfigMap", name, v.Name)
			}
		}
	}
}

// Every port that something names is one of the container's, and what selects pods selects
// those of one Deployment.
func TestNamesFit(t *testing.T) {
	all := deployments(t, Member{})
	_, objects := Member{}.Manifests()
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
		default:
			continue
		}
		d := all[o.GetName()]
		if d == nil {
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
				t.Errorf("%s names port %s, which there is not", install.Name(o), port)
			}
		}
	}
	for _, kind := range []string{"Service", "PodDisruptionBudget", "NetworkPolicy"} {
		if found[kind] != len(all) {
			t.Errorf("%d objects of kind %s for %d Deployments", found[kind], kind, len(all))
		}
	}
}

// collect returns one field of each of a list's elements.
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
	_, everything := Member{}.Manifests()
	_, without := Member{NoWorkloads: true}.Manifests()
	if len(without) == 0 || len(without) >= len(everything) {
		t.Errorf("%d objects without what runs, %d with it", len(without), len(everything))
	}
	for _, o := range without {
		if kind := o.GetKind(); kind == "Deployment" || kind == "PriorityClass" || kind == "Service" {
			t.Errorf("%s is there without what runs", install.Name(o))
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

// What needs something comes after it: a namespace, a class, a configuration.
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

// The namespaces from which nobody exports unless it is allowed are those into which nothing is
// imported.
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
