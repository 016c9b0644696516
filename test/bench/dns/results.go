package main

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/atoll-mcs/atoll/internal/spread"
	"github.com/atoll-mcs/atoll/internal/version"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// results are what a run has found.
type results struct {
	*bench
	sizes  []*size
	stages []stage
}

// size is what was found with a number of services.
type size struct {
	services int
	rates    map[string]map[string][]perf // by sort of question and server
	updates  map[string]map[string]*times // by sort of change and server
}

const perSecondUnit = "queries/s"

func perSecond(runs []perf) []float64 {
	var all []float64
	for _, r := range runs {
		all = append(all, r.perSecond)
	}
	return all
}

func median(values []float64) float64 { return spread.Of(values).P50 }

// ratios are those of two servers, round by round: of their rates, and of the processor time
// that they take for a question, which says the same on a machine that has nothing else to do,
// and more on one that has.
func ratios(of, by []perf) (rates, work []float64) {
	for i := range min(len(of), len(by)) {
		rates = append(rates, of[i].perSecond/by[i].perSecond)
		work = append(work, by[i].cpu/of[i].cpu)
	}
	return rates, work
}

func work(runs []perf) []float64 {
	var all []float64
	for _, r := range runs {
		all = append(all, r.cpu)
	}
	return all
}

// write prints the tables for people, and the document.
func (r *results) write(out, people io.Writer) error {
	report := figure.Report{
		Version: version.String(), Started: r.began, Seconds: time.Since(r.began).Seconds(), Arguments: os.Args[1:],
		Machine: r.machine,
	}
	for _, s := range r.sizes {
		report.Cases = append(report.Cases, r.rateCase(s), r.updateCase(s))
	}
	report.Cases = append(report.Cases, r.memoryCase())
	for _, c := range report.Cases {
		c.Print(people)
	}
	return report.WriteJSON(out)
}

// rateCase has a row for each sort of question and the targets.
func (r *results) rateCase(s *size) figure.Case {
	c := figure.Case{Name: fmt.Sprintf("rate-%d", s.services), About: fmt.Sprintf("questions answered in a second, %d services", s.services)}
	table := figure.Table{
		Title:   fmt.Sprintf("Questions answered in a second: median of %d rounds; in brackets µs of the server's processor time for each, and bytes of a reply", r.rounds),
		Columns: []string{"Question"},
	}
	for _, k := range kinds {
		table.Columns = append(table.Columns, k.name)
	}
	table.Columns = append(table.Columns, "atoll : stock", "atoll : hosts", "atoll : whoami")
	for _, ask := range allAsks {
		row := []string{ask}
		for _, k := range kinds {
			runs := s.rates[ask][k.name]
			if len(runs) == 0 {
				row = append(row, "")
				continue
			}
			rate, cpu := spread.Of(perSecond(runs)), spread.Of(work(runs))
			row = append(row, fmt.Sprintf("%.0f (%.1f, %d)", rate.P50, cpu.P50, runs[0].size))
			c.Add(figure.Figure{Name: ask + ", " + k.name, Unit: perSecondUnit, Value: rate.P50, Spread: &rate},
				figure.Figure{Name: ask + ", " + k.name + ", processor time", Unit: "µs", Value: cpu.P50, Spread: &cpu})
		}
		for _, other := range []string{stock, hosts, whoami} {
			row = append(row, r.ratio(&c, s, ask, other))
		}
		table.Add(row...)
	}
	c.Tables = append(c.Tables, table)
	return c
}

// ratio adds the figure of how many times as fast as another server ours is, and returns it
// for the table, with the ratio of their work in brackets.
func (r *results) ratio(c *figure.Case, s *size, ask, other string) string {
	rates, work := ratios(s.rates[ask][atoll], s.rates[ask][other])
	if len(rates) == 0 {
		return ""
	}
	rate, cpu := spread.Of(rates), spread.Of(work)
	f := figure.Figure{Name: ask + ", atoll : " + other, Unit: figure.Ratio, Value: rate.P50, Spread: &rate}
	switch other {
	case stock:
		f = f.AtLeast(1.6)
	case whoami:
		f = f.AtLeast(0.9)
	}
	c.Add(f, figure.Figure{Name: ask + ", processor time, " + other + " : atoll", Unit: figure.Ratio, Value: cpu.P50, Spread: &cpu})
	verdict := ""
	if f.Met != nil && !*f.Met {
		verdict = " NOT MET: " + f.Target
	}
	return fmt.Sprintf("%.2f (%.2f)%s", f.Value, cpu.P50, verdict)
}

