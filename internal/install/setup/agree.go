package setup

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// checkAgreement checks that the join file, the user (expected, may be empty) and the cluster agree on cluster ID and
// clusterset. A cluster must leave before it can get another ID.
func checkAgreement(file credential.Membership, expected names.ClusterID, state memberState) error {
	if expected != "" && expected != file.ClusterID {
		return hint("Create a join file for this cluster: "+command.Broker.Atoll("broker token create %s --clusterset %s", expected, file.Clusterset),
			"the join file is for cluster %q, not for cluster %q", file.ClusterID, expected)
	}
	if j := state.joined; j != nil {
		leave := "To change the cluster id or the clusterset, first remove the cluster from the clusterset. This withdraws its exports and deletes its imports: " + state.on.Atoll("leave") + ". Then join the cluster again."
		if j.ClusterID != file.ClusterID {
			return hint(leave, "this cluster is already a member with the cluster id %q, but the join file is for cluster id %q", j.ClusterID, file.ClusterID)
		}
		if j.Clusterset != file.Clusterset {
			return hint(leave, "this cluster is already a member of clusterset %q, but the join file is for clusterset %q", j.Clusterset, file.Clusterset)
		}
	}
	for property, wanted := range map[string]string{
		aboutv1beta1.ClusterIDProperty:  file.ClusterID.String(),
		aboutv1beta1.ClustersetProperty: file.Clusterset,
	} {
		have, ok := state.properties[property]
		if !ok || have.Spec.Value == wanted {
			continue
		}
		next := "Create a join file for the existing cluster id: " + command.Broker.Atoll("broker token create %s --clusterset %s", have.Spec.Value, file.Clusterset)
		if property == aboutv1beta1.ClustersetProperty {
			next = "Create a join file for the existing clusterset: " + command.Broker.Atoll("broker token create %s --clusterset %s", file.ClusterID, have.Spec.Value)
		}
		return hint(next+". If nothing else uses the ClusterProperty, delete it, and join the cluster again: "+state.on.Kubectl("delete clusterproperty %s", property),
			"this cluster's ClusterProperty %s has the value %q, but the join file has the value %q", property, have.Spec.Value, wanted)
	}
	return nil
}

// checkPreference returns an error if the cluster's default TrafficPolicy is not the one to write, because a person has
// written or edited it.
func checkPreference(ctx context.Context, cluster *install.Target, prefer render.Preference) error {
	want := prefer.Policy()
	if want == nil {
		return nil
	}
	have := &trafficv1alpha1.TrafficPolicy{}
	switch err := cluster.Get(ctx, client.ObjectKeyFromObject(want), have); {
	case err != nil && noSuchKind(err):
		return nil
	case err != nil:
		return fmt.Errorf("reading the cluster's default TrafficPolicy: %w", err)
	case equality.Semantic.DeepEqual(have.Spec, want.Spec):
		return nil
	}
	return hint(fmt.Sprintf("To keep this policy, join without --prefer. To replace the policy, delete it, then join again: %s",
		cluster.On.Kubectl("delete trafficpolicy %s -n %s", have.Name, have.Namespace)),
		"the cluster's default TrafficPolicy %s/%s exists and differs from --prefer %s", have.Namespace, have.Name, prefer)
}

// noSuchKind reports whether the API server does not know a kind.
func noSuchKind(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }
