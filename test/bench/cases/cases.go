// Package cases contains the control-plane cases of the benchmark. A case compares Atoll with a floor: the cost of the
// same writes and watches without any logic.
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

// Cases export from the exporter and import in the importer.
const (
	exporter = "c1"
	importer = "c2"
)

const mib = 1 << 20

// Settings are the options of a run.
type Settings struct {
	// Rounds is the number of short measurements in each of Blocks blocks. Blocks of the floor
	// and of Atoll alternate, so that both run under the same conditions.
	Rounds, Blocks int
	// Scale is the fraction of the full sizes: 1, or less for a quick run.
	Scale float64
	// Seconds is the duration of traffic in each block.
	Seconds float64
	// Services are the numbers of services for measurements of DNS servers, ascending.
	Services []int
}

// Run is a run of the benchmark.
type Run struct {
	Settings
	// Bed is the lab of the control-plane cases. It is nil for cases without a lab.
	Bed *bed.Bed
	// Name is the prefix of labs' names. Programs is the folder with Atoll's programs.
	Name, Programs string
	// Say prints progress messages.
	Say func(format string, args ...any)
	// Results are the results of the cases that have ended.
	Results []figure.Result

	fleet *fleet
}

// Case is a measurement.
type Case struct {
	Name, About string
	// Extra cases run only on request, after the others. They need no bed, or create their own.
	Extra bool
	// Limit is the timeout of the case.
	Limit time.Duration
	Do    func(context.Context, *Run, *figure.Case) error
}

// All lists the control-plane cases in order. Cases with short times come before cases that
// leave many objects behind.
var All = []Case{
	{Name: "export", About: "one export, until another cluster can use it", Limit: 8 * time.Minute, Do: compared(exportBare, exportWhole)},
	{Name: "burst", About: "200 exports at once", Limit: 10 * time.Minute, Do: compared(burstBare, burstWhole)},
	{Name: "endpoint", About: "one endpoint's change", Limit: 5 * time.Minute, Do: compared(endpoint)},
	{Name: "successive", About: "successive changes in a service of 1,000 endpoints", Limit: 5 * time.Minute, Do: compared(successive)},
	{Name: "create", About: "one service of 20,000 endpoints in 200 slices", Limit: 8 * time.Minute, Do: compared(create)},
	{Name: "rolling", About: "rolling replacement of 2,000 endpoints in 20 slices", Limit: 10 * time.Minute, Do: compared(rolling)},
	{Name: "memory", About: "an agent with 100,000 imported endpoints", Limit: 10 * time.Minute, Do: memory},
	{Name: "restart", About: "an agent's restart with 1,500 slices from 40 clusters on the broker", Limit: 10 * time.Minute, Do: restart},
	{Name: "first-sync", About: "the first sync of 500,000 objects on the broker, beside client-go's informers", Extra: true, Limit: 10 * time.Minute, Do: firstSync},
}

// Do runs cases in order, prints their results, and returns failures and missed targets.
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
		r.Results = append(r.Results, result.Result(c.Name))
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

// sized scales a size for a quick run.
func (r *Run) sized(full int) int { return max(1, int(float64(full)*r.Scale)) }
