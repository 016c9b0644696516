// Package verify tests a clusterset from end to end: it exports test Services, waits for the imports, resolves
// and connects to them, and cleans up.
package verify

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/doctor/outpost"
	"github.com/atoll-mcs/atoll/internal/doctor/trial"
	"github.com/atoll-mcs/atoll/internal/install"
)

// command is the command's name, for its namespaces.
const command = "verify"

// Options say how patient to be.
type Options struct {
	// Patience is how long each step may take, Timeout all of them.
	Patience, Timeout time.Duration
	// Say tells a person what is being done.
	Say func(format string, args ...any)
}

// Report is what came of it.
type Report struct {
	// Namespace is the one that was made in each cluster.
	Namespace string `json:"namespace"`
	// Cases are in the order in which they were tried.
	Cases []Case `json:"cases"`
}

// Case is one thing that was tried.
type Case struct {
	// Cluster is where.
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	// Seconds is how long it took.
	Seconds float64 `json:"seconds"`
	// Failure says why it has failed, Skipped why it was not tried.
	Failure string `json:"failure,omitempty"`
	Skipped string `json:"skipped,omitempty"`
	// Detail is what was seen.
	Detail string `json:"detail,omitempty"`
}

// Failed counts the cases that have.
func (r Report) Failed() int {
	n := 0
	for _, c := range r.Cases {
		if c.Failure != "" {
			n++
		}
	}
	return n
}

// What keeps a step from being made.
var (
	errSkipped = errors.New("a step before it has failed")
	errOver    = errors.New("it was interrupted, or the time was over (--timeout)")
)

// run is one trial.
type run struct {
	Options
	namespace string
	members   []*member

	cases []Case
}

// member is a cluster in a trial.
type member struct {
	trial.Member
	number int
	target *install.Target
	post   *outpost.Outpost
	// failed tells that a step has, without which the next ones make no sense.
	failed bool
	// exported tells that its exports were made.
	exported bool
	// addresses are those that its imports have got, by the Services' names.
	addresses map[string][]string
}

// own is the name of the Service that a member alone exports, shared that of the one that all do.
func (m *member) own() string { return fmt.Sprintf("only-%d", m.number) }

const shared = "everywhere"

// Run tries the members out. It always cleans up, also when ctx is done before the end.
func Run(ctx context.Context, members []trial.Member, o Options) (Report, error) {
	r := &run{Options: o, namespace: outpost.NewName(command)}
	for i, m := range members {
		target, err := install.NewTarget(m.Config, nil)
		if err != nil {
			return Report{}, err
		}
		r.members = append(r.members, &member{Member: m, number: i + 1, target: target, addresses: map[string][]string{}})
	}
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	r.try(limited)
	o.Say("cleaning up")
	r.each(context.WithoutCancel(ctx), cleanUp, func(_ context.Context, m *member) (string, error) { return "", r.clean(ctx, m) })
	if err := ctx.Err(); err != nil {
		cleaned := "and has cleaned up"
		if slices.ContainsFunc(r.cases, func(c Case) bool { return c.Name == cleanUp && c.Failure != "" }) {
			cleaned = "and could not clean up everything, as its last steps say"
		}
		return r.report(), fmt.Errorf("it was interrupted, %s: %w", cleaned, err)
	}
	return r.report(), nil
}

func (r *run) report() Report { return Report{Namespace: r.namespace, Cases: r.cases} }

// try makes the steps.
func (r *run) try(ctx context.Context) {
	r.Say("starting a pod in namespace %s of each cluster", r.namespace)
	r.each(ctx, "start a pod", r.start)
	r.Say("exporting its Services")
	r.each(ctx, "export", r.export)
	r.Say("waiting for them to be imported, for %v at most", r.Patience)
	r.each(ctx, "import", r.imported)
	r.Say("asking DNS for them, and connecting to them")
	r.connect(ctx)
	r.Say("ending the exports")
	r.each(ctx, "unexport", r.unexport)
	r.each(ctx, "import ends", r.gone)
}

// cleanUp is the step that is always made.
const cleanUp = "clean up"

// undo are steps that are made also where one before has failed.
var undo = []string{"unexport", cleanUp}

// each makes a step in all members at the same time.
func (r *run) each(ctx context.Context, name string, step func(context.Context, *member) (string, error)) {
	cases := make([]Case, len(r.members))
	var all sync.WaitGroup
	for i, m := range r.members {
		all.Go(func() {
			start := time.Now()
			detail, err := "", errSkipped
			switch {
			case ctx.Err() != nil && name != cleanUp:
				err = errOver
			case !m.failed || slices.Contains(undo, name):
				detail, err = step(ctx, m)
			}
			c := Case{Cluster: m.ID.String(), Name: name, Seconds: time.Since(start).Seconds(), Detail: detail}
			switch {
			case errors.Is(err, errSkipped):
				c.Skipped = err.Error()
			case err != nil:
				c.Failure, m.failed = err.Error(), true
			}
			cases[i] = c
		})
	}
	all.Wait()
	r.cases = append(r.cases, cases...)
}

func (r *run) start(ctx context.Context, m *member) (string, error) {
	var err error
	m.post, err = outpost.Open(ctx, m.Config, outpost.Options{
		Command: command, Name: r.namespace, Image: m.Image, Identity: m.ID.String(), Lifetime: r.Timeout,
	})
	if err != nil {
		return "", err
	}
	return "", m.post.Start(ctx)
}

// connect has a pod in each member ask and connect.
func (r *run) connect(ctx context.Context) {
	seen := make([][]Case, len(r.members))
	r.each(ctx, "look around", func(ctx context.Context, m *member) (string, error) {
		report, err := m.post.Run(ctx, "client", plan(r.namespace, r.expected(), m.addresses, r.Patience))
		if err != nil {
			return "", err
		}
		seen[m.number-1] = evaluate(m.ID.String(), r.namespace, report, r.expected())
		return "", nil
	})
	r.cases = append(r.cases, slices.Concat(seen...)...)
}

// clean takes away what was made in a member, and waits until it is gone.
func (r *run) clean(ctx context.Context, m *member) error {
	if m.post == nil {
		return errSkipped
	}
	if err := m.post.Close(ctx); err != nil {
		return fmt.Errorf("%w; to do it by hand: %s", err, outpost.ByHand(m.Context, r.namespace))
	}
	return m.post.AwaitGone(ctx)
}

// key is a Service's in the trial's namespace.
func (r *run) key(service string) client.ObjectKey {
	return client.ObjectKey{Namespace: r.namespace, Name: service}
}
