package setup

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
)

const exportedByNoOther = "No other cluster exports %s: clients can no longer connect."

// LeaveImpact describes the effects of leaving, for a confirmation. The broker's records say which services other
// clusters export; if they cannot be read, the records that this cluster has applied do. status.clusters is written
// later than both.
func LeaveImpact(ctx context.Context, cluster *install.Target, r LeaveRequest) ([]string, error) {
	exports, imports := &mcsv1beta1.ServiceExportList{}, &mcsv1beta1.ServiceImportList{}
	for _, list := range []client.ObjectList{exports, imports} {
		err := cluster.List(ctx, list)
		if apierrors.IsForbidden(err) {
			if missing := mayLeave(ctx, cluster); missing != nil {
				return nil, missing // it lists all missing permissions
			}
		}
		if err != nil && !noSuchKind(err) {
			return nil, fmt.Errorf("listing the cluster's exports and imports: %w", err)
		}
	}
	var exported, alone, imported []string
	state, err := readMember(ctx, cluster)
	if err != nil {
		return nil, err
	}
	others := exporters{}
	for _, i := range imports.Items {
		if ownership.IsManaged(&i) {
			service := client.ObjectKeyFromObject(&i)
			imported = append(imported, service.String())
			others[service] = slices.Collect(maps.Keys(layout.Applied(&i)))
		}
	}
	if state.joined != nil && !r.Offline {
		if as, err := connect(*state.joined, r.Broker, nil); err == nil {
			if read, err := readExporters(ctx, as, state.joined.Clusterset); err == nil {
				others = read
			}
		}
	}
	for _, e := range exports.Items {
		if service := client.ObjectKeyFromObject(&e); state.joined != nil && !others.include(service, state.joined.ClusterID) {
			alone = append(alone, service.String())
		} else {
			exported = append(exported, service.String())
		}
	}
	return impact(
		effect{exportedByNoOther, alone},
		effect{"Other clusters stop using this cluster's endpoints of %s.", exported},
		effect{"Pods of this cluster can no longer reach %s by clusterset name or clusterset IP.", imported},
	), nil
}

// RemovalImpact describes the effects of removing a member from the broker.
func RemovalImpact(ctx context.Context, on *install.Target, r RemoveRequest) ([]string, error) {
	exported, err := readExporters(ctx, on, r.Namespace)
	if err != nil {
		return nil, err
	}
	var shared, alone []string
	for service, clusters := range exported {
		switch {
		case !slices.Contains(clusters, r.Cluster):
		case exported.include(service, r.Cluster):
			shared = append(shared, service.String())
		default:
			alone = append(alone, service.String())
		}
	}
	return impact(
		effect{exportedByNoOther, alone},
		effect{"Clients lose cluster " + r.Cluster.String() + "'s endpoints of %s, which other clusters also export.", shared},
	), nil
}

// exporters are the clusters whose exports of a service count.
type exporters map[types.NamespacedName][]names.ClusterID

// include reports whether a cluster other than self exports a service.
func (e exporters) include(service types.NamespacedName, self names.ClusterID) bool {
	return slices.ContainsFunc(e[service], func(id names.ClusterID) bool { return id != self })
}

// readExporters reads from the broker which clusters export a service to others: not only to the hub, and with the
// broker's permission.
func readExporters(ctx context.Context, on *install.Target, clusterset string) (exporters, error) {
	records, config := &brokerv1alpha1.ExportedServiceList{}, &corev1.ConfigMap{}
	if err := on.List(ctx, records, client.InNamespace(clusterset)); err != nil && !noSuchKind(err) {
		return nil, fmt.Errorf("listing the exports of members: %w", err)
	}
	if err := on.Get(ctx, client.ObjectKey{Namespace: clusterset, Name: names.MemberPermissions}, config); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the permissions of members: %w", err)
	}
	permitted, _ := permissions.Read(config)
	all := exporters{}
	for i := range records.Items {
		spec := &records.Items[i].Spec
		service, id := spec.Service(), names.ClusterID(spec.ClusterID)
		if !layout.Withdrawn(&records.Items[i]) && spec.Scope != brokerv1alpha1.ScopeHub && permitted.MayExport(id, service.Namespace) {
			all[service] = append(all[service], id)
		}
	}
	return all, nil
}

// HubImpact describes the effects of removing a clusterset's hub.
func HubImpact(ctx context.Context, on *install.Target) ([]string, error) {
	all := &networkingv1alpha1.MultiClusterServiceList{}
	if err := on.List(ctx, all); err != nil && !noSuchKind(err) {
		return nil, fmt.Errorf("listing MultiClusterServices: %w", err)
	}
	var shared, balanced []string
	for _, mcs := range all.Items {
		key := client.ObjectKeyFromObject(&mcs).String()
		if mcs.Spec.Has(networkingv1alpha1.ExposureTypeLoadBalancer) {
			balanced = append(balanced, key)
		}
		if mcs.Spec.Has(networkingv1alpha1.ExposureTypeCrossCluster) {
			shared = append(shared, key)
		}
	}
	return impact(
		effect{"Members no longer export %s for the MultiClusterServices of this hub.", shared},
		effect{"The load balancers of %s stay at their providers, but the hub no longer updates them.", balanced},
	), nil
}

// effect is an effect on services. sentence has %s in their place.
type effect struct {
	sentence string
	services []string
}

// impact formats the effects that have services.
func impact(effects ...effect) []string {
	var lines []string
	for _, e := range effects {
		if len(e.services) > 0 {
			slices.Sort(e.services)
			lines = append(lines, fmt.Sprintf(e.sentence, counted(e.services)))
		}
	}
	return lines
}

// counted returns the number of services and the first names.
func counted(services []string) string {
	if len(services) == 1 {
		return "service " + services[0]
	}
	return fmt.Sprintf("%d services (%s)", len(services), some(services))
}

// some returns the first elements of a list.
func some(list []string) string {
	const most = 5
	if len(list) <= most {
		return strings.Join(list, ", ")
	}
	return strings.Join(list[:most], ", ") + ", …"
}
