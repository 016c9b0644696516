package console

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/atoll-mcs/atoll/internal/console"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
)

var (
	clusters = flag.Int("clusters", 10, "clusters of BenchmarkConsole")
	services = flag.Int("services", 500, "services of BenchmarkConsole, which all clusters import")
	snapshot = flag.String("snapshot", "", "write a snapshot of BenchmarkConsole's clusterset to this file")
)

// BenchmarkConsole reports how long a page waits for everything after a start, and when it is opened later; how long until it
// shows a change; and the memory of the console relative to what one survey of each cluster holds.
func BenchmarkConsole(b *testing.B) {
	w := newWorld(b, *clusters)
	for s := range *services {
		namespace, name := "shop", fmt.Sprintf("web-%d", s)
		for k := range 2 { // two clusters export each
			w.create(w.broker, record(fmt.Sprintf("c%d", (s+k)%*clusters+1), namespace, name, ""))
		}
		for _, c := range w.members {
			w.create(c, serviceImport(namespace, name, ""))
			for k := range 2 {
				w.create(c, slice(namespace, name, fmt.Sprintf("c%d", (s+k)%*clusters+1), 3, 0))
			}
		}
	}
	var first, page time.Duration
	var changes []time.Duration
	var ratio float64
	for b.Loop() {
		var surveys []*survey.Survey
		base := heap()
		for _, c := range w.members {
			s, err := survey.Read(b.Context(), c.api.Config(), survey.Scope{Endpoints: true, ClusterOnly: true})
			if err != nil {
				b.Fatal(err)
			}
			surveys = append(surveys, s)
		}
		held := heap() - base
		runtime.KeepAlive(surveys)
		surveys = nil
		base = heap()
		began := time.Now()
		made, p := w.open(w.members...)
		p.until("all is shown", func() bool {
			return len(p.services) == *services && p.overview.Broker.Read && whole(p)
		})
		first += time.Since(began)
		p.services = map[string]console.Row{}
		ratio += float64(heap()-base) / float64(held)
		for i := range 100 {
			service := types.NamespacedName{Namespace: "shop", Name: fmt.Sprintf("new-%d", i)}
			began := time.Now()
			w.create(w.members[i%*clusters], serviceImport(service.Namespace, service.Name, ""))
			p.until("a new import", func() bool { return len(p.services[service.String()].Imports) == 1 })
			changes = append(changes, time.Since(began))
			w.delete(w.members[i%*clusters], serviceImport(service.Namespace, service.Name, ""))
		}
		began = time.Now()
		again := p.again()
		again.until("all is shown again", func() bool { return len(again.services) == *services })
		page += time.Since(began)
		if *snapshot != "" {
			file, err := os.Create(*snapshot)
			if err != nil {
				b.Fatal(err)
			}
			if err := made.WriteSnapshot(b.Context(), patience, nil, file); err != nil {
				b.Fatal(err)
			}
		}
	}
	slices.Sort(changes)
	b.ReportMetric(first.Seconds()/float64(b.N), "s/first")
	b.ReportMetric(page.Seconds()/float64(b.N), "s/page")
	b.ReportMetric(float64(changes[len(changes)/2].Milliseconds()), "ms/change-p50")
	b.ReportMetric(float64(changes[len(changes)*99/100].Milliseconds()), "ms/change-p99")
	b.ReportMetric(ratio/float64(b.N), "x-survey-heap")
	if ratio/float64(b.N) > 2 && *services >= 5000 { // of less, most is not data
		b.Error("the console holds more than twice a survey's data")
	}
}

// whole reports whether all clusters' imports have come.
func whole(p *page) bool {
	for _, row := range p.services {
		for _, cell := range row.Imports {
			if cell.Ready != 6 {
				return false
			}
		}
		if len(row.Imports) != *clusters {
			return false
		}
	}
	return true
}

// heap returns the bytes in use after a garbage collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
