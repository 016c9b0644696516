package setup

import (
	"context"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// records are a member's objects on the broker.
type records struct {
	on        *install.Target
	namespace string
	cluster   names.ClusterID
	// entry is the MemberCluster, or nil. It is kept and marked as removed, because other members do not act on a
	// missing object.
	entry *brokerv1alpha1.MemberCluster
	// aggregates name no other member. They are deleted first: when the member is marked as removed, or no record is
	// left, another member takes an aggregate over to delete it, and this member may no longer.
	aggregates []unstructured.Unstructured
	// objects are all others.
	objects []unstructured.Unstructured
}

// recorded are the kinds of a member's objects to delete.
var recorded = []schema.GroupVersionKind{
	brokerv1alpha1.GroupVersion.WithKind("ExportedService"),
	discoveryv1.SchemeGroupVersion.WithKind("EndpointSlice"),
	coordinationv1.SchemeGroupVersion.WithKind("Lease"),
}

// findRecords lists a member's objects on the broker: those with its ID, and aggregates that name no other member.
func findRecords(ctx context.Context, on *install.Target, namespace string, cluster names.ClusterID) (*records, error) {
	found := &records{on: on, namespace: namespace, cluster: cluster}
	entry := &brokerv1alpha1.MemberCluster{}
	if err := on.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cluster.String()}, entry); err == nil {
		found.entry = entry
	} else if !apierrors.IsNotFound(err) {
		return nil, err
	}
	for _, kind := range recorded {
		list := listOf(kind)
		if err := on.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{names.LabelSourceCluster: cluster.String()}); err != nil {
			return nil, err
		}
		found.objects = append(found.objects, list.Items...)
	}
	aggregates := listOf(mcsKind("ServiceImport"))
	if err := on.List(ctx, aggregates, client.InNamespace(namespace), client.MatchingLabels{names.LabelManagedBy: names.AggregateManager}); err != nil {
		return nil, err
	}
	for _, a := range aggregates.Items {
		if a.GetAnnotations()[names.AnnotationClusters] == cluster.String() {
			found.aggregates = append(found.aggregates, a)
		}
	}
	return found, nil
}

// owner returns the UID of the cluster that the records belong to, or "".
func (r *records) owner() string {
	if r.entry == nil || r.entry.Removed() {
		return ""
	}
	return r.entry.Spec.ClusterUID
}

// delete marks the entry as removed, which other members act on, and deletes everything else.
func (r *records) delete(ctx context.Context) error {
	if err := r.on.DeleteAll(ctx, r.aggregates); err != nil {
		return err
	}
	entry := &brokerv1alpha1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: r.cluster.String(), Labels: map[string]string{names.LabelSourceCluster: r.cluster.String()}},
		Spec:       brokerv1alpha1.MemberClusterSpec{ClusterID: r.cluster.String(), ClusterUID: "removed", AdvertiseMode: brokerv1alpha1.AdvertisePods},
	}
	err := error(nil)
	if r.entry != nil {
		entry = r.entry.DeepCopy()
	} else if !r.on.DryRun { // it was missing when the broker was re-created
		err = r.on.Client.Create(ctx, entry)
	}
	before := entry.Generation
	if err == nil && !r.on.DryRun {
		entry.Spec.State, entry.Spec.RemovedAt = brokerv1alpha1.MemberRemoved, ptr.To(metav1.Now())
		err = r.on.Client.Update(ctx, entry) // members may not patch, and follow only a removal that is newer than what they have seen
	}
	if err != nil {
		return fmt.Errorf("marking the MemberCluster %s as removed: %w", r.cluster, err)
	}
	if !r.on.DryRun && entry.Generation == before && entry.Generation > 0 {
		return hint("Update the definitions, then remove the cluster again: "+r.on.On.Atoll("broker deploy --clusterset %s", r.namespace),
			"the broker has not stored the removal of %s, because its CustomResourceDefinitions are of an earlier version", r.cluster)
	}
	return r.on.DeleteAll(ctx, r.objects)
}

// remove deletes the records and then the member's accounts. The permissions are deleted with the accounts.
func (r *records) remove(ctx context.Context, dryRun bool) error {
	r.on.DryRun = dryRun
	if err := r.delete(ctx); err != nil {
		return err
	}
	for _, a := range []rights.Account{rights.Joiner(r.namespace, r.cluster), rights.Member(r.namespace, r.cluster)} {
		account := install.Objects(a.ServiceAccount)[0]
		if dryRun {
			continue
		}
		// A member cannot read accounts, so it deletes them without checking.
		if err := client.IgnoreNotFound(r.on.Client.Delete(ctx, account)); err != nil {
			return fmt.Errorf("deleting %s: %w", install.Name(account), err)
		}
	}
	return nil
}

