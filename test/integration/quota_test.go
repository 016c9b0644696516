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
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// A quota that refuses one object shows in a condition and an Event, and holds up no other
// service.
func TestQuotaThatRefusesAnObjectShows(t *testing.T) {
	const other = "quota-not"
	namespace(t, other, "c1", "c2")
	for _, tt := range []struct {
		ns       string
		resource corev1.ResourceName
		most     string
		message  string
		imported []string // meanwhile
		changed  []string // and when that changes
	}{
		{"quota", corev1.ResourceServices, "0", "The derived Service can't be written, and is being tried again: ", nil, nil},
		{
			"quota-slices", "count/endpointslices.discovery.k8s.io", "1",
			`Not all endpoints from "c1" can be written. It is being tried again: `, []string{"c1/10.1.1.1"}, []string{"c1/10.1.1.3"},
		},
	} {
		namespace(t, tt.ns, "c1", "c2")
		quota := limit(t, "c2", tt.ns, tt.resource, tt.most)
		for _, ns := range []string{tt.ns, other} {
			create(t, "c1", service(ns, tt.ns, 80), slice(ns, tt.ns+"-x", tt.ns, "10.1.1.1"), export(ns, tt.ns))
		}
		expectImport(t, "c2", other, tt.ns, from("c1"))
		if tt.imported != nil { // one that there is still room for
			expectAddresses(t, "c2", tt.ns, tt.imported...)
		}
		create(t, "c1", slice(tt.ns, tt.ns+"-y", tt.ns, "10.1.1.2"))
		expectImport(t, "c2", tt.ns, tt.ns, func(imp *mcsv1beta1.ServiceImport) error {
			ready := meta.FindStatusCondition(imp.Status.Conditions, "Ready")
			if ready == nil || ready.Status != metav1.ConditionFalse || ready.Reason != "Pending" ||
				!strings.Contains(ready.Message, tt.message) || !strings.Contains(ready.Message, "exceeded quota") {
				return fmt.Errorf("conditions %+v", imp.Status.Conditions)
			}
			return nil
		})
		expectSaid(t, "c2", tt.ns, "ServiceImport", "Pending", 1)
		// A quota that has room for the slices there are, and for no more, keeps none of them from being changed.
		first := slice(tt.ns, tt.ns+"-x", tt.ns)
		change(t, "c1", first, func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses = []string{"10.1.1.3"} })
		expectAddresses(t, "c2", tt.ns, tt.changed...)
		remove(t, "c2", quota)
		expectImport(t, "c2", tt.ns, tt.ns, from("c1"))
		expectAddresses(t, "c2", tt.ns, "c1/10.1.1.2", "c1/10.1.1.3")
		expectSaid(t, "c2", tt.ns, "ServiceImport", "Pending", 1)
	}
}

// A quota on the broker's objects, which keeps it alive when a member writes too many, refuses new
// exports and shows there; what is exported already follows every change.
func TestQuotaOnTheBrokerKeepsWhatIsThere(t *testing.T) {
	const ns = "quota-broker"
	namespace(t, ns, "c1", "c2")
	web := service(ns, "web", 80)
	create(t, "c1", web, slice(ns, "web-x", "web", "10.1.1.1"), export(ns, "web"))
	expectImport(t, "c2", ns, "web", from("c1"))
	quota := limit(t, lab.Broker, broker.DefaultNamespace, "count/exportedservices.broker.atoll.dev", "0")
	planes.CleanUp(t, on[lab.Broker], quota)
	create(t, "c1", service(ns, "more", 80))
	more := export(ns, "more")
	create(t, "c1", more)
	ready := expectCondition(t, "c1", more, "Ready", metav1.ConditionFalse, "Failed")
	// Of a kind that is new on an API server, what is used is known after a while, and until then all are refused.
	if !strings.Contains(ready.Message, "quota: few") {
		t.Errorf("the message does not say why: %s", ready.Message)
	}
	change(t, "c1", web, func(s *corev1.Service) { s.Spec.Ports[0].Port = 8080 })
	expectImport(t, "c2", ns, "web", func(imp *mcsv1beta1.ServiceImport) error {
		if len(imp.Spec.Ports) != 1 || imp.Spec.Ports[0].Port != 8080 {
			return fmt.Errorf("ports %v", imp.Spec.Ports)
		}
		return nil
	})
	remove(t, lab.Broker, quota)
	expectCondition(t, "c1", more, "Ready", metav1.ConditionTrue, "Exported")
	expectImport(t, "c2", ns, "more", from("c1"))
}

