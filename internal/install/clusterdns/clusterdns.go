// Package clusterdns reads and writes a cluster's DNS configuration for package dnswiring.
package clusterdns

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/install/dnswiring"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// fieldOwner identifies our edits in audit logs and managedFields.
const fieldOwner = client.FieldOwner("atoll-dns-wiring")

// attempts limits retries after conflicts with other writers.
const attempts = 10

var openShiftDNS = schema.GroupVersionKind{Group: "operator.openshift.io", Version: "v1", Kind: "DNS"}

// corefilePlaces are CoreDNS's ConfigMaps in different distributions, if the pods behind cluster DNS's Service are
// unknown.
var corefilePlaces = []client.ObjectKey{
	system("coredns"), system("rke2-coredns-rke2-coredns"), system("coredns-base"), system("d8-kube-dns"), {Namespace: "openshift-dns", Name: "dns-default"},
}

// Read reads a cluster's DNS configuration. configMap has CoreDNS's Corefile; empty means to find it: where Atoll edited
// it before, in the pods behind cluster DNS's Service, or in the usual places.
func Read(ctx context.Context, c client.Reader, configMap client.ObjectKey) (dnswiring.Cluster, error) {
	var found dnswiring.Cluster
	behind, err := readCoreDNS(ctx, c, configMap, &found)
	if err != nil {
		return found, err
	}
	custom := system("coredns-custom")
	if found.CoreDNS != nil {
		custom.Namespace = found.CoreDNS.Namespace // the Corefile imports from its own namespace
	}
	for place, to := range map[client.ObjectKey]**corev1.ConfigMap{custom: &found.Custom, system("kube-dns"): &found.KubeDNS} {
		if err == nil {
			*to, err = get(ctx, c, place, &corev1.ConfigMap{})
		}
	}
	if err == nil {
		err = readNodeLocal(ctx, c, &found)
	}
	if err != nil {
		return found, err
	}
	if found.KubeDNSRuns, err = Runs(ctx, c, system("kube-dns")); err != nil {
		return found, err
	}
	if behind != nil && behind.workload == system("kube-dns") {
		found.KubeDNSRuns = false // it is CoreDNS under that name
	}
	found.OpenShift = &unstructured.Unstructured{}
	found.OpenShift.SetGroupVersionKind(openShiftDNS)
	found.OpenShift, err = get(ctx, c, client.ObjectKey{Name: "default"}, found.OpenShift)
	return found, err
}

// readCoreDNS reads CoreDNS's ConfigMap and what its pods mount. It returns the place of the Corefile of the pods behind
// cluster DNS's Service, or nil.
func readCoreDNS(ctx context.Context, c client.Reader, configMap client.ObjectKey, found *dnswiring.Cluster) (*place, error) {
	if configMap.Name == "" {
		places, err := remembered(ctx, c)
		switch {
		case err != nil:
			return nil, err
		case len(places) > 1:
			return nil, fmt.Errorf("several ConfigMaps have Atoll's label %s: %v. Run this command for each of them with --configmap", names.LabelCorefile, places)
		case len(places) == 1:
			configMap = places[0]
		}
	}
	pods, err := placeOfService(ctx, c)
	var several *ambiguous
	switch {
	case configMap.Name != "": // the pods only add details
	case errors.As(err, &several): // an error for a change, but not for a look or an uninstallation
		found.Unclear = map[dnswiring.Form]error{dnswiring.CoreDNS: err}
	case err != nil:
		return nil, err
	}
	found.Given = configMap.Name != "" && (pods == nil || pods.configMap != configMap) && !slices.Contains(corefilePlaces, configMap)
	places := []client.ObjectKey{configMap}
	switch {
	case configMap.Name != "":
	case pods != nil:
		places[0] = pods.configMap
	default:
		places = corefilePlaces
	}
	for _, place := range places {
		if found.CoreDNS, err = get(ctx, c, place, &corev1.ConfigMap{}); err != nil || found.CoreDNS != nil {
			break
		}
	}
	switch {
	case err != nil:
		return nil, err
	case found.CoreDNS == nil && len(places) == 1:
		return nil, fmt.Errorf("there is no configmap %s", places[0])
	case found.CoreDNS == nil || pods == nil || pods.configMap != client.ObjectKeyFromObject(found.CoreDNS):
		return pods, nil
	}
	found.Key, found.Path, found.Ports, found.Mounts = pods.key, pods.path, pods.ports, pods.mounts
	found.DefaultPort, found.Image = pods.defaultPort, pods.image
	if _, err := strconv.ParseUint(found.DefaultPort, 10, 16); found.DefaultPort != "" && err != nil {
		found.Unclear = map[dnswiring.Form]error{dnswiring.CoreDNS: fmt.Errorf("the DNS port %q in the arguments of %s is not a number: write a number there", found.DefaultPort, pods.workload)}
	}
	for i := range found.Mounts {
		m := &found.Mounts[i]
		if m.ConfigMap, err = get(ctx, c, client.ObjectKey{Namespace: pods.configMap.Namespace, Name: m.Name}, &corev1.ConfigMap{}); err != nil {
			return nil, err
		}
	}
	return pods, nil
}

