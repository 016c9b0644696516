package serviceimport

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
)

var web = types.NamespacedName{Namespace: "shop", Name: "web"}

const v4, v6 = corev1.IPv4Protocol, corev1.IPv6Protocol

// exports are one for each list of families, the oldest first.
func exports(families ...[]corev1.IPFamily) []merge.Export {
	var all []merge.Export
	for i, f := range families {
		all = append(all, merge.Export{
			ClusterID: string(rune('a' + i)), ExportedAt: metav1.Unix(int64(i), 0), Type: mcsv1beta1.ClusterSetIP, IPFamilies: f,
		})
	}
	return all
}

// An import has what its exporters and its cluster have in common, in the order of the
// oldest export.
func TestFamiliesOfAnImport(t *testing.T) {
	four, six, both, sixFirst := []corev1.IPFamily{v4}, []corev1.IPFamily{v6}, []corev1.IPFamily{v4, v6}, []corev1.IPFamily{v6, v4}
	for _, tt := range []struct {
		name     string
		exported [][]corev1.IPFamily
		cluster  []corev1.IPFamily
		want     []corev1.IPFamily
	}{
		{"IPv4 everywhere", [][]corev1.IPFamily{four}, four, four},
		{"IPv6 everywhere", [][]corev1.IPFamily{six}, six, six},
		{"both everywhere", [][]corev1.IPFamily{both}, both, both},
		{"both, the export's order", [][]corev1.IPFamily{sixFirst}, both, sixFirst},
		{"both, the oldest export's order", [][]corev1.IPFamily{sixFirst, both}, both, sixFirst},
		{"both exported, the cluster has IPv4", [][]corev1.IPFamily{sixFirst}, four, four},
		{"both exported, the cluster has IPv6", [][]corev1.IPFamily{both}, six, six},
		{"IPv4 exported, the cluster has both", [][]corev1.IPFamily{four}, sixFirst, four},
		{"one each, the cluster has both", [][]corev1.IPFamily{six, four}, both, sixFirst},
		{"one each, the cluster has the younger's", [][]corev1.IPFamily{six, four}, four, four},
		{"IPv4 exported, the cluster has IPv6", [][]corev1.IPFamily{four}, six, nil},
		{"IPv6 exported, the cluster has IPv4", [][]corev1.IPFamily{six, six}, four, nil},
	} {
		for _, kind := range []mcsv1beta1.ServiceImportType{mcsv1beta1.ClusterSetIP, mcsv1beta1.Headless} {
			all := exports(tt.exported...)
			all[0].Type = kind
			got := want(&mcsv1beta1.ServiceImport{}, web, merge.Resolve(all), local.ServiceNetwork{Families: tt.cluster})
			if diff := cmp.Diff(tt.want, got.Spec.IPFamilies); diff != "" {
				t.Errorf("%s, %s: families (-want +got):\n%s", tt.name, kind, diff)
			}
		}
	}
}

// An import has what is exported and what the derived Service's controller has written; what
// others put there stays, and what is not exported any more does not.
func TestWantedImport(t *testing.T) {
	all := exports([]corev1.IPFamily{v4}, []corev1.IPFamily{v4})
	all[0].ExportedLabels = map[string]string{"team": "a"}
	all[0].ExportedAnnotations = map[string]string{"doc": "b"}
	have := &mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{
			Labels: map[string]string{"old": "x", "somebody": "else"},
			Annotations: map[string]string{
				"multicluster.kubernetes.io/derived-service": "web-clusterset", "atoll.dev/exported-metadata": `{"labels":["old"]}`,
			},
		},
		Spec: mcsv1beta1.ServiceImportSpec{IPs: []string{"10.0.0.1"}, Type: mcsv1beta1.Headless},
	}
	got := want(have, web, merge.Resolve(all), local.ServiceNetwork{Families: []corev1.IPFamily{v4}})
	if diff := cmp.Diff(&mcsv1beta1.ServiceImport{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "web",
			Labels: map[string]string{"team": "a", "atoll.dev/managed-by": "agent.atoll.dev", "somebody": "else"},
			Annotations: map[string]string{
				"doc": "b", "multicluster.kubernetes.io/derived-service": "web-clusterset",
				"atoll.dev/exported-metadata": `{"labels":["team"],"annotations":["doc"]}`,
			},
		},
		Spec: mcsv1beta1.ServiceImportSpec{
			Type: mcsv1beta1.ClusterSetIP, IPs: []string{"10.0.0.1"}, Ports: []mcsv1beta1.ServicePort{},
			IPFamilies: []corev1.IPFamily{v4}, SessionAffinity: corev1.ServiceAffinityNone,
		},
	}, got); diff != "" {
		t.Errorf("import (-want +got):\n%s", diff)
	}
}
