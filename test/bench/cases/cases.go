// Package cases has the control-plane cases of the benchmark. A case measures what Atoll does beside a floor,
// which is what the same writes and watches cost without any logic.
package cases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// The clusters that cases use: exports go from the exporter to the importer.
const (
	exporter = "c1"
	importer = "c2"
)

const mib = 1 << 20

// Settings are what a person chooses about a run.
type Settings struct {
	// Rounds is how many times a short thing is measured in each of Blocks blocks. Floor and
	// Atoll take turns by blocks, so that both meet the same machine.
	Rounds, Blocks int
	// Scale is the part of the full sizes that is measured: 1, or less for a quick run.
	Scale float64
	// Seconds is how long traffic lasts in each block.
	Seconds float64
	// Services are the numbers of services that DNS servers are measured with, in growing order.
	Services []int
}

// Run is one run of the benchmark.
type Run struct {
	Settings
	// Bed is the lab of the control-plane cases. It is nil for cases that need none.
	Bed *bed.Bed
	// Name is the name for labs, and Programs the folder with Atoll's programs.
	Name, Programs string
	// Say tells a person about the progress.
	Say func(format string, args ...any)

	fleet *fleet
}

// Case is one thing that can be measured.
type Case struct {
	Name, About string
	// Extra cases run only when they are asked for, after the others, and need no bed, or make their own.
	Extra bool
	// Limit is when the case is given up.
	Limit time.Duration
	Do    func(context.Context, *Run, *figure.Case) error
}

// All are the control-plane cases in the order in which they run: those that measure short times
// come before those that leave much behind.
var All = []Case{
	{Name: "export", About: "one export, until another cluster can use it", Limit: 8 * time.Minute, Do: compared(exportBare, exportWhole)},
	{Name: "burst", About: "200 exports at once", Limit: 10 * time.Minute, Do: compared(burstBare, burstWhole)},
	{Name: "endpoint", About: "one endpoint's change", Limit: 5 * time.Minute, Do: compared(endpoint)},
	{Name: "successive", About: "successive changes in a service of 1,000 endpoints", Limit: 5 * time.Minute, Do: compared(successive)},
	{Name: "create", About: "one service of 20,000 endpoints in 200 slices", Limit: 8 * time.Minute, Do: compared(create)},
	{Name: "rolling", About: "rolling replacement of 2,000 endpoints in 20 slices", Limit: 10 * time.Minute, Do: compared(rolling)},
	{Name: "memory", About: "an agent with 100,000 imported endpoints", Limit: 10 * time.Minute, Do: memory},
	{Name: "restart", About: "an agent's restart with 1,500 slices from 40 clusters on the broker", Limit: 10 * time.Minute, Do: restart},
}

// Do runs cases one after the other, prints what each has found, and returns what has failed and which targets are missed.
func (r *Run) Do(ctx context.Context, cases []Case, out io.Writer) (failed error) {
	for _, c := range cases {
		if ctx.Err() != nil {
			break
		}
		r.Say("== %s: %s", c.Name, c.About)
		var result figure.Case
		limited, cancel := context.WithTimeout(ctx, c.Limit)
		if err := c.Do(limited, r, &result); err != nil {
			failed = errors.Join(failed, fmt.Errorf("the case %s has failed: %w", c.Name, err))
		}
		cancel()
		fmt.Fprintf(out, "\n%s: %s\n", c.Name, c.About)
		result.Print(out)
		if missed := result.Missed(); missed > 0 && r.Scale == 1 {
			failed = errors.Join(failed, fmt.Errorf("the case %s misses %d of its targets", c.Name, missed))
		}
	}
	if r.fleet != nil {
		failed = errors.Join(failed, simulation.StopAll(r.fleet.members))
		r.fleet = nil
	}
	return errors.Join(ctx.Err(), failed)
}

// sized is a size, scaled for a quick run.
func (r *Run) sized(full int) int { return max(1, int(float64(full)*r.Scale)) }
