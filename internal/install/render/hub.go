package render

import (
	"errors"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	networkingv1alpha1 "github.com/atoll-mcs/atoll/api/networking/v1alpha1"
	"github.com/atoll-mcs/atoll/deploy"
	"github.com/atoll-mcs/atoll/internal/broker/rights"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// HubName is the hub's value of LabelName, and the name of its objects.
const HubName = "atoll-hub"

// Hub is what a person chooses about the hub of a clusterset. All but the clusterset has a
// usual value.
type Hub struct {
	// Clusterset is the clusterset's namespace on the broker.
	Clusterset string
	// NoWorkloads leaves out what runs: the program is run otherwise.
	NoWorkloads bool
	// WebhookURL is where the API server reaches the hub, where that is not by its Service.
	WebhookURL string
	// Registry, Tag and Replicas are as of Member.
	Registry, Tag string
	Replicas      int32
	// HAProxyImage is one that has haproxy in its path, which carries load balancers in a container beside the hub's; without it
	// there is no such container.
	HAProxyImage string
	// HostNetwork has the pods be in their nodes' network, so that load balancers can have these' addresses.
	HostNetwork bool
	// LowPorts lets load balancers listen below 1024 there.
	LowPorts bool
	// NodeSelector says by labels on which nodes the pods run; none means any.
	NodeSelector map[string]string
	// Args are further arguments of the hub.
	Args []string
}

// Validate returns an error that says what to do about choices that do not go together.
func (h Hub) Validate() error {
	switch {
	case h.LowPorts && !h.HostNetwork:
		return errors.New("--low-ports is for --host-network: pods in a network of their own may listen at any port")
	case h.NoWorkloads && (h.HAProxyImage != "" || h.HostNetwork || len(h.NodeSelector) > 0):
		return errors.New("--haproxy-image, --host-network and --node-selector are about pods, and with --no-workloads there are none")
	}
	return nil
}

// Manifests returns what a broker has for a hub: custom resource definitions, and the objects
// that need those, in the order in which they are applied.
func (h Hub) Manifests() (crds, objects []*unstructured.Unstructured) {
	crds = install.MustParse(deploy.HubCRDs()...)
	objects = slices.Concat(install.MustParse(deploy.Hub()...), install.Objects(rights.HubAccess(h.Clusterset)...))
	if h.HostNetwork {
		unrestrict(objects)
	}
	if !h.NoWorkloads {
		objects = append(objects, h.workload()...)
	}
	return crds, append(objects, h.webhook())
}

// webhook has the API server ask the hub about MultiClusterServices, and about nothing else. It
// does not for changes that the hub has nothing to say about, so that finalizers can be taken off
// while it is down. The hub adds its certificate authority. Until then, and while the hub is unreachable, the API server refuses new
// objects and changes of spec.
func (h Hub) webhook() *unstructured.Unstructured {
	config := admissionv1.WebhookClientConfig{Service: &admissionv1.ServiceReference{
		Namespace: names.HubNamespace, Name: HubName, Port: ptr.To[int32](443),
	}}
	if h.WebhookURL != "" {
		config = admissionv1.WebhookClientConfig{URL: &h.WebhookURL}
	}
	return install.Objects(&admissionv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: names.HubWebhook, Labels: map[string]string{labelPartOf: partOf}},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:         names.HubWebhook,
			ClientConfig: config,
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
				Rule: admissionv1.Rule{
					APIGroups: []string{networkingv1alpha1.GroupVersion.Group}, APIVersions: []string{networkingv1alpha1.GroupVersion.Version},
					Resources: []string{networkingv1alpha1.MultiClusterServiceResource}, Scope: ptr.To(admissionv1.NamespacedScope),
				},
			}},
			MatchConditions: []admissionv1.MatchCondition{{
				Name:       "something-to-say",
				Expression: "request.operation == 'CREATE' || object.spec != oldObject.spec && !has(object.metadata.deletionTimestamp)",
			}},
			FailurePolicy:           ptr.To(admissionv1.Fail),
			SideEffects:             ptr.To(admissionv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			TimeoutSeconds:          ptr.To[int32](5),
		}},
	})[0]
}
