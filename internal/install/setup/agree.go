package setup

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
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

// noSuchKind reports whether the API server does not know a kind.
func noSuchKind(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }
