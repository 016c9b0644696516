package setup

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/clusterdns"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/ownership"
)

// LeaveRequest asks to remove a cluster from its clusterset.
type LeaveRequest struct {
	// Broker locates the broker for this program.
	Broker credential.Locate
	// Offline skips the broker and leaves the member's records there.
	Offline bool
	// DryRun only reports what would be deleted.
	DryRun bool
}

// announce says which step of Leave begins. A dry run only says what the step would do.
func (r LeaveRequest) announce(say Say, doing, would, object string) {
	if r.DryRun {
		doing = "would " + would
	}
	say("%s %s", doing, object)
}

// installed is all that a join can install.
var installed = render.Member{Prefer: render.PreferLocal}

// mayLeave returns an error that lists the permissions which the user lacks for Leave.
func mayLeave(ctx context.Context, cluster *install.Target, more ...*unstructured.Unstructured) error {
	crds, objects := installed.Manifests()
	return cluster.Rights(ctx, []string{"delete", "list"}, slices.Concat(crds, objects, more)...)
}

// Leave removes a cluster from its clusterset: its records on the broker, its imports, and Atoll itself. Services and
// ServiceExports of users stay, without conditions.
func Leave(ctx context.Context, cluster *install.Target, r LeaveRequest, say Say) error {
	state, err := readMember(ctx, cluster)
	if err != nil {
		return err
	}
	viewers, err := ofViewers(ctx, cluster)
	if err != nil {
		return err
	}
	if err := mayLeave(ctx, cluster, viewers...); err != nil {
		return err
	}
	crds, objects := installed.Manifests()
	slices.Reverse(objects) // delete the namespace last
	cluster.DryRun = r.DryRun
	onBroker, err := ownRecords(ctx, r, state, cluster.Report, say)
	if err != nil {
		return err
	}
	r.announce(say, "removing", "remove", "atoll-dns from the configuration of the cluster's own DNS")
	if err := unwire(ctx, cluster); err != nil {
		return err
	}
	r.announce(say, "stopping", "stop", "the agents")
	rest := slices.DeleteFunc(slices.Clone(objects), working)
	first := slices.DeleteFunc(objects, func(o *unstructured.Unstructured) bool { return !working(o) })
	if err := stopAgents(ctx, cluster, first); err != nil {
		return err
	}
	if onBroker != nil {
		r.announce(say, "removing", "remove", fmt.Sprintf("cluster %s from the broker", state.joined.ClusterID))
		if err := onBroker.remove(ctx, r.DryRun); err != nil {
			return err
		}
	}
	r.announce(say, "removing", "remove", "imported services")
	if err := removeImported(ctx, cluster); err != nil {
		return err
	}
	if err := forgetConditions(ctx, cluster); err != nil {
		return err
	}
	r.announce(say, "removing", "remove", "Atoll")
	if err := cluster.Delete(ctx, append(viewers, rest...)...); err != nil {
		return err
	}
	if err := removeProperties(ctx, cluster, state); err != nil {
		return err
	}
	if len(state.clustersets) > 0 { // its clustersets need some of the definitions
		crds = slices.DeleteFunc(crds, func(crd *unstructured.Unstructured) bool {
			return slices.ContainsFunc(brokerCRDs(), func(b *unstructured.Unstructured) bool {
				return b.GetName() == crd.GetName()
			})
		})
	}
	return cluster.RemoveCRDs(ctx, crds)
}

// ofViewers returns the permissions of the console's viewers, which only the chart installs, outside the namespace that is deleted.
func ofViewers(ctx context.Context, cluster *install.Target) (all []*unstructured.Unstructured, _ error) {
	for _, kind := range []string{"ClusterRoleBinding", "ClusterRole", "RoleBinding", "Role"} {
		o := &unstructured.Unstructured{}
		o.SetGroupVersionKind(rbacv1.SchemeGroupVersion.WithKind(kind))
		key := client.ObjectKey{Name: "atoll-viewer"}
		if !strings.HasPrefix(kind, "Cluster") {
			key.Namespace = metav1.NamespaceSystem
		}
		switch err := cluster.Get(ctx, key, o); {
		case err == nil:
			all = append(all, o)
		case !apierrors.IsNotFound(err) && !apierrors.IsForbidden(err): // who may not read them has not installed them
			return nil, fmt.Errorf("reading %s %s: %w", kind, key, err)
		}
	}
	return all, nil
}

