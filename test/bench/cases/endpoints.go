package cases

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/audit"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

// freshAddresses begins where no service of a case has addresses.
const freshAddresses = 1 << 22

// exported makes a service and waits until the importer has all of it.
func (r *Run) exported(ctx context.Context, s side, service bed.Service) (*bed.Observer, error) {
	o, err := bed.Observe(ctx, s.to, s.namespace)
	if err != nil {
		return nil, err
	}
	if err := service.Create(ctx, s.from); err != nil {
		return nil, err
	}
	if err := service.Export(ctx, s.from); err != nil {
		return nil, err
	}
	_, err = o.Await(ctx, bed.Usable(service.Name), bed.Endpoints(service.Name, service.Endpoints))
	return o, err
}

// sourceSlices are the slices of a service in the exporting cluster, sorted by name.
func sourceSlices(ctx context.Context, c client.Client, s bed.Service) ([]discoveryv1.EndpointSlice, error) {
	list := &discoveryv1.EndpointSliceList{}
	err := c.List(ctx, list, client.InNamespace(s.Namespace), client.MatchingLabels{discoveryv1.LabelServiceName: s.Name})
	return list.Items, err
}

// oneEndpoint changes one endpoint at a time, each of another slice, so that none is in
// the wake of another's change.
func oneEndpoint(ctx context.Context, r *Run, c *figure.Case) error {
	found, counted := samples{}, map[string][]audit.Write{}
	err := r.compare(ctx, "endpoint", false, func(ctx context.Context, s side, block int) error {
		service := bed.Service{Namespace: s.namespace, Name: fmt.Sprintf("e%d", block), Endpoints: (r.Rounds + warmUp) * bed.PerSlice}
		o, err := r.exported(ctx, s, service)
		if err != nil {
			return err
		}
		slices, err := sourceSlices(ctx, s.from, service)
		if err != nil {
			return err
		}
		if err := r.addCounted(ctx, counted, func() error { return changes(ctx, s, o, slices, found) }); err != nil {
			return err
		}
		return r.clear(ctx, s, o, service)
	})
	if err != nil {
		return err
	}
	n := float64((r.Rounds + warmUp) * r.Blocks)
	c.Add(found.figure("until the importing cluster has it", "change", figure.Milliseconds).AtMostFloors(3))
	for _, cluster := range []string{lab.Broker, importer, exporter} {
		c.Add(figure.New("writes of slices for each change, "+place(cluster), figure.Writes, float64(len(ofSlices(counted[cluster])))/n).Exactly(1))
	}
	others := 0
	for _, writes := range counted {
		others += len(writes) - len(ofSlices(writes))
	}
	c.Add(figure.New("writes of anything else, for each change", figure.Writes, float64(others)/n).Exactly(0))
	return nil
}

// successive changes one endpoint of a service of a thousand again and again, each time as soon as the importing cluster has the last change.
func successive(ctx context.Context, r *Run, c *figure.Case) error {
	found := samples{}
	err := r.compare(ctx, "successive", false, func(ctx context.Context, s side, block int) error {
		service := bed.Service{Namespace: s.namespace, Name: fmt.Sprintf("s%d", block), Endpoints: r.sized(1000)}
		o, err := r.exported(ctx, s, service)
		if err != nil {
			return err
		}
		slices, err := sourceSlices(ctx, s.from, service)
		if err != nil {
			return err
		}
		if err := bed.Pause(ctx, 2*time.Second); err != nil {
			return err
		}
		slice := &slices[0]
		for i := range r.Rounds + warmUp {
			endpoint := bed.Endpoint(s.namespace, freshAddresses+i)
			slice.Endpoints[0] = endpoint
			began := time.Now()
			if err := s.from.Update(ctx, slice); err != nil {
				return fmt.Errorf("changing an endpoint: %w", err)
			}
			at, err := o.Await(ctx, bed.Appeared(endpoint.Addresses[0]))
			if err != nil {
				return err
			}
			if i >= warmUp {
				found.add(s.name, "change", at.Sub(began))
			}
		}
		return r.clear(ctx, s, o, service)
	})
	if err != nil {
		return err
	}
	c.Add(found.figure("until the importing cluster has it", "change", figure.Milliseconds).AtMostFloors(3))
	return nil
}

