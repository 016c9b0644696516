package integration

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/doctor/bench"
	"github.com/atoll-mcs/atoll/internal/doctor/outpost"
	"github.com/atoll-mcs/atoll/internal/doctor/spread"
	"github.com/atoll-mcs/atoll/internal/doctor/trial"
	"github.com/atoll-mcs/atoll/lab"
)

// atollBench runs the command in the lab with each of several lines, at the same time: most of it is waiting for namespaces to go.
func atollBench(lines ...string) map[string]result {
	var mu sync.Mutex
	var all sync.WaitGroup
	runs := map[string]result{}
	for _, line := range lines {
		all.Go(func() {
			r := atoll("bench --kubeconfig " + theLab.Kubeconfig() + " " + line)
			mu.Lock()
			defer mu.Unlock()
			runs[line] = r
		})
	}
	all.Wait()
	return runs
}

// atoll bench measures everything in each round, beside a floor that leads over the broker or not, or without one, also where the
// broker's owner allows some addresses alone; it says what is in the way; and it leaves nothing, also when it is interrupted.
func TestBench(t *testing.T) {
	allowRanges(t, map[string]string{"c1": "10.9.0.8/30"}) // as many as it takes
	const line = "c1 c2 --rounds 2 --endpoints 3 --pause 60ms -o json"
	floors := map[string]string{line + " --broker-context broker": bench.OverBroker, line: bench.Direct, line + " --no-floor": bench.None}
	refused := map[string]string{
		"c1":                          "two clusters at least",
		"c1 c2 --rounds 0":            "--rounds can be from 1 to 1000",
		"c1 c2 --endpoints 4":         "permits the exporting cluster 4 IPv4 addresses, and the benchmark takes 5",
		"c1 c2 --broker-context c2":   "--broker-context c2 is not the broker's",
		"c1 c2 --broker-context none": `context "none" does not exist`,
	}
	var all sync.WaitGroup
	all.Go(func() { interrupted(t) })
	runs := atollBench(slices.Concat(slices.Collect(maps.Keys(floors)), slices.Collect(maps.Keys(refused)))...)
	all.Wait()
	for line, floor := range floors {
		r := runs[line]
		if r.status != 0 || !strings.Contains(r.stderr, "2 of 2 rounds") {
			t.Errorf("%s: status %d\n%s", line, r.status, r.stderr)
			continue
		}
		expectMeasured(t, floor, r.stdout)
	}
	for line, want := range refused {
		if r := runs[line]; r.status == 0 || r.stdout != "" || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: status %d, it does not say %q but\n%s%s", line, r.status, want, r.stdout, r.stderr)
		}
	}
	for _, cluster := range []string{"c1", "c2", lab.Broker} {
		left := &corev1.NamespaceList{}
		if err := on[cluster].List(t.Context(), left, client.MatchingLabels{outpost.Label: "bench"}); err != nil || len(left.Items) > 0 {
			t.Errorf("%s has still %d namespaces of it, %v", cluster, len(left.Items), err)
		}
	}
}

// interrupted has many rounds be made, and ends them after a second.
func interrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	all, err := members(ctx, "c1", "c2")
	if err != nil {
		t.Error(err)
		return
	}
	report, err := bench.Run(ctx, all, bench.Options{
		Rounds: 1000, Endpoints: 1, Pause: 60 * time.Millisecond, Patience: patience, Timeout: time.Hour,
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

// expectMeasured wants figures of everything, of as many rounds as there were, and a floor that is one.
func expectMeasured(t *testing.T, floor, text string) {
	t.Helper()
	var r bench.Report
	noError(t, json.Unmarshal([]byte(text), &r))
	wantTrips := map[string]int{bench.OverBroker: 3, bench.Direct: 2, bench.None: 2}[floor]
	if r.Floor != floor || r.From != "c1" || len(r.To) != 1 || r.To[0] != "c2" || r.Rounds != 2 || len(r.RoundTrips) != wantTrips || len(r.Figures) != 3 {
		t.Fatalf("%s", text)
	}
	good := func(s *spread.Spread) bool {
		return s != nil && s.N == 2 && s.Min > 0 && s.Max < float64(patience/time.Millisecond)
	}
	for i, what := range []string{bench.Export, bench.Change, bench.Unexport} {
		f := r.Figures[i]
		if f.What != what || f.To != "c2" || !good(&f.Atoll) || good(f.Floor) != (floor != bench.None) || (f.Ratio != nil) != (floor != bench.None) {
			t.Errorf("%+v", f)
		}
	}
	expectBrokerEmpty(t, r.Namespace)
}

// members are clusters of the lab as members.
func members(ctx context.Context, names ...string) ([]trial.Member, error) {
	var all []trial.Member
	for _, name := range names {
		config, err := theLab.RESTConfig(name)
		if err != nil {
			return nil, err
		}
		m, err := trial.Read(ctx, name, "", config, "")
		if err != nil {
			return nil, err
		}
		all = append(all, m)
	}
	return all, nil
}
