package clusterdns

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// dnsServices are the Services of cluster DNS in different distributions.
var dnsServices = []client.ObjectKey{
	system("kube-dns"), system("coredns"), system("rke2-coredns-rke2-coredns"), {Namespace: "openshift-dns", Name: "dns-default"},
}

// workload is a Deployment or DaemonSet.
type workload struct {
	name client.ObjectKey
	pods corev1.PodTemplateSpec
}

// workloads lists the Deployments and DaemonSets of a namespace that have pods.
func workloads(ctx context.Context, c client.Reader, namespace string) (all []workload, err error) {
	var deployments appsv1.DeploymentList
	var daemons appsv1.DaemonSetList
	for _, list := range []client.ObjectList{&deployments, &daemons} {
		if err := c.List(ctx, list, client.InNamespace(namespace)); err != nil {
			return nil, fmt.Errorf("listing the workloads of namespace %s, to find the Corefile: %w", namespace, err)
		}
	}
	for _, d := range deployments.Items {
		if hasPods(&d) {
			all = append(all, workload{client.ObjectKeyFromObject(&d), d.Spec.Template})
		}
	}
	for _, d := range daemons.Items {
		all = append(all, workload{client.ObjectKeyFromObject(&d), d.Spec.Template})
	}
	return all, nil
}

// place is where a DNS server's Corefile is.
type place struct {
	workload  client.ObjectKey
	configMap client.ObjectKey
	key       string
	// path is the Corefile's in the pods.
	path   string
	mounts []dnswiring.Mount
	ports  []string
	// defaultPort is the value of the argument -dns.port.
	defaultPort string
	image       string
}

// Unavailable returns the kind and name of the workload behind cluster DNS's Service if none of its pods is available, or
// "".
func Unavailable(ctx context.Context, c client.Reader) (string, error) {
	for _, key := range dnsServices {
		service, err := get(ctx, c, key, &corev1.Service{})
		if err != nil {
			return "", err
		}
		if service == nil || len(service.Spec.Selector) == 0 {
			continue
		}
		var deployments appsv1.DeploymentList
		var daemons appsv1.DaemonSetList
		for _, list := range []client.ObjectList{&deployments, &daemons} {
			if err := c.List(ctx, list, client.InNamespace(key.Namespace)); err != nil {
				return "", fmt.Errorf("listing the workloads of namespace %s, to find cluster DNS: %w", key.Namespace, err)
			}
		}
		selects := labels.SelectorFromSet(service.Spec.Selector)
		down, available := "", int32(0)
		for _, d := range deployments.Items {
			if selects.Matches(labels.Set(d.Spec.Template.Labels)) {
				down, available = "Deployment "+key.Namespace+"/"+d.Name, available+d.Status.AvailableReplicas
			}
		}
		for _, d := range daemons.Items {
			if selects.Matches(labels.Set(d.Spec.Template.Labels)) {
				down, available = "DaemonSet "+key.Namespace+"/"+d.Name, available+d.Status.NumberAvailable
			}
		}
		switch {
		case available > 0:
			return "", nil
		case down != "":
			return down, nil
		}
	}
	return "", nil
}

// placeOfService finds the Corefile of the pods behind cluster DNS's Service, or returns nil. Pods without a Corefile
// are of another DNS server.
func placeOfService(ctx context.Context, c client.Reader) (*place, error) {
	for _, key := range dnsServices {
		service, err := get(ctx, c, key, &corev1.Service{})
		if err != nil {
			return nil, err
		}
		if service == nil || len(service.Spec.Selector) == 0 {
			continue
		}
		all, err := workloads(ctx, c, key.Namespace)
		if err != nil {
			return nil, err
		}
		var found *place
		for _, w := range all {
			if !labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(w.pods.Labels)) {
				continue
			}
			p := placeOf(w, "Corefile")
			switch {
			case p == nil:
			case found != nil && (found.configMap != p.configMap || found.key != p.key):
				return nil, &ambiguous{fmt.Sprintf("the Service %s has pods with the Corefiles of configmap %s and of configmap %s: run this command for each of them with --configmap", key, found.configMap, p.configMap)}
			default:
				p.ports = targetPorts(service, w.pods.Spec)
				found = p
			}
		}
		if found != nil {
			return found, nil
		}
	}
	return nil, nil
}

