package exportedslice

import (
	"testing"

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
	"github.com/atoll-mcs/atoll/internal/broker/border"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/broker/view"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
)

// Cluster IPs are published only for services with a clusterset IP. An export for load
// balancers only publishes pods, because no cluster imports it.
func TestByClusterIP(t *testing.T) {
	record := func(id string, kind mcsv1beta1.ServiceImportType, scope brokerv1alpha1.ExportScope, at int64) *brokerv1alpha1.ExportedService {
		r := layout.Record("set", brokerv1alpha1.ExportedServiceSpec{
			ClusterID: id, ServiceNamespace: web.Namespace, ServiceName: web.Name, Type: kind, Scope: scope, ExportedAt: metav1.Unix(at, 0),
			IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Ports: []mcsv1beta1.ServicePort{{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80}},
		})
		layout.SetRevision(r, 1)
		return r
	}
	for name, tt := range map[string]struct {
		mode  brokerv1alpha1.AdvertiseMode
		kind  mcsv1beta1.ServiceImportType
		scope brokerv1alpha1.ExportScope
		other *brokerv1alpha1.ExportedService
		want  bool
	}{
		"pods":                         {mode: brokerv1alpha1.AdvertisePods, kind: mcsv1beta1.ClusterSetIP},
		"cluster IPs":                  {mode: brokerv1alpha1.AdvertiseClusterIP, kind: mcsv1beta1.ClusterSetIP, want: true},
		"a headless Service":           {mode: brokerv1alpha1.AdvertiseClusterIP, kind: mcsv1beta1.Headless},
		"for the load balancer alone":  {mode: brokerv1alpha1.AdvertiseClusterIP, kind: mcsv1beta1.ClusterSetIP, scope: brokerv1alpha1.ScopeHub},
		"an older export is headless":  {mode: brokerv1alpha1.AdvertiseClusterIP, kind: mcsv1beta1.ClusterSetIP, other: record("c2", mcsv1beta1.Headless, "", 1.6e9)},
		"a younger export is headless": {mode: brokerv1alpha1.AdvertiseClusterIP, kind: mcsv1beta1.ClusterSetIP, other: record("c2", mcsv1beta1.Headless, "", 1.8e9), want: true},
		"an older one for the hub is":  {mode: brokerv1alpha1.AdvertiseClusterIP, kind: mcsv1beta1.ClusterSetIP, other: record("c2", mcsv1beta1.Headless, brokerv1alpha1.ScopeHub, 1.6e9), want: true},
	} {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, mcsv1beta1.Install, trafficv1alpha1.AddToScheme, brokerv1alpha1.AddToScheme} {
				if err := add(scheme); err != nil {
					t.Fatal(err)
				}
			}
			atBorder := border.New("c1", func(types.NamespacedName) bool { return true }, border.NewBudget(border.Limits{}, nil))
			build := objects.Indexed{ClientBuilder: fake.NewClientBuilder().WithScheme(scheme)}
			if err := layout.Index(t.Context(), build, "c1"); err != nil {
				t.Fatal(err)
			}
			b := &inputs.Broker{Client: build.Build()}
			b.Live = b.Client
			c := &inputs.Cluster{
				ID: "c1", Clusterset: "set", Client: objects.Untargeted(scheme).Build(),
				View: view.New("set", "c1", func(names.ClusterID) bool { return false }, &kit.Changes[kit.Scope]{}),
			}
			c.SetBroker(b)
			var others []*brokerv1alpha1.ExportedService
			if tt.other != nil {
				_, _ = atBorder.Transform(tt.other) // as the cache does
				others = append(others, tt.other)
			}
			c.View.Replace(atBorder, nil, others)
			r := &Reconciler{cluster: c, broker: b, mode: tt.mode}
			if got, err := r.byClusterIP(t.Context(), web, record("c1", tt.kind, tt.scope, 1.7e9)); err != nil || got != tt.want {
				t.Errorf("by cluster IP: %t, %v", got, err)
			}
		})
	}
}
