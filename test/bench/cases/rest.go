package cases

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// watchedMembers is for how many members watches are tried at most: those of more need more processors than a machine has on
// which both sides run.
const watchedMembers = 100

// rested is what heartbeats cost in each second.
type rested struct {
	members   float64
	cpu       float64 // of the broker's API server and etcd, in thousandths of a processor
	gets      float64 // requests
	writes    float64
	lists     float64
	events    float64
	megabytes float64 // sent, in lists and to watches
	agent     float64 // of a processor, in thousandths: what a replica needs
}

// restColumns are what is shown and fitted.
var restColumns = []struct {
	name string
	of   func(rested) float64
}{
	{"broker CPU, m", func(r rested) float64 { return r.cpu }},
	{"reads of one/s", func(r rested) float64 { return r.gets }},
	{"writes/s", func(r rested) float64 { return r.writes }},
	{"lists/s", func(r rested) float64 { return r.lists }},
	{"watch events/s", func(r rested) float64 { return r.events }},
	{"sent, MB/s", func(r rested) float64 { return r.megabytes }},
	{"an agent's CPU, m", func(r rested) float64 { return r.agent }},
}

// rest measures what heartbeats cost where nothing else happens, and beside that what they would cost if each replica renewed
// one and watched all.
func rest(ctx context.Context, r *Run, c *figure.Case) (err error) {
	b, err := r.Bed.Broker()
	if err != nil {
		return err
	}
	if err := r.Bed.StopAgents(ctx); err != nil {
		return err
	}
	all := &hearts{broker: b}
	defer func() {
		after := context.WithoutCancel(ctx)
		err = errors.Join(err, r.forget(after), r.Bed.StartAgents(after))
	}()
	nothing, err := r.beating(ctx, 0, func() error { return nil })
	if err != nil {
		return err
	}
	read, watched := []rested{nothing}, []rested{nothing}
	for _, n := range []int{50, 100, 200} {
		sized := max(3, r.sized(n))
		r.Say("rest: %d clusters with %d agents each", sized, replicas)
		if err := all.grow(ctx, sized); err != nil {
			return err
		}
		found, err := r.beating(ctx, sized, all.beat(ctx, reads))
		if err != nil {
			return fmt.Errorf("%d members: %w", sized, err)
		}
		read = append(read, found)
		if n > watchedMembers {
			continue
		}
		if found, err = r.beating(ctx, sized, all.beat(ctx, watches)); err != nil {
			return fmt.Errorf("%d members that watch: %w", sized, err)
		}
		watched = append(watched, found)
	}
	c.Tables = append(c.Tables,
		restTable("Heartbeats", read), restTable("If each agent renewed one, and watched all", watched),
		restLaws("Fitted, with n clusters", float64(r.sized(500)), map[string][]rested{"": read, "by watches: ": watched}))
	c.Notes = append(c.Notes, "of agents there is nothing but what they do for heartbeats, each over a connection of its own; they share this machine's processors with the broker, which needs no more for that",
		"in what the broker does without members are two Leases that its own controllers renew")
	return nil
}

// beating measures for two intervals, when all is in its course, and stops what is measured.
func (r *Run) beating(ctx context.Context, n int, stop func() error) (rested, error) {
	found, err := r.measureRest(ctx, n)
	r.Say("rest: %.0f m of the broker, %.1f lists and %.0f events a second", found.cpu, found.lists, found.events)
	return found, errors.Join(err, stop())
}

func (r *Run) measureRest(ctx context.Context, n int) (found rested, err error) {
	if n > 0 {
		if err := bed.Pause(ctx, 2*interval); err != nil {
			return found, err
		}
	}
	before, err := r.Bed.ServerMetrics(ctx, lab.Broker)
	if err != nil {
		return found, err
	}
	began := time.Now()
	used, err := r.brokerCPU()
	if err != nil {
		return found, err
	}
	own := ownCPU()
	if err := bed.Pause(ctx, 2*interval); err != nil {
		return found, err
	}
	own = ownCPU() - own
	total, err := r.brokerCPU()
	if err != nil {
		return found, err
	}
	seconds := time.Since(began).Seconds()
	after, err := r.Bed.ServerMetrics(ctx, lab.Broker)
	delta := func(name string, labels ...string) float64 {
		return (after.Sum(name, labels...) - before.Sum(name, labels...)) / seconds
	}
	requests := func(verb string) float64 {
		return delta("apiserver_request_total", "resource", "leases", "verb", verb)
	}
	found = rested{
		members: float64(n), cpu: (total - used).Seconds() / seconds * 1000,
		gets: requests("GET"), writes: requests("PUT") + requests("POST"), lists: requests("LIST"),
		events: delta("apiserver_watch_events_total"),
		megabytes: (delta("apiserver_response_sizes_sum", "resource", "leases", "verb", "LIST") +
			delta("apiserver_watch_events_sizes_sum")) / 1e6,
	}
	if n > 0 {
		found.agent = own.Seconds() / seconds * 1000 / float64(n*replicas)
	}
	return found, err
}

// ownCPU is what this process has used of processors.
func ownCPU() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0 // there is no reason why it should not be told
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// forget removes what members have written that were not real.
func (r *Run) forget(ctx context.Context) error {
	admin := r.Bed.On[lab.Broker]
	var failed error
	for _, list := range []client.ObjectList{&coordinationv1.LeaseList{}, &brokerv1alpha1.MemberClusterList{}} {
		if err := admin.List(ctx, list, client.InNamespace(broker.DefaultNamespace)); err != nil {
			failed = errors.Join(failed, fmt.Errorf("listing what members have left: %w", err))
		}
		for _, o := range objectsOf(list) {
			if strings.HasPrefix(o.GetName(), heartPrefix) {
				failed = errors.Join(failed, client.IgnoreNotFound(admin.Delete(ctx, o)))
			}
		}
	}
	return failed
}

func objectsOf(list client.ObjectList) (all []client.Object) {
	switch list := list.(type) {
	case *coordinationv1.LeaseList:
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	case *brokerv1alpha1.MemberClusterList:
		for i := range list.Items {
			all = append(all, &list.Items[i])
		}
	}
	return all
}

func restTable(title string, all []rested) figure.Table {
	t := figure.Table{Title: title, Columns: []string{"clusters"}}
	for _, column := range restColumns {
		t.Columns = append(t.Columns, column.name)
	}
	for _, found := range all {
		row := []string{fmt.Sprint(found.members)}
		for _, column := range restColumns {
			row = append(row, figure.Number(column.of(found)))
		}
		t.Add(row...)
	}
	return t
}

// restLaws fits what the broker needs.
func restLaws(title string, at float64, ways map[string][]rested) figure.Table {
	t := figure.Table{Title: title, Columns: []string{"", "fixed", "n", "n²", fmt.Sprintf("at %g", at)}}
	for _, way := range []string{"", "by watches: "} {
		var xs []float64
		for _, found := range ways[way] {
			xs = append(xs, found.members)
		}
		for _, column := range restColumns {
			var ys []float64
			for _, found := range ways[way] {
				ys = append(ys, column.of(found))
			}
			if law, ok := figure.FitSquare(xs, ys); ok {
				t.Add(way+column.name, fmt.Sprintf("%.3g", law.Fixed), fmt.Sprintf("%.3g", law.Each), fmt.Sprintf("%.3g", law.Pairs), figure.Number(law.At(at)))
			}
		}
	}
	return t
}
