package podspec

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

// Place is what a running Pod knows about where it runs.
type Place struct {
	PodIPs, HostIPs []string
	// Allocatable is the node's, which stands in for a limit that is not set.
	Allocatable corev1.ResourceList
}

// Field returns the value of a downward API field of the Pod.
func Field(pod *corev1.Pod, place Place, path string) (string, error) {
	if key, ok := subscript(path, "metadata.labels"); ok {
		return pod.Labels[key], nil
	}
	if key, ok := subscript(path, "metadata.annotations"); ok {
		return pod.Annotations[key], nil
	}
	switch path {
	case "metadata.name":
		return pod.Name, nil
	case "metadata.namespace":
		return pod.Namespace, nil
	case "metadata.uid":
		return string(pod.UID), nil
	case "metadata.labels":
		return formatMap(pod.Labels), nil
	case "metadata.annotations":
		return formatMap(pod.Annotations), nil
	case "spec.nodeName":
		return pod.Spec.NodeName, nil
	case "spec.serviceAccountName":
		return pod.Spec.ServiceAccountName, nil
	case "status.podIP":
		return first(place.PodIPs), nil
	case "status.podIPs":
		return strings.Join(place.PodIPs, ","), nil
	case "status.hostIP":
		return first(place.HostIPs), nil
	case "status.hostIPs":
		return strings.Join(place.HostIPs, ","), nil
	}
	return "", fmt.Errorf("unsupported field %q", path)
}

func first(values []string) string {
	if len(values) == 0 {
		return ""
	}
	return values[0]
}

// subscript takes path['key'] apart.
func subscript(path, prefix string) (key string, ok bool) {
	key, ok = strings.CutPrefix(path, prefix+"['")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(key, "']")
}

// formatMap writes a line key="value" for each entry, in order.
func formatMap(m map[string]string) string {
	var b strings.Builder
	for _, k := range slices.Sorted(maps.Keys(m)) {
		fmt.Fprintf(&b, "%s=%q\n", k, m[k])
	}
	return b.String()
}

// Resource returns the value of a container's resource, such as limits.cpu, in
// units of the reference's divisor, rounded up. ContainerName in the reference
// chooses another than the given container.
func Resource(pod *corev1.Pod, container string, place Place, ref *corev1.ResourceFieldSelector) (string, error) {
	if ref.ContainerName != "" {
		container = ref.ContainerName
	}
	all := slices.Concat(pod.Spec.Containers, pod.Spec.InitContainers)
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == container })
	if i < 0 {
		return "", fmt.Errorf("resource %s of unknown container %q", ref.Resource, container)
	}
	kind, name, _ := strings.Cut(ref.Resource, ".")
	var value resource.Quantity
	switch kind {
	case "limits":
		limit, ok := all[i].Resources.Limits[corev1.ResourceName(name)]
		if !ok {
			limit = place.Allocatable[corev1.ResourceName(name)]
		}
		value = limit
	case "requests":
		value = all[i].Resources.Requests[corev1.ResourceName(name)]
	default:
		return "", fmt.Errorf("unsupported resource %q", ref.Resource)
	}
	divisor := ref.Divisor
	if divisor.IsZero() {
		divisor = resource.MustParse("1")
	}
	if name == string(corev1.ResourceCPU) {
		return divideUp(value.MilliValue(), divisor.MilliValue()), nil
	}
	return divideUp(value.Value(), divisor.Value()), nil
}

func divideUp(value, divisor int64) string {
	return strconv.FormatInt(int64(math.Ceil(float64(value)/float64(max(divisor, 1)))), 10)
}
