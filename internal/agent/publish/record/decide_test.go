package record

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/agent/local"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
)

func spec(exported int64, port int32) *brokerv1alpha1.ExportedServiceSpec {
	return &brokerv1alpha1.ExportedServiceSpec{
		ClusterID: "c1", ServiceNamespace: "shop", ServiceName: "web", ExportedAt: metav1.Unix(exported, 0),
		Ports: []mcsv1beta1.ServicePort{{Port: port}},
	}
}

// own returns an own export: its ServiceExport has resource version 7, its Service 9.
func own(contribution *brokerv1alpha1.ExportedServiceSpec) local.Own {
	if contribution == nil {
		return local.Own{}
	}
	return local.Own{
		Export:       &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "7"}},
		Service:      &corev1.Service{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}},
		Contribution: contribution,
	}
}

func record(of *brokerv1alpha1.ExportedServiceSpec, revision int64, withdrawn bool) *brokerv1alpha1.ExportedService {
	r := layout.Record("set", *of)
	layout.SetWithdrawn(r, withdrawn)
	layout.SetRevision(r, revision-1)
	return r
}

func TestDecide(t *testing.T) {
	for name, tt := range map[string]struct {
		have    *brokerv1alpha1.ExportedService
		want    *brokerv1alpha1.ExportedServiceSpec
		expired bool
		// Expected write: none, a withdrawal or the contribution, with a revision; or the
		// deletion of the record.
		writes, withdraws, deletes bool
		revision                   int64
	}{
		"nothing":                          {},
		"a new export":                     {want: spec(5, 80), writes: true, revision: 9},
		"the same again":                   {have: record(spec(5, 80), 9, false), want: spec(5, 80)},
		"a change":                         {have: record(spec(5, 80), 4, false), want: spec(5, 81), writes: true, revision: 9},
		"a change after a restore of etcd": {have: record(spec(5, 80), 40, false), want: spec(5, 81), writes: true, revision: 41},
		"an export ends":                   {have: record(spec(5, 80), 9, false), writes: true, withdraws: true, revision: 10},
		"one that has ended":               {have: record(spec(5, 80), 10, true)},
		"one that has ended for long":      {have: record(spec(5, 80), 10, true), expired: true, deletes: true},
		"exported again":                   {have: record(spec(5, 80), 10, true), want: spec(6, 80), writes: true, revision: 11},
		"exported again as it was":         {have: record(spec(5, 80), 10, true), want: spec(5, 80), expired: true, writes: true, revision: 11},
		"a cluster restored from a backup": {have: record(spec(5, 80), 9, false), want: spec(4, 80), deletes: true},
	} {
		t.Run(name, func(t *testing.T) {
			before := tt.have.DeepCopy()
			d := decide("set", tt.have, own(tt.want), tt.expired)
			if d.remove != tt.deletes || (d.write != nil) != tt.writes {
				t.Fatalf("the decision is %+v", d)
			}
			if tt.have != nil && (tt.have.Annotations["atoll.dev/revision"] != before.Annotations["atoll.dev/revision"] || layout.Withdrawn(tt.have) != layout.Withdrawn(before)) {
				t.Error("decide changed a cached record")
			}
			if d.write == nil {
				return
			}
			if got := layout.Revision(d.write); got != tt.revision || layout.Withdrawn(d.write) != tt.withdraws {
				t.Errorf("revision %d, withdrawn %t", got, layout.Withdrawn(d.write))
			}
			if !tt.withdraws && d.write.Spec.Ports[0].Port != tt.want.Ports[0].Port || d.write.Name != "web.shop.c1" {
				t.Errorf("the write is %+v", d.write)
			}
		})
	}
	if keepWithdrawn < 5*time.Minute {
		t.Error("keepWithdrawn is too short: importers that were disconnected would miss a withdrawal")
	}
}
