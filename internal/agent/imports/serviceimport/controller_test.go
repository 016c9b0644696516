package serviceimport

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/inputs"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// The agent creates the import of its own new export after the record, or after recordLead
// without a record. Imports of other clusters' exports do not wait.
func TestTheRecordComesFirst(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := brokerv1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	record := &brokerv1alpha1.ExportedService{ObjectMeta: metav1.ObjectMeta{Namespace: "clusterset", Name: names.Export("c1", web.Namespace, web.Name)}}
	for name, tt := range map[string]struct {
		exporters []string
		records   []client.Object
		since     time.Duration
		waits     bool
	}{
		"no record yet":           {[]string{"c1"}, nil, 0, true},
		"its record is there":     {[]string{"c1"}, []client.Object{record}, 0, false},
		"another cluster exports": {[]string{"c1", "c2"}, nil, 0, false},
		"only another one does":   {[]string{"c2"}, nil, 0, false},
		"the broker is away":      {[]string{"c1"}, nil, recordLead, false},
	} {
		t.Run(name, func(t *testing.T) {
			r := &Reconciler{cluster: &inputs.Cluster{ID: "c1", Clusterset: "clusterset"}}
			r.cluster.SetBroker(&inputs.Broker{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(tt.records...).Build()})
			r.unrecorded.For(web, time.Now().Add(-tt.since))
			var exports []merge.Export
			for _, id := range tt.exporters {
				exports = append(exports, merge.Export{ClusterID: id})
			}
			result, err := kit.OutcomeOf(r.awaitRecord(t.Context(), web, exports)).Result("waiting")
			if err != nil || (result.RequeueAfter > 0) != tt.waits || result.RequeueAfter > recordLead {
				t.Errorf("the reconciler waits %v, error %v", result.RequeueAfter, err)
			}
		})
	}
}
