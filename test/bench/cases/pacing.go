package cases

import (
	"context"
	"fmt"
	"time"

	"github.com/atoll-mcs/atoll/internal/spread"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// pacing makes the same rolling update with agents that hold changes back for different
// times.
func pacing(ctx context.Context, r *Run, c *figure.Case) error {
	table := figure.Table{
		Title: fmt.Sprintf("A rolling update of %d endpoints in 20 slices", r.sized(2000)),
		Columns: []string{
			"--coalesce-additions", "--coalesce-removals", "writes of the source", "on the broker", "in an importing cluster",
			"a new endpoint is there, p50 ms", "p99 ms", "an old one is gone, p50 ms", "p99 ms",
		},
	}
	s := side{"atoll", r.Bed.On[exporter], r.Bed.On[importer], "bench-pacing"}
	if err := r.Bed.Namespace(ctx, s.namespace, r.Bed.Members...); err != nil {
		return err
	}
	for i, times := range [][2]time.Duration{
		{0, 0}, {100 * time.Millisecond, 50 * time.Millisecond}, {500 * time.Millisecond, 50 * time.Millisecond},
		{500 * time.Millisecond, 500 * time.Millisecond}, {2 * time.Second, 50 * time.Millisecond},
	} {
		r.Say("pacing: additions %v, removals %v", times[0], times[1])
		if err := r.Bed.AgentsWith(ctx, "--coalesce-additions="+times[0].String(), "--coalesce-removals="+times[1].String()); err != nil {
			return err
		}
		row, err := r.paced(ctx, s, i)
		if err != nil {
			return err
		}
		table.Add(append([]string{times[0].String(), times[1].String()}, row...)...)
	}
	c.Tables = append(c.Tables, table)
	return r.Bed.AgentsWith(ctx)
}

// paced makes one rolling update.
func (r *Run) paced(ctx context.Context, s side, number int) ([]string, error) {
	n := r.sized(2000)
	service := bed.Service{Namespace: s.namespace, Name: fmt.Sprintf("p%d", number), Endpoints: n}
	o, err := r.exported(ctx, s, service)
	if err != nil {
		return nil, err
	}
	slices, err := sourceSlices(ctx, s.from, service)
	if err != nil {
		return nil, err
	}
	o.Forget()
	found := samples{}
	counted, err := r.counted(ctx, func() error { return replace(ctx, s, o, slices, freshAddresses+number*n, found) })
	if err != nil {
		return nil, err
	}
	row := []string{
		fmt.Sprint(2 * n), fmt.Sprint(len(ofSlices(counted[lab.Broker]))), fmt.Sprint(len(ofSlices(counted[importer]))),
	}
	for _, what := range []string{"appeared", "vanished"} {
		over := spread.Of(figure.In(figure.Milliseconds, found[s.name][what]))
		row = append(row, figure.Number(over.P50), figure.Number(over.P99))
	}
	return row, r.clear(ctx, s, o, service)
}