// fresh is the maximum age of a heartbeat of a member that seems alive.
const fresh = time.Minute

// RemoveRequest asks to remove a member from the broker.
type RemoveRequest struct {
	Namespace string
	Cluster   names.ClusterID
	// Force removes a member that seems alive. The broker then refuses its agents.
	Force bool
	// DryRun only reports what would be deleted.
	DryRun bool
}

// CheckRemoval fails if the clusterset or the cluster does not exist, or if the member seems alive and Force is not set.
func CheckRemoval(ctx context.Context, on *install.Target, r RemoveRequest) error {
	if err := clusterset(ctx, on, r.Namespace); err != nil {
		return err
	}
	age, alive, err := heartbeatAge(ctx, on, r.Namespace, r.Cluster)
	if err != nil {
		return err
	}
	if alive && !r.Force && !r.DryRun {
		return hint("If the cluster still exists, remove it from the clusterset: "+command.Of(r.Cluster.String()).Atoll("leave")+". To expel the cluster, which ends its exports in all clusters: "+on.On.Atoll("broker members remove %s --clusterset %s --force", r.Cluster, r.Namespace),
			"cluster %s seems to be alive: its last heartbeat is %s old", r.Cluster, age)
	}
	return known(ctx, on, r)
}

// heartbeatAge returns the age of a member's last heartbeat, and whether the member seems alive.
func heartbeatAge(ctx context.Context, on *install.Target, namespace string, cluster names.ClusterID) (age time.Duration, alive bool, _ error) {
	lease := &coordinationv1.Lease{}
	if err := on.Get(ctx, client.ObjectKey{Namespace: namespace, Name: cluster.String()}, lease); client.IgnoreNotFound(err) != nil {
		return 0, false, fmt.Errorf("reading the heartbeat of %s: %w", cluster, err)
	}
	if lease.Spec.RenewTime == nil {
		return 0, false, nil
	}
	age = time.Since(lease.Spec.RenewTime.Time).Round(time.Second)
	return age, age < fresh, nil
}

// known returns an error if the broker has nothing of a cluster: neither its entry, nor records, nor an account for a
// join file. The name is then probably misspelled.
func known(ctx context.Context, on *install.Target, r RemoveRequest) error {
	found, err := findRecords(ctx, on, r.Namespace, r.Cluster)
	if err != nil {
		return fmt.Errorf("listing the member's records: %w", err)
	}
	accounts := &corev1.ServiceAccountList{}
	if err := on.List(ctx, accounts, client.InNamespace(r.Namespace), client.MatchingLabels{names.LabelSourceCluster: r.Cluster.String()}); err != nil {
		return fmt.Errorf("listing the member's accounts: %w", err)
	}
	if found.entry == nil && len(found.objects)+len(found.aggregates)+len(accounts.Items) == 0 {
		return hint("To list the members: "+on.On.Atoll("broker members list --clusterset %s", r.Namespace),
			"clusterset %s has no cluster %s", r.Namespace, r.Cluster)
	}
	return nil
}

// Remove removes a member from a clusterset on the broker. It deletes the permissions first, so that agents that still
// run cannot write.
func Remove(ctx context.Context, on *install.Target, r RemoveRequest, say Say) error {
	on.DryRun = r.DryRun
	say("deleting the member's permissions")
	for _, kind := range []schema.GroupVersionKind{
		rbacv1.SchemeGroupVersion.WithKind("RoleBinding"), rbacv1.SchemeGroupVersion.WithKind("Role"),
		corev1.SchemeGroupVersion.WithKind("ServiceAccount"), corev1.SchemeGroupVersion.WithKind("Secret"),
	} {
		list := listOf(kind)
		if err := on.List(ctx, list, client.InNamespace(r.Namespace), client.MatchingLabels{names.LabelSourceCluster: r.Cluster.String()}); err != nil {
			return fmt.Errorf("listing the member's permissions: %w", err)
		}
		if err := on.DeleteAll(ctx, list.Items); err != nil {
			return err
		}
	}
	say("deleting the member's records")
	found, err := findRecords(ctx, on, r.Namespace, r.Cluster)
	if err != nil {
		return fmt.Errorf("listing the member's records: %w", err)
	}
	return found.delete(ctx)
}
