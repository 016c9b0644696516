package membership

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// older is a CRD with fields of several versions of Karmada's CRD.
const older = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: multiclusterservices.networking.karmada.io}
spec:
  group: networking.karmada.io
  names: {kind: MultiClusterService, listKind: MultiClusterServiceList, plural: multiclusterservices, singular: multiclusterservice, shortNames: [mcs]}
  scope: Namespaced
  versions:
  - name: v1alpha1
    served: true
    storage: true
    subresources: {status: {}}
    schema:
      openAPIV3Schema:
        type: object
        properties:
          apiVersion: {type: string}
          kind: {type: string}
          metadata: {type: object}
          spec:
            type: object
            properties:
              types: {type: array, items: {type: string}}
              ports: {type: array, items: {type: object, properties: {name: {type: string}, port: {type: integer, format: int32}}}}
              range: {type: object, properties: {clusterNames: {type: array, items: {type: string}}}}
              serviceProvisionClusters: {type: array, items: {type: string}}
          status: {type: object, x-kubernetes-preserve-unknown-fields: true}
`

const definitionName = "multiclusterservices.networking.karmada.io"

// define installs a CRD of MultiClusterServices of another product. It replaces an existing
// CRD.
func define(t *testing.T, crd *unstructured.Unstructured) {
	t.Helper()
	as := planes.Target(t, theLab, lab.Broker)
	noError(t, client.IgnoreNotFound(as.Client.Delete(t.Context(), crd.DeepCopy())))
	expectGone(t, lab.Broker, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: objects.Meta("", definitionName)})
	noError(t, as.Client.Create(t.Context(), crd.DeepCopy()))
}

// If another product has installed the CRD of MultiClusterServices, as Karmada does, the
// command installs nothing until the user confirms the replacement. The objects are kept.
func TestForeignDefinition(t *testing.T) {
	const ns, command = "defined", "hub deploy --no-workloads --context broker"
	deployBroker(t)
	create(t, lab.Broker, namespace(ns), service(ns, "web"), service(ns, "other"))
	crd := &unstructured.Unstructured{}
	noError(t, yaml.Unmarshal([]byte(older), &crd.Object))
	defer func() {
		planes.Delete(t, on[lab.Broker], crd)
	}()
	define(t, crd)
	refused(t, "", command, definitionName+" already exists, and another product created it\n", "no other controller acts on MultiClusterServices", "which keeps the objects", "atoll hub deploy --clusterset atoll-clusterset --replace-crds --context broker")
	if err := on[lab.Broker].Get(t.Context(), client.ObjectKey{Name: names.HubNamespace}, &corev1.Namespace{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the namespace of the hub was created: %v", err)
	}
	standing := expose(t, ns, "web")

	t.Run("replaced", func(t *testing.T) { // a hub runs until the subtest ends
		deployHub(t, "--replace-crds")
		have := &apiextensionsv1.CustomResourceDefinition{}
		if noError(t, on[lab.Broker].Get(t.Context(), client.ObjectKey{Name: definitionName}, have)); have.Labels["atoll.dev/crd-revision"] == "" {
			t.Error("the definition is not Atoll's")
		}
		expectCondition(t, standing, "ServiceFound", "True", "")
	})

	// The command reports objects that cannot be deleted after the hub was removed.
	finalizers := func(list ...string) {
		t.Helper()
		planes.Change(t, on[lab.Broker], standing, func(m *networkingv1alpha1.MultiClusterService) { m.Finalizers = list })
	}
	finalizers("example.org/others", "lb.atoll.dev/embedded")
	if r := atoll("", "hub remove --yes --dry-run --context broker"); r.Status != 0 || strings.Contains(r.Stderr, "example.org") ||
		!strings.Contains(r.Stderr, "kept MultiClusterService defined/web: the MultiClusterService has the finalizer lb.atoll.dev/embedded") {
		t.Errorf("hub remove --yes --dry-run: status %d\n%s", r.Status, r.Stderr)
	}
	finalizers()
}
