package exportstatus

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
)

// The path from the record on the broker to the conditions. An export for load balancers only
// is not merged.
func TestProgress(t *testing.T) {
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	for name, tt := range map[string]struct {
		scope   brokerv1alpha1.ExportScope
		change  func(*brokerv1alpha1.ExportedService) // changes the record
		none    bool                                  // no record
		failure string
		missing bool
		pending bool
		want    string
	}{
		"exported":                        {want: "Valid=True/Valid Ready=True/Exported Conflict=False/NoConflicts"},
		"for the load balancer alone":     {scope: brokerv1alpha1.ScopeHub, want: "Valid=True/Valid Ready=True/Exported Conflict=False/NoConflicts"},
		"no record yet":                   {none: true, pending: true},
		"an old record":                   {change: func(r *brokerv1alpha1.ExportedService) { r.Spec.Type = mcsv1beta1.Headless }, pending: true},
		"a withdrawn record":              {change: func(r *brokerv1alpha1.ExportedService) { layout.SetWithdrawn(r, true) }, pending: true},
		"a slice is about to be exported": {missing: true, pending: true},
		"the record is refused":           {none: true, failure: "no", want: "Valid=True/Valid Ready=False/Failed Conflict=False/NoConflicts"},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := errors.Join(clientgoscheme.AddToScheme(scheme), mcsv1beta1.Install(scheme), trafficv1alpha1.AddToScheme(scheme), brokerv1alpha1.AddToScheme(scheme)); err != nil {
				t.Fatal(err)
			}
			here, there := objects.Indexed{ClientBuilder: fake.NewClientBuilder().WithScheme(scheme)}, objects.Indexed{ClientBuilder: fake.NewClientBuilder().WithScheme(scheme)}
			if err := errors.Join(inputs.Index(t.Context(), here), layout.Index(t.Context(), there, "c1")); err != nil {
				t.Fatal(err)
			}
			meta := metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}
			export := &mcsv1beta1.ServiceExport{ObjectMeta: meta}
			var policies []*brokerv1alpha1.ServicePolicy
			if tt.scope != "" {
				export.Labels = map[string]string{names.LabelManagedBy: names.AgentManager}
				policies = []*brokerv1alpha1.ServicePolicy{{
					ObjectMeta: metav1.ObjectMeta{Namespace: "set", Name: names.ServicePolicy(web.Namespace, web.Name)},
					Spec:       brokerv1alpha1.ServicePolicySpec{ServiceNamespace: web.Namespace, ServiceName: web.Name, Scope: tt.scope},
				}}
				layout.SetRevision(policies[0], 1)
			}
			here.WithObjects(export, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, Ports: []corev1.ServicePort{{Port: 80}}}})
			b := &inputs.Broker{Client: there.Build()}
			b.Live = b.Client
			c := &inputs.Cluster{
				ID: "c1", Clusterset: "set", Client: here.Build(), PublishesPods: true,
				View: view.New("set", "c1", nil, &kit.Changes[kit.Scope]{}),
			}
			c.SetBroker(b)
			c.View.Replace(nil, policies, nil)
			own, err := c.Own(t.Context(), web)
			if err != nil || own.Contribution == nil || own.Contribution.Scope != tt.scope {
				t.Fatalf("the contribution is %+v, error %v", own.Contribution, err)
			}
			if !tt.none {
				r := layout.Record("set", *own.Contribution)
				if tt.change != nil {
					tt.change(r)
				}
				if err := b.Create(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			r := &Reconciler{cluster: c, problems: &status.Problems{}, missing: func(context.Context, types.NamespacedName) (bool, error) { return tt.missing, nil }}
			r.problems.Set(web, status.Part{}, status.Problem{Failure: tt.failure})
			so, pending, err := r.progress(t.Context(), web, own)
			if err != nil || pending != tt.pending {
				t.Fatalf("pending %t, %v", pending, err)
			}
			if pending {
				return
			}
			var got []string
			conditions, _ := Conditions(own, so, time.Now().Add(time.Minute))
			for _, c := range conditions {
				got = append(got, c.Type+"="+string(c.Status)+"/"+c.Reason)
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("the conditions are %q, want %q", got, tt.want)
			}
		})
	}
}