// former returns the ConfigMaps in the usual places that the DNS servers do not use now.
func former(ctx context.Context, c client.Reader, found dnswiring.Cluster) (all []*corev1.ConfigMap, err error) {
	places := slices.Clone(corefilePlaces)
	for _, name := range nodeLocalNames {
		places = append(places, system(name))
	}
	for _, cm := range []*corev1.ConfigMap{found.CoreDNS, found.NodeLocal} {
		if cm != nil {
			places = slices.DeleteFunc(places, func(place client.ObjectKey) bool { return place == client.ObjectKeyFromObject(cm) })
		}
	}
	for _, place := range places {
		cm, err := get(ctx, c, place, &corev1.ConfigMap{})
		switch {
		case apierrors.IsForbidden(err): // Atoll did not write it
		case err != nil:
			return nil, err
		case cm != nil:
			all = append(all, cm)
		}
	}
	return all, nil
}

// SubmarinerOperator is the Deployment of the operator that adds Lighthouse to cluster DNS.
var SubmarinerOperator = client.ObjectKey{Namespace: "submariner-operator", Name: "submariner-operator"}

// Runs reports whether a Deployment exists and has replicas.
func Runs(ctx context.Context, c client.Reader, key client.ObjectKey) (bool, error) {
	d, err := get(ctx, c, key, &appsv1.Deployment{})
	return d != nil && hasPods(d), err
}

func hasPods(d *appsv1.Deployment) bool { return d.Spec.Replicas == nil || *d.Spec.Replicas > 0 }

func system(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: metav1.NamespaceSystem, Name: name}
}

// get returns an object, or nil if it or its kind does not exist.
func get[T client.Object](ctx context.Context, c client.Reader, key client.ObjectKey, o T) (T, error) {
	err := c.Get(ctx, key, o)
	if err == nil {
		return o, nil
	}
	var none T
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return none, nil
	}
	return none, fmt.Errorf("reading %s: %w", key, err)
}

// ErrNoServer means that atoll-dns is not installed in the cluster.
var ErrNoServer = errors.New("atoll-dns is not installed")

// Servers returns the addresses of atoll-dns's Service.
func Servers(ctx context.Context, c client.Reader) ([]netip.Addr, error) {
	key := client.ObjectKey{Namespace: names.SystemNamespace, Name: render.DNSName}
	service, err := get(ctx, c, key, &corev1.Service{})
	if err != nil {
		return nil, err
	}
	if service == nil {
		return nil, fmt.Errorf("%w: there is no Service %s. Install atoll-dns first, or set its addresses with --server", ErrNoServer, key)
	}
	var servers []netip.Addr
	for _, text := range service.Spec.ClusterIPs {
		if ip, err := netip.ParseAddr(text); err == nil {
			servers = append(servers, ip)
		}
	}
	if len(servers) == 0 {
		return nil, fmt.Errorf("the Service %s has no cluster IP, but atoll-dns needs a stable address", key)
	}
	return servers, nil
}

// Decision computes the changes for a cluster.
type Decision func(dnswiring.Cluster) ([]dnswiring.Change, error)

// Edit reads a cluster, decides and writes. It starts again after a conflict. It returns the changes, or with dryRun
// the planned ones; with an error, those already written.
func Edit(ctx context.Context, c client.Client, configMap client.ObjectKey, decide Decision, dryRun bool) ([]dnswiring.Change, error) {
	var done []dnswiring.Change
	for attempt := 1; ; attempt++ {
		found, err := Read(ctx, c, configMap)
		if err == nil && configMap.Name == "" {
			found.Former, err = former(ctx, c, found)
		}
		if err != nil {
			return done, err
		}
		changes, err := decide(found)
		if err != nil || dryRun {
			return append(done, changes...), err
		}
		written, err := write(ctx, c, changes)
		for _, change := range written {
			again := func(d dnswiring.Change) bool { return d.Form == change.Form }
			if !change.None() || !slices.ContainsFunc(done, again) {
				done = append(done, change)
			}
		}
		if !outrun(err) || attempt == attempts {
			return done, err
		}
	}
}

// outrun reports whether an edit failed because the object has changed since it was read.
func outrun(err error) bool {
	return apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) || apierrors.IsNotFound(err)
}

// write makes the changes, each only if its object is unchanged.
func write(ctx context.Context, c client.Client, changes []dnswiring.Change) (done []dnswiring.Change, err error) {
	for _, change := range changes {
		switch {
		case change.None():
		case change.Before == nil:
			err = c.Create(ctx, change.After, fieldOwner)
		case change.After == nil:
			version := change.Before.GetResourceVersion()
			err = c.Delete(ctx, change.Before, client.Preconditions{ResourceVersion: &version})
		default:
			err = c.Update(ctx, change.After, fieldOwner)
		}
		if err != nil {
			return done, fmt.Errorf("writing %s: %w", dnswiring.Name(change.Object()), err)
		}
		done = append(done, change)
	}
	return done, nil
}
