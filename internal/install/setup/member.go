package setup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// MemberManifests returns the manifests for a new member, except its Secret: CustomResourceDefinitions, and the
// objects that need them. With broker, the cluster also holds clustersets.
func MemberManifests(member render.Member, id names.ClusterID, clusterset string, broker bool) (crds, objects []*unstructured.Unstructured) {
	var state memberState
	if broker {
		state.clustersets = []string{clusterset}
	}
	return memberManifests(member, credential.Membership{ClusterID: id, Clusterset: clusterset}, state)
}

func memberManifests(member render.Member, m credential.Membership, state memberState) (crds, objects []*unstructured.Unstructured) {
	if crds, objects = member.Manifests(); len(state.clustersets) > 0 {
		crds = withClusters(crds)
	}
	return crds, append(objects, install.Objects(properties(m, state)...)...)
}

// memberState is the state of a cluster before it joins or leaves.
type memberState struct {
	// on names the cluster in commands.
	on command.Cluster
	// uid is the UID of kube-system, which identifies clusters.
	uid string
	// joined is the current membership, or nil.
	joined *credential.Membership
	// broken says why joined is nil although a Secret exists.
	broken error
	// properties are the ClusterProperties, by name.
	properties map[string]aboutv1beta1.ClusterProperty
	// clustersets are those that the cluster holds itself, as a broker.
	clustersets []string
}

func readMember(ctx context.Context, cluster *install.Target) (memberState, error) {
	state := memberState{on: cluster.On, properties: map[string]aboutv1beta1.ClusterProperty{}}
	kubeSystem, err := cluster.Namespace(ctx, metav1.NamespaceSystem)
	switch {
	case err != nil:
		return state, fmt.Errorf("reading namespace kube-system of %s: %w", cluster.Config.Host, err)
	case kubeSystem == nil:
		return state, fmt.Errorf("the API server %s has no namespace kube-system, whose UID identifies a cluster. Check that the API server belongs to a cluster", cluster.Config.Host)
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
	state.clustersets, err = clustersets(ctx, cluster)
	return state, err
}

// properties returns a member's ClusterProperties (KEP-2149), without existing ones that Atoll did not create.
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