// ambiguous means that the pods behind a Service have different Corefiles.
type ambiguous struct{ text string }

func (e *ambiguous) Error() string { return e.text }

// placeOf returns the place of a workload's Corefile, or nil. The Corefile is the file of the argument -conf, or has the
// given name.
func placeOf(w workload, name string) *place {
	for _, container := range w.pods.Spec.Containers {
		words := append(slices.Clone(container.Command), container.Args...)
		conf := flagOf(words, "conf")
		var p *place
		var mounts []dnswiring.Mount
		for _, m := range container.VolumeMounts {
			for _, f := range configMapsOf(w.pods.Spec, m.Name) {
				mounted, ok := f.mountedAt(m)
				if !ok {
					continue
				}
				mounts = append(mounts, mounted)
				key, at := findCorefile(mounted, conf, name)
				if key != "" && (p == nil || at == conf) {
					p = &place{workload: w.name, configMap: client.ObjectKey{Namespace: w.name.Namespace, Name: f.name}, key: key, path: at, defaultPort: flagOf(words, "dns.port", "p"), image: container.Image}
				}
			}
		}
		if p != nil {
			p.mounts = mounts
			return p
		}
	}
	return nil
}

// flagOf returns the value of the last flag with one of the names in a command line, or "".
func flagOf(words []string, flags ...string) (value string) {
	for i, word := range words {
		flag, text, found := strings.Cut(strings.TrimLeft(word, "-"), "=")
		switch {
		case !strings.HasPrefix(word, "-") || !slices.Contains(flags, flag):
		case found:
			value = text
		case i+1 < len(words):
			value = words[i+1]
		}
	}
	return value
}

// configMapVolume is a ConfigMap in a volume. Without items, all keys are files.
type configMapVolume struct {
	name  string
	items []corev1.KeyToPath
}

func configMapsOf(spec corev1.PodSpec, volume string) (all []configMapVolume) {
	for _, v := range spec.Volumes {
		if v.Name != volume {
			continue
		}
		if v.ConfigMap != nil {
			all = append(all, configMapVolume{v.ConfigMap.Name, v.ConfigMap.Items})
		}
		if v.Projected != nil {
			for _, source := range v.Projected.Sources {
				if source.ConfigMap != nil {
					all = append(all, configMapVolume{source.ConfigMap.Name, source.ConfigMap.Items})
				}
			}
		}
	}
	return all
}

// keys returns the mounted keys by their paths, or nil if all keys are mounted.
func (v configMapVolume) keys() map[string]string {
	if len(v.items) == 0 {
		return nil
	}
	keys := map[string]string{}
	for _, item := range v.items {
		keys[item.Path] = item.Key
	}
	return keys
}

// mountedAt returns the files of the volume in a container. A subPath is a file or a directory of the volume; the value of a
// subPathExpr is unknown.
func (v configMapVolume) mountedAt(m corev1.VolumeMount) (dnswiring.Mount, bool) {
	at, keys := path.Clean(m.MountPath), v.keys()
	if m.SubPath == "" {
		return dnswiring.Mount{Dir: at, Name: v.name, Items: keys}, m.SubPathExpr == ""
	}
	sub := path.Clean(m.SubPath)
	if keys == nil {
		keys = map[string]string{sub: sub}
	}
	if key, found := keys[sub]; found {
		return dnswiring.Mount{Dir: path.Dir(at), Name: v.name, Items: map[string]string{path.Base(at): key}, SubPath: true}, true
	}
	below := map[string]string{}
	for file, key := range keys {
		if name, ok := strings.CutPrefix(file, sub+"/"); ok {
			below[name] = key
		}
	}
	return dnswiring.Mount{Dir: at, Name: v.name, Items: below, SubPath: true}, len(below) > 0
}

// findCorefile returns the key and the path of the Corefile among mounted files.
func findCorefile(m dnswiring.Mount, conf, name string) (key, at string) {
	if m.Items == nil { // all keys
		if conf != "" && path.Dir(conf) == m.Dir {
			return path.Base(conf), conf
		}
		return "", ""
	}
	for _, file := range slices.Sorted(maps.Keys(m.Items)) {
		switch full := path.Join(m.Dir, file); {
		case full == conf:
			return m.Items[file], full
		case path.Base(file) == name:
			key, at = m.Items[file], full
		}
	}
	return key, at
}

