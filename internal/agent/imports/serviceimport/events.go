package serviceimport

import (
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
)

type eventKey struct {
	reason string
	about  types.NamespacedName
}

// isNew reports whether an Event's content differs from the last one; "" means no Event.
func (r *Reconciler) isNew(reason string, about types.NamespacedName, what string) bool {
	subject := map[struct{}]string{}
	if what != "" {
		subject[struct{}{}] = what
	}
	added, _ := r.lastEvents.Update(eventKey{reason, about}, subject)
	return len(added) > 0
}

func namespaceOf(service types.NamespacedName) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Namespace: service.Namespace, Name: service.Namespace}
}

// importOf refers to the ServiceImport of a service, which may not exist.
func importOf(service types.NamespacedName) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: mcsv1beta1.GroupVersion.String(), Kind: mcsv1beta1.ServiceImportKindName, Namespace: service.Namespace, Name: service.Name,
	}
}

// sayForeign reports, with an Event and in the condition of this cluster's own export, that a ServiceImport of another
// implementation blocks the import; nil if none does.
func (r *Reconciler) sayForeign(service types.NamespacedName, foreign *mcsv1beta1.ServiceImport) {
	problem, uid := status.Problem{}, ""
	if foreign != nil {
		uid = string(foreign.UID)
		problem.Warnings = []status.Warning{{Reason: reasonForeign, Message: fmt.Sprintf(
			"This cluster does not import the service, because another tool or person created ServiceImport %s.", service.Name)}}
	}
	r.exports.Set(service, status.Part{Kind: mcsv1beta1.ServiceImportKindName}, problem)
	if r.isNew(reasonForeign, service, uid) {
		status.Say(r.recorder, foreign, nil, corev1.EventTypeWarning, reasonForeign, "Import", fmt.Sprintf(
			"Another tool or person created this ServiceImport, so the service is not imported. Delete the ServiceImport, or let Atoll manage it: %s",
			command.Here.Kubectl("label serviceimport %s -n %s %s=%s", service.Name, service.Namespace, names.LabelManagedBy, names.AgentManager)))
	}
}

// reasonForeign is the reason of a warning and of an Event.
const reasonForeign = "ForeignServiceImport"

// sayLeftOut reports, on the namespace, that this cluster refuses other clusters' exports of a service. If it imports
// other exports of the service, the ServiceImport's condition reports the refusal instead.
func (r *Reconciler) sayLeftOut(service types.NamespacedName, exported local.Exported) {
	var left local.LeftOut
	for _, l := range exported.LeftOut {
		if l.Reason != refusal.TooManyExports { // one Event names all of those: MemberOverBudget
			left = l
			break
		}
	}
	if left.Reason != refusal.SystemNamespace && len(exported.Imported) > 0 {
		left = local.LeftOut{}
	}
	if !r.isNew("LeftOut", service, string(left.Reason)+left.Cluster) {
		return
	}
	why, undo := left.Reason.Explain(service.Namespace, command.Here)
	eventType := corev1.EventTypeNormal // the namespace's owner configured it
	if left.Reason == refusal.SystemNamespace {
		eventType = corev1.EventTypeWarning
	}
	status.SayOf(r.recorder, names.ClusterID(left.Cluster), namespaceOf(service), importOf(service), eventType, string(left.Reason), "Import", fmt.Sprintf(
		"The export of Service %s from cluster %q is not imported: %s. To import the Service: %s", service.Name, left.Cluster, why, undo))
}

// sayMalformed reports the invalid parts of a namespace's annotation for refused clusters.
func (r *Reconciler) sayMalformed(namespace *corev1.Namespace) {
	name := types.NamespacedName{Namespace: namespace.Name}
	wrong := ""
	if err := refusal.In(namespace.Name, nil, namespace.Annotations, refusal.Agent{}).Malformed; err != nil {
		wrong = strings.ReplaceAll(err.Error(), "\n", ", ")
	}
	if r.isNew("MalformedRefusal", name, wrong) {
		status.Say(r.recorder, namespaceOf(name), nil, corev1.EventTypeWarning, "MalformedRefusal", "Import", fmt.Sprintf(
			"Annotation %s has invalid entries, which are ignored: %s. Write cluster ids separated by commas, or \"*\": %s",
			names.AnnotationRefuseImports, wrong, command.Here.Kubectl("annotate namespace %s --overwrite %s=ID,ID", name.Namespace, names.AnnotationRefuseImports)))
	}
}

// repeatRefused is how often the Event about a refused import is repeated. API servers keep Events for an hour, and an import
// that does not exist has no condition.
const repeatRefused = 30 * time.Minute

// sayRefused reports that the API server refuses an import: on the import, or on this cluster's own export of the
// service, or on the namespace.
func (r *Reconciler) sayRefused(service types.NamespacedName, have *mcsv1beta1.ServiceImport, export *mcsv1beta1.ServiceExport, why string, now time.Time) {
	var about, related runtime.Object = namespaceOf(service), importOf(service)
	kind := "Namespace"
	switch {
	case why == "":
		kind = ""
	case have.UID != "":
		kind, about, related = mcsv1beta1.ServiceImportKindName, have, nil
	case export != nil:
		kind, about = mcsv1beta1.ServiceExportKindName, export
	}
	what := kind
	if kind != "" && have.UID == "" {
		what += fmt.Sprint(r.absent.For(service, now) / repeatRefused)
	} else {
		r.absent.Over(service)
	}
	if r.isNew("ImportRefused", service, what) {
		status.Say(r.recorder, about, related, corev1.EventTypeWarning, "ImportRefused", "Import", fmt.Sprintf(
			"This cluster's API server rejects ServiceImport %s. The agent retries every 20 to 30 seconds. The API server's message: %s", service.Name, why))
	}
}
