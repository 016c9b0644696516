package serviceimport

import (
	"maps"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

func TestDecide(t *testing.T) {
	const v4 = corev1.IPv4Protocol
	web := types.NamespacedName{Namespace: "shop", Name: "web"}
	network := local.ServiceNetwork{Families: []corev1.IPFamily{v4}}
	of := func(revisions map[names.ClusterID]int64, awaited ...names.ClusterID) (e local.Exported) {
		e.Revisions, e.Awaited = revisions, awaited
		for _, id := range slices.Sorted(maps.Keys(revisions)) {
			e.Imported = append(e.Imported, merge.Export{ClusterID: id.String(), Type: mcsv1beta1.ClusterSetIP, IPFamilies: []corev1.IPFamily{v4}, Ports: []mcsv1beta1.ServicePort{{Name: id.String(), Port: int32(80 + len(id))}}})
		}
		return e
	}
	// as returns what the given exports merge to.
	as := func(e local.Exported) *mcsv1beta1.ServiceImport {
		imp := decide(&mcsv1beta1.ServiceImport{}, web, e, network, nil).create
		imp.UID = "1"
		return imp
	}
	none, c2, newer, both := of(nil), of(map[names.ClusterID]int64{"c2": 1}), of(map[names.ClusterID]int64{"c2": 2}), of(map[names.ClusterID]int64{"c2": 1, "cluster3": 1})
	edited := as(c2)
	edited.Spec.Ports[0].Port = 1
	for name, tt := range map[string]struct {
		have   *mcsv1beta1.ServiceImport
		export local.Exported
		does   string // and the cluster for whose change it waits
		ports  int
	}{
		"no export, no import":               {&mcsv1beta1.ServiceImport{}, none, "nothing", 0},
		"the first export":                   {&mcsv1beta1.ServiceImport{}, c2, "create", 1},
		"nothing has changed":                {as(c2), c2, "nothing", 0},
		"a record has a new revision":        {as(c2), newer, "update c2", 1},
		"another cluster exports it too":     {as(c2), both, "update", 2},
		"one of two exports has ended":       {as(both), c2, "update", 1},
		"a user has edited it":               {edited, c2, "update", 1},
		"the last export has ended":          {as(c2), none, "remove", 0},
		"its only export is unknown":         {as(c2), of(nil, "c2"), "nothing", 0},
		"one of two exports is unknown":      {as(both), of(map[names.ClusterID]int64{"c2": 1}, "cluster3"), "nothing", 0},
		"a new one while another is unknown": {as(c2), of(map[names.ClusterID]int64{"cluster3": 1}, "c2"), "update", 2},
	} {
		t.Run(name, func(t *testing.T) {
			d := decide(tt.have, web, tt.export, network, nil)
			does, ports := "nothing", []mcsv1beta1.ServicePort(nil)
			switch {
			case d.remove:
				does = "remove"
			case d.create != nil:
				does, ports = "create", d.create.Spec.Ports
			case d.update != nil:
				does, ports = strings.TrimSpace("update "+d.by), d.update.Spec.Ports
			}
			if does != tt.does || len(ports) != tt.ports {
				t.Errorf("it does %q with ports %v, want %q with %d", does, ports, tt.does, tt.ports)
			}
		})
	}
}
