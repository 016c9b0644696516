package catalogue

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

// exports returns exports of clusters, the oldest first.
func exports(clusters string) []merge.Export {
	var all []merge.Export
	for i, id := range strings.Fields(clusters) {
		all = append(all, merge.Export{
			ClusterID: id, ServiceNamespace: web.Namespace, ServiceName: web.Name,
			ExportedAt: metav1.Unix(int64(i), 0), Type: mcsv1beta1.ClusterSetIP,
		})
	}
	return all
}

func TestWriter(t *testing.T) {
	for _, tt := range []struct {
		name    string
		exports string // the oldest first
		entry   string // clusters in the entry, "-" for no entry
		live    string
		want    names.ClusterID
	}{
		{"the oldest exporter", "c2 c1", "-", "c1 c2 c3", "c2"},
		{"the oldest is dead", "c2 c1", "c1 c2", "c1 c3", "c1"},
		{"all but the youngest are dead", "c2 c1 c3", "c1 c2 c3", "c3 c4", "c3"},
		{"a new exporter that is older", "c3 c1", "c1", "c1 c3", "c3"},
		{"all exporters are lost: the entry does not change", "c1 c2", "c1 c2", "c3", ""},
		{"no exports and no entry", "", "-", "c1", ""},
		{"the last exporter removes the entry", "", "c3", "c1 c2 c3", "c3"},
		{"the last exporters are lost: the first member deletes the entry", "", "c3 c4", "c1 c2", "c1"},
		{"an entry without clusters", "", "", "c2 c3", "c2"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var have *mcsv1beta1.ServiceImport
			if tt.entry != "-" {
				have = &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{
					"atoll.dev/clusters": strings.Join(strings.Fields(tt.entry), ","),
				}}}
			}
			var members []names.ClusterID
			for id := range strings.FieldsSeq(tt.live) {
				members = append(members, names.ClusterID(id))
			}
			if got := Writer(exports(tt.exports), have, members); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestWant(t *testing.T) {
	all := exports("c2 c1.eu")
	all[0].Ports = []mcsv1beta1.ServicePort{{Name: "http", Port: 80, Protocol: "TCP"}}
	all[0].ExportedLabels = map[string]string{"team": "a"}
	all[0].ExportedAnnotations = map[string]string{"doc": "b"}
	got := Want("set", web, all)
	want := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "set", Name: "web.shop",
			Labels: map[string]string{
				"atoll.dev/managed-by": "aggregate.atoll.dev", "atoll.dev/clusters": "c1.eu_c2",
				"atoll.dev/service-namespace": "shop", "multicluster.kubernetes.io/service-name": "web",
			},
			Annotations: map[string]string{"atoll.dev/clusters": "c1.eu,c2"},
		},
		Spec: merge.Resolve(all).Spec,
		Status: mcsv1beta1.ServiceImportStatus{
			Clusters: []mcsv1beta1.ClusterStatus{{Cluster: "c1.eu"}, {Cluster: "c2"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
