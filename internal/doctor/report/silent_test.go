package report

import (
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/atoll-mcs/atoll/internal/doctor/survey"
)

// A silent cluster is one whatever its heartbeat says now, with the broker and without: status and explain say so.
func TestSilentClusters(t *testing.T) {
	const want = "Endpoints of cluster c2 that answered before have not answered since 2026"
	for name, change := range map[string]func(*survey.Survey){
		"a late heartbeat":     func(*survey.Survey) {},
		"a current heartbeat":  func(s *survey.Survey) { s.Broker.At = time.Unix(1, 0) },
		"no heartbeat at all":  func(s *survey.Survey) { s.Broker.Heartbeats = []coordinationv1.Lease{} },
		"the broker is away":   func(s *survey.Survey) { s.Broker, s.BrokerErr = nil, errors.New("timeout") },
		"nothing else, either": func(s *survey.Survey) { s.Broker, s.BrokerErr, s.Cluster.Slices = nil, errors.New("timeout"), nil },
	} {
		s := clusterset()
		s.Cluster.Silent = map[string]string{"c2": "2026"}
		change(s)
		if got := told(NewStatus(s).Findings); !strings.Contains(got, want) || strings.Contains(got, "No heartbeat from cluster c2") {
			t.Errorf("%s: status: %s", name, got)
		}
		if len(s.Cluster.Slices) == 0 || s.Broker == nil {
			continue
		}
		if got := told(Explain(s, web).Findings); !strings.Contains(got, want) || strings.Contains(got, "No heartbeat from cluster c2") {
			t.Errorf("%s: explain: %s", name, got)
		}
	}
	s := clusterset()
	s.Broker, s.BrokerErr = nil, errors.New("timeout")
	s.Cluster.Silent = map[string]string{"c1": "2026", "c2": "2026"} // none is left, so theirs are used
	if x := Explain(s, web); x.Sources[0].Reason != "1 active: AllSilent" {
		t.Errorf("%+v", x.Sources)
	}
}
