package integration

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/doctor/bench"
	"github.com/atoll-mcs/atoll/internal/doctor/outpost"
	"github.com/atoll-mcs/atoll/internal/doctor/trial"
	"github.com/atoll-mcs/atoll/test/planes"
)

// atoll bench measures everything in each round, even if the broker's administrator permits
// only some addresses. It reports obstacles, and deletes all its objects, even after an
// interruption.
func TestBench(t *testing.T) {
	allowRanges(t, map[string]string{"c1": "10.9.0.8/30"}) // as many addresses as atoll bench needs
	run := func(line string) planes.Result {
		return planes.Atoll("", "bench --kubeconfig "+theLab.Kubeconfig()+" "+line)
	}
	var all sync.WaitGroup
	all.Go(func() { interrupted(t) })
	for line, want := range map[string]string{
		"c1":                  "at least two clusters",
		"c1 c2 --rounds 0":    "--rounds must be from 1 to 1000",
		"c1 c2 --endpoints 4": "permits the exporting cluster only 4 IPv4 addresses, but the benchmark needs 5",
	} {
		all.Go(func() {
			if r := run(line); r.Status == 0 || r.Stdout != "" || !strings.Contains(r.Stderr, want) {
				t.Errorf("%s: status %d, want %q in the output:\n%s%s", line, r.Status, want, r.Stdout, r.Stderr)
			}
		})
	}
	if r := run("c1 c2 --rounds 2 --endpoints 3 --pause 60ms -o json"); r.Status != 0 || !strings.Contains(r.Stderr, "2 of 2 rounds") {
		t.Errorf("status %d\n%s", r.Status, r.Stderr)
	} else {
		expectMeasured(t, r.Stdout)
	}
	all.Wait()
	for _, cluster := range []string{"c1", "c2"} {
		left := &corev1.NamespaceList{}
		if err := on[cluster].List(t.Context(), left, client.MatchingLabels{outpost.Label: "bench"}); err != nil || len(left.Items) > 0 {
			t.Errorf("%s still has %d namespaces of atoll bench, error %v", cluster, len(left.Items), err)
		}
	}
}

// interrupted runs many rounds and interrupts them after a second.
func interrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	all, err := members(ctx, "c1", "c2")
	if err != nil {
		t.Error(err)
		return
	}
	report, err := bench.Run(ctx, all, bench.Options{
		Rounds: 1000, Endpoints: 1, Pause: 60 * time.Millisecond, RoundTimeout: patience, Timeout: time.Hour,
		Say: func(format string, _ ...any) {
			if strings.HasPrefix(format, "measuring") {
				time.AfterFunc(time.Second, interrupt)
			}
		},
	})
	if err == nil || !strings.Contains(err.Error(), "interrupted after") || report.Rounds >= 1000 {
		t.Errorf("%d rounds, %v", report.Rounds, err)
	}
}

// expectMeasured checks that there are figures for every measurement, from all rounds.
func expectMeasured(t *testing.T, text string) {
	t.Helper()
	var r bench.Report
	noError(t, json.Unmarshal([]byte(text), &r))
	if r.From != "c1" || len(r.To) != 1 || r.To[0] != "c2" || r.Rounds != 2 || len(r.RoundTrips) != 2 || len(r.Figures) != 3 {
		t.Fatalf("%s", text)
	}
	for i, what := range []string{bench.Export, bench.Change, bench.Unexport} {
		f := r.Figures[i]
		if f.What != what || f.To != "c2" || f.Took.N != 2 || f.Took.Min <= 0 || f.Took.Max >= float64(patience/time.Millisecond) || f.Requests <= 0 {
			t.Errorf("%+v", f)
		}
	}
	expectBrokerEmpty(t, r.Namespace)
}

// members returns clusters of the lab as members.
func members(ctx context.Context, names ...string) ([]trial.Member, error) {
	var all []trial.Member
	for _, name := range names {
		config, err := theLab.RESTConfig(name)
		if err != nil {
			return nil, err
		}
		m, err := trial.Read(ctx, name, "", config, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}
