// Package bench uses watches to measure how long new exports, deleted exports and changed endpoints take to reach other
// clusters.
package bench

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/doctor/outpost"
	"github.com/atoll-mcs/atoll/internal/doctor/trial"
	"github.com/atoll-mcs/atoll/internal/mcs/ranges"
)

const (
	// commandName is the command's name for its namespaces.
	commandName = "bench"

	// maxRounds and maxEndpoints limit the load on users' API servers, maxPause the run time.
	maxRounds, maxEndpoints, maxPause = 1000, 100, time.Minute
)

// Options configure Run.
type Options struct {
	// Rounds is the number of measured rounds, after one warm-up round.
	Rounds int
	// Endpoints is the number of each Service's endpoints. They are in one EndpointSlice.
	Endpoints int
	// Pause comes before each step, so that the previous step does not affect it.
	Pause time.Duration
	// RoundTimeout limits each step, Timeout the whole run.
	RoundTimeout, Timeout time.Duration
	// Say prints progress.
	Say func(format string, args ...any)
}

// Validate returns an error that lists all invalid options.
func (o Options) Validate() error {
	var wrong []error
	if o.Rounds < 1 || o.Rounds > maxRounds {
		wrong = append(wrong, fmt.Errorf("--rounds must be from 1 to %d", maxRounds))
	}
	if o.Endpoints < 1 || o.Endpoints > maxEndpoints {
		wrong = append(wrong, fmt.Errorf("--endpoints must be from 1 to %d", maxEndpoints))
	}
	if o.Pause < 0 || o.Pause > maxPause {
		wrong = append(wrong, fmt.Errorf("--pause must be from 0 to %v", maxPause))
	}
	if o.RoundTimeout <= 0 || o.Timeout <= 0 {
		wrong = append(wrong, errors.New("--wait and --timeout must be positive durations, such as 30s"))
	}
	return errors.Join(wrong...)
}

type bench struct {
	Options
	namespace string
	from      *site
	to        []*site
	// family is the IP family of the exporting cluster's Services. endpoints are their addresses and one more for
	// changes.
	family    corev1.IPFamily
	endpoints []string
	// virtual means that the exporting cluster advertises cluster IPs instead of these endpoints.
	virtual bool

	found      samples
	done       int
	roundTrips []RoundTrip
	notes      []string
}

// Run measures from the first member to the others. It always cleans up, even when ctx is done early. With an error,
// the report has the completed rounds.
func Run(ctx context.Context, members []trial.Member, o Options) (Report, error) {
	if err := together(members); err != nil {
		return Report{}, err
	}
	b := &bench{Options: o, namespace: outpost.NewName(commandName), found: samples{}}
	for i, m := range members {
		s := &site{name: m.ID.String(), context: m.Context, namespace: b.namespace, config: m.Config, member: &members[i]}
		if i == 0 {
			b.from = s
		} else {
			b.to = append(b.to, s)
		}
	}
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	err := b.measure(limited)
	switch {
	case ctx.Err() != nil:
		err = fmt.Errorf("the benchmark was interrupted after %d of %d rounds", b.done, o.Rounds)
	case err != nil && limited.Err() != nil:
		err = fmt.Errorf("the benchmark reached its time limit of %v (--timeout) after %d of %d rounds: %w", o.Timeout, b.done, o.Rounds, err)
	}
	o.Say("cleaning up")
	return b.report(), errors.Join(err, b.clean(ctx))
}

// together returns why members cannot be measured together.
func together(members []trial.Member) error {
	if len(members) < 2 {
		return errors.New("name at least two clusters: the first cluster exports, the other clusters import")
	}
	first := members[0]
	for i, m := range members {
		if j := slices.IndexFunc(members, func(other trial.Member) bool { return other.ID == m.ID }); j < i {
			return fmt.Errorf("contexts %s and %s belong to the same cluster, %s", members[j].Context, m.Context, m.ID)
		}
		if a, b := clusterset(first), clusterset(m); a != "" && b != "" && a != b {
			return fmt.Errorf("cluster %s is in clusterset %s, but cluster %s is in clusterset %s: name members of one clusterset", first.ID, a, m.ID, b)
		}
	}
	return nil
}

