package trafficstatus

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/choice"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

type noDecisions struct {
	decided kit.Changes[types.NamespacedName]
}

func (*noDecisions) Decision(types.NamespacedName) (r choice.Result, err error) { return r, nil }
func (d *noDecisions) Decided() *kit.Changes[types.NamespacedName]              { return &d.decided }

// A policy is accepted only for a target that it applies to.
func TestTargetsWithoutEffect(t *testing.T) {
	meta := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	managed := meta
	managed.Labels = map[string]string{names.LabelManagedBy: names.AgentManager}
	service := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Ports: []corev1.ServicePort{{Port: 80}}}}
	external := &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: "example.com"}}
	for name, tt := range map[string]struct {
		kind    string
		objects []client.Object
		isFine  bool
	}{
		"an import":                         {inputs.KindImport, []client.Object{&mcsv1beta1.ServiceImport{ObjectMeta: managed}}, true},
		"another implementation's import":   {inputs.KindImport, []client.Object{&mcsv1beta1.ServiceImport{ObjectMeta: meta}}, false},
		"an export":                         {inputs.KindExport, []client.Object{&mcsv1beta1.ServiceExport{ObjectMeta: meta}, service}, true},
		"an export without Service":         {inputs.KindExport, []client.Object{&mcsv1beta1.ServiceExport{ObjectMeta: meta}}, false},
		"an export that cannot be exported": {inputs.KindExport, []client.Object{&mcsv1beta1.ServiceExport{ObjectMeta: meta}, external}, false},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := errors.Join(clientgoscheme.AddToScheme(scheme), mcsv1beta1.Install(scheme), trafficv1alpha1.AddToScheme(scheme)); err != nil {
				t.Fatal(err)
			}
			policy := &trafficv1alpha1.TrafficPolicy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "policy"}, Spec: trafficv1alpha1.TrafficPolicySpec{
				TargetRefs: []trafficv1alpha1.LocalPolicyTargetReference{{Group: mcsv1beta1.GroupName, Kind: tt.kind, Name: "web"}},
			}}
			c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(append(tt.objects, policy, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}})...).
				WithIndex(policy, "target", func(client.Object) []string { return []string{tt.kind + "/web"} }).Build()
			r := &Reconciler{cluster: &inputs.Cluster{ID: "c1", Client: c, Live: c, View: view.New("", "c1", nil, &kit.Changes[kit.Scope]{}), PublishesPods: true}, decisions: &noDecisions{}}
			target, err := r.gather(t.Context(), policy, policy.Spec.TargetRefs[0])
			if got := accepted(policy, target, false); err != nil || (got.Status == metav1.ConditionTrue) != tt.isFine {
				t.Errorf("%+v, %v", got, err)
			}
		})
	}
}