func changes(ctx context.Context, s side, o *bed.Observer, slices []discoveryv1.EndpointSlice, found samples) error {
	for i := range slices {
		if err := bed.Pause(ctx, gap); err != nil {
			return err
		}
		endpoint := bed.Endpoint(s.namespace, freshAddresses+i)
		slices[i].Endpoints[i%len(slices[i].Endpoints)] = endpoint
		began := time.Now()
		if err := s.from.Update(ctx, &slices[i]); err != nil {
			return fmt.Errorf("changing an endpoint: %w", err)
		}
		at, err := o.Await(ctx, bed.Appeared(endpoint.Addresses[0]))
		if err != nil {
			return err
		}
		if i >= warmUp {
			found.add(s.name, "change", at.Sub(began))
		}
	}
	return nil
}

// create exports one large service.
func create(ctx context.Context, r *Run, c *figure.Case) error {
	found, counted := samples{}, map[string][]audit.Write{}
	service := bed.Service{Name: "large", Endpoints: r.sized(20000)}
	err := r.compare(ctx, "create", false, func(ctx context.Context, s side, _ int) error {
		service.Namespace = s.namespace
		o, err := bed.Observe(ctx, s.to, s.namespace)
		if err != nil {
			return err
		}
		if err := service.Create(ctx, s.from); err != nil {
			return err
		}
		if err := bed.Pause(ctx, 2*time.Second); err != nil { // agents have seen the slices
			return err
		}
		run := func() error {
			began := time.Now()
			if err := service.Export(ctx, s.from); err != nil {
				return err
			}
			at, err := o.Await(ctx, bed.Usable(service.Name), bed.Endpoints(service.Name, service.Endpoints))
			found.add(s.name, "create", at.Sub(began))
			return err
		}
		if s.name == "atoll" {
			err = r.addCounted(ctx, counted, func() error { return r.profile(ctx, "create", importer, run) })
		} else {
			err = run()
		}
		if err != nil {
			return err
		}
		return r.clear(ctx, s, o, service)
	})
	if err != nil {
		return err
	}
	c.Add(found.figure(fmt.Sprintf("until the importing cluster has all %d", service.Endpoints), "create", figure.Seconds).AtMostFloors(3))
	for _, cluster := range []string{lab.Broker, importer, exporter} {
		c.Add(figure.New("writes of slices, "+place(cluster), figure.Writes, float64(len(ofSlices(counted[cluster])))/float64(r.Blocks)).
			Exactly(float64((service.Endpoints + bed.PerSlice - 1) / bed.PerSlice)).Because(fmt.Sprintf("each time; %d times: %s", r.Blocks, kinds(ofSlices(counted[cluster])))))
	}
	return nil
}

// rolling replaces all endpoints of a service one by one, as a rolling update does that
// makes no slice grow: an old one goes, and a little later a new one comes.
func rolling(ctx context.Context, r *Run, c *figure.Case) error {
	n := r.sized(2000)
	found := samples{}
	counted := map[string]map[string][]audit.Write{}
	err := r.compare(ctx, "rolling", false, func(ctx context.Context, s side, block int) error {
		service := bed.Service{Namespace: s.namespace, Name: fmt.Sprintf("r%d", block), Endpoints: n}
		o, err := r.exported(ctx, s, service)
		if err != nil {
			return err
		}
		slices, err := sourceSlices(ctx, s.from, service)
		if err != nil {
			return err
		}
		o.Forget()
		run := func() error {
			return replacement{slices: slices, replaced: n, first: freshAddresses + block*n, absent: absent}.carryOut(ctx, s, o, found)
		}
		if s.name == "atoll" {
			counted[s.name], err = r.counted(ctx, func() error { return r.profile(ctx, "rolling", importer, run) })
		} else {
			counted[s.name], err = r.countedAll(ctx, run)
		}
		if err != nil {
			return err
		}
		return r.clear(ctx, s, o, service)
	})
	if err != nil {
		return err
	}
	c.Add(
		found.figure("from the first change until all is as it should be", "total", figure.Seconds).
			Because(fmt.Sprintf("the source makes %d writes one after the other, as the built-in controller does", 2*n)),
		found.figure("of that, after the last change", "lag", figure.Milliseconds),
		found.figure("until a new endpoint is there", "appeared", figure.Milliseconds),
		found.figure("until an old one is gone", "vanished", figure.Milliseconds).AtMostFloors(3).
			Because("the floor lags in the end: the case pacing has what it takes when the source's writes are further apart"),
	)
	for _, cluster := range []string{lab.Broker, importer} {
		c.Add(figure.New("writes of slices, "+place(cluster), figure.Writes, float64(len(ofSlices(counted["atoll"][cluster])))).
			OnFloor(figure.New("", figure.Writes, float64(len(ofSlices(counted["floor"][cluster]))))).AtMost(float64(2 * n)).
			Because("the floor passes every change on, of which there are as many as the target says"))
	}
	return nil
}

