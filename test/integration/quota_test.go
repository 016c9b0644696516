package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// A quota that refuses an object causes a condition and an Event, and does not delay other
// services.
func TestQuotaThatRefusesAnObjectShows(t *testing.T) {
	const other = "quota-not"
	namespace(t, other, "c1", "c2")
	for _, tt := range []struct {
		ns       string
		resource corev1.ResourceName
		most     string
		message  string
		imported []string // imported endpoints while the quota is in force
		changed  []string // imported endpoints after a change
	}{
		{"quota", corev1.ResourceServices, "0", "The derived Service cannot be written. The agent retries: ", nil, nil},
		{
			"quota-slices", "count/endpointslices.discovery.k8s.io", "1",
			`The agent cannot write all endpoints from "c1", and retries: `, []string{"c1/10.1.1.1"}, []string{"c1/10.1.1.3"},
		},
	} {
		namespace(t, tt.ns, "c1", "c2")
		quota := limit(t, "c2", tt.ns, tt.resource, tt.most)
		for _, ns := range []string{tt.ns, other} {
			share(t, "c1", ns, tt.ns, "10.1.1.1")
		}
		expectImport(t, "c2", other, tt.ns, from("c1"))
		if tt.imported != nil { // the quota leaves room for one slice
			expectAddresses(t, "c2", tt.ns, tt.imported...)
		}
		create(t, "c1", slice(tt.ns, tt.ns+"-y", tt.ns, "10.1.1.2"))
		planes.Condition(t, on["c2"], objects.Import(tt.ns, tt.ns), "Ready", "Unknown/Pending", tt.message)
		expectImport(t, "c2", tt.ns, tt.ns, says(tt.message, "exceeded quota"))
		planes.Condition(t, on["c2"], objects.Import(tt.ns, tt.ns), "Ready", "False/Failed", tt.message)
		expectSaid(t, "c2", tt.ns, "ServiceImport", "Failed", 1)
		// A quota that has room for the slices there are, and for no more, keeps none of them from being changed.
		first := slice(tt.ns, tt.ns+"-x", tt.ns)
		change(t, "c1", first, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.1.1.3"} })
		expectAddresses(t, "c2", tt.ns, tt.changed...)
		remove(t, "c2", quota)
		expectImport(t, "c2", tt.ns, tt.ns, from("c1"))
		expectAddresses(t, "c2", tt.ns, "c1/10.1.1.2", "c1/10.1.1.3")
		expectSaid(t, "c2", tt.ns, "ServiceImport", "Failed", 1)
	}
}

// limit creates a quota and waits until it is in force.
func limit(t *testing.T, cluster, namespace string, of corev1.ResourceName, most string) *corev1.ResourceQuota {
	t.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{of: resource.MustParse(most), "count/secrets": resource.MustParse("0")}},
	}
	create(t, cluster, quota)
	// The quota is in force when the API server's own cache has its status, which may be later
	// than the status that clients read. Until then the API server accepts Secrets.
	probe := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "probe"}}
	eventually(t, "the quota is in force", func() error {
		switch err := on[cluster].Create(t.Context(), probe.DeepCopy(), client.DryRunAll); {
		case err == nil:
			return errors.New("a Secret is allowed")
		case !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "exceeded quota"):
			return err
		}
		return on[cluster].Get(t.Context(), client.ObjectKeyFromObject(quota), quota)
	})
	return quota
}

// If the broker refuses a record or endpoints, condition Ready of the export says so. Other
// exports are not delayed.
func TestBrokerThatRefusesShows(t *testing.T) {
	const other = "broker-takes"
	namespace(t, other, "c1", "c2")
	for ns, resource := range map[string]string{"no-records": "exportedservices", "no-slices": "endpointslices"} {
		namespace(t, ns, "c1", "c2")
		allow := forbid(t, resource, ns)
		for _, namespace := range []string{ns, other} {
			create(t, "c1", service(namespace, ns, 80), slice(namespace, ns+"-x", ns, "10.1.1.1"))
		}
		refused, taken := export(ns, ns), export(other, ns)
		create(t, "c1", refused, taken)
		expectCondition(t, "c1", taken, "Ready", metav1.ConditionTrue, "Exported")
		expectImport(t, "c2", other, ns, from("c1"))
		planes.Condition(t, on["c1"], refused, "Ready", "False/Failed", "not here")
		expectCondition(t, "c1", refused, "Valid", metav1.ConditionTrue, "Valid")
		expectSaid(t, "c1", ns, "ServiceExport", "Failed", 1)
		expectSaid(t, "c1", ns, "ServiceExport", "Exported", 0)

		allow()
		expectCondition(t, "c1", refused, "Ready", metav1.ConditionTrue, "Exported")
		expectImport(t, "c2", ns, ns, from("c1"))
		expectAddresses(t, "c2", ns, "c1/10.1.1.1")
		expectSaid(t, "c1", ns, "ServiceExport", "Exported", 1)
	}
}

