package importedslice

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/names"
	"github.com/atoll-mcs/atoll/internal/status"
)

// lost tells whether a part has no endpoints because its cluster is lost, and says so on the
// import. Where the exporting cluster has chosen that they stay, they do.
func (c *Controller) lost(part local.Part, imp *mcsv1beta1.ServiceImport, export *brokerv1alpha1.ExportedService) bool {
	if !c.options.Withdrawn.Has(part.Cluster.String()) || export.Spec.OnClusterLoss == names.OnLossKeep {
		if c.remarks.clear(part, reasonClusterLost) {
			status.Say(c.recorder, imp, c.broker.Reference(part.Cluster), corev1.EventTypeNormal, "ClusterBack", "Import",
				fmt.Sprintf("Cluster %q is back, and so are its endpoints.", part.Cluster))
		}
		return false
	}
	text := fmt.Sprintf("Cluster %q is unreachable: no heartbeat, and none of its endpoints answers. Its endpoints are withdrawn until it is back.", part.Cluster)
	if c.remarks.set(part, reasonClusterLost, remark{imp.UID, text}, false) && !c.options.Withdrawn.Told(part.Cluster.String(), imp.CreationTimestamp.Time) {
		status.Say(c.recorder, imp, c.broker.Reference(part.Cluster), corev1.EventTypeWarning, reasonClusterLost, "Withdraw", text)
	}
	return true
}
