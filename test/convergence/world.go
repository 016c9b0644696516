// Package convergence injects random faults into a simulated clusterset and tests that it converges.
//
// A world consists of member clusters and a broker, all in memory. The real agents and DNS
// servers run in it; package simulation provides the API servers. Users change their Services,
// ServiceExports and EndpointSlices at random. People edit objects of Atoll. Requests fail,
// responses get lost, watches break, programs are killed, and clusters are cut off. Then all
// faults heal, and each cluster must hold exactly the objects that an oracle computes. The
// oracle reads the users' objects of all clusters and uses only the pure packages of Atoll.
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
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	brokerpkg "github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/simulation"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// No user changes steadyNamespace, so its imports must stay the same whatever happens.
const steadyNamespace = "steady"

// world is a clusterset.
type world struct {
	random   *rand.Rand
	broker   *apiserver.Server
	admin    client.WithWatch  // of the broker
	empty    *apiserver.Backup // of the broker before the clusterset was created
	backup   *apiserver.Backup // last backup of the broker, nil before the first
	backedUp time.Time         // time of the last backup
	wiped    bool              // the broker has no clusterset namespace
	clusters []*cluster
	hub      *runningHub // nil for none
	// permitted is the data of the permissions on the broker; nil if the administrators have
	// never written any.
	permitted map[string]string
	removed   *cluster // cluster that was removed from the clusterset, or nil
	quiet     bool     // the test waits for each act to take effect
	guards    []*guard
	began     time.Time
	names     []string             // names of the users' services; fewer names cause more conflicts
	common    types.NamespacedName // a service that all clusters with its namespace export alike at first
	journal   []string
	slowest   time.Duration // to converge
	right     int           // number of correct imports, when there are no problems
	imported  int           // their sum
}

// newWorld creates the world of a seed, with a random number of members and of agents in each.
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
	replicas := 1 + w.random.IntN(5)/4 // two with a probability of 1/5
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
	w.common = types.NamespacedName{Namespace: namespaces[w.random.IntN(2)], Name: w.names[0]} // not the system namespace, which refuses imports
	w.note("%d members, %d agents in each, services %v, common %s", members, replicas, w.names, w.common)
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

// unreachable reports whether pods of one cluster cannot reach pods of the other.
func (w *world) unreachable(from, to int) bool {
	for _, c := range w.clusters {
		if c.isolated && from != to && (c.number == from || c.number == to) {
			return true
		}
	}
	return false
}

// note appends to the journal, which a failed test prints.
func (w *world) note(format string, args ...any) {
	w.journal = append(w.journal, fmt.Sprintf("%10v  ", w.elapsed())+fmt.Sprintf(format, args...))
}

func (w *world) elapsed() time.Duration { return time.Since(w.began).Round(time.Millisecond) }

// makeClusterset creates the clusterset again after a wipe, as the broker's administrator
// would.
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
	// limit is the time to converge after all faults have healed. A cluster that was lost often
	// is held back for sixteen times the 40 s after which a cluster counts as lost.
	limit = 20 * time.Minute
	// usual is the limit if no cluster was lost. An importer waits for two comparisons of an
	// owner, which run once a minute.
	usual = 3 * time.Minute
	// calm is how long the clusterset must stay correct afterwards.
	calm = time.Minute
	// emptyFor is how long EndpointSlices without a source stay on the broker.
	emptyFor = 10 * time.Minute
)

// converge heals all faults, and returns an error unless the clusterset converges and stays
// correct.
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
	pause(ctx, usual) // members retry failed requests, and owners confirm unchanged objects with other revisions
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
		pause(ctx, emptyFor) // withdrawn objects are deleted by then
	}
	before := w.writes()
	pause(ctx, calm)
	problems, err := w.problems(ctx)
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("the clusterset had converged and became wrong without any change:\n%s", strings.Join(problems, "\n"))
	}
	if after := w.writes(); after != before {
		return fmt.Errorf("programs write although nothing changed:\n%s\nthen\n%s", before, after)
	}
	w.imported += w.right
	return w.verdict()
}

// verdict returns the first error of the guards.
func (w *world) verdict() error {
	for _, g := range w.guards {
		if err := g.verdict(); err != nil {
			return err
		}
	}
	return nil
}

// await returns an error unless the world converges in time.
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
			return fmt.Errorf("not converged after %v:\n%s", allowed, strings.Join(problems, "\n"))
		}
	}
	took := time.Since(began)
	w.slowest = max(w.slowest, took)
	w.note("converged after %v", took)
	return nil
}

// still is the time without writes that counts as rest. Some controllers retry after 5 s.
const still = 10 * time.Second

// settle returns an error unless the clusterset converges in time and stays correct until no
// program writes any more.
func (w *world) settle(ctx context.Context, allowed time.Duration) error {
	if err := w.await(ctx, allowed); err != nil {
		return err
	}
	if allowed >= usual {
		// Until its owner's second comparison, an ended object still counts. If it has no effect
		// yet, the next change may give it one.
		pause(ctx, usual)
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
		err = fmt.Errorf("the clusterset had converged and was wrong at rest:\n%s", strings.Join(problems, "\n"))
	}
	return err
}

// allowComparisons lets members' comparisons with the broker pass, or makes them fail.
func (w *world) allowComparisons(allowed bool) {
	for _, c := range w.clusters {
		c.broker.allowComparisons(allowed)
	}
}

// turnClocks inverts the clock error of each cluster: a fast clock becomes slow by as much.
func (w *world) turnClocks(ctx context.Context) {
	for _, c := range w.clusters {
		if c.clock() == 0 {
			continue
		}
		c.setClock(-c.clock())
		w.note("the clock of %s is set and is fast by %v now", c.id, c.clock())
	}
	pause(ctx, 15*time.Second) // the next heartbeats carry the new time, from which the test computes their age
}

// writes counts write requests except heartbeats.
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

// end stops all programs.
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
