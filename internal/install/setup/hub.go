package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// DeployHub installs a clusterset's hub next to its broker. An API server can have one hub. replaceCRDs replaces a
// foreign definition of MultiClusterServices with Atoll's and keeps the objects. The settings are stored for upgrades.
func DeployHub(ctx context.Context, on *install.Target, hub render.Hub, settings Settings, replaceCRDs bool) error {
	if err := clusterset(ctx, on, hub.Clusterset); err != nil {
		return err
	}
	switch other, err := hubOf(ctx, on); {
	case err != nil:
		return err
	case other != "" && other != hub.Clusterset:
		return hint("Remove the other hub first, with the load balancers that it manages: "+on.On.Atoll("hub remove --clusterset %s", other),
			"this API server already has a hub, which belongs to clusterset %s", other)
	}
	crds, objects := hubManifests(hub, settings)
	if err := on.Rights(ctx, []string{"create", "patch"}, slices.Concat(crds, objects)...); err != nil {
		return err
	}
	switch foreign, err := on.Foreign(ctx, crds); {
	case err != nil:
		return err
	case len(foreign) > 0 && !replaceCRDs:
		return hint("Make sure that no other controller acts on MultiClusterServices on this API server (for Karmada: --feature-gates=MultiClusterService=false). "+
			"Then replace the CustomResourceDefinition, which keeps the objects but not the fields that Atoll's CustomResourceDefinition lacks: "+on.On.Atoll("hub deploy --clusterset %s --replace-crds", hub.Clusterset),
			"the CustomResourceDefinition %s already exists, and another product created it", foreign[0])
	case len(foreign) > 0:
		if err := on.Apply(ctx, crds...); err != nil {
			return err
		}
	}
	if err := on.CRDs(ctx, crds, false); err != nil {
		return err
	}
	return on.Apply(ctx, objects...)
}

// hubManifests returns a hub's CustomResourceDefinitions, and its other objects with the stored settings.
func hubManifests(hub render.Hub, settings Settings) (crds, objects []*unstructured.Unstructured) {
	crds, objects = hub.Manifests()
	return crds, append(objects, install.Objects(settings.object(names.HubNamespace))...)
}

// RemoveHub deletes a clusterset's hub and withdraws its policies, so that members undo their effects.
// MultiClusterServices and their definition stay.
func RemoveHub(ctx context.Context, on *install.Target, namespace string, dryRun bool) error {
	if err := clusterset(ctx, on, namespace); err != nil {
		return err
	}
	on.DryRun = dryRun
	_, objects := render.Hub{Clusterset: namespace}.Manifests()
	slices.Reverse(objects) // delete the namespace last
	works := []string{"Deployment", "ClusterRoleBinding", "RoleBinding"}
	runs := func(o *unstructured.Unstructured) bool { return slices.Contains(works, o.GetKind()) }
	first := slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return !runs(o) })
	if err := on.Delete(ctx, first...); err != nil {
		return err
	}
	if err := on.AwaitNone(ctx, &corev1.PodList{}, client.InNamespace(names.HubNamespace), client.MatchingLabels{render.LabelName: render.HubName}); err != nil {
		return err
	}
	policies := listOf(brokerv1alpha1.GroupVersion.WithKind("ServicePolicy"))
	if err := on.List(ctx, policies, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("listing the hub's ServicePolicies: %w", err)
	}
	for i := range policies.Items {
		if err := withdraw(ctx, on, &policies.Items[i]); err != nil {
			return err
		}
	}
	if err := on.Delete(ctx, slices.DeleteFunc(objects, runs)...); err != nil {
		return err
	}
	return reportHeld(ctx, on)
}

// reportHeld reports MultiClusterServices with a finalizer that only a hub or a user can remove.
func reportHeld(ctx context.Context, on *install.Target) error {
	all := listOf(networkingv1alpha1.GroupVersion.WithKind(networkingv1alpha1.MultiClusterServiceKind))
	if err := on.List(ctx, all); err != nil {
		if noSuchKind(err) {
			return nil
		}
		return fmt.Errorf("listing MultiClusterServices: %w", err)
	}
	for i := range all.Items {
		for _, f := range all.Items[i].GetFinalizers() {
			if strings.HasPrefix(f, names.FinalizerLoadBalancer) {
				on.Report(install.Kept, &all.Items[i], fmt.Sprintf("the MultiClusterService has the finalizer %s, and its load balancer may still exist: see atoll hub remove --help", f))
			}
		}
	}
	return nil
}

// withdraw marks a policy as withdrawn, because members do not act on a missing policy. The policy stays for members
// that are away now.
func withdraw(ctx context.Context, on *install.Target, policy *unstructured.Unstructured) error {
	if layout.Withdrawn(policy) || on.DryRun {
		return nil
	}
	layout.Withdraw(policy)
	if err := client.IgnoreNotFound(on.Client.Update(ctx, policy)); err != nil {
		return fmt.Errorf("withdrawing the policy %s: %w", policy.GetName(), err)
	}
	return nil
}
