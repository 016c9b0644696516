package setup

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/credential"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/render"
)

// JoinRequest is a cluster's request to become a member.
type JoinRequest struct {
	// File is what the join file says.
	File credential.Membership
	// ClusterID is the id that the person expects; empty means the file's.
	ClusterID names.ClusterID
	// BrokerServer is the broker's URL as this program reaches it; empty means the member's.
	BrokerServer string
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
	membership, onBroker := r.File, (*install.Target)(nil)
	if r.Offline {
		say("leaving it to the agent to talk to the broker")
	} else {
		say("talking to the broker at %s", r.File.Server)
		if membership, onBroker, err = exchange(ctx, r, j.state, say); err != nil {
			return err
		}
	}
	say("installing Atoll")
	if err := cluster.CRDs(ctx, j.crds, r.ReplaceCRDs); err != nil {
		return err
	}
	if err := cluster.Apply(ctx, j.objects...); err != nil {
		return err
	}
	if err := cluster.Apply(ctx, install.Objects(membership.Secret(names.SystemNamespace))...); err != nil {
		return err
	}
	if onBroker == nil {
		return nil
	}
	return useUp(ctx, onBroker, membership)
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

// joining is what is known of a cluster that is about to join, and what it gets.
type joining struct {
	state         memberState
	crds, objects []*unstructured.Unstructured
}

// prepare makes the checks for which the broker is not needed.
func prepare(ctx context.Context, cluster *install.Target, r JoinRequest) (*joining, error) {
	var j joining
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

// MemberManifests returns what a cluster that has nothing of Atoll's gets as a member, but its Secret: custom resource
// definitions, and the objects that need those. With broker it holds clustersets, too.
func MemberManifests(member render.Member, id names.ClusterID, clusterset string, broker bool) (crds, objects []*unstructured.Unstructured) {
	return memberManifests(member, credential.Membership{ClusterID: id, Clusterset: clusterset}, memberState{broker: broker})
}

func memberManifests(member render.Member, m credential.Membership, state memberState) (crds, objects []*unstructured.Unstructured) {
	if crds, objects = member.Manifests(); state.broker {
		crds = withClusters(crds)
	}
	return crds, append(objects, install.Objects(properties(m, state)...)...)
}

// whoAmI makes sure that the broker is the join file's, and accepts its token.
func whoAmI(ctx context.Context, r JoinRequest) error {
	as, err := connect(r.File, r.BrokerServer, nil)
	if err != nil {
		return err
	}
	return as.Client.Create(ctx, &authenticationv1.SelfSubjectReview{})
}

// memberState is what a cluster is before it joins, or leaves.
type memberState struct {
	// uid is that of the kube-system namespace, which tells clusters apart.
	uid string
	// joined is the membership that it has, nil for none.
	joined *credential.Membership
	// broken says why joined is nil although there is a Secret.
	broken error
	// properties are the ClusterProperties, by name.
	properties map[string]aboutv1beta1.ClusterProperty
	// broker tells whether the cluster holds clustersets itself.
	broker bool
}

func readMember(ctx context.Context, cluster *install.Target) (memberState, error) {
	state := memberState{properties: map[string]aboutv1beta1.ClusterProperty{}}
	kubeSystem, err := cluster.Namespace(ctx, metav1.NamespaceSystem)
	if err != nil || kubeSystem == nil {
		return state, fmt.Errorf("reading namespace kube-system of %s: %w", cluster.Config.Host, errors.Join(err))
	}
	state.uid = string(kubeSystem.UID)
	secret := &corev1.Secret{}
	switch err := cluster.Get(ctx, client.ObjectKey{Namespace: names.SystemNamespace, Name: credential.SecretName}, secret); {
	case err == nil:
		var joined credential.Membership
		if joined, state.broken = credential.FromSecret(secret); state.broken == nil {
			state.joined = &joined
		}
	case !apierrors.IsNotFound(err):
		return state, fmt.Errorf("reading the cluster's membership: %w", err)
	}
	properties := &aboutv1beta1.ClusterPropertyList{}
	if err := cluster.List(ctx, properties); err != nil && !noSuchKind(err) {
		return state, fmt.Errorf("reading the cluster's properties: %w", err)
	}
	for _, p := range properties.Items {
		state.properties[p.Name] = p
	}
	clustersets := &corev1.NamespaceList{}
	if err := cluster.List(ctx, clustersets, client.HasLabels{names.LabelClusterset}); err != nil {
		return state, fmt.Errorf("reading namespaces: %w", err)
	}
	state.broker = len(clustersets.Items) > 0
	return state, nil
}

// properties are the ClusterProperties that a member has (KEP-2149), without those that are
// there already and somebody else's.
func properties(m credential.Membership, state memberState) []client.Object {
	var wanted []client.Object
	for _, p := range []struct{ name, value string }{
		{aboutv1beta1.ClusterIDProperty, m.ClusterID.String()},
		{aboutv1beta1.ClustersetProperty, m.Clusterset},
	} {
		if have, ok := state.properties[p.name]; ok && have.Labels[install.LabelManagedBy] != install.ManagedBy {
			continue
		}
		wanted = append(wanted, &aboutv1beta1.ClusterProperty{
			TypeMeta:   metav1.TypeMeta{APIVersion: aboutv1beta1.GroupVersion.String(), Kind: "ClusterProperty"},
			ObjectMeta: metav1.ObjectMeta{Name: p.name},
			Spec:       aboutv1beta1.ClusterPropertySpec{Value: p.value},
		})
	}
	return wanted
}

// connect returns the broker as the token's owner reaches it, at another address than the
// membership's where one is given.
func connect(m credential.Membership, server string, report install.Report) (*install.Target, error) {
	config := broker.NewToken(m.Token, nil).Config(m)
	if server != "" {
		config.Host = server
	}
	config.Timeout = answerTime
	return install.NewTarget(config, report)
}

// answerTime is how long one answer of the broker is waited for.
const answerTime = 10 * time.Second

// exchange takes the join file's token to the broker and gets the member's own for it. Where
// the file was used already, by this cluster, what it has got then is as good.
func exchange(ctx context.Context, r JoinRequest, state memberState, say Say) (credential.Membership, *install.Target, error) {
	member := r.File
	as, err := connect(member, r.BrokerServer, nil)
	if err != nil {
		return member, nil, err
	}
	token, err := requestToken(ctx, as, member.Clusterset, names.MemberAccount(member.ClusterID), broker.MaxTokenLifetime)
	switch {
	case err == nil:
		member.Token = token
	case usedUp(err) && state.joined != nil && state.joined.SameBroker(member):
		say("the join file was used already: going on with what the cluster has got for it")
		member.Token = state.joined.Token
	default:
		return member, nil, explain(err, member, time.Now())
	}
	as, err = connect(member, r.BrokerServer, nil)
	if err != nil {
		return member, nil, err
	}
	if err := free(ctx, as, member, state.uid); err != nil {
		return member, nil, explainUnlessHint(err, member)
	}
	return member, as, nil
}

// usedUp tells whether an error is what a join file gets that was used already: its account's
// rights go first, and then, up to ten seconds later, the API server forgets the token.
func usedUp(err error) bool { return apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) }

func explainUnlessHint(err error, m credential.Membership) error {
	var already *Hint
	if errors.As(err, &already) {
		return err
	}
	return explain(err, m, time.Now())
}

// free makes sure that a cluster id is no other cluster's.
func free(ctx context.Context, onBroker *install.Target, m credential.Membership, uid string) error {
	have := &brokerv1alpha1.MemberCluster{}
	key := client.ObjectKey{Namespace: m.Clusterset, Name: m.ClusterID.String()}
	if err := onBroker.Get(ctx, key, have); err != nil {
		return client.IgnoreNotFound(err)
	}
	if have.Spec.ClusterUID == uid {
		return nil
	}
	return hint(fmt.Sprintf("join with another id: atoll broker token create ID --namespace %[2]s. If that cluster is gone for good: atoll broker remove %[1]s --namespace %[2]s", m.ClusterID, m.Clusterset),
		"cluster id %q belongs to another cluster already (its kube-system namespace has UID %s, this one's %s; %s)",
		m.ClusterID, have.Spec.ClusterUID, uid, lastHeard(ctx, onBroker, key))
}

// lastHeard says when a member was last heard of.
func lastHeard(ctx context.Context, onBroker *install.Target, member client.ObjectKey) string {
	lease := &coordinationv1.Lease{}
	if err := onBroker.Get(ctx, member, lease); err != nil || lease.Spec.RenewTime == nil {
		return "it has no heartbeat"
	}
	return fmt.Sprintf("it was last heard of %s ago", time.Since(lease.Spec.RenewTime.Time).Round(time.Second))
}

// useUp makes the join file worthless.
func useUp(ctx context.Context, onBroker *install.Target, m credential.Membership) error {
	joiner := broker.Joiner(m.Clusterset, m.ClusterID).ServiceAccount
	if err := client.IgnoreNotFound(onBroker.Client.Delete(ctx, joiner)); err != nil {
		return explain(err, m, time.Now())
	}
	return nil
}