// ownRecords prepares the removal of the member's records on the broker. It returns nil if they stay.
func ownRecords(ctx context.Context, r LeaveRequest, state memberState, report install.Report, say Say) (*records, error) {
	remove := command.Broker.Atoll("broker members remove CLUSTER --clusterset CLUSTERSET")
	if state.joined != nil {
		remove = command.Broker.Atoll("broker members remove %s --clusterset %s", state.joined.ClusterID, state.joined.Clusterset)
	}
	switch {
	case state.broken != nil:
		say("the cluster's membership cannot be read (%v). If the cluster is a member, its records stay on the broker until an administrator removes them: %s", state.broken, remove)
		return nil, nil
	case state.joined == nil:
		say("the cluster is not a member of a clusterset")
		r.announce(say, "removing", "remove", "leftover objects of Atoll")
		return nil, nil
	case r.Offline:
		say("the cluster's records stay on the broker until an administrator removes them: %s", remove)
		return nil, nil
	}
	m := *state.joined
	say("connecting to the broker at %s", m.Server)
	as, err := connect(m, r.Broker, report)
	if err != nil {
		return nil, err
	}
	found, err := findRecords(ctx, as, m.Clusterset, m.ClusterID)
	if err != nil {
		return nil, &Hint{
			Err:  explain(err, m, time.Now()),
			Next: "To leave without the broker: " + state.on.Atoll("leave --offline") + ". Then remove the cluster's records from the broker: " + remove,
		}
	}
	if owner := found.owner(); owner != "" && owner != state.uid {
		say("cluster id %q belongs to another cluster (UID %s). The records of that cluster stay on the broker", m.ClusterID, owner)
		return nil, nil
	}
	return found, nil
}

// unwire undoes "atoll dns install". It must run while atoll-dns still exists, because cluster DNS would forward to a
// missing server otherwise.
func unwire(ctx context.Context, cluster *install.Target) error {
	changes, err := clusterdns.Edit(ctx, cluster.Client, client.ObjectKey{}, clusterdns.Uninstall(nil), cluster.DryRun)
	for _, change := range changes {
		if !change.None() {
			cluster.Report(install.Changed, change.Object(), "")
		}
	}
	if err != nil {
		return fmt.Errorf("removing atoll-dns from the configuration of the cluster's own DNS: %w", err)
	}
	return nil
}

// working reports whether the agent needs an object to work. Such objects are deleted first, so that the agent cannot
// re-create others.
func working(o *unstructured.Unstructured) bool {
	return o.GetKind() == "Deployment" || o.GetKind() == "ClusterRoleBinding" && o.GetName() == render.AgentName
}

// stopAgents deletes the objects that agents need, and waits until their pods are gone.
func stopAgents(ctx context.Context, cluster *install.Target, objects []*unstructured.Unstructured) error {
	if err := cluster.Delete(ctx, objects...); err != nil {
		return err
	}
	return cluster.AwaitNone(ctx, &corev1.PodList{}, client.InNamespace(names.SystemNamespace), client.MatchingLabels{render.LabelName: render.AgentName})
}

