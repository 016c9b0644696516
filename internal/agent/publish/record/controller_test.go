package record

import (
	"context"
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/agent/publish/compare"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/status"
	"github.com/atoll-mcs/atoll/test/objects"
)

// An error that keeps a record from the broker is a problem of the export until a write
// succeeds. A conflict is not a problem.
func TestProblems(t *testing.T) {
	records := brokerv1alpha1.GroupVersion.WithResource("exportedservices").GroupResource()
	for name, tt := range map[string]struct {
		err            error
		problem, fails bool
	}{
		"refused":     {apierrors.NewForbidden(records, "", errors.New("a policy")), true, false},
		"conflict":    {apierrors.NewConflict(records, "", nil), false, false},
		"unavailable": {apierrors.NewServiceUnavailable("etcd"), true, true},
		"no route":    {errors.New("no route to host"), true, true},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := errors.Join(clientgoscheme.AddToScheme(scheme), mcsv1beta1.Install(scheme), trafficv1alpha1.AddToScheme(scheme), brokerv1alpha1.AddToScheme(scheme)); err != nil {
				t.Fatal(err)
			}
			answer := tt.err
			build := objects.Indexed{ClientBuilder: fake.NewClientBuilder().WithScheme(scheme).WithInterceptorFuncs(interceptor.Funcs{
				Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
					if answer != nil {
						return answer
					}
					return c.Create(ctx, o, opts...)
				},
			})}
			if err := layout.Index(t.Context(), build, "c1"); err != nil {
				t.Fatal(err)
			}
			b := &inputs.Broker{Client: build.Build()}
			web := types.NamespacedName{Namespace: "shop", Name: "web"}
			meta := metav1.ObjectMeta{Namespace: web.Namespace, Name: web.Name}
			c := &inputs.Cluster{
				ID: "c1", Clusterset: "set",
				Client: objects.Untargeted(scheme).WithObjects(
					&mcsv1beta1.ServiceExport{ObjectMeta: meta}, &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP}}).Build(),
				View: view.New("set", "c1", nil, &kit.Changes[kit.Scope]{}),
			}
			b.Live = b.Client
			c.SetBroker(b)
			r := &Reconciler{cluster: c, broker: b, problems: &status.Problems{}, writes: compare.NewWrites(nil)}
			result, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web})
			if got := r.problems.Of(web)[status.Part{}].Failure; (got != "") != tt.problem || (err != nil) != tt.fails || (result.RequeueAfter > 0) == tt.fails {
				t.Errorf("%+v, %v, problem %q", result, err, got)
			}
			answer = nil
			if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: web}); err != nil || len(r.problems.Of(web)) > 0 {
				t.Errorf("later: %v, problems %v", err, r.problems.Of(web))
			}
			if have, err := b.Record(t.Context(), "set", "c1", web); err != nil || have == nil {
				t.Errorf("the record is %v, %v", have, err)
			}
		})
	}
}