// absent is how many endpoints are missing at a time during a rolling update.
const absent = 10

// replacement replaces endpoints in slices, in an order that is the same in each run.
type replacement struct {
	slices []discoveryv1.EndpointSlice
	// replaced is how many of their endpoints are.
	replaced int
	// first is the number of the first new endpoint, and absent how many are missing at a time.
	first, absent int
	// every is the time from one of the source's writes to the next: 0 for as fast as they can be made.
	every time.Duration
}

// carryOut does it, and returns when the importer has followed. How long that took for each endpoint is noted.
func (r replacement) carryOut(ctx context.Context, s side, o *bed.Observer, found samples) error {
	type spot struct{ slice, number int }
	var spots []spot
	for i := range r.slices {
		for range r.slices[i].Endpoints {
			spots = append(spots, spot{i, len(spots)})
		}
	}
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(spots), func(i, j int) { spots[i], spots[j] = spots[j], spots[i] })
	all := len(spots)
	spots = spots[:r.replaced]
	began := time.Now()
	came, went := map[string]time.Time{}, map[string]time.Time{}
	writes := 0
	// write has the source change a slice, of which an address goes or comes then.
	write := func(i int, at map[string]time.Time, address string) error {
		if err := bed.Pause(ctx, time.Until(began.Add(time.Duration(writes)*r.every))); err != nil {
			return fmt.Errorf("replacing an endpoint: %w", err)
		}
		writes++
		at[address] = time.Now()
		if err := s.from.Update(ctx, &r.slices[i]); err != nil {
			return fmt.Errorf("replacing an endpoint: %w", err)
		}
		return nil
	}
	for i := range len(spots) + r.absent {
		if i < len(spots) {
			slice := &r.slices[spots[i].slice]
			old := slice.Endpoints[0].Addresses[0]
			slice.Endpoints = slice.Endpoints[1:] // new ones come last
			if err := write(spots[i].slice, went, old); err != nil {
				return err
			}
		}
		if i >= r.absent {
			spot := spots[i-r.absent]
			slice := &r.slices[spot.slice]
			slice.Endpoints = append(slice.Endpoints, bed.Endpoint(s.namespace, r.first+spot.number))
			if err := write(spot.slice, came, bed.Address(r.first+spot.number)); err != nil {
				return err
			}
		}
	}
	return settled(ctx, s, o, all, began, time.Now(), came, went, found)
}

// settled waits until the importer has followed, with so many endpoints, and notes how long each change took.
func settled(ctx context.Context, s side, o *bed.Observer, want int, began, written time.Time, came, went map[string]time.Time, found samples) error {
	last := written
	for _, change := range []struct {
		what string
		at   map[string]time.Time
		mark func(string) bed.Mark
	}{{"appeared", came, bed.Appeared}, {"vanished", went, bed.Vanished}} {
		for address, made := range change.at {
			seen, err := o.Await(ctx, change.mark(address))
			if err != nil {
				return err
			}
			found.add(s.name, change.what, seen.Sub(made))
			if seen.After(last) {
				last = seen
			}
		}
	}
	found.add(s.name, "written", written.Sub(began))
	found.add(s.name, "total", last.Sub(began))
	found.add(s.name, "lag", last.Sub(written))
	if have := len(o.Addresses()); have != want {
		return fmt.Errorf("there are %d endpoints in the end, not %d", have, want)
	}
	return nil
}