// imported are the kinds that the agent creates in users' namespaces, with the label that identifies them.
var imported = []struct {
	kind  schema.GroupVersionKind
	label string
}{
	{mcsKind("ServiceExport"), names.LabelManagedBy}, // for policies of the hub
	{mcsKind("ServiceImport"), names.LabelManagedBy},
	{corev1.SchemeGroupVersion.WithKind("Service"), names.LabelManagedBy},
	{discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"), discoveryv1.LabelManagedBy},
}

// removeImported deletes the agent's objects. It skips clusterset namespaces: on a cluster that is also a broker,
// members' slices have the same label.
func removeImported(ctx context.Context, cluster *install.Target) error {
	clustersets := &corev1.NamespaceList{}
	if err := cluster.List(ctx, clustersets, client.HasLabels{names.LabelClusterset}); err != nil {
		return fmt.Errorf("listing clustersets: %w", err)
	}
	for _, of := range imported {
		list := listOf(of.kind)
		selector := []client.ListOption{client.MatchingLabels{of.label: names.AgentManager}}
		if of.kind.Kind == "ServiceImport" {
			selector = nil // somebody may have removed the label
		}
		err := cluster.List(ctx, list, selector...)
		if err != nil {
			if noSuchKind(err) {
				continue
			}
			return fmt.Errorf("listing imported objects: %w", err)
		}
		list.Items = slices.DeleteFunc(list.Items, func(o unstructured.Unstructured) bool {
			return of.kind.Kind == "ServiceImport" && !ownership.IsManaged(&o) ||
				slices.ContainsFunc(clustersets.Items, func(n corev1.Namespace) bool { return n.Name == o.GetNamespace() })
		})
		if of.kind.Kind == "ServiceExport" {
			if list.Items, err = releaseApplied(ctx, cluster, list.Items); err != nil {
				return err
			}
		}
		if err := cluster.DeleteAll(ctx, list.Items); err != nil {
			return err
		}
	}
	return nil
}

// releaseApplied keeps ServiceExports that users have applied as well and removes the agent's label from them. It
// returns the others.
func releaseApplied(ctx context.Context, cluster *install.Target, exports []unstructured.Unstructured) (others []unstructured.Unstructured, err error) {
	for i := range exports {
		export := &exports[i]
		if !contribution.AlsoApplied(export) {
			others = append(others, *export)
			continue
		}
		if !cluster.DryRun {
			before := export.DeepCopy()
			contribution.Release(export)
			if err := cluster.Patch(ctx, export, client.MergeFrom(before)); client.IgnoreNotFound(err) != nil {
				return nil, fmt.Errorf("releasing %s to the user who also applied it: %w", install.Name(export), err)
			}
		}
		cluster.Report(install.Kept, export, "a user has also applied this ServiceExport")
	}
	return others, nil
}

// mcsKind returns a kind of the Multi-Cluster Services API.
func mcsKind(kind string) schema.GroupVersionKind {
	return schema.GroupVersion(mcsv1beta1.GroupVersion).WithKind(kind)
}

func listOf(kind schema.GroupVersionKind) *unstructured.UnstructuredList {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	return list
}

// forgetConditions removes the agent's conditions from users' ServiceExports and TrafficPolicies.
func forgetConditions(ctx context.Context, cluster *install.Target) error {
	exports := listOf(mcsKind("ServiceExport"))
	if err := cluster.List(ctx, exports); err != nil {
		if noSuchKind(err) {
			return nil
		}
		return fmt.Errorf("listing ServiceExports: %w", err)
	}
	for _, e := range exports.Items {
		if err := cluster.Disown(ctx, &e, names.ManagerExport); err != nil {
			return fmt.Errorf("removing conditions from %s: %w", install.Name(&e), err)
		}
	}
	policies := listOf(trafficv1alpha1.GroupVersion.WithKind(trafficv1alpha1.TrafficPolicyKind))
	if err := cluster.List(ctx, policies); err != nil {
		if noSuchKind(err) {
			return nil
		}
		return fmt.Errorf("listing TrafficPolicies: %w", err)
	}
	for _, p := range policies.Items {
		if p.Object["status"] == nil || cluster.DryRun {
			continue
		}
		nothing := client.RawPatch(types.MergePatchType, []byte(`{"status":null}`)) // only agents write it
		if err := client.IgnoreNotFound(cluster.Client.Status().Patch(ctx, &p, nothing)); err != nil {
			return fmt.Errorf("removing the status of %s: %w", install.Name(&p), err)
		}
	}
	return nil
}

// removeProperties deletes the ClusterProperties that a join created.
func removeProperties(ctx context.Context, cluster *install.Target, state memberState) error {
	var own []*unstructured.Unstructured
	for _, name := range []string{aboutv1beta1.ClusterIDProperty, aboutv1beta1.ClustersetProperty} {
		if have, ok := state.properties[name]; ok && have.Labels[install.LabelManagedBy] == install.ManagedBy {
			have.APIVersion, have.Kind = aboutv1beta1.GroupVersion.String(), "ClusterProperty"
			own = append(own, install.Objects(&have)...)
		}
	}
	return cluster.Delete(ctx, own...)
}
