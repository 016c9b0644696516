// Package verify tests a clusterset from end to end. It exports test Services, waits for the imports, resolves and
// connects to them, and cleans up.
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

// command is the command's name for its namespaces.
const command = "verify"

// Options configure Run.
type Options struct {
	// StepTimeout limits each step, Timeout the whole run.
	StepTimeout, Timeout time.Duration
	// Say prints progress.
	Say func(format string, args ...any)
}

// Report is the result of a run.
type Report struct {
	// Namespace was created in each cluster.
	Namespace string `json:"namespace"`
	// Cases are in the order of their execution.
	Cases []Case `json:"cases"`
}

// Case is one test in one cluster.
type Case struct {
	// Cluster is where the test ran.
	Cluster string `json:"cluster"`
	Name    string `json:"name"`
	// Seconds is the duration.
	Seconds float64 `json:"seconds"`
	// Failure is the reason of a failure, Skipped the reason for skipping the case.
	Failure string `json:"failure,omitempty"`
	Skipped string `json:"skipped,omitempty"`
	// Detail describes the observations.
	Detail string `json:"detail,omitempty"`
}

// Failed returns the number of failed cases.
func (r Report) Failed() int {
	n := 0
	for _, c := range r.Cases {
		if c.Failure != "" {
			n++
		}
	}
	return n
}

// Reasons for skipping a step.
var (
	errSkipped = errors.New("a previous step failed")
	errOver    = errors.New("the command was interrupted, or reached its time limit (--timeout)")
)

type run struct {
	Options
	namespace string
	members   []*member

	cases []Case
}

// member is a cluster in a run.
type member struct {
	trial.Member
	number int
	target *install.Target
	post   *outpost.Outpost
	// failed means that a step failed that the next ones depend on.
	failed bool
	// exported means that its exports were created.
	exported bool
	// addresses are those of its imports, by Service.
	addresses map[string][]string
}

// own is the name of the Service that only this member exports, shared that of the Service that all export.
func (m *member) own() string { return fmt.Sprintf("only-%d", m.number) }

const shared = "everywhere"

// Run tests the members. It always cleans up, even when ctx is done early.
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
	r.each(context.WithoutCancel(ctx), cleanUp, func(_ context.Context, m *member) error { return r.clean(ctx, m) })
	if err := ctx.Err(); err != nil {
		interrupted := "the command was interrupted, and has cleaned up"
		if slices.ContainsFunc(r.cases, func(c Case) bool { return c.Name == cleanUp && c.Failure != "" }) {
			interrupted = "the command was interrupted, and could not clean up everything, as the last steps show"
		}
		return r.report(), fmt.Errorf("%s: %w", interrupted, err)
	}
	return r.report(), nil
}

func (r *run) report() Report { return Report{Namespace: r.namespace, Cases: r.cases} }

func (r *run) try(ctx context.Context) {
	r.Say("starting a pod in namespace %s of each cluster", r.namespace)
	r.each(ctx, "start a pod", r.start)
	r.Say("exporting the test Services")
	r.each(ctx, "export", r.export)
	r.Say("waiting at most %v until the clusters have imported the test Services", r.StepTimeout)
	r.each(ctx, "import", r.imported)
	r.Say("resolving the names of the test Services, and connecting to them")
	r.connect(ctx)
	r.Say("deleting the exports")
	r.each(ctx, "unexport", r.unexport)
	r.each(ctx, "import is deleted", r.gone)
}

// cleanUp is the step that always runs.
const cleanUp = "clean up"

// undo are the steps that run even after a failed one.
var undo = []string{"unexport", cleanUp}

// each runs a step in all members concurrently.
func (r *run) each(ctx context.Context, name string, step func(context.Context, *member) error) {
	cases := make([]Case, len(r.members))
	var all sync.WaitGroup
	for i, m := range r.members {
		all.Go(func() {
			start := time.Now()
			err := errSkipped
			switch {
			case ctx.Err() != nil && name != cleanUp:
				err = errOver
			case !m.failed || slices.Contains(undo, name):
				err = step(ctx, m)
			}
			c := Case{Cluster: m.ID.String(), Name: name, Seconds: time.Since(start).Seconds()}
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

func (r *run) start(ctx context.Context, m *member) error {
	var err error
	m.post, err = outpost.Open(ctx, m.Config, outpost.Options{
		Command: command, Name: r.namespace, Image: m.Image, Identity: m.ID.String(), Lifetime: r.Timeout,
	})
	if err != nil {
		return err
	}
	_, err = m.post.Start(ctx)
	return err
}

// connect runs a pod in each member that resolves the Services and connects to them.
func (r *run) connect(ctx context.Context) {
	seen := make([][]Case, len(r.members))
	r.each(ctx, "run the test pod", func(ctx context.Context, m *member) error {
		report, err := m.post.Run(ctx, "client", plan(r.namespace, r.expected(), m.addresses, r.StepTimeout))
		if err != nil {
			return err
		}
		seen[m.number-1] = evaluate(m.ID.String(), r.namespace, report, r.expected())
		return nil
	})
	r.cases = append(r.cases, slices.Concat(seen...)...)
}

// clean deletes the test objects in a member and waits until they are gone.
func (r *run) clean(ctx context.Context, m *member) error {
	if m.post == nil {
		return errSkipped
	}
	if err := m.post.Close(ctx); err != nil {
		return fmt.Errorf("%w. To delete the namespace manually: %s", err, outpost.ByHand(m.Context, r.namespace))
	}
	return m.post.AwaitGone(ctx)
}

// key returns the key of a Service in the test namespace.
func (r *run) key(service string) client.ObjectKey {
	return client.ObjectKey{Namespace: r.namespace, Name: service}
}
