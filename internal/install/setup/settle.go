package setup

import (
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// settle makes sure that everybody means the same cluster id and the same clusterset: the join
// file, the person (expected, which may be empty) and the cluster itself. A cluster that gets
// another id is another member: it leaves first.
func settle(file credential.Membership, expected names.ClusterID, state memberState) error {
	if expected != "" && expected != file.ClusterID {
		return hint(fmt.Sprintf("make one for it: atoll broker token create %s --namespace %s", expected, file.Clusterset),
			"the join file is for cluster %q, not for %q", file.ClusterID, expected)
	}
	if j := state.joined; j != nil {
		const leave = "another id, or another clusterset, means to leave first: atoll leave; then join again"
		if j.ClusterID != file.ClusterID {
			return hint(leave, "this cluster is a member already, as %q, and the join file is for %q", j.ClusterID, file.ClusterID)
		}
		if j.Clusterset != file.Clusterset {
			return hint(leave, "this cluster is a member of clusterset %q already, and the join file is for %q", j.Clusterset, file.Clusterset)
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
		next := "make a join file for that: atoll broker token create " + have.Spec.Value + " --namespace " + file.Clusterset
		if property == aboutv1beta1.ClustersetProperty {
			next = "make a join file for that clusterset: atoll broker token create " + file.ClusterID.String() + " --namespace " + have.Spec.Value
		}
		return hint(next+". If nothing needs the property as it is: kubectl delete clusterproperty "+property,
			"this cluster's ClusterProperty %s says %q, and the join file %q", property, have.Spec.Value, wanted)
	}
	return nil
}

// noSuchKind tells whether an API server does not know a kind.
func noSuchKind(err error) bool { return meta.IsNoMatchError(err) || apierrors.IsNotFound(err) }
