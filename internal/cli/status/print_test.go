package status

import (
	"bytes"
	"testing"

	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/doctor/report"
)

func TestPrint(t *testing.T) {
	var got bytes.Buffer
	err := print(&got, report.Status{
		Cluster: "c1", Clusterset: "set", Broker: "https://broker", BrokerMilliseconds: ptr.To[int64](3),
		Components: []report.Component{{Name: "atoll-agent", Ready: 1, Wanted: 2, Image: "atoll-agent:v1"}},
		Exports:    map[string]int{"Ready": 2, "Pending": 1}, Imports: map[string]int{},
		Members: []report.Member{
			{Cluster: "c1", State: report.MemberReady, HeartbeatSeconds: ptr.To[int64](4), Exports: 3, Agent: "v1"},
			{Cluster: "c2", State: report.MemberJoining},
		},
		Findings: report.Findings{
			{Severity: report.Error, About: "DNS", Message: "the cluster's own DNS does not ask atoll-dns", Do: "atoll dns install"},
			{Severity: report.Pending, About: "cluster c2", Message: "it has not sent a heartbeat yet"},
		},
	})
	const want = `cluster      c1
clusterset   set
broker       https://broker (3 ms)
atoll-agent  1 of 2 pods ready, atoll-agent:v1
DNS          does not forward clusterset.local to atoll-dns
exports      2 Ready, 1 Pending
imports      none

CLUSTER  STATE    HEARTBEAT  EXPORTS  AGENT
c1       Ready    4s         3        v1
c2       Joining  -          0        -

× DNS: the cluster's own DNS does not ask atoll-dns
    atoll dns install
… cluster c2: it has not sent a heartbeat yet
`
	if err != nil || got.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s\n%v", got.String(), want, err)
	}
}
