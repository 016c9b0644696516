// Package convergence injects random faults into a simulated clusterset and tests that it converges.
//
// A world is some member clusters with a broker, all in memory, in which the real agents and
// DNS servers run (package simulation has the API servers). Users change their Services,
// ServiceExports and EndpointSlices at random; people edit what is not theirs; requests are
// refused, answers get lost, watches break, programs are killed, clusters are cut off. Then
// everything heals, and each cluster has to hold exactly what an oracle says: it knows the
// users' objects of all clusters, and of Atoll the pure packages alone.
//
// Worlds run in a bubble of testing/synctest, so that the agents' real delays, up to minutes,
// cost nothing.
package convergence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	brokerpkg "github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/simulation"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// steadyNamespace has what no user changes, so that it has to stay as it is whatever happens.
const steadyNamespace = "steady"

// world is a clusterset.
type world struct {
	random   *rand.Rand
	broker   *apiserver.Server
	admin    client.WithWatch  // of the broker
	empty    *apiserver.Backup // of the broker as it is before there is a clusterset
	backup   *apiserver.Backup // the last one of the broker, nil for none
	backedUp time.Time         // when it was made
	wiped    bool              // the clusterset's namespace is not there
	clusters []*cluster
	hub      *runningHub // nil for none
	// permitted is what the broker's administrators have permitted members; nil if they never have.
	permitted map[string]string
	removed   *cluster // from the clusterset; nil for none
	quiet     bool     // each act is followed to its end
	guards    []*guard
	began     time.Time
	names     []string // of the services that users have to do with: the fewer, the more comes together
	journal   []string
	slowest   time.Duration // to converge
	right     int           // imports that are there as they should be, when there are no problems
	imported  int           // their sum
}

// newWorld makes a world by a seed: how many members, how many agents in each.
func newWorld(seed uint64, log *slog.Logger) (*world, error) {
	w := &world{random: rand.New(rand.NewPCG(seed, 0)), broker: apiserver.New(250), began: time.Now()}
	var err error
	if w.admin, err = client.NewWithWatch(w.broker.Config(), client.Options{Scheme: simulation.Scheme()}); err != nil {
		return nil, err
	}
	ctx := context.Background()
	w.empty, w.wiped = w.broker.Backup(), true
	if err := w.makeClusterset(ctx); err != nil {
		return nil, err
	}
	members := 2 + w.random.IntN(3)
	replicas := 1 + w.random.IntN(5)/4 // two in one of five
	for number := 1; number <= members; number++ {
		c, err := newCluster(number, replicas, w.broker, w.random, w.unreachable, log)
		if c != nil {
			w.clusters = append(w.clusters, c)
		}
		if err != nil {
			return w, err
		}
	}
	if w.random.IntN(2) == 0 {
		w.hub = newHub(w.broker.Config(), w.random, log)
	}
	if w.random.IntN(3) == 0 {
		wrong := w.clusters[w.random.IntN(len(w.clusters))]
		wrong.setClock(time.Duration(w.random.IntN(3)-1) * 24 * time.Hour)
		w.note("the clock of %s is fast by %v", wrong.id, wrong.clock())
	}
	w.names = append(w.names, services...)
	w.random.Shuffle(len(w.names), func(i, j int) { w.names[i], w.names[j] = w.names[j], w.names[i] })
	w.names = w.names[:1+w.random.IntN(len(w.names))]
	w.note("%d members, %d agents in each, services %v", members, replicas, w.names)
	for _, c := range w.clusters {
		for _, name := range namespaces {
			if w.random.IntN(4) > 0 {
				if err := c.makeNamespace(ctx, name, true); err != nil {
					return w, err
				}
			}
		}
		if err := w.populate(ctx, c); err != nil {
			return w, err
		}
	}
	return w, nil
}

// unreachable tells whether the pods of a cluster can't be reached from another.
func (w *world) unreachable(from, to int) bool {
	for _, c := range w.clusters {
		if c.isolated && from != to && (c.number == from || c.number == to) {
			return true
		}
	}
	return false
}

// note writes into the journal, for people to see what happened before a failure.
func (w *world) note(format string, args ...any) {
	w.journal = append(w.journal, fmt.Sprintf("%10v  ", w.elapsed())+fmt.Sprintf(format, args...))
}

func (w *world) elapsed() time.Duration { return time.Since(w.began).Round(time.Millisecond) }

// makeClusterset has the administrator of the broker make the clusterset, where there is none.
func (w *world) makeClusterset(ctx context.Context) error {
	if !w.wiped {
		return nil
	}
	w.wiped = false
	return errors.Join(w.admin.Create(ctx, made.Namespace(brokerpkg.DefaultNamespace)), w.permit(ctx))
}

// heal ends all faults.
func (w *world) heal(ctx context.Context) error {
	w.note("everything heals")
	for _, c := range w.clusters {
		c.local.heal()
		c.broker.heal()
		c.isolated = false
	}
	if w.hub != nil {
		w.hub.way.heal()
	}
	return w.makeClusterset(ctx)
}