// limit sets a quota and returns when it is in force.
func limit(t *testing.T, cluster, namespace string, of corev1.ResourceName, most string) *corev1.ResourceQuota {
	t.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "few"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{of: resource.MustParse(most), "count/secrets": resource.MustParse("0")}},
	}
	create(t, cluster, quota)
	// The quota counts from when the API server's own copy has its status, which may be later
	// than when others read that. No Secret is refused before.
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

// A broker that refuses a record, or endpoints, shows in the condition Ready of their export,
// and holds up no other.
func TestBrokerThatRefusesShows(t *testing.T) {
	const other = "broker-takes"
	namespace(t, other, "c1", "c2")
	for ns, resource := range map[string]string{"no-records": "exportedservices", "no-slices": "endpointslices"} {
		namespace(t, ns, "c1", "c2")
		forbid(t, resource, ns)
		for _, namespace := range []string{ns, other} {
			create(t, "c1", service(namespace, ns, 80), slice(namespace, ns+"-x", ns, "10.1.1.1"))
		}
		refused, taken := export(ns, ns), export(other, ns)
		create(t, "c1", refused, taken)
		expectCondition(t, "c1", taken, "Ready", metav1.ConditionTrue, "Exported")
		expectImport(t, "c2", other, ns, from("c1"))
		ready := expectCondition(t, "c1", refused, "Ready", metav1.ConditionFalse, "Failed")
		if !strings.Contains(ready.Message, "not here") {
			t.Errorf("the message does not say why: %s", ready.Message)
		}
		expectCondition(t, "c1", refused, "Valid", metav1.ConditionTrue, "Valid")
		expectSaid(t, "c1", ns, "ServiceExport", "Failed", 1)
		expectSaid(t, "c1", ns, "ServiceExport", "Exported", 0)

		allow(t)
		expectCondition(t, "c1", refused, "Ready", metav1.ConditionTrue, "Exported")
		expectImport(t, "c2", ns, ns, from("c1"))
		expectAddresses(t, "c2", ns, "c1/10.1.1.1")
	}
}

// refusal is the name of a policy on the broker.
const refusal = "not-here"

// forbid has the broker refuse objects of a namespace of the members', and returns when it does.
func forbid(t *testing.T, resource, namespace string) {
	t.Helper()
	policy := &admissionv1.ValidatingAdmissionPolicy{
		ObjectMeta: metav1.ObjectMeta{Name: refusal},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: ptr.To(admissionv1.Fail),
			MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{
				RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create},
					Rule:       admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{resource}},
				},
			}}},
			Validations: []admissionv1.Validation{{
				Expression: fmt.Sprintf("object.metadata.labels['%s'] != '%s'", names.LabelServiceNamespace, namespace),
				Message:    "not here",
			}},
		},
	}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{
		ObjectMeta: metav1.ObjectMeta{Name: refusal},
		Spec:       admissionv1.ValidatingAdmissionPolicyBindingSpec{PolicyName: refusal, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny}},
	}
	for _, object := range []client.Object{policy, binding} {
		temporary(t, lab.Broker, object)
	}
	attempt := client.Object(slice(broker.DefaultNamespace, "attempt", "web"))
	if resource == "exportedservices" {
		attempt = objects.Record("c9", namespace, "attempt")
	}
	attempt.SetLabels(map[string]string{names.LabelServiceNamespace: namespace})
	eventually(t, "the policy is in force", func() error {
		err := on[lab.Broker].Create(t.Context(), attempt.DeepCopyObject().(client.Object), client.DryRunAll)
		if err == nil {
			return errors.New("it allows " + resource)
		}
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "not here") {
			return err
		}
		return nil
	})
}

// allow takes back what forbid did.
func allow(t *testing.T) {
	t.Helper()
	remove(t, lab.Broker, &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: refusal}})
	remove(t, lab.Broker, &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: refusal}})
}

// expectSaid waits until there are n Events with a reason about objects of a kind in a
// namespace, none of which was repeated.
func expectSaid(t *testing.T, cluster, namespace, kind, reason string, n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d Events %s about %ss in %s", n, reason, kind, namespace), func() error {
		list := &corev1.EventList{}
		if err := on[cluster].List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			return err
		}
		found := 0
		for _, e := range list.Items {
			if e.InvolvedObject.Kind != kind || e.Reason != reason {
				continue
			}
			found++
			if e.Series != nil {
				return fmt.Errorf("said %d times: %s", e.Series.Count, e.Message)
			}
		}
		if found != n {
			return fmt.Errorf("there are %d", found)
		}
		return nil
	})
}
