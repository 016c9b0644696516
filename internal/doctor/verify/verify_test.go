package verify

import (
	"bytes"
	"encoding/xml"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/atoll-mcs/atoll/internal/doctor/probe"
)

var wanted = []expectation{{shared, []string{"c1", "c2"}}, {"only-1", []string{"c1"}}}

// seen is the report of a pod in a healthy clusterset.
func seen() probe.Report {
	r := probe.Report{Resolvers: []string{"10.0.0.10"}}
	p := plan("ns", wanted, map[string][]string{shared: {"10.0.0.1", "fd00::1"}, "only-1": {"10.0.0.2"}}, time.Second)
	for _, q := range p.Questions {
		r.Answers = append(r.Answers, probe.Answer{Question: q, Values: []string{"an address"}})
	}
	for _, c := range p.Connections {
		by := map[string]int{"c1": c.Times}
		if strings.HasPrefix(c.Address, shared) {
			by = map[string]int{"c1": c.Times / 2, "c2": c.Times / 2}
		}
		r.Connections = append(r.Connections, probe.Reached{Connection: c, By: by})
	}
	return r
}

// TestEvaluate: every exporting cluster must answer, no other cluster may, and every attempt
// counts.
func TestEvaluate(t *testing.T) {
	for name, c := range map[string]struct {
		with func(*probe.Report)
		want string // the failures
	}{
		"healthy": {func(*probe.Report) {}, ""},
		"an exporter does not answer": {
			func(r *probe.Report) { r.Connections[0].By = map[string]int{"c1": 40} }, "tcp connection to everywhere: cluster c2 has not answered",
		},
		"another cluster answers": {
			func(r *probe.Report) { r.Connections[3].By = map[string]int{"c2": 1} }, "udp connection to only-1: cluster c1 has not answered; cluster c2 answered, but does not export the Service",
		},
		"some are lost": {
			func(r *probe.Report) { r.Connections[1].Failed, r.Connections[1].Error = 3, "timeout" }, "udp connection to everywhere: 3 of 40 connections were not answered: timeout",
		},
		"only a single family": {
			func(r *probe.Report) { r.Answers[1].Values, r.Answers[1].Error = nil, "no such host" },
			"DNS answers for everywhere: a pod that uses the DNS server 10.0.0.10 gets no address: AAAA: no such host. To find the cause: atoll check",
		},
		"no address": {
			func(r *probe.Report) { r.Answers[2].Values, r.Answers[2].Error = nil, "no such host" },
			"DNS answers for only-1: a pod that uses the DNS server 10.0.0.10 gets no address: A: no such host. To find the cause: atoll check",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := seen()
			c.with(&r)
			var failures []string
			for _, got := range evaluate("c1", "ns", r, wanted) {
				if got.Failure != "" {
					failures = append(failures, got.Name+": "+got.Failure)
				}
			}
			if got := strings.Join(failures, "\n"); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// TestJUnit: the report is valid JUnit XML, whatever a message contains.
func TestJUnit(t *testing.T) {
	r := Report{Cases: []Case{
		{Cluster: "c1", Name: "export", Seconds: 1.5, Detail: "fine"},
		{Cluster: "c2", Name: "import", Failure: `no <endpoint> of "c1" & c3`},
		{Cluster: "c2", Name: "import is deleted", Skipped: errSkipped.Error()},
	}}
	var got bytes.Buffer
	if err := r.JUnit(&got); err != nil {
		t.Fatal(err)
	}
	if os.Getenv("ATOLL_UPDATE") != "" {
		if err := os.WriteFile("testdata/junit.xml", got.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/junit.xml")
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != string(want) {
		t.Errorf("got:\n%s\nwant:\n%s", got.String(), want)
	}
	var back junitSuites
	if err := xml.Unmarshal(got.Bytes(), &back); err != nil || back.Suite.Failures != 1 || back.Suite.Skipped != 1 || back.Suite.Cases[1].Failure.Message != r.Cases[1].Failure {
		t.Errorf("%+v, %v", back, err)
	}
}
