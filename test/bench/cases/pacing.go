package cases

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/atoll-mcs/atoll/internal/spread"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// pacings are the values of --slice-write-interval that are compared: none first, the usual one second.
var pacings = []time.Duration{0, 50 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond, 2 * time.Second}

// usual is which of them agents have if nobody chooses.
const usual = 1

// update is a rolling update that is made with each of them. Its source writes at a pace that does not depend on how busy the
// machine is, so that all are about the same changes at the same distances.
type update struct {
	endpoints, replaced, absent int
	every                       time.Duration
	table                       figure.Table
	rows                        []pacedUpdate
}

// pacedUpdate is what became of one.
type pacedUpdate struct {
	traffic
	took, appeared, vanished spread.Spread
}

// pacing makes the same rolling updates with agents that hold changes back for different
// times.
func pacing(ctx context.Context, r *Run, c *figure.Case) error {
	updates := []*update{
		{endpoints: 20, replaced: 20, absent: 2, every: 100 * time.Millisecond},
		{endpoints: r.sized(2000), replaced: r.sized(1000), absent: absent, every: 12 * time.Millisecond},
	}
	for _, u := range updates {
		u.table = figure.Table{
			Title: fmt.Sprintf("%d of %d endpoints in slices of %d replaced, one write of the source every %v", u.replaced, u.endpoints, bed.PerSlice, u.every),
			Columns: []string{
				"--slice-write-interval", "the source's writes took, s", "writes on the broker", "in an importing cluster",
				"the broker's watch events", "and their bytes", "a new endpoint is there, p50 ms", "p99", "an old one is gone, p50 ms", "p99",
			},
			Notes: []string{fmt.Sprintf("Each time the source writes %d times. Events are sent to the importing cluster, back to the exporting one, and to the API server itself, which watches slices for API services.", 2*u.replaced)},
		}
	}
	defer func() { // also what there is when it is given up
		for _, u := range updates {
			c.Tables = append(c.Tables, u.table)
			c.Add(u.figures()...)
		}
	}()
	// Only agents shall watch slices on the broker: its own controllers would be counted.
	if err := r.Bed.Lab.Kill(ctx, lab.Broker+"/controller-manager"); err != nil {
		return err
	}
	defer func() { _ = r.Bed.Lab.Start(context.WithoutCancel(ctx), lab.Broker+"/controller-manager") }()
	s := side{"atoll", r.Bed.On[exporter], r.Bed.On[importer], "bench-pacing"}
	if err := r.Bed.Namespace(ctx, s.namespace, r.Bed.Members...); err != nil {
		return err
	}
	for i, p := range pacings {
		if err := r.Bed.AgentsWith(ctx, "--slice-write-interval="+p.String()); err != nil {
			return err
		}
		for j, u := range updates {
			r.Say("pacing: an interval of %v: %d endpoints", p, u.endpoints)
			row, err := r.paced(ctx, s, u, i*len(updates)+j)
			if err != nil {
				return err
			}
			u.add(p, row)
		}
	}
	return r.Bed.AgentsWith(ctx)
}

// paced makes one rolling update.
func (r *Run) paced(ctx context.Context, s side, u *update, number int) (row pacedUpdate, err error) {
	limit := time.Minute + 4*time.Duration(2*u.replaced)*u.every
	ctx, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("replacing %d endpoints is not over after %v: this machine has too much else to do", u.replaced, limit))
	defer cancel()
	defer func() {
		if err != nil && ctx.Err() != nil {
			err = errors.Join(err, context.Cause(ctx))
		}
	}()
	service := bed.Service{Namespace: s.namespace, Name: fmt.Sprintf("p%d", number), Endpoints: u.endpoints}
	o, err := r.exported(ctx, s, service)
	if err != nil {
		return row, err
	}
	slices, err := sourceSlices(ctx, s.from, service)
	if err != nil {
		return row, err
	}
	o.Forget()
	found := samples{}
	row.traffic, err = r.traffic(ctx, nil, func() error {
		return replacement{slices, u.replaced, freshAddresses + number*2000, u.absent, u.every}.carryOut(ctx, s, o, found)
	})
	if err != nil {
		return row, err
	}
	over := func(unit, what string) spread.Spread { return spread.Of(figure.In(unit, found[s.name][what])) }
	row.took = over(figure.Seconds, "written")
	row.appeared, row.vanished = over(figure.Milliseconds, "appeared"), over(figure.Milliseconds, "vanished")
	return row, r.clear(ctx, s, o, service)
}

// add adds a row to the table, and beside what it has how that is to the first one's.
func (u *update) add(interval time.Duration, row pacedUpdate) {
	u.rows = append(u.rows, row)
	first := u.rows[0]
	beside := func(text string, value, to float64) string {
		if len(u.rows) == 1 || to == 0 {
			return text
		}
		return fmt.Sprintf("%s (%.2f x)", text, value/to)
	}
	count := func(of func(pacedUpdate) int) string {
		return beside(fmt.Sprint(of(row)), float64(of(row)), float64(of(first)))
	}
	ms := func(of func(pacedUpdate) spread.Spread) (p50, p99 string) {
		return beside(figure.Number(of(row).P50), of(row).P50, of(first).P50), figure.Number(of(row).P99)
	}
	appeared, lateAppeared := ms(func(p pacedUpdate) spread.Spread { return p.appeared })
	vanished, lateVanished := ms(func(p pacedUpdate) spread.Spread { return p.vanished })
	u.table.Add(
		interval.String(), figure.Number(row.took.P50),
		count(func(p pacedUpdate) int { return len(p.onBroker) }), count(func(p pacedUpdate) int { return len(p.inImporter) }),
		beside(figure.Number(row.events), row.events, first.events), beside(figure.Bytes(row.bytes), row.bytes, first.bytes),
		appeared, lateAppeared, vanished, lateVanished,
	)
}

// figures are what the usual flags save and cost, beside what there is without them.
func (u *update) figures() []figure.Figure {
	if len(u.rows) <= usual {
		return nil
	}
	without, with := u.rows[0], u.rows[usual]
	of := fmt.Sprintf("of %d endpoints, ", u.endpoints)
	number := func(name, unit string, value func(pacedUpdate) float64) figure.Figure {
		return figure.New(of+name, unit, value(with)).OnFloor(figure.New("", unit, value(without)))
	}
	return []figure.Figure{
		number("writes on the broker with the usual flags", figure.Writes, func(p pacedUpdate) float64 { return float64(len(p.onBroker)) }).
			AtMostFloors(1).Because("what it is compared with is not to hold changes back at all"),
		number("until a new endpoint is there", figure.Milliseconds, func(p pacedUpdate) float64 { return p.appeared.P50 }),
		number("until an old one is gone", figure.Milliseconds, func(p pacedUpdate) float64 { return p.vanished.P50 }),
	}
}