// targetPorts returns the ports of a pod that receive the queries of a Service, or nil if they are unknown.
func targetPorts(service *corev1.Service, spec corev1.PodSpec) (ports []string) {
	for _, p := range service.Spec.Ports {
		if p.Port != 53 {
			continue
		}
		port := p.TargetPort.IntVal
		for _, container := range spec.Containers {
			for _, named := range container.Ports {
				if p.TargetPort.StrVal != "" && named.Name == p.TargetPort.StrVal {
					port = named.ContainerPort
				}
			}
		}
		if port == 0 && p.TargetPort.StrVal != "" {
			return nil
		}
		if port == 0 {
			port = p.Port
		}
		if text := strconv.Itoa(int(port)); !slices.Contains(ports, text) {
			ports = append(ports, text)
		}
	}
	return ports
}

// nodeLocalNames are the names of NodeLocal DNSCache's ConfigMap and DaemonSet in different distributions.
var nodeLocalNames = []string{"node-local-dns", "nodelocaldns"}

// readNodeLocal finds the Corefiles of NodeLocal DNSCache: through its DaemonSets, or under the usual names.
func readNodeLocal(ctx context.Context, c client.Reader, found *dnswiring.Cluster) error {
	all, err := workloads(ctx, c, metav1.NamespaceSystem)
	if err != nil {
		return err
	}
	var places []place
	for _, w := range all {
		if p := placeOf(w, "Corefile.base"); p != nil && isNodeLocal(w) {
			places = append(places, *p)
		}
	}
	for _, p := range places {
		if p.configMap != places[0].configMap {
			if found.Unclear == nil {
				found.Unclear = map[dnswiring.Form]error{}
			}
			found.Unclear[dnswiring.NodeLocal] = fmt.Errorf("NodeLocal DNSCache has the Corefiles of configmap %s and of configmap %s: Atoll can edit only one of them. Forward the zone in both as docs/reference/dns.md shows", places[0].configMap, p.configMap)
			continue
		}
		if !slices.Contains(found.NodeLocalKeys, p.key) {
			found.NodeLocalKeys = append(found.NodeLocalKeys, p.key)
		}
	}
	if len(places) > 0 {
		found.NodeLocal, err = get(ctx, c, places[0].configMap, &corev1.ConfigMap{})
		return err
	}
	for _, name := range nodeLocalNames {
		if found.NodeLocal, err = get(ctx, c, system(name), &corev1.ConfigMap{}); err != nil || found.NodeLocal != nil {
			return err
		}
	}
	return nil
}

// isNodeLocal reports whether a workload is NodeLocal DNSCache.
func isNodeLocal(w workload) bool {
	return slices.Contains(nodeLocalNames, w.name.Name) || slices.ContainsFunc(w.pods.Spec.Containers, func(container corev1.Container) bool {
		return strings.Contains(container.Image, "node-cache") || slices.ContainsFunc(append(slices.Clone(container.Command), container.Args...), func(word string) bool {
			return strings.TrimLeft(strings.SplitN(word, "=", 2)[0], "-") == "localip"
		})
	})
}

// remembered returns the places of Corefiles that users gave with --configmap, and that Atoll has edited.
func remembered(ctx context.Context, c client.Reader) (places []client.ObjectKey, err error) {
	var list corev1.ConfigMapList
	err = c.List(ctx, &list, client.HasLabels{names.LabelCorefile})
	if apierrors.IsForbidden(err) {
		err = c.List(ctx, &list, client.HasLabels{names.LabelCorefile}, client.InNamespace(metav1.NamespaceSystem))
	}
	if err != nil {
		return nil, fmt.Errorf("listing the ConfigMaps with the label %s: %w", names.LabelCorefile, err)
	}
	for _, cm := range list.Items {
		place := client.ObjectKey{Namespace: cm.Namespace, Name: cm.Labels[names.LabelCorefile]}
		if !slices.Contains(places, place) {
			places = append(places, place)
		}
	}
	return places, nil
}
