package explain

import (
	"bytes"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/atoll-mcs/atoll/internal/doctor/report"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
)

func TestPrint(t *testing.T) {
	at := metav1.NewTime(time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
	var got bytes.Buffer
	err := print(&got, report.Explanation{
		Name: "web.shop.svc.clusterset.local", Cluster: "c3", Verdict: report.Works,
		Findings: report.Findings{{Severity: report.Warning, About: "export", Message: "Conflicting ports"}},
		Exports:  []report.Export{{Cluster: "c1", ExportedAt: at, Status: "Published"}, {Cluster: "c2", ExportedAt: at, Status: "PortConflict", Message: "not shown"}, {Cluster: "c4", ExportedAt: at, Status: "PortsRestricted", Message: "shown"}},
		Values:   []merge.Choice{{Property: "port", Using: "http 80/TCP", From: "c1", Others: map[string]string{"c2": "http 81/TCP"}}},
		Import:   &report.Import{Namespace: "shop", Name: "web", Type: "ClusterSetIP", IPs: []string{"10.0.0.1"}, Status: "Ready"}, DerivedService: "web-clusterset",
		Sources: []report.Source{{Cluster: "c1", Published: 2, Imported: 2, ReadyHere: 2}, {Cluster: "c2", Published: 1, Reason: "none of its pods is ready"}},
		Records: []report.Record{{Name: "web.shop.svc.clusterset.local", Type: "A", Values: []string{"10.0.0.1"}, Total: 3}},
		DNS:     []string{"coredns"},
	})
	const want = `web.shop.svc.clusterset.local works in cluster c3.
‼ export: Conflicting ports

EXPORTED BY
  c1 since 2026-01-02T03:04:05Z, the oldest export, whose values are used (Published)
  c2 since 2026-01-02T03:04:05Z (PortConflict)
  c4 since 2026-01-02T03:04:05Z (PortsRestricted)
    shown

MERGED TO
  port  http 80/TCP  from c1  not http 81/TCP from c2

IMPORTED AS
  ServiceImport shop/web, ClusterSetIP, Ready
  clusterset IP 10.0.0.1 of Service web-clusterset

ENDPOINTS
  CLUSTER  PUBLISHED  HERE  READY  
  c1       2          2     2      
  c2       1          0     0      none of its pods is ready

DNS
  web.shop.svc.clusterset.local A 10.0.0.1 and 2 more
  The cluster's DNS forwards queries to atoll-dns (coredns).
`
	if err != nil || got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s\n%v", got.String(), want, err)
	}
}
