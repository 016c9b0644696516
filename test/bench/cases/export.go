package cases

import (
	"context"
	"fmt"
	"time"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/audit"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
)

const (
	// warmUp rounds are not counted: connections are made and code is paged in.
	warmUp = 3
	// gap lets the writes come to an end that follow what was measured, as conditions.
	gap = 100 * time.Millisecond
	// endpointsOfSmall services, as most are.
	endpointsOfSmall = 10
)

// samples are durations by what was measured, for the floor and for Atoll.
type samples map[string]map[string][]time.Duration

func (s samples) add(side, what string, d time.Duration) {
	if s[side] == nil {
		s[side] = map[string][]time.Duration{}
	}
	s[side][what] = append(s[side][what], d)
}

// figure is what was measured of Atoll, on the floor.
func (s samples) figure(name, what, unit string) figure.Figure {
	return figure.Times(name, unit, s["atoll"][what]).OnFloor(figure.Times(name, unit, s["floor"][what]))
}

// oneExport exports services one by one.
func oneExport(ctx context.Context, r *Run, c *figure.Case) error {
	bare, whole := samples{}, samples{}
	for _, form := range []struct {
		name string
		bare bool
		into samples
	}{{"export-bare", true, bare}, {"export", false, whole}} {
		err := r.compare(ctx, form.name, form.bare, func(ctx context.Context, s side, block int) error {
			return r.exports(ctx, s, block, form.bare, form.into)
		})
		if err != nil {
			return err
		}
	}
	c.Add(
		bare.figure("the ServiceImport exists", "exists", figure.Milliseconds).AtMostFloors(3).
			Because("the floor writes the export, a record, and an import without address: three writes"),
		whole.figure("it has its clusterset IP", "usable", figure.Milliseconds).
			Because("the floor makes the Service too, and then the import with its address: four writes, one after the other"),
		whole.figure("and its endpoints are there", "complete", figure.Milliseconds).AtMostFloors(3).
			Because("the last of both; the floor copies the slice beside the record, and does not wait for the Service with it"),
	)
	return nil
}

// exports exports one service in each round.
func (r *Run) exports(ctx context.Context, s side, block int, bare bool, into samples) error {
	o, err := bed.Observe(ctx, s.to, s.namespace)
	if err != nil {
		return err
	}
	services := small(s.namespace, fmt.Sprintf("s%d", block), r.Rounds+warmUp)
	if err := bed.Each(ctx, services, func(ctx context.Context, service bed.Service) error { return service.Create(ctx, s.from) }); err != nil {
		return err
	}
	for i, service := range services {
		if err := bed.Pause(ctx, gap); err != nil {
			return err
		}
		began := time.Now()
		if err := service.Export(ctx, s.from); err != nil {
			return err
		}
		marks := stages(service, bare)
		if _, err := o.Await(ctx, marks...); err != nil {
			return err
		}
		for stage := range marks {
			at, _ := o.Await(ctx, marks[:stage+1]...) // they have been seen
			if i >= warmUp {
				into.add(s.name, [...]string{"exists", "usable", "complete"}[stage], at.Sub(began))
			}
		}
	}
	return r.clear(ctx, s, o, services...)
}

// stages are what is seen of a service that arrives.
func stages(s bed.Service, bare bool) []bed.Mark {
	if bare {
		return []bed.Mark{bed.Exists(s.Name)}
	}
	return []bed.Mark{bed.Exists(s.Name), bed.Usable(s.Name), bed.Endpoints(s.Name, s.Endpoints)}
}

// small returns services with few endpoints each.
func small(namespace, prefix string, n int) []bed.Service {
	services := make([]bed.Service, n)
	for i := range services {
		services[i] = bed.Service{
			Namespace: namespace, Name: fmt.Sprintf("%s-%d", prefix, i), Endpoints: endpointsOfSmall, First: i * endpointsOfSmall,
		}
	}
	return services
}

// burst exports many services at once.
func burst(ctx context.Context, r *Run, c *figure.Case) error {
	n := r.sized(200)
	bare, whole := samples{}, samples{}
	var writes map[string][]audit.Write
	for _, form := range []struct {
		name string
		bare bool
		into samples
	}{{"burst-bare", true, bare}, {"burst", false, whole}} {
		err := r.compare(ctx, form.name, form.bare, func(ctx context.Context, s side, block int) error {
			written, err := r.burstOnce(ctx, s, small(s.namespace, fmt.Sprintf("b%d", block), n), form.bare, form.into)
			if s.name == "atoll" {
				writes = written
			}
			return err
		})
		if err != nil {
			return err
		}
	}
	for _, cluster := range []string{lab.Broker, exporter, importer} {
		c.Notes = append(c.Notes, fmt.Sprintf("%d exports %s: %d writes: %s", n, place(cluster), len(writes[cluster]), kinds(writes[cluster])))
	}
	c.Add(
		bare.figure(fmt.Sprintf("all %d ServiceImports exist", n), "exists", figure.Seconds).AtMostFloors(3),
		whole.figure("all have their clusterset IP and endpoints", "complete", figure.Seconds).AtMostFloors(3).
			Because("each of Atoll's exports has conditions, Events and an entry in the clusterset's catalogue written besides, and the exporting cluster's own import"),
	)
	return nil
}

// burstOnce exports services at once, and returns what agents have written because of that.
func (r *Run) burstOnce(ctx context.Context, s side, services []bed.Service, bare bool, into samples) (map[string][]audit.Write, error) {
	o, err := bed.Observe(ctx, s.to, s.namespace)
	if err != nil {
		return nil, err
	}
	if err := bed.Each(ctx, services, func(ctx context.Context, service bed.Service) error { return service.Create(ctx, s.from) }); err != nil {
		return nil, err
	}
	if err := bed.Pause(ctx, time.Second); err != nil {
		return nil, err
	}
	what := map[bool]string{true: "exists", false: "complete"}[bare]
	run := func() error {
		began := time.Now()
		if err := bed.Each(ctx, services, func(ctx context.Context, service bed.Service) error { return service.Export(ctx, s.from) }); err != nil {
			return err
		}
		var marks []bed.Mark
		for _, service := range services {
			marks = append(marks, stages(service, bare)...)
		}
		last, err := o.Await(ctx, marks...)
		into.add(s.name, what, last.Sub(began))
		return err
	}
	writes, err := r.counted(ctx, func() error {
		if s.name == "atoll" && !bare {
			return r.profile(ctx, "burst", importer, run)
		}
		return run()
	})
	if err != nil {
		return nil, err
	}
	return writes, r.clear(ctx, s, o, services...)
}
