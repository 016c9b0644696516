// Package failover measures how fast traffic leaves endpoints, and whether requests are lost, in a lab with real
// kube-proxy. See docs/explanation/which-endpoint-answers.md.
package failover

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/network"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/cases"
	"github.com/atoll-mcs/atoll/test/bench/figure"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// Cases are the cases of this package.
var Cases = []cases.Case{
	{Name: "failover", About: "traffic leaves endpoints that fail, drain or lose preference, beside kube-proxy alone", Extra: true, Limit: 40 * time.Minute, Do: measured(
		row{"the last local endpoint fails", (*bench).lastLocal}, row{"drains", (*bench).drains}, row{"changes of preference", (*bench).preferences},
		row{"weights", (*bench).weights}, row{"a cluster is cut off", (*bench).cuts})},
	{Name: "outages", About: "failed requests in each second when the broker fails, a cluster is drained, a cluster is cut off", Extra: true, Limit: 10 * time.Minute,
		Do: measured(row{"outages", (*bench).outages})},
}

const (
	namespace = "failover"
	// Clients run in c1 and c2. victim is the cluster that is drained and cut off.
	near, other, victim = "c1", "c2", "c3"
	// perSecond is the number of requests of each client, each over a new connection.
	perSecond = 200
)

// clientClusters are the clusters with a client.
var clientClusters = []string{near, other}

// Services of the rows.
const (
	preferred = "preferred" // near prefers its own endpoint
	plain     = "plain"     // a Service of near alone
	another   = "another"   // the same
	drained   = "drained"   // of other and victim
	weighted  = "weighted"  // of other and victim, with many endpoints
	cutOff    = "cut-off"   // of other and victim
)

// bench is a run of the case.
type bench struct {
	*cases.Run
	lab     *lab.Lab
	on      map[string]client.WithWatch  // by cluster
	pods    map[string]network.Namespace // of the client's pod, by cluster
	servers []*server
}

// row is a part of a case.
type row struct {
	name string
	do   func(*bench, context.Context, *figure.Case) error
}

// measured returns the function of a case with these rows.
func measured(rows ...row) func(context.Context, *cases.Run, *figure.Case) error {
	return func(ctx context.Context, r *cases.Run, c *figure.Case) error { return measure(ctx, r, c, rows) }
}

func measure(ctx context.Context, r *cases.Run, c *figure.Case, rows []row) (err error) {
	programs, err := filepath.Abs(r.Programs)
	if err != nil {
		return err
	}
	l, err := lab.Up(ctx, lab.Options{
		Shape: lab.Shape{Name: r.Name, Clusters: 3, Nodes: 1, IPFamily: lab.IPv4},
		Atoll: filepath.Join(programs, "atoll"), Processors: runtime.NumCPU(), Progress: os.Stderr,
	})
	if err != nil {
		return err
	}
	b := &bench{Run: r, lab: l, on: map[string]client.WithWatch{}, pods: map[string]network.Namespace{}}
	defer func() { err = errors.Join(err, b.lab.Down(context.WithoutCancel(ctx))) }()
	defer func() {
		for _, s := range b.servers {
			s.stop()
		}
	}()
	if err := b.prepare(ctx); err != nil {
		return err
	}
	var failed error
	for _, row := range rows {
		r.Say("failover: %s", row.name)
		if err := row.do(b, ctx, c); err != nil {
			failed = errors.Join(failed, fmt.Errorf("%s: %w", row.name, err))
		}
		if ctx.Err() != nil {
			break
		}
	}
	return failed
}

// prepare creates the namespace, the clients' pods and the addresses of the endpoints.
func (b *bench) prepare(ctx context.Context) error {
	for _, cluster := range []string{near, other, victim} {
		config, err := b.lab.RESTConfig(cluster)
		if err != nil {
			return err
		}
		if b.on[cluster], err = client.NewWithWatch(config, client.Options{Scheme: simulation.Scheme()}); err != nil {
			return fmt.Errorf("making a client of %s: %w", cluster, err)
		}
		if err := b.on[cluster].Create(ctx, bed.NamespaceObject(namespace)); err != nil {
			return fmt.Errorf("making the namespace in %s: %w", cluster, err)
		}
		if err := b.addAddresses(cluster); err != nil {
			return err
		}
	}
	for _, cluster := range clientClusters {
		if err := b.startPod(ctx, cluster); err != nil {
			return err
		}
	}
	return nil
}

// await calls done until it returns true, for a minute at most.
func await(ctx context.Context, what string, done func() (bool, error)) error {
	return awaitFor(ctx, time.Minute, what, done)
}

func awaitFor(ctx context.Context, limit time.Duration, what string, done func() (bool, error)) error {
	for began := time.Now(); ; {
		ok, err := done()
		if ok {
			return nil
		}
		if err == nil && time.Since(began) > limit {
			return fmt.Errorf("%s: not within %v", what, limit)
		}
		if err := errors.Join(err, bed.Pause(ctx, 20*time.Millisecond)); err != nil {
			return fmt.Errorf("%s: %w", what, err)
		}
	}
}
