package setup

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/permissions"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// JoinRequest is a cluster's request to become a member.
type JoinRequest struct {
	// File is what the join file says.
	File credential.Membership
	// ClusterID is the id that the person expects; empty means the file's.
	ClusterID names.ClusterID
	// Broker locates the broker for this program.
	Broker credential.Locate
	// Offline leaves the broker alone: it is for the agent to exchange the token, and to find
	// out whether the id is free.
	Offline bool
	// Member is what runs in the cluster, and how.
	Member render.Member
	// ReplaceCRDs overwrites definitions of other people's that lack a version.
	ReplaceCRDs bool
}

// Join makes a cluster a member of a clusterset. Nothing is changed before all that can be
// checked has been.
func Join(ctx context.Context, cluster *install.Target, r JoinRequest, say Say) error {
	j, err := prepare(ctx, cluster, r)
	if err != nil {
		return err
	}
	if err := cluster.CheckCRDs(ctx, j.crds, r.ReplaceCRDs); err != nil {
		return err
	}
	membership, onBroker := r.File, (*install.Target)(nil)
	if r.Offline {
		say("leaving it to the agent to talk to the broker")
		if j.state.joined != nil && j.state.joined.From(r.File) {
			membership.Token = j.state.joined.Token
		}
	} else {
		say("talking to the broker at %s", r.File.Server)
		if membership, onBroker, err = exchange(ctx, r, j.state, say); err != nil {
			return err
		}
	}
	say("installing Atoll")
	// First of all what can't be got a second time.
	if err := cluster.Apply(ctx, append(namespaces(j.objects), install.Objects(membership.Secret(names.SystemNamespace))...)...); err != nil {
		return err
	}
	if err := cluster.CRDs(ctx, j.crds, r.ReplaceCRDs); err != nil {
		return err
	}
	if err := cluster.Apply(ctx, j.objects...); err != nil {
		return err
	}
	if onBroker == nil {
		return nil
	}
	warnDenied(ctx, onBroker, membership, say)
	return endJoin(ctx, onBroker, membership)
}

// warnDenied tells that a member may export nothing. A broker that does not let members read the permissions restricts none.
func warnDenied(ctx context.Context, onBroker *install.Target, m credential.Membership, say Say) {
	config := &corev1.ConfigMap{}
	if onBroker.Get(ctx, client.ObjectKey{Namespace: m.Clusterset, Name: names.MemberPermissions}, config) != nil {
		return
	}
	permitted, _ := permissions.Read(config)
	if may := permitted.Of(m.ClusterID).Namespaces; may != nil && len(may.Texts()) == 0 {
		say("warning: the broker does not permit cluster %s to export any namespace. The cluster imports Services of other clusters. To permit namespaces: %s",
			m.ClusterID, command.Broker.Atoll("broker members set %s --namespaces NAMESPACE,... --clusterset %s", m.ClusterID, m.Clusterset))
	}
}

// namespaces are those of the objects that are one.
func namespaces(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return o.GetKind() != "Namespace" })
}

// CheckJoin makes the checks of Join, as far as they leave no trace, and returns the manifests
// of what Join would apply.
func CheckJoin(ctx context.Context, cluster *install.Target, r JoinRequest, say Say) ([]*unstructured.Unstructured, error) {
	j, err := prepare(ctx, cluster, r)
	if err != nil {
		return nil, err
	}
	if err := cluster.CheckCRDs(ctx, j.crds, r.ReplaceCRDs); err != nil {
		return nil, err
	}
	if !r.Offline {
		say("talking to the broker at %s", r.File.Server)
		if err := whoAmI(ctx, r); err != nil {
			return nil, explain(err, r.File, time.Now())
		}
	}
	return slices.Concat(j.crds, j.objects, install.Objects(r.File.Secret(names.SystemNamespace))), nil
}

// preparation is what is known of a cluster that is about to join, and what it gets.
type preparation struct {
	state         memberState
	crds, objects []*unstructured.Unstructured
}

// prepare makes the checks for which the broker is not needed.
func prepare(ctx context.Context, cluster *install.Target, r JoinRequest) (*preparation, error) {
	var j preparation
	var err error
	if j.state, err = readMember(ctx, cluster); err != nil {
		return nil, err
	}
	if err := settle(r.File, r.ClusterID, j.state); err != nil {
		return nil, err
	}
	if err := supported(cluster); err != nil {
		return nil, err
	}
	j.crds, j.objects = memberManifests(r.Member, r.File, j.state)
	all := slices.Concat(j.crds, j.objects, install.Objects(r.File.Secret(names.SystemNamespace)))
	return &j, cluster.Rights(ctx, []string{"create", "patch"}, all...)
}