// updateCase has a row for each sort of change.
func (r *results) updateCase(s *size) figure.Case {
	c := figure.Case{Name: fmt.Sprintf("update-%d", s.services), About: fmt.Sprintf("how long a change takes until it is answered, %d services", s.services)}
	table := figure.Table{
		Title:   fmt.Sprintf("Milliseconds from when the write of a change begins: median and p90 of %d changes", r.options.updates),
		Columns: []string{"Change", "Server", "a bare watch has seen it", "answered", "by the watch's"},
	}
	names := []string{}
	for _, c := range changes {
		names = append(names, c.name+", idle", c.name+", under full load")
	}
	for _, name := range names {
		for _, k := range kinds {
			t := s.updates[name][k.name]
			if t == nil {
				continue
			}
			seen, answered := figure.Times(name+", seen by a watch", figure.Milliseconds, t.seen), figure.Times(name+", "+k.name, figure.Milliseconds, t.answered)
			f := answered.OnFloor(seen)
			c.Add(f)
			show := func(s *figure.Spread) string { return fmt.Sprintf("%.1f, %.1f", s.P50, s.P90) }
			table.Add(name, k.name, show(seen.Spread), show(answered.Spread), fmt.Sprintf("%.2f x", *f.Ratio))
		}
	}
	c.Tables = append(c.Tables, table)
	return c
}

// memoryCase tells what a service and an endpoint cost, from the stages on either side of
// where most of them were added.
func (r *results) memoryCase() figure.Case {
	c := figure.Case{Name: "memory", About: "what the servers that read the cluster keep of it"}
	stages := figure.Table{Title: "Live heap after a collection, and the process's resident memory", Columns: []string{"Cluster"}}
	each := figure.Table{Title: "Bytes of live heap", Columns: []string{"For each"}}
	for _, name := range []string{atoll, stock} {
		stages.Columns, each.Columns = append(stages.Columns, name), append(each.Columns, name)
	}
	for _, s := range r.stages {
		row := []string{fmt.Sprintf("%d services with an IP, %d headless, %d large", s.virtual, s.headless, s.large)}
		for _, name := range []string{atoll, stock} {
			row = append(row, figure.Bytes(float64(s.memory[name].Heap))+", "+figure.Bytes(float64(s.memory[name].Resident)))
		}
		stages.Add(row...)
	}
	n := len(r.stages)
	if n < 4 {
		return c
	}
	empty, virtual, headless, large := r.stages[n-4], r.stages[n-3], r.stages[n-2], r.stages[n-1]
	for _, sort := range []struct {
		name     string
		from, to stage
		count    int
	}{
		{"service with a clusterset IP, its EndpointSlices not counted", empty, virtual, virtual.virtual - empty.virtual},
		{fmt.Sprintf("headless service of %d endpoints with hostnames", sourceClusters*endpointsEach), virtual, headless, headless.headless - virtual.headless},
		{fmt.Sprintf("endpoint of a service of %d without hostnames", largeEndpoints), headless, large, largeServices * largeEndpoints},
	} {
		row := []string{sort.name}
		for _, name := range []string{atoll, stock} {
			bytes := (float64(sort.to.memory[name].Heap) - float64(sort.from.memory[name].Heap)) / float64(sort.count)
			c.Add(figure.New(sort.name+", "+name, "B", bytes))
			row = append(row, fmt.Sprintf("%.0f", bytes))
		}
		each.Add(row...)
	}
	each.Notes = append(each.Notes, strings.Join([]string{
		"Stock CoreDNS keeps imported endpoints twice, also as those of their derived Services for cluster.local,",
		"which a cluster's CoreDNS does beside atoll-dns too.",
	}, " "))
	c.Tables = slices.Concat(c.Tables, []figure.Table{stages, each})
	return c
}