const (
	// limit is how long it may take after everything has healed until everything is right. Who
	// was lost often is kept waiting for sixteen times the 40 s after which it is missed.
	limit = 20 * time.Minute
	// usual is the limit where nobody was lost: an importer waits for two comparisons of an owner, which are a minute apart.
	usual = 3 * time.Minute
	// calm is for how long it has to stay so.
	calm = time.Minute
	// emptyFor is how long EndpointSlices without source stay on the broker.
	emptyFor = 10 * time.Minute
)

// converge heals, and returns an error unless everything becomes right and stays so.
func (w *world) converge(ctx context.Context) error {
	allowed := usual
	for _, g := range w.guards {
		if g.excused() {
			allowed = limit
		}
	}
	if err := w.heal(ctx); err != nil {
		return err
	}
	if err := w.await(ctx, allowed); err != nil {
		return err
	}
	pause(ctx, usual) // members retry what failed, and owners confirm unchanged objects with other revisions
	published, err := list(ctx, w.admin, &discoveryv1.EndpointSliceList{})
	if err != nil {
		return err
	}
	records, err := list(ctx, w.admin, &brokerv1alpha1.ExportedServiceList{})
	if err != nil {
		return err
	}
	policies, err := list(ctx, w.admin, &brokerv1alpha1.ServicePolicyList{})
	if err != nil {
		return err
	}
	if slices.ContainsFunc(policies.Items, func(p brokerv1alpha1.ServicePolicy) bool { return layout.Withdrawn(&p) }) || slices.ContainsFunc(published.Items, func(s discoveryv1.EndpointSlice) bool { return len(s.Endpoints) == 0 }) ||
		slices.ContainsFunc(records.Items, func(r brokerv1alpha1.ExportedService) bool { return layout.Withdrawn(&r) }) {
		pause(ctx, emptyFor) // what has ended is deleted
	}
	before := w.writes()
	pause(ctx, calm)
	problems, err := w.problems(ctx)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("all was as it should be, and is not any more, although nothing has happened:\n%s", strings.Join(problems, "\n"))
	}
	if after := w.writes(); after != before {
		return fmt.Errorf("things are written although nothing has happened:\n%s\nthen\n%s", before, after)
	}
	w.imported += w.right
	return w.verdict()
}

// verdict returns what a guard has found.
func (w *world) verdict() error {
	for _, g := range w.guards {
		if err := g.verdict(); err != nil {
			return err
		}
	}
	return nil
}

// await returns an error unless everything becomes right within a time.
func (w *world) await(ctx context.Context, allowed time.Duration) error {
	began := time.Now()
	for step := 100 * time.Millisecond; ; step = min(2*step, 5*time.Second) {
		pause(ctx, step)
		problems, err := w.problems(ctx)
		if err != nil {
			return err
		}
		if len(problems) == 0 {
			break
		}
		if time.Since(began) > allowed {
			return fmt.Errorf("after %v, not all is as it should be:\n%s", allowed, strings.Join(problems, "\n"))
		}
	}
	took := time.Since(began)
	w.slowest = max(w.slowest, took)
	w.note("all is as it should be after %v", took)
	return nil
}

// still is for how long nothing is written at rest. Some controllers look again after 5 s.
const still = 10 * time.Second

// settle returns an error unless everything becomes right within a time, and stays so until nothing is written any more.
func (w *world) settle(ctx context.Context, allowed time.Duration) error {
	if err := w.await(ctx, allowed); err != nil {
		return err
	}
	began := time.Now()
	for before, now := "", w.writes(); before != now; {
		if time.Since(began) > usual {
			return fmt.Errorf("things are written all the time:\n%s\nthen\n%s", before, now)
		}
		pause(ctx, still)
		before, now = now, w.writes()
	}
	problems, err := w.problems(ctx)
	if err == nil && len(problems) > 0 {
		err = fmt.Errorf("all was as it should be, and is not any more at rest:\n%s", strings.Join(problems, "\n"))
	}
	return err
}

// allowComparisons has members' comparisons reach the broker or not.
func (w *world) allowComparisons(allowed bool) {
	for _, c := range w.clusters {
		c.broker.allowComparisons(allowed)
	}
}

// turnClocks sets clocks that were fast back, so that they are slow by as much, or the other way round.
func (w *world) turnClocks(ctx context.Context) {
	for _, c := range w.clusters {
		if c.clock() == 0 {
			continue
		}
		c.setClock(-c.clock())
		w.note("the clock of %s is set: it is fast by %v", c.id, c.clock())
	}
	pause(ctx, 15*time.Second) // heartbeats say the new time, by which the world knows how old they are
}

// writes counts requests to write, but for heartbeats.
func (w *world) writes() string {
	var all []string
	count := func(of string, api *apiserver.Server) {
		writes, wasted := api.Writes(), api.Wasted()
		delete(writes, "leases")
		delete(wasted, "leases")
		all = append(all, fmt.Sprintf("%s %v and in vain %v", of, writes, wasted))
	}
	count("broker", w.broker)
	for _, c := range w.clusters {
		count(c.id.String(), c.api)
	}
	return strings.Join(all, "\n")
}

// end ends all that runs.
func (w *world) end() error {
	var failed error
	for _, g := range w.guards {
		g.stop()
	}
	for _, c := range w.clusters {
		failed = errors.Join(failed, c.end())
	}
	if w.hub != nil {
		failed = errors.Join(failed, w.hub.end())
	}
	return failed
}
