package dns

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/miekg/dns"
	"golang.org/x/sync/errgroup"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	watchtools "k8s.io/client-go/tools/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// change is a kind of change whose delay until the response is measured.
type change struct {
	name string
	// object is the changed object; list is a list of its kind.
	object client.Object
	list   client.ObjectList
	// set makes the nth change to the object. It returns a query whose answer changes, and the
	// new answer.
	set func(o client.Object, n int) (question, string)
}

var changes = []change{
	{
		name:   "the IP of a service",
		object: service(0).imported(), list: &mcsv1beta1.ServiceImportList{},
		set: func(o client.Object, n int) (question, string) {
			ip := address(30, n).String()
			o.(*mcsv1beta1.ServiceImport).Spec.IPs = []string{ip}
			return question{service(0).domain(), dns.TypeA}, ip
		},
	},
	{
		name:   "an endpoint of a headless service",
		object: service(headlessEvery - 1).slices()[0], list: &discoveryv1.EndpointSliceList{},
		set: func(o client.Object, n int) (question, string) {
			ip := address(31, n).String()
			o.(*discoveryv1.EndpointSlice).Endpoints[0].Addresses = []string{ip}
			return question{host(0) + ".c0." + service(headlessEvery-1).domain(), dns.TypeA}, ip
		},
	},
}

// measureChange makes changes one after the other. It measures the time until a bare watch has
// seen each change, which is the floor, and until the server's response contains it. If loaded
// is set, the server is under full load meanwhile.
func (b *bench) measureChange(ctx context.Context, s *server, c change, loaded bool, into *figure.Case) error {
	name := fmt.Sprintf("%d services, %s, until %s answers with it", b.services, c.name, s.name)
	if loaded {
		name += ", under full load"
		file, err := b.writeQuestions(askA)
		if err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(ctx)
		load := b.dnsperfCommand(ctx, s, file, patience.Seconds())
		if err := load.Start(); err != nil {
			cancel()
			return err
		}
		defer func() {
			cancel()
			_ = load.Wait() // the process was killed
		}()
	}
	began := time.Now()
	before, err := s.Record.CPU()
	if err != nil {
		return err
	}
	var seen, answered []time.Duration
	for range b.Rounds {
		bySeen, byAnswer, err := b.update(ctx, s, c)
		if err != nil {
			return err
		}
		seen, answered = append(seen, bySeen), append(answered, byAnswer)
	}
	after, err := s.Record.CPU()
	if err != nil {
		return err
	}
	if busy := (after - before).Seconds() / time.Since(began).Seconds(); loaded && busy < 0.2 {
		return fmt.Errorf("%s was busy for only %.0f %% of the time, which is not full load", s.name, 100*busy)
	}
	into.Add(figure.Times(name, figure.Milliseconds, answered, seen))
	return nil
}

// update makes a change. It returns the times from the start of the write until a watch has
// seen the change and until the server's response contains it.
func (b *bench) update(ctx context.Context, s *server, c change) (seen, answered time.Duration, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	o := c.object.DeepCopyObject().(client.Object)
	if err := b.api.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return 0, 0, err
	}
	watched, err := b.api.Watch(ctx, c.list.DeepCopyObject().(client.ObjectList), &client.ListOptions{
		Namespace: o.GetNamespace(), FieldSelector: fields.OneTermEqualSelector("metadata.name", o.GetName()),
	})
	if err != nil {
		return 0, 0, err
	}
	defer watched.Stop()
	b.changed++
	q, want := c.set(o, b.changed)
	began := time.Now()
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { // the queries start before the change
		err := s.until(ctx, q, want)
		answered = time.Since(began)
		return err
	})
	group.Go(func() error {
		if err := b.api.Update(ctx, o); err != nil {
			return err
		}
		_, err := watchtools.UntilWithoutRetry(ctx, watched, func(e watch.Event) (bool, error) {
			return e.Type == watch.Modified && e.Object.(client.Object).GetResourceVersion() == o.GetResourceVersion(), nil
		})
		seen = time.Since(began)
		return err
	})
	err = group.Wait()
	return seen, answered, err
}

// pollInterval is the interval between queries for a change: long enough to cause no load,
// short enough to be precise.
const pollInterval = 500 * time.Microsecond

// until queries until the response is a single record with the address.
func (s *server) until(ctx context.Context, q question, want string) error {
	conn, err := dns.DialTimeout("udp", s.address, time.Second)
	if err != nil {
		return err
	}
	defer conn.Close()
	asks := dns.Client{Timeout: time.Second}
	var failed error
	err = wait.PollUntilContextCancel(ctx, pollInterval, true, func(ctx context.Context) (bool, error) {
		var m *dns.Msg
		m, _, failed = asks.ExchangeWithConnContext(ctx, new(dns.Msg).SetQuestion(q.name+".", q.kind), conn)
		if failed != nil || len(m.Answer) != 1 {
			return false, nil
		}
		a, ok := m.Answer[0].(*dns.A)
		return ok && a.A.String() == want, nil
	})
	if err != nil {
		return errors.Join(fmt.Errorf("%s does not answer %s with %s: %w", s.name, q.name, want, err), failed)
	}
	return nil
}
