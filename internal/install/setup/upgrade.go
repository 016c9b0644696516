package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Installed is what a cluster has of Atoll.
type Installed struct {
	// UID identifies the cluster.
	UID string
	// Clustersets are the clustersets that it holds as a broker, Hub the one of its hub, or "".
	Clustersets []string
	Hub         string
	// Member is its membership, or nil.
	Member *credential.Membership
	// Images are those of Atoll's Deployments, in order.
	Images []string
}

// ReadInstalled returns what a cluster has of Atoll. It refuses an installation that Helm upgrades.
func ReadInstalled(ctx context.Context, on *install.Target) (Installed, error) {
	var i Installed
	state, err := readMember(ctx, on)
	if err != nil {
		return i, err
	}
	if state.broken != nil {
		return i, fmt.Errorf("reading the cluster's membership: %w", state.broken)
	}
	i.UID, i.Member, i.Clustersets = state.uid, state.joined, state.clustersets
	if i.Hub, err = hubOf(ctx, on); err != nil {
		return i, err
	}
	for _, namespace := range []string{names.HubNamespace, names.SystemNamespace} {
		deployments := &appsv1.DeploymentList{}
		if err := on.List(ctx, deployments, client.InNamespace(namespace)); err != nil {
			return i, fmt.Errorf("reading the Deployments of Atoll: %w", err)
		}
		for _, d := range deployments.Items {
			if d.Labels[install.LabelManagedBy] == "Helm" {
				return i, hint("Upgrade the chart: see charts/README.md", "Helm has installed the Deployment %s/%s", d.Namespace, d.Name)
			}
			for _, c := range d.Spec.Template.Spec.Containers {
				i.Images = append(i.Images, c.Image)
			}
		}
	}
	slices.Sort(i.Images)
	i.Images = slices.Compact(i.Images)
	return i, nil
}

// hubOf returns the clusterset of the hub on an API server, or "".
func hubOf(ctx context.Context, on *install.Target) (string, error) {
	bindings := &rbacv1.RoleBindingList{} // hubs have bindings in their own and the clusterset's namespace; removed hubs have none
	if err := on.List(ctx, bindings, client.MatchingFields{"metadata.name": rights.HubRole}); err != nil {
		return "", fmt.Errorf("listing the permissions of hubs on the broker: %w", err)
	}
	for _, b := range bindings.Items {
		if b.Namespace != names.HubNamespace {
			return b.Namespace, nil
		}
	}
	return "", nil
}

// An Upgrade replaces a part of an installation with the one of this program's version.
type Upgrade struct {
	on *install.Target
	// what names it in texts.
	what          string
	crds, objects []*unstructured.Unstructured
	namespace     string // of its Deployments, "" if it has none
	// finish is called after the objects are applied; nil for nothing.
	finish func(context.Context) error
}

// What names the part.
func (u *Upgrade) What() string { return u.what }

// Images returns the new images, sorted.
func (u *Upgrade) Images() (all []string, _ error) {
	for _, o := range u.objects {
		if o.GetKind() != "Deployment" {
			continue
		}
		d := &appsv1.Deployment{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, d); err != nil {
			return nil, fmt.Errorf("reading the new Deployment %s: %w", o.GetName(), err)
		}
		for _, c := range d.Spec.Template.Spec.Containers {
			all = append(all, c.Image)
		}
	}
	slices.Sort(all)
	return slices.Compact(all), nil
}

// UpgradeBroker prepares the upgrade of a clusterset on its broker.
func UpgradeBroker(ctx context.Context, on *install.Target, namespace string, say Say) (*Upgrade, error) {
	if err := supported(on); err != nil {
		return nil, err
	}
	crds, objects := BrokerManifests(namespace, "")
	u := &Upgrade{on: on, what: "clusterset " + namespace, crds: crds, objects: objects}
	u.finish = func(ctx context.Context) error {
		if err := restoreLimits(ctx, on, namespace); err != nil {
			return err
		}
		return CreateQuota(ctx, on, namespace, say)
	}
	return u, u.check(ctx, "create", "patch", "delete")
}

// UpgradeHub prepares the upgrade of a hub with its settings.
func UpgradeHub(ctx context.Context, on *install.Target, hub render.Hub, settings Settings) (*Upgrade, error) {
	if err := supported(on); err != nil {
		return nil, err
	}
	crds, objects := hubManifests(hub, settings)
	u := &Upgrade{on: on, what: "hub of " + hub.Clusterset, crds: crds, objects: objects}
	if !hub.NoWorkloads {
		u.namespace = names.HubNamespace
	}
	return u, u.check(ctx, "create", "patch", "delete")
}

// UpgradeMember prepares the upgrade of a member, with the checks of a join. The file of the request is its membership.
func UpgradeMember(ctx context.Context, on *install.Target, r JoinRequest, say Say) (*Upgrade, error) {
	j, err := prepare(ctx, on, r, say)
	if err != nil {
		return nil, err
	}
	u := &Upgrade{on: on, what: "member " + r.File.ClusterID.String(), crds: j.crds, objects: j.objects}
	if !r.Member.NoWorkloads {
		u.namespace = names.SystemNamespace
	}
	return u, u.check(ctx, "delete")
}

// check returns why the upgrade, or its rollback, would not succeed. verbs are those that it needs, and that were not checked before.
func (u *Upgrade) check(ctx context.Context, verbs ...string) error {
	if err := u.on.Rights(ctx, verbs, slices.Concat(u.crds, u.objects)...); err != nil {
		return err
	}
	if err := u.on.CheckCRDs(ctx, u.crds, false); err != nil {
		return err
	}
	if err := u.on.CheckWayBack(ctx, u.crds); err != nil {
		return hint("Upgrade to a version in between first, which has both", "%w", err)
	}
	return nil
}

// Run upgrades, waits at most patience until the workloads run and works returns nil, and otherwise restores what was there before.
// CustomResourceDefinitions stay.
func (u *Upgrade) Run(ctx context.Context, patience time.Duration, works func(context.Context) error, say Say) error {
	before, err := u.on.Before(ctx, u.objects...)
	if err != nil {
		return err
	}
	if err := u.on.CRDs(ctx, u.crds, false); err != nil {
		return err
	}
	err = u.apply(ctx, patience, works)
	if err == nil {
		return nil
	}
	say("rolling back %s. To leave it partly upgraded, interrupt again", u.what)
	// Also after an interruption: half an upgrade is worse than none.
	ctx = context.WithoutCancel(ctx)
	back := before.Restore(ctx)
	if back == nil {
		back = u.await(ctx, patience)
	}
	if back != nil {
		return errors.Join(fmt.Errorf("upgrading %s: %w", u.what, err), fmt.Errorf("rolling back %s: %w", u.what, back))
	}
	return fmt.Errorf("%s is rolled back: %w", u.what, err)
}

func (u *Upgrade) apply(ctx context.Context, patience time.Duration, works func(context.Context) error) error {
	if err := u.on.Apply(ctx, u.objects...); err != nil {
		return err
	}
	if u.finish != nil {
		if err := u.finish(ctx); err != nil {
			return err
		}
	}
	if err := u.await(ctx, patience); err != nil {
		return err
	}
	return install.Wait(ctx, patience, works)
}

// await waits until the Deployments run the new pods only.
func (u *Upgrade) await(ctx context.Context, patience time.Duration) error {
	if u.namespace == "" {
		return nil
	}
	return install.Wait(ctx, patience, func(ctx context.Context) error { return available(ctx, u.on, u.namespace) })
}
