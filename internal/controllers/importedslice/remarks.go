package importedslice

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Reasons of Events, and of what the ServiceImport's condition says beside being ready.
const (
	reasonOverlappingRanges = "OverlappingRanges"
	reasonRecordInvalid     = "RecordInvalid"
	reasonEndpointsRefused  = "EndpointsRefused"
	reasonEndpointsLimited  = "EndpointsLimited"
	reasonClusterLost       = "ClusterLost"
	reasonNameTaken         = "NameTaken"
)

var reasons = []string{reasonOverlappingRanges, reasonRecordInvalid, reasonEndpointsRefused, reasonEndpointsLimited, reasonClusterLost, reasonNameTaken}

// remarkOf is what an Event is recorded for once.
type remarkOf struct {
	local.Part
	reason string
}

func clusterLost(part local.Part) status.Remark {
	return status.Remark{Reason: reasonClusterLost, Message: fmt.Sprintf(
		"Cluster %q is unreachable: no heartbeat, and none of its endpoints answers. Its endpoints are withdrawn until it is back.", part.Cluster)}
}

// recordInvalid says what of another cluster's record is left out.
func recordInvalid(part local.Part, export *brokerv1alpha1.ExportedService) []status.Remark {
	count, summary := validation.RefusedOf(export)
	if count == 0 {
		return nil
	}
	return []status.Remark{{Reason: reasonRecordInvalid, Message: fmt.Sprintf(
		"Parts of the export of cluster %q are invalid and do not count here: %s. Correct them in that cluster.", part.Cluster, summary)}}
}

func nameTaken(req Request, imported *discoveryv1.EndpointSlice) status.Remark {
	return status.Remark{Reason: reasonNameTaken, Message: fmt.Sprintf(
		"The name of EndpointSlice %s/%s is taken by a slice that Atoll did not make. The endpoints of cluster %q are in EndpointSlice %s instead, and receive traffic. "+
			"Nothing has to be done.", imported.Namespace, names.ImportedSlice(req.Cluster, req.Slice), req.Cluster, imported.Name)}
}

// remarks are what people should know about a part.
func (c *Controller) remarks(part local.Part, sum controllers.SlicesSummary) []status.Remark {
	all := sum.Remarks
	if sum.Refused > 0 {
		all = append(all, status.Remark{Reason: reasonEndpointsRefused, Message: fmt.Sprintf(
			"Endpoints of cluster %q are not imported: %s. Its other endpoints are. Correct them in that cluster.", part.Cluster, sum.First)})
	}
	if c.share.Lacks(part.Cluster.String(), part.Service) {
		all = append(all, status.Remark{Reason: reasonEndpointsLimited, Message: fmt.Sprintf(
			"Cluster %q exports more than %d endpoints times ports to this cluster. Some of this service's endpoints are left out and get no traffic from here. "+
				"Export fewer endpoints or ports there, or raise --max-endpoints-per-member of the agent here.", part.Cluster, c.share.Limit())})
	}
	return all
}

// note tells others how importing a part's slices went, once all of them have been tried, and records Events about what people should know.
func (c *Controller) note(part local.Part, of inputs) {
	sum, all := c.slices.Summary(part)
	if of.gone || all && sum.Err == nil && !of.held && !of.Own && c.broker.Export(part.Service, part.Cluster) == nil {
		if all && sum.Err == nil {
			c.slices.Forget(part)
		}
		c.outcomes.Forget(part) // the next import or export is a new one
		for _, reason := range reasons {
			c.said.Forget(remarkOf{part, reason})
		}
		return
	}
	remarks := c.remarks(part, sum)
	switch {
	case controllers.Refused(sum.Err):
		c.outcomes.Set(part, status.Outcome{Failure: sum.Err.Error(), Remarks: remarks})
	case sum.Err != nil: // it passes by trying again
		if _, known := c.outcomes.Get(part); !known {
			c.outcomes.Set(part, status.Outcome{Waiting: true})
		}
	case all:
		c.outcomes.Set(part, status.Outcome{Remarks: remarks})
	}
	c.say(part, of, remarks)
}

// say records an Event for each remark that is new.
func (c *Controller) say(part local.Part, of inputs, remarks []status.Remark) {
	imp := of.Import.Import
	now := map[string]bool{}
	for _, r := range remarks {
		now[r.Reason] = true
		if !c.said.News(remarkOf{part, r.Reason}, imp.UID) || r.Reason == reasonClusterLost && c.options.Withdrawn.Told(part.Cluster.String(), imp.CreationTimestamp.Time) {
			continue
		}
		action := "Import"
		if r.Reason == reasonClusterLost {
			action = "Withdraw"
		}
		status.Say(c.recorder, imp, c.broker.Reference(part.Cluster), corev1.EventTypeWarning, r.Reason, action, r.Message)
	}
	for _, reason := range reasons {
		if !now[reason] && c.said.Forget(remarkOf{part, reason}) && reason == reasonClusterLost && of.imports {
			status.Say(c.recorder, imp, c.broker.Reference(part.Cluster), corev1.EventTypeNormal, "ClusterBack", "Import",
				fmt.Sprintf("Cluster %q is back, and so are its endpoints.", part.Cluster))
		}
	}
}