func clusterset(m trial.Member) string {
	if m.Survey == nil {
		return ""
	}
	return m.Survey.Clusterset
}

func (b *bench) sites() []*site { return append([]*site{b.from}, b.to...) }

// measure runs all rounds.
func (b *bench) measure(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		for _, s := range b.to {
			s.watcher.running.Wait()
		}
	}()
	for _, s := range b.to {
		s.watcher = newImportWatcher()
	}
	b.Say("creating namespace %s in each cluster", b.namespace)
	if err := each(b.sites(), func(_ int, s *site) error { return s.open(ctx, b.Timeout) }); err != nil {
		return err
	}
	if err := b.prepare(ctx); err != nil {
		return err
	}
	if err := b.choose(ctx); err != nil {
		return err
	}
	b.Say("measuring %d rounds from cluster %s, after one warm-up round", b.Rounds, b.from.name)
	for round := range b.Rounds + 1 {
		if err := b.round(ctx, fmt.Sprintf("bench-%d", round), round > 0); err != nil {
			return err
		}
		b.done = round
		if tenths := 10 * round / b.Rounds; round > 0 && tenths > 10*(round-1)/b.Rounds {
			b.Say("measured %d of %d rounds", round, b.Rounds)
		}
	}
	return nil
}

// prepare starts the watches and measures small requests.
func (b *bench) prepare(ctx context.Context) error {
	if err := each(b.to, func(_ int, s *site) error { return s.followImports(ctx) }); err != nil {
		return err
	}
	for _, s := range b.sites() {
		took, err := s.roundTrip(ctx)
		if err != nil {
			return err
		}
		b.roundTrips = append(b.roundTrips, RoundTrip{s.name, took})
	}
	return nil
}

// choose creates a Service to learn its IP family, and chooses addresses for endpoints.
func (b *bench) choose(ctx context.Context) error {
	first := service(metav1.ObjectMeta{Namespace: b.namespace, Name: "first"})
	if err := b.from.create(ctx, first); err != nil {
		return err
	}
	b.family = corev1.IPv4Protocol
	if len(first.Spec.IPFamilies) > 0 {
		b.family = first.Spec.IPFamilies[0]
	}
	var allowed ranges.Set
	restricted := false
	if s := b.from.member.Survey; s != nil && s.Broker != nil {
		for _, m := range s.Broker.Members {
			b.virtual = b.virtual || m.Name == b.from.name && m.Spec.AdvertiseMode == brokerv1alpha1.AdvertiseClusterIP
		}
		allowed, restricted = s.Broker.Permissions.RangesOf(b.from.member.ID)
	}
	if b.virtual {
		restricted = false // these addresses are not published
		b.notes = append(b.notes, fmt.Sprintf("Cluster %s advertises cluster IPs and does not publish endpoint changes, so the benchmark does not measure them.", b.from.name))
	}
	var err error
	b.endpoints, err = addresses(b.family, allowed, restricted, b.Endpoints+1)
	return err
}

func (b *bench) report() Report {
	r := Report{Namespace: b.namespace, From: b.from.name, To: []string{}, Rounds: b.done, Endpoints: b.Endpoints, RoundTrips: b.roundTrips, Notes: b.notes}
	for _, s := range b.to {
		r.To = append(r.To, s.name)
	}
	r.Figures = b.found.figures(r.To, b.roundTrips)
	return r
}

// clean deletes the test objects and waits until they are gone.
func (b *bench) clean(ctx context.Context) error {
	return each(b.sites(), func(_ int, s *site) error { return s.close(ctx) })
}
