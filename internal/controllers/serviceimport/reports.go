package serviceimport

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/internal/mcs/refusal"
	"github.com/atoll-mcs/atoll/internal/status"
)

// reports are what is in the way of imports and was said.
type reports struct {
	said controllers.Said[types.NamespacedName, string]
}

// news tells whether something is in the way of the import of a name, "" for nothing, that
// was not said yet, and has it count as said. What is not in the way any more is news when it is again.
func (r *reports) news(name types.NamespacedName, inTheWay string) bool {
	if inTheWay == "" {
		r.said.Forget(name)
		return false
	}
	return r.said.News(name, inTheWay)
}

// namespaceOf refers to the namespace of a service. Its namespace is itself, so that an Event about it is in it. Events about one object
// are told apart by the other one, not by what they say.
func namespaceOf(service types.NamespacedName) *corev1.ObjectReference {
	return &corev1.ObjectReference{APIVersion: "v1", Kind: "Namespace", Namespace: service.Namespace, Name: service.Namespace}
}

// importOf refers to the ServiceImport of a service, which there may not be.
func importOf(service types.NamespacedName) *corev1.ObjectReference {
	return &corev1.ObjectReference{
		APIVersion: mcsv1beta1.GroupVersion.String(), Kind: mcsv1beta1.ServiceImportKindName, Namespace: service.Namespace, Name: service.Name,
	}
}

// reportLeftOut says, on the namespace, that what other clusters export from it is refused. Where the service is imported from others, its
// ServiceImport says so.
func (c *Controller) reportLeftOut(service types.NamespacedName, exported local.Exported) {
	var left local.LeftOut
	if len(exported.LeftOut) > 0 {
		left = exported.LeftOut[0]
	}
	if left.Reason != refusal.SystemNamespace && len(exported.Imported) > 0 {
		left = local.LeftOut{}
	}
	if !c.leftOut.news(service, string(left.Reason)+left.Cluster) {
		return
	}
	why, undo := left.Reason.Explain(service.Namespace)
	eventType := corev1.EventTypeNormal // as the namespace's owner has it
	if left.Reason == refusal.SystemNamespace {
		eventType = corev1.EventTypeWarning
	}
	status.Say(c.recorder, namespaceOf(service), importOf(service), eventType, string(left.Reason), "Import", fmt.Sprintf(
		"Cluster %q exports %s, which is not imported: %s. To import it: %s", left.Cluster, service.Name, why, undo))
}

// reportMalformed says, on a namespace, what of its annotation about refused clusters can't be read.
func (c *Controller) reportMalformed(namespace client.Object) {
	name := types.NamespacedName{Namespace: namespace.GetName()}
	wrong := ""
	if err := refusal.In(name.Namespace, nil, namespace.GetAnnotations(), refusal.Clusters{}).Malformed; err != nil {
		wrong = strings.ReplaceAll(err.Error(), "\n", ", ")
	}
	if !c.spoilt.news(name, wrong) {
		return
	}
	status.Say(c.recorder, namespaceOf(name), nil, corev1.EventTypeWarning, "MalformedRefusal", "Import", fmt.Sprintf(
		"Annotation %[1]s can't be read in full: %[2]s. Imports from the clusters that can be read are refused, all others are not. "+
			"Write cluster ids separated by commas, or \"*\": kubectl annotate namespace %[3]s --overwrite %[1]s=ID,ID",
		names.AnnotationRefuseImports, wrong, name.Namespace))
}

// reportLimit says, on the namespace, that services of a cluster that exports too many are not
// imported. It says so once in a namespace, for they may be any number.
func (c *Controller) reportLimit(service types.NamespacedName) {
	for _, cluster := range c.broker.Refused(service) {
		if !c.beyond.news(types.NamespacedName{Namespace: service.Namespace, Name: cluster.String()}, "limit") {
			continue
		}
		status.Say(c.recorder, namespaceOf(service), c.broker.Reference(cluster), corev1.EventTypeWarning, "ServicesLimited", "Import", fmt.Sprintf(
			"Cluster %q exports more services than the %d that this cluster imports from one: %s and perhaps others of this namespace are left out. "+
				"Export fewer there, or have the agent here take more by --max-services-per-member.", cluster, c.broker.MaxServices(), service.Name))
	}
}

// reportRefusal says that the API server refuses an import, where people look: on the import, or
// where it could not be made, on the cluster's own export of the service, or else on the namespace,
// for a quota or a policy of which somebody has to do something.
func (c *Controller) reportRefusal(service types.NamespacedName, have *mcsv1beta1.ServiceImport, export *mcsv1beta1.ServiceExport, err error) {
	var about, related runtime.Object
	kind := ""
	switch {
	case err == nil:
	case !controllers.Refused(err):
		return // it passes by trying again, and says nothing of a refusal before
	case have.UID != "":
		kind, about = mcsv1beta1.ServiceImportKindName, have
	case export != nil:
		kind, about, related = mcsv1beta1.ServiceExportKindName, export, importOf(service)
	default:
		kind, about, related = "Namespace", namespaceOf(service), importOf(service)
	}
	if c.refused.news(service, kind) {
		status.Say(c.recorder, about, related, corev1.EventTypeWarning, "ImportRefused", "Import", fmt.Sprintf(
			"The ServiceImport %s can't be written in this cluster. It is being tried again: %s", service.Name, controllers.Summary(err)))
	}
}
