package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const exportedByNoOther = "No other cluster exports %s: clients can no longer connect."

// LeaveImpact describes the effects of leaving, for a confirmation.
func LeaveImpact(ctx context.Context, cluster *install.Target) ([]string, error) {
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
	only := map[string]bool{} // services that only this cluster exports
	for _, i := range imports.Items {
		if i.Labels[names.LabelManagedBy] == names.AgentManager {
			service := client.ObjectKeyFromObject(&i).String()
			imported = append(imported, service)
			only[service] = len(i.Status.Clusters) == 1 && state.joined != nil && i.Status.Clusters[0].Cluster == state.joined.ClusterID.String()
		}
	}
	for _, e := range exports.Items {
		if service := client.ObjectKeyFromObject(&e).String(); only[service] {
			alone = append(alone, service)
		} else {
			exported = append(exported, service)
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
	records := &brokerv1alpha1.ExportedServiceList{}
	if err := on.List(ctx, records, client.InNamespace(r.Namespace)); err != nil && !noSuchKind(err) {
		return nil, fmt.Errorf("listing the exports of members: %w", err)
	}
	exporters := map[string][]string{}
	for _, e := range records.Items {
		if layout.Withdrawn(&e) {
			continue
		}
		service := types.NamespacedName{Namespace: e.Spec.ServiceNamespace, Name: e.Spec.ServiceName}.String()
		exporters[service] = append(exporters[service], e.Spec.ClusterID)
	}
	var shared, alone []string
	for service, clusters := range exporters {
		switch {
		case !slices.Contains(clusters, r.Cluster.String()):
		case len(clusters) > 1:
			shared = append(shared, service)
		default:
			alone = append(alone, service)
		}
	}
	return impact(
		effect{exportedByNoOther, alone},
		effect{"Clients lose cluster " + r.Cluster.String() + "'s endpoints of %s, which other clusters also export.", shared},
	), nil
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
