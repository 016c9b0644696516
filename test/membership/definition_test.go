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
	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// older is a definition with the fields that Karmada's has had in some of its versions.
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

// define installs a definition of MultiClusterServices in somebody else's name, in place of one that there is.
func define(t *testing.T, crd *unstructured.Unstructured) {
	t.Helper()
	as := targetOf(t, lab.Broker)
	noError(t, client.IgnoreNotFound(as.Client.Delete(t.Context(), crd.DeepCopy())))
	expectGone(t, lab.Broker, &apiextensionsv1.CustomResourceDefinition{ObjectMeta: objects.Meta("", definitionName)})
	noError(t, as.Client.Create(t.Context(), crd.DeepCopy()))
}

// complete is Atoll's definition as it is without what checks values, in somebody else's name.
func complete() *unstructured.Unstructured {
	crd := install.MustParse(deploy.HubCRDs()...)[0]
	crd.SetLabels(nil)
	return &unstructured.Unstructured{Object: unchecked(crd.Object).(map[string]any)}
}

func unchecked(value any) any {
	switch v := value.(type) {
	case map[string]any:
		for _, check := range []string{"x-kubernetes-validations", "minItems", "minimum", "maximum"} {
			delete(v, check)
		}
		if v["x-kubernetes-list-type"] == "set" {
			delete(v, "x-kubernetes-list-type")
		}
		for key, each := range v {
			v[key] = unchecked(each)
		}
	case []any:
		for i, each := range v {
			v[i] = unchecked(each)
		}
	}
	return value
}

// isOurs tells whether the definition that is there is Atoll's.
func isOurs(t *testing.T) bool {
	t.Helper()
	have := &apiextensionsv1.CustomResourceDefinition{}
	noError(t, on[lab.Broker].Get(t.Context(), client.ObjectKey{Name: definitionName}, have))
	return have.Labels["atoll.dev/crd-revision"] != ""
}

// Where somebody else has defined MultiClusterServices, as Karmada does, nothing is installed before a person has decided
// what is to become of that: it is kept, if it has all fields, or replaced, and then the objects are kept.
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
	for _, flags := range []string{"", " --keep-crds"} {
		refused(t, "", command+flags, "is not Atoll's, and lacks what the hub needs: spec.consumerClusters, spec.providerClusters, status.conditions[] by type\n",
			"no other controller acts on MultiClusterServices", "but of what only the other one has nothing (spec.serviceProvisionClusters): atoll hub deploy --replace-crds")
	}
	if err := on[lab.Broker].Get(t.Context(), client.ObjectKey{Name: names.HubNamespace}, &corev1.Namespace{}); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("something was installed: %v", err)
	}
	standing := expose(t, ns, "web")

	t.Run("replaced", func(t *testing.T) {
		deployHub(t, "--replace-crds")
		if !isOurs(t) {
			t.Error("the definition is not Atoll's")
		}
		expectCondition(t, standing, "ServiceFound", "True", "")
		mcs := objects.Exposed(ns, "other", "LoadBalance")
		if err := on[lab.Broker].Create(t.Context(), mcs, client.DryRunAll); err == nil || !strings.Contains(err.Error(), "the type is called LoadBalancer") {
			t.Errorf("got %v", err)
		}
		must(t, "", command) // it is Atoll's now
	})

	define(t, complete()) // which takes the objects along
	t.Run("kept", func(t *testing.T) {
		refused(t, "", command, definitionName+" is here already, and is not Atoll's", "as it is: atoll hub deploy --keep-crds", "which keeps the objects: atoll hub deploy --replace-crds")
		deployHub(t, "--keep-crds")
		if isOurs(t) {
			t.Error("the definition was replaced")
		}
		mcs := expose(t, ns, "other")
		expectCondition(t, mcs, "ServiceFound", "True", "")
		// The admission policy is in place of the definition's own rules.
		for spec, want := range map[string]string{
			"{types: [CrossCluster], range: {clusterNames: [member2]}}":                                  "",
			"{types: [LoadBalancer], providerClusters: [{name: c2.eu}], ports: [{name: p81, port: 81}]}": "",
			"{types: [LoadBalance]}":                                  "the type is called LoadBalancer",
			"{types: [Other]}":                                        "there are the types CrossCluster and LoadBalancer",
			"{types: []}":                                             "at least one is needed",
			"{types: [CrossCluster, CrossCluster]}":                   "each type once",
			"{types: [LoadBalancer], range: {clusterNames: [c1]}}":    "need CrossCluster",
			"{types: [LoadBalancer], consumerClusters: [{name: c1}]}": "need CrossCluster",
			"{types: [CrossCluster], consumerClusters: [{name: c1}], range: {clusterNames: [c1]}}": "say the same thing",
			"{types: [CrossCluster], range: {clusterNames: [Member_2]}}":                           "one or two DNS labels",
			"{types: [CrossCluster], consumerClusters: [{name: a.b.c}]}":                           "one or two DNS labels",
			"{types: [CrossCluster], providerClusters: [{name: \"\"}]}":                            "one or two DNS labels",
			"{types: [CrossCluster], ports: [{port: 70000}]}":                                      "from 1 to 65535",
			"{types: [CrossCluster], ports: [{}]}":                                                 "by its name, its number or both",
		} {
			u := &unstructured.Unstructured{}
			noError(t, yaml.Unmarshal([]byte("apiVersion: networking.karmada.io/v1alpha1\nkind: MultiClusterService\nmetadata: {namespace: "+ns+", name: web}\nspec: "+spec), &u.Object))
			err := on[lab.Broker].Create(t.Context(), u, client.DryRunAll)
			if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
				t.Errorf("%s: %v, want %q", spec, err, want)
			}
		}
	})

	// What remains when the hub has gone, and can't be deleted by itself, is told of.
	standing = expose(t, ns, "web")
	finalizers := func(list ...string) {
		t.Helper()
		planes.Change(t, on[lab.Broker], standing, func(m *networkingv1alpha1.MultiClusterService) { m.Finalizers = list })
	}
	finalizers("example.org/others", "lb.atoll.dev/embedded")
	if r := atoll("", "hub remove --dry-run --context broker"); r.status != 0 || strings.Contains(r.stderr, "example.org") ||
		!strings.Contains(r.stderr, "kept MultiClusterService defined/web: it has the finalizer lb.atoll.dev/embedded") {
		t.Errorf("hub remove --dry-run: status %d\n%s", r.status, r.stderr)
	}
	finalizers()
}
