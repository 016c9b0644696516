// Package gather collects the objects, logs and Events for `atoll gather`. It reads no Secret for that, and redacts
// everything that looks like one.
package gather

import (
	"context"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// maxObjects limits the objects of one kind.
	maxObjects = 5000
	// maxLines limits the lines of one container's log, counted from its end.
	maxLines = 20_000
)

// kind selects the objects of one kind.
type kind struct {
	group, version, kind, namespace string
	labels                          client.MatchingLabels
	// keep selects objects; nil means all.
	keep func(*unstructured.Unstructured) bool
}

// named selects objects by name.
func named(these ...string) func(*unstructured.Unstructured) bool {
	return func(o *unstructured.Unstructured) bool { return slices.Contains(these, o.GetName()) }
}

// ours selects objects with a name of Atoll.
func ours(o *unstructured.Unstructured) bool { return strings.HasPrefix(o.GetName(), "atoll") }

// kinds returns the kinds to collect. Secrets must not be among them.
func kinds() []kind {
	managed := client.MatchingLabels{names.LabelManagedBy: names.AgentManager}
	slicesOf := client.MatchingLabels{"endpointslice.kubernetes.io/managed-by": names.AgentManager}
	system, dns := names.SystemNamespace, metav1.NamespaceSystem
	return []kind{
		{"", "v1", "Namespace", "", nil, nil},
		{"", "v1", "Node", "", nil, nil},
		{"networking.k8s.io", "v1", "ServiceCIDR", "", nil, nil},
		{"about.k8s.io", "v1beta1", "ClusterProperty", "", nil, nil},
		{"multicluster.x-k8s.io", "v1beta1", "ServiceExport", "", nil, nil},
		{"multicluster.x-k8s.io", "v1beta1", "ServiceImport", "", nil, nil},
		{"traffic.atoll.dev", "v1alpha1", "TrafficPolicy", "", nil, nil},
		{"", "v1", "Service", "", managed, nil},
		{"discovery.k8s.io", "v1", "EndpointSlice", "", slicesOf, nil},
		{"apps", "v1", "Deployment", system, nil, nil},
		{"apps", "v1", "ReplicaSet", system, nil, nil},
		{"", "v1", "Pod", system, nil, nil},
		{"", "v1", "Service", system, nil, nil},
		{"discovery.k8s.io", "v1", "EndpointSlice", system, nil, nil},
		{"", "v1", "ConfigMap", system, nil, nil},
		{"", "v1", "ServiceAccount", system, nil, nil},
		{"coordination.k8s.io", "v1", "Lease", system, nil, nil},
		{"networking.k8s.io", "v1", "NetworkPolicy", system, nil, nil},
		{"policy", "v1", "PodDisruptionBudget", system, nil, nil},
		{"rbac.authorization.k8s.io", "v1", "Role", system, nil, nil},
		{"rbac.authorization.k8s.io", "v1", "RoleBinding", system, nil, nil},
		{"rbac.authorization.k8s.io", "v1", "ClusterRole", "", nil, ours},
		{"rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "", nil, ours},
		{"apiextensions.k8s.io", "v1", "CustomResourceDefinition", "", nil, definition},
		{"", "v1", "ConfigMap", dns, nil, named("coredns", "coredns-custom", "kube-dns", "node-local-dns", "rke2-coredns-rke2-coredns")},
		{"", "v1", "Service", dns, nil, named("kube-dns", "coredns")},
		{"", "v1", "Pod", dns, client.MatchingLabels{"k8s-app": "kube-dns"}, nil},
		{"apps", "v1", "DaemonSet", dns, nil, named("kube-proxy", "node-local-dns")},
		{"events.k8s.io", "v1", "Event", "", nil, event},
	}
}

func definition(o *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(o.Object, "spec", "group")
	return slices.Contains([]string{"multicluster.x-k8s.io", "about.k8s.io", "traffic.atoll.dev", "broker.atoll.dev", "networking.karmada.io"}, group)
}

// event selects Events in Atoll's namespace, from Atoll, or about exports and imports.
func event(o *unstructured.Unstructured) bool {
	by, _, _ := unstructured.NestedString(o.Object, "reportingController")
	about, _, _ := unstructured.NestedString(o.Object, "regarding", "kind")
	return o.GetNamespace() == names.SystemNamespace || strings.Contains(by, "atoll") || slices.Contains([]string{"ServiceExport", "ServiceImport", "TrafficPolicy"}, about)
}

// Collect adds a cluster's objects, its logs and its survey, unless it is nil, to a folder of an archive. The archive lists
// what could not be read.
func Collect(ctx context.Context, folder string, config *rest.Config, found *survey.Survey, to *Archive) {
	target, err := install.NewTarget(config, nil)
	if err != nil {
		to.Miss("%s: %v", folder, err)
		return
	}
	for _, k := range kinds() {
		objects(ctx, folder, target, k, to)
	}
	logs(ctx, folder, config, to)
	if found == nil {
		return
	}
	put(to, folder+"/status.yaml", report.NewStatus(found))
	if len(found.Cluster.Foreign) > 0 {
		put(to, folder+"/foreign-endpointslice.yaml", found.Cluster.Foreign)
	}
	if b := found.Broker; b != nil {
		for name, list := range map[string]any{
			"membercluster": b.Members, "lease": b.Heartbeats, "exportedservice": b.Exports, "servicepolicy": b.Policies, "endpointslice": b.Slices,
		} {
			put(to, folder+"/broker/"+name+".yaml", list)
		}
	} else {
		to.Miss("%s: %v", folder, found.BrokerErr)
	}
}

// put adds a value as YAML.
func put(to *Archive, path string, value any) {
	text, err := yaml.Marshal(value)
	if err != nil {
		to.Miss("%s: %v", path, err)
		return
	}
	to.Add(path, text)
}

// objects adds the objects of one kind.
func objects(ctx context.Context, folder string, from client.Reader, k kind, to *Archive) {
	file := strings.ToLower(k.kind)
	if k.namespace != "" {
		file = k.namespace + "/" + file
	} else if k.labels != nil {
		file = "imported/" + file
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: k.group, Version: k.version, Kind: k.kind + "List"})
	opts := []client.ListOption{client.InNamespace(k.namespace)}
	if k.labels != nil {
		opts = append(opts, k.labels)
	}
	if err := from.List(ctx, list, opts...); err != nil {
		if !meta.IsNoMatchError(err) && !apierrors.IsNotFound(err) {
			to.Miss("%s/%s: %v", folder, file, err)
		}
		return
	}
	var all []any
	for i := range list.Items {
		if o := &list.Items[i]; k.keep == nil || k.keep(o) {
			strip(o)
			all = append(all, o.Object)
		}
	}
	if len(all) > maxObjects {
		to.Miss("%s/%s: only the first %d of %d objects are in the file", folder, file, maxObjects, len(all))
		all = all[:maxObjects]
	}
	if len(all) > 0 {
		put(to, folder+"/"+file+".yaml", map[string]any{"apiVersion": "v1", "kind": "List", "items": all})
	}
}