// forbid makes the broker refuse members' objects of a namespace, and waits until it does. The
// returned function ends this.
func forbid(t *testing.T, resource, namespace string) (allow func()) {
	t.Helper()
	policy := objects.Policy("not-here", resource, fmt.Sprintf("object.metadata.labels['%s'] != '%s'", names.LabelServiceNamespace, namespace), "not here", admissionv1.Create)
	temporary(t, lab.Broker, policy...)
	attempt := client.Object(slice(broker.DefaultNamespace, "attempt", "web"))
	if resource == "exportedservices" {
		attempt = objects.Record("c9", namespace, "attempt")
	}
	attempt.SetLabels(map[string]string{names.LabelServiceNamespace: namespace})
	eventually(t, "the policy is in force", func() error {
		err := on[lab.Broker].Create(t.Context(), attempt.DeepCopyObject().(client.Object), client.DryRunAll)
		if err == nil {
			return errors.New("the broker still allows " + resource)
		}
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "not here") {
			return err
		}
		return nil
	})
	return func() { remove(t, lab.Broker, policy...) }
}

// Every denial of a policy or webhook counts as a refusal, whatever its status code. So does a
// webhook's timeout.
func TestEachRefusalIsOne(t *testing.T) {
	const ns = "refusals"
	namespace(t, ns, "c1")
	configMaps := []admissionv1.RuleWithOperations{{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"configmaps"}},
	}}
	labelled := func(name string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{"refused-by": name}}
	}
	there := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}}
	refusers := map[string]client.Object{
		"webhook": &admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: ns + "-webhook"},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name: "down.atoll.dev", Rules: configMaps, NamespaceSelector: there, ObjectSelector: labelled("webhook"), AdmissionReviewVersions: []string{"v1"},
				SideEffects: ptr.To(admissionv1.SideEffectClassNone), ClientConfig: admissionv1.WebhookClientConfig{URL: ptr.To("https://127.0.0.1:1/")},
			}},
		},
	}
	for _, reason := range []metav1.StatusReason{metav1.StatusReasonForbidden, metav1.StatusReasonInvalid, metav1.StatusReasonRequestEntityTooLarge} {
		name := strings.ToLower(string(reason))
		var resources []admissionv1.NamedRuleWithOperations
		for _, r := range configMaps {
			resources = append(resources, admissionv1.NamedRuleWithOperations{RuleWithOperations: r})
		}
		match := &admissionv1.MatchResources{ResourceRules: resources, NamespaceSelector: there, ObjectSelector: labelled(name)}
		refusers[name] = &admissionv1.ValidatingAdmissionPolicy{
			ObjectMeta: metav1.ObjectMeta{Name: ns + "-" + name},
			Spec:       admissionv1.ValidatingAdmissionPolicySpec{MatchConstraints: match, Validations: []admissionv1.Validation{{Expression: "false", Reason: &reason}}},
		}
		create(t, "c1", &admissionv1.ValidatingAdmissionPolicyBinding{
			ObjectMeta: metav1.ObjectMeta{Name: ns + "-" + name},
			Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: ns + "-" + name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
		})
	}
	for name, refuser := range refusers {
		create(t, "c1", refuser)
		var err error
		planes.Eventually(t, name+" refuses", func() error {
			o := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: name, Labels: map[string]string{"refused-by": name}}}
			if err = on["c1"].Create(t.Context(), o); err == nil {
				return errors.New("the creation was accepted")
			}
			return nil
		})
		if kit.OutcomeOf(err).Refusal == "" {
			t.Errorf("%s is no refusal: %v", name, err)
		}
	}
}

// An API server that lets the agent delete no EndpointSlice shows in the status of the cluster: no object is left whose
// condition could say so.
func TestDeniedDeletionShows(t *testing.T) {
	const ns = "stays"
	namespace(t, ns, "c1", "c2")
	create(t, "c1", service(ns, "web", 80), slice(ns, "web-x", "web", "10.1.1.1"))
	e := export(ns, "web")
	create(t, "c1", e)
	expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	policy := objects.Policy("stays", "endpointslices", "oldObject.metadata.namespace != '"+ns+"'", "stays", admissionv1.Delete)
	temporary(t, "c2", policy...)
	imported := slicesOf(t, "c2", ns)[0]
	eventually(t, "the policy is in force", func() error {
		if err := on["c2"].Delete(t.Context(), &imported, client.DryRunAll); err == nil {
			return errors.New("the deletion is allowed")
		}
		return nil
	})
	remove(t, "c1", e)
	expectGone(t, "c2", objects.Import(ns, "web"))
	const left = "The ServiceImport is deleted, but its EndpointSlices of cluster c1 still exist: "
	for _, line := range []string{"status", "explain stays/web"} {
		r := planes.Atoll("", line+" --context c2 --kubeconfig "+theLab.Kubeconfig())
		if !strings.Contains(r.Stdout, left+imported.Name) {
			t.Errorf("atoll %s does not report EndpointSlice %s:\n%s%s", line, imported.Name, r.Stdout, r.Stderr)
		}
	}
	remove(t, "c2", policy...)
	expectGone(t, "c2", &imported)
	if r := planes.Atoll("", "status --context c2 --kubeconfig "+theLab.Kubeconfig()); strings.Contains(r.Stdout, left) {
		t.Errorf("atoll status reports an EndpointSlice that is deleted:\n%s", r.Stdout)
	}
}
