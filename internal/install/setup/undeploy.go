package setup

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// UndeployImpact describes the effects of deleting a clusterset from its broker.
func UndeployImpact(ctx context.Context, on *install.Target, namespace string) ([]string, error) {
	if err := clusterset(ctx, on, namespace); err != nil {
		return nil, err
	}
	members := &brokerv1alpha1.MemberClusterList{}
	if err := on.List(ctx, members, client.InNamespace(namespace)); err != nil && !noSuchKind(err) {
		return nil, fmt.Errorf("listing members: %w", err)
	}
	var there []string
	for _, m := range members.Items {
		if !m.Removed() {
			there = append(there, m.Name)
		}
	}
	if len(there) == 0 {
		return nil, nil
	}
	return []string{fmt.Sprintf("Number of clusters that have not left: %d (%s). These clusters keep their imports, but receive no more changes.", len(there), some(there))}, nil
}

// UndeployBroker deletes a clusterset from its broker: its namespace and its cluster-scoped objects.
func UndeployBroker(ctx context.Context, on *install.Target, namespace string, dryRun bool) error {
	if err := clusterset(ctx, on, namespace); err != nil {
		return err
	}
	on.DryRun = dryRun
	all := &corev1.NamespaceList{}
	if err := on.List(ctx, all, client.HasLabels{names.LabelClusterset}); err != nil {
		return fmt.Errorf("listing clustersets: %w", err)
	}
	_, objects := BrokerManifests(namespace, "")
	if len(all.Items) > 1 {
		_, others := BrokerManifests(namespace+"-other", "")
		objects = slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { // shared by all clustersets
			return o.GetNamespace() == "" && slices.ContainsFunc(others, func(other *unstructured.Unstructured) bool {
				return o.GetKind() == other.GetKind() && o.GetName() == other.GetName()
			})
		})
	}
	slices.Reverse(objects) // delete the namespace last
	return on.Delete(ctx, objects...)
}