// logs adds the logs of Atoll's containers, including those before a restart.
func logs(ctx context.Context, folder string, config *rest.Config, to *Archive) {
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		to.Miss("%s: %v", folder, err)
		return
	}
	pods, err := kube.CoreV1().Pods(names.SystemNamespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		to.Miss("%s: listing pods to collect their logs: %v", folder, err)
		return
	}
	for _, pod := range pods.Items {
		for _, s := range pod.Status.ContainerStatuses {
			for _, previous := range []bool{false, true} {
				if previous && s.RestartCount == 0 {
					continue
				}
				name := pod.Name + "-" + s.Name
				if previous {
					name += "-previous"
				}
				text, err := log(ctx, kube, &pod, s.Name, previous)
				if err != nil {
					to.Miss("%s: the log of %s: %v", folder, name, err)
					continue
				}
				to.Add(folder+"/logs/"+name+".log", text)
			}
		}
	}
}

func log(ctx context.Context, kube kubernetes.Interface, pod *corev1.Pod, container string, previous bool) ([]byte, error) {
	lines := int64(maxLines)
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return kube.CoreV1().Pods(pod.Namespace).GetLogs(pod.Name, &corev1.PodLogOptions{
		Container: container, Previous: previous, TailLines: &lines, Timestamps: true,
	}).DoRaw(ctx)
}
