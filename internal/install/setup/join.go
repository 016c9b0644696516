package setup

import (
	"context"
	"net/http"
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

// JoinRequest asks to add a cluster to a clusterset.
type JoinRequest struct {
	// File is the content of the join file.
	File credential.Membership
	// ClusterID is the ID that the user expects; empty means the file's.
	ClusterID names.ClusterID
	// Broker locates the broker for this program.
	Broker credential.Locate
	// Offline skips the broker. The agent then exchanges the token and checks that the ID is free.
	Offline bool
	// Member configures Atoll in the cluster.
	Member render.Member
	// ServiceCIDRs are the Service ranges in the agent's arguments. ByClusterIP means that the agent advertises cluster IPs.
	ServiceCIDRs []string
	ByClusterIP  bool
	// Settings are the flags to store for later joins and upgrades; nil means the agent's arguments.
	Settings Settings
	// ReplaceCRDs overwrites foreign definitions that lack a version.
	ReplaceCRDs bool
}

// Join makes a cluster a member of a clusterset. It changes nothing before all possible checks have passed.
func Join(ctx context.Context, cluster *install.Target, r JoinRequest, say Say) error {
	j, err := prepare(ctx, cluster, r, say)
	if err != nil {
		return err
	}
	if err := cluster.CheckCRDs(ctx, j.crds, r.ReplaceCRDs); err != nil {
		return err
	}
	membership, onBroker := r.File, (*install.Target)(nil)
	if r.Offline {
		say("not connecting to the broker from this machine: the agent connects to the broker later")
		if j.state.joined != nil && j.state.joined.From(r.File) {
			membership.Token = j.state.joined.Token
		}
	} else {
		say("connecting to the broker at %s", r.File.Server)
		if membership, onBroker, err = exchange(ctx, r, j.state, say); err != nil {
			return err
		}
	}
	if text := proxyWarning(r.File.Server, http.ProxyFromEnvironment, r.Member.AgentEnv); text != "" && !r.Member.NoWorkloads {
		say("warning: %s", text)
	}
	say("installing Atoll")
	// Store the credentials first, because a join file works only once.
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

// warnDenied warns that a member may export nothing. If the broker does not let members read the permissions, it
// restricts none.
func warnDenied(ctx context.Context, onBroker *install.Target, m credential.Membership, say Say) {
	config := &corev1.ConfigMap{}
	if onBroker.Get(ctx, client.ObjectKey{Namespace: m.Clusterset, Name: names.MemberPermissions}, config) != nil {
		return
	}
	permitted, _ := permissions.Read(config)
	if may := permitted.Of(m.ClusterID).Namespaces; may != nil && len(may.Texts()) == 0 {
		say("warning: the broker does not permit cluster %s to export any namespace. The cluster can only import services of other clusters. To permit namespaces: %s",
			m.ClusterID, command.Broker.Atoll("broker members set %s --namespaces NAMESPACE,... --clusterset %s", m.ClusterID, m.Clusterset))
	}
}

// namespaces returns the objects that are namespaces.
func namespaces(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return o.GetKind() != "Namespace" })
}

// CheckJoin makes the checks of Join that leave no trace, and returns the manifests that Join would apply.
func CheckJoin(ctx context.Context, cluster *install.Target, r JoinRequest, say Say) ([]*unstructured.Unstructured, error) {
	j, err := prepare(ctx, cluster, r, say)
	if err != nil {
		return nil, err
	}
	if err := cluster.CheckCRDs(ctx, j.crds, r.ReplaceCRDs); err != nil {
		return nil, err
	}
	if !r.Offline {
		say("connecting to the broker at %s", r.File.Server)
		if err := whoAmI(ctx, r); err != nil {
			return nil, explain(err, r.File, time.Now())
		}
	}
	return slices.Concat(j.crds, j.objects, install.Objects(r.File.Secret(names.SystemNamespace))), nil
}

// preparation is the state of a cluster before a join, with its manifests.
type preparation struct {
	state         memberState
	crds, objects []*unstructured.Unstructured
}

// prepare makes the checks that do not need the broker.
func prepare(ctx context.Context, cluster *install.Target, r JoinRequest, say Say) (*preparation, error) {
	var j preparation
	var err error
	if j.state, err = readMember(ctx, cluster); err != nil {
		return nil, err
	}
	if err := checkAgreement(r.File, r.ClusterID, j.state); err != nil {
		return nil, err
	}
	if err := supported(cluster); err != nil {
		return nil, err
	}
	if err := checkPreference(ctx, cluster, r.Member.Prefer); err != nil {
		return nil, err
	}
	warning, err := serviceRanges(cluster, r)
	if err != nil {
		return nil, err
	}
	if warning != "" {
		say("warning: %s", warning)
	}
	j.crds, j.objects = memberManifests(r.Member, r.File, j.state)
	j.objects = append(j.objects, install.Objects(r.stored().object(names.SystemNamespace))...)
	all := slices.Concat(j.crds, j.objects, install.Objects(r.File.Secret(names.SystemNamespace)))
	return &j, cluster.Rights(ctx, []string{"create", "patch"}, all...)
}
