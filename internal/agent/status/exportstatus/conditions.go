package exportstatus

import (
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/contribution"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Progress is the input of an export's conditions, besides the cluster's contribution.
type Progress struct {
	// Record is the result of writing the record, if known.
	Record status.Problem
	// Endpoints is the result of publishing the endpoints, if Tried.
	Endpoints status.Problem
	Tried     bool
	// Conflicts are those with other clusters' exports.
	Conflicts []merge.Conflict
}

// Conditions returns Valid, Ready and Conflict. Valid depends on this cluster and on the broker's permissions. Before more is known after a
// restart, the other two keep their values. again is when they change without an event; 0 for never.
func Conditions(own local.Own, so Progress, now time.Time) (all []metav1.Condition, again time.Duration) {
	valid := metav1.Condition{
		Type:    string(mcsv1beta1.ServiceExportConditionValid),
		Status:  metav1.ConditionFalse,
		Reason:  string(own.Validity.Reason),
		Message: own.Validity.Message,
	}
	if own.Validity.Valid {
		valid.Status = metav1.ConditionTrue
	}
	all = []metav1.Condition{valid}
	current := meta.FindStatusCondition(own.Export.Status.Conditions, string(mcsv1beta1.ServiceExportConditionReady))
	untried := !so.Record.Waiting && so.Record.Failure == "" && !so.Tried
	switch {
	case current != nil && (so.Record.Waiting || untried):
		all = append(all, *current)
	case !untried:
		condition := metav1.Condition{}
		condition, again = ready(own, so, current, now)
		all = append(all, condition)
	}
	current = meta.FindStatusCondition(own.Export.Status.Conditions, string(mcsv1beta1.ServiceExportConditionConflict))
	switch {
	case !so.Record.Waiting:
		all = append(all, conflict(so.Conflicts))
	case current != nil:
		all = append(all, *current)
	}
	return all, again
}

// WorthAnEvent reports whether a transition deserves an Event. A new export's Valid and Conflict do not if they are
// good: the Event for Ready implies them. A condition that becomes Unknown does not either: most failures end soon.
func WorthAnEvent(before []metav1.Condition, now metav1.Condition) bool {
	if now.Status == metav1.ConditionUnknown {
		return false
	}
	good := now.Type == string(mcsv1beta1.ServiceExportConditionValid) && now.Status == metav1.ConditionTrue ||
		now.Type == string(mcsv1beta1.ServiceExportConditionConflict) && now.Status == metav1.ConditionFalse
	return !good || meta.FindStatusCondition(before, now.Type) != nil
}

func ready(own local.Own, so Progress, current *metav1.Condition, now time.Time) (condition metav1.Condition, again time.Duration) {
	condition = metav1.Condition{
		Type:   string(mcsv1beta1.ServiceExportConditionReady),
		Status: metav1.ConditionFalse,
	}
	switch {
	case so.Record.Failure != "":
		condition.Status, condition.Reason, again = status.Ready(current, so.Record.Since, now)
		condition.Message = "The export did not reach the broker. The agent retries: " + so.Record.Failure
	case !own.Validity.Valid:
		condition.Reason = string(mcsv1beta1.ServiceExportReasonPending)
		condition.Message = "The Service is exported only when this ServiceExport is valid."
	case own.Withheld != "":
		condition.Reason = string(mcsv1beta1.ServiceExportReasonPending)
		condition.Message = own.Withheld
	case so.Record.Waiting:
		condition.Reason = string(mcsv1beta1.ServiceExportReasonPending)
		condition.Message = "The agent has not reached the broker yet."
	case so.Endpoints.Failure != "":
		condition.Status, condition.Reason, again = status.Ready(current, so.Endpoints.Since, now)
		condition.Message = "Not all endpoints reached the broker. The agent retries: " + so.Endpoints.Failure
	default:
		condition.Status = metav1.ConditionTrue
		condition.Reason = string(mcsv1beta1.ServiceExportReasonExported)
		condition.Message = "The Service is exported to the clusterset."
		if own.Service != nil && own.Service.DeletionTimestamp != nil {
			condition.Message += " The Service is being deleted, and serves until its finalizers are removed."
		}
		if own.Contribution != nil && own.Contribution.Scope == brokerv1alpha1.ScopeHub {
			condition.Message = "The Service is exported only to the load balancers of its MultiClusterService. Clusters do not import it."
		}
		for _, r := range so.Endpoints.Warnings {
			condition.Message += " " + r.Message
		}
	}
	return condition, again
}

// Our own reasons: mcs-api has none for an invalid part, nor for a namespace that is closed to imports.
const (
	reasonPartsInvalid    = "PartsInvalid"
	reasonSystemNamespace = "SystemNamespace"
)

// Warnings are an export's warnings, independent of its endpoints. closed: its namespace is closed to other clusters'
// exports. system: patterns of more system namespaces.
func Warnings(own local.Own, closed bool, system ...string) []status.Warning {
	var warnings []status.Warning
	if message := contribution.Warnings(own.Export, own.Refused); message != "" {
		warnings = append(warnings, status.Warning{Reason: reasonPartsInvalid, Message: message})
	}
	if own.Export != nil && names.IsSystem(own.Export.Namespace, system...) {
		warnings = append(warnings, status.Warning{Reason: reasonSystemNamespace, Message: systemNamespace(own.Export.Namespace, closed)})
	}
	return warnings
}

// systemNamespace warns about an export from a system namespace: who imports it, and how to change that.
func systemNamespace(namespace string, closed bool) string {
	label := command.Of("CLUSTER").Kubectl("label namespace %s --overwrite %s=%s", namespace, names.LabelExports, names.ExportsAllowed)
	message := fmt.Sprintf("Clusters import this Service only if their namespace %s has the label that allows imports. "+
		"To add the label, run this command in each cluster: %s", namespace, label)
	if closed {
		message = fmt.Sprintf("Namespace %s of this cluster has no label that allows imports, so this cluster does not import exports of the same Service from other clusters. %s", namespace, message)
	}
	return message
}

// warningsIn returns the texts of the warnings that a wanted condition Ready has, by reason.
func warningsIn(wanted []metav1.Condition, so Progress) map[string]string {
	if !meta.IsStatusConditionTrue(wanted, string(mcsv1beta1.ServiceExportConditionReady)) {
		return nil
	}
	all := map[string]string{}
	for _, w := range so.Endpoints.Warnings {
		all[w.Reason] = w.Message
	}
	return all
}

// EventType is Warning for a condition that reports a problem.
func EventType(c metav1.Condition) string {
	well := c.Status == metav1.ConditionTrue
	if c.Type == string(mcsv1beta1.ServiceExportConditionConflict) {
		well = !well
	}
	if well || c.Reason == string(mcsv1beta1.ServiceExportReasonPending) {
		return corev1.EventTypeNormal
	}
	return corev1.EventTypeWarning
}
