package importstatus

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/derived"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

type inputsOf struct {
	have     *mcsv1beta1.ServiceImport
	exported local.Exported
	families []corev1.IPFamily // of this cluster
	problems map[status.Part]status.Problem
	// missing is set if the condition Ready is not True and a slice is about to be imported for the first time.
	missing bool
}

// decision is an import's status, its warnings, and the condition Ready if the change deserves an Event. again is when to
// decide again without an event; 0 for never.
type decision struct {
	status   mcsv1beta1.ServiceImportStatus
	warnings []warning
	event    *metav1.Condition
	again    time.Duration
	// incomplete is set if nothing fails and objects are about to be written.
	incomplete bool
}

// decide keeps conditions that others own.
func decide(in inputsOf, now time.Time) (d decision) {
	imp := in.have.DeepCopy()
	imp.Status = mcsv1beta1.ServiceImportStatus{EndpointSliceObjects: mcsv1beta1.EndpointSliceObjectsPresent, Conditions: imp.Status.Conditions}
	if len(imp.Spec.IPFamilies) == 0 || derived.Portless(imp) { // unusable in this cluster
		imp.Status.EndpointSliceObjects = mcsv1beta1.EndpointSliceObjectsAbsent
	}
	for _, cluster := range merge.Clusters(in.exported.Imported) {
		imp.Status.Clusters = append(imp.Status.Clusters, mcsv1beta1.ClusterStatus{Cluster: cluster})
	}
	for _, id := range in.exported.Awaited {
		if slices.ContainsFunc(in.have.Status.Clusters, func(c mcsv1beta1.ClusterStatus) bool { return c.Cluster == id.String() }) {
			imp.Status.Clusters = append(imp.Status.Clusters, mcsv1beta1.ClusterStatus{Cluster: id.String()})
		}
	}
	slices.SortFunc(imp.Status.Clusters, func(a, b mcsv1beta1.ClusterStatus) int { return strings.Compare(a.Cluster, b.Cluster) })
	d.warnings = warnings(in.problems)
	ready, again := ready(imp, in, d.warnings, now)
	change := status.Decide(in.have.Status.Conditions, *ready, in.have.Generation, metav1.NewTime(now).Rfc3339Copy())
	meta.SetStatusCondition(&imp.Status.Conditions, change.Condition)
	if d.again = again; change.Transition && ready.Status != metav1.ConditionUnknown { // most failures end soon
		d.event = &change.Condition
	}
	d.status, d.incomplete = imp.Status, *ready == *Importing()
	return d
}

// awaits names the clusters whose exports are unknown.
func awaits(clusters []names.ClusterID) string {
	if len(clusters) == 0 {
		return ""
	}
	var ids []string
	for _, id := range clusters {
		ids = append(ids, id.String())
	}
	return fmt.Sprintf("The broker has lost the export records of %s. The import does not change until those clusters publish the records again or are removed.", names.ListClusters(ids))
}

// warning is a problem with the imports from a cluster.
type warning struct {
	cluster names.ClusterID // "" for the derived Service
	status.Warning
}

// warnings returns an import's warnings. If several slices have the same problem, it names one of them.
func warnings(problems map[status.Part]status.Problem) []warning {
	type about struct {
		cluster names.ClusterID
		reason  string
	}
	reported := map[about]bool{}
	var all []warning
	for _, part := range slices.SortedFunc(maps.Keys(problems), status.Part.Compare) {
		for _, r := range problems[part].Warnings {
			if key := (about{part.Cluster, r.Reason}); !reported[key] {
				reported[key] = true
				all = append(all, warning{part.Cluster, r})
			}
		}
	}
	return all
}

// ready returns an import's condition Ready, and when to decide again.
func ready(imp *mcsv1beta1.ServiceImport, in inputsOf, warnings []warning, now time.Time) (*metav1.Condition, time.Duration) {
	switch {
	case len(imp.Spec.IPFamilies) == 0:
		return NotSupported(imp, in.families), 0
	case derived.Portless(imp):
		return Portless(imp), 0
	}
	if since, text := failure(in.problems); text != "" {
		is, reason, again := status.Ready(meta.FindStatusCondition(in.have.Status.Conditions, string(mcsv1beta1.ServiceImportConditionReady)), since, now)
		return &metav1.Condition{Type: string(mcsv1beta1.ServiceImportConditionReady), Status: is, Reason: reason, Message: text}, again
	}
	if imp.Annotations[names.AnnotationDerivedService] == "" || imp.Spec.Type == mcsv1beta1.ClusterSetIP && len(imp.Spec.IPs) == 0 || in.missing {
		return Importing(), 0 // each of these comes with an event
	}
	var texts []string
	for _, text := range []string{LeftOut(in.exported.LeftOut, imp.Namespace), awaits(in.exported.Awaited)} {
		if text != "" {
			texts = append(texts, text)
		}
	}
	for _, r := range warnings {
		texts = append(texts, r.Message)
	}
	return Imported(imp, texts), 0
}

// failure returns which of an import's objects cannot be written, and since when; "" for none.
func failure(problems map[status.Part]status.Problem) (since time.Time, text string) {
	var clusters []string
	last := ""
	for _, part := range slices.SortedFunc(maps.Keys(problems), status.Part.Compare) {
		problem := problems[part]
		if problem.Failure == "" {
			continue
		}
		if since.IsZero() || problem.Since.Before(since) {
			since = problem.Since
		}
		switch id := part.Cluster.String(); {
		case part.Kind != "":
			text = fmt.Sprintf("The %s cannot be written. The agent retries: %s", part.Kind, problem.Failure)
		case part.Slice == "":
			text = "The derived Service cannot be written. The agent retries: " + problem.Failure
		case !slices.Contains(clusters, id):
			clusters, last = append(clusters, id), problem.Failure
		}
	}
	if text == "" && len(clusters) > 0 {
		text = fmt.Sprintf("The agent cannot write all endpoints from %s, and retries: %s", names.ListClusters(clusters), last)
	}
	return since, text
}
