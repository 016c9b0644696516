package cases

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/lab/audit"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/bench/figure"
	"github.com/atoll-mcs/atoll/test/bench/floor"
)

// The two sides of a comparison.
const (
	ofFloor = "floor"
	ofAtoll = "atoll"
)

// The first warmUp steps do not count if there are many steps: connections are opened and code
// is paged in.
const warmUp = 3

// Stages that the runner measures in every block, in addition to those of its steps.
const (
	stageTotal = "total" // from the beginning of the first step until the last mark is seen
	stageLag   = "lag"   // from the end of the last step until the last mark is seen
	stageDone  = "done"  // from the beginning of the first step until the last resulting write
)

// comparison is a case that changes objects in the exporting cluster, waits for the effect in
// the importing cluster, and compares the time with the floor of the same run.
type comparison struct {
	name string
	// bare omits derived Services and endpoints from the floor.
	bare bool
	// services are created before the measurement. If exported is set, they are also imported
	// before.
	services []bed.Service
	exported bool
	// steps returns the changes of a block.
	steps func(*block) []step
	// pause is the time before each step, so that the previous step does not delay it.
	pause time.Duration
	// together runs all steps before it waits for their effects.
	together bool
	// copied measures a floor for stageDone: a plain program makes the same writes.
	copied bool
	// results are the reported figures.
	results []result
	// slices checks the number of slice writes of each step in every cluster.
	slices func(figure.Figure) figure.Figure
}

// step is a change and its expected effects, in order.
type step struct {
	do     func(context.Context) error
	stages []stage
}

type stage struct {
	name  string
	marks []bed.Mark
}

// result is a figure to report: the time until a stage.
type result struct {
	stage, name, unit string
	// floors is the target as a multiple of the floor; 0 for no target.
	floors float64
	note   string
}

// block is a block of a comparison, either of the floor or of Atoll.
type block struct {
	of        string
	number    int
	namespace string
	from, to  client.WithWatch
	services  []bed.Service
	// slices are the slices of the first service in the exporting cluster, sorted by name.
	slices   []discoveryv1.EndpointSlice
	observer *bed.Observer
	began    time.Time // the first step
}

// measurement holds the results of a comparison's blocks.
type measurement struct {
	*Run
	comparison
	// times holds the measured times, by side and stage.
	times map[string]map[string][]time.Duration
	// writes holds the agents' writes for all steps, by cluster.
	writes map[string][]audit.Write
	steps  int
}

// compared returns the function of a case with these comparisons.
func compared(all ...func(*Run) comparison) func(context.Context, *Run, *figure.Case) error {
	return func(ctx context.Context, r *Run, c *figure.Case) error {
		for _, each := range all {
			m := &measurement{Run: r, comparison: each(r), times: map[string]map[string][]time.Duration{ofFloor: {}, ofAtoll: {}}, writes: map[string][]audit.Write{}}
			if err := m.blocks(ctx); err != nil {
				return fmt.Errorf("%s: %w", m.name, err)
			}
			m.report(c)
		}
		return nil
	}
}

// blocks measures the floor and Atoll in alternating blocks. Agents do not run while the floor is measured.
func (m *measurement) blocks(ctx context.Context) error {
	for _, of := range []string{ofFloor, ofAtoll} {
		if err := m.Bed.Namespace(ctx, of+"-"+m.name, exporter, importer, lab.Broker); err != nil {
			return err
		}
	}
	for number := range m.Blocks {
		for _, of := range []string{ofFloor, ofAtoll} {
			m.Say("%s: block %d of %d, %s", m.name, number+1, m.Blocks, of)
			b := &block{of: of, number: number, namespace: of + "-" + m.name, from: m.Bed.On[exporter], to: m.Bed.On[importer]}
			for _, s := range m.services {
				s.Namespace, s.Name = b.namespace, fmt.Sprintf("%s-%d", s.Name, number)
				b.services = append(b.services, s)
			}
			measure := m.ofFloor
			if of == ofAtoll {
				measure = m.ofAtoll
			}
			if err := measure(ctx, b); err != nil {
				return fmt.Errorf("measuring %s: %w", of, err)
			}
		}
	}
	return nil
}

// ofFloor measures a block of the floor.
func (m *measurement) ofFloor(ctx context.Context, b *block) error {
	ctx, cancel := context.WithCancel(ctx) // ends the block's watches
	defer cancel()
	return m.withoutAgents(ctx, func() error {
		chain := &floor.Chain{From: b.from, Broker: m.Bed.On[lab.Broker], To: b.to, Namespace: b.namespace, Bare: m.bare}
		while, stop, err := chain.Run(ctx)
		if err != nil {
			return err
		}
		if err = m.prepare(while, b); err == nil {
			err = m.measure(while, b)
		}
		stop()
		return errors.Join(err, chain.Clear(context.WithoutCancel(ctx)))
	})
}

func (m *measurement) withoutAgents(ctx context.Context, do func() error) error {
	if err := m.Bed.Agents(ctx, m.Bed.Lab.Kill); err != nil {
		return err
	}
	if err := errors.Join(do(), m.Bed.Agents(context.WithoutCancel(ctx), m.Bed.Lab.Start)); err != nil {
		return err
	}
	return m.Bed.AgentsReady(ctx)
}

// ofAtoll measures a block of Atoll, counts the agents' writes, and cleans up.
func (m *measurement) ofAtoll(ctx context.Context, b *block) error {
	ctx, cancel := context.WithCancel(ctx) // ends the block's watches
	defer cancel()
	if err := m.prepare(ctx, b); err != nil {
		return err
	}
	writes, err := m.counted(ctx, func() error { return m.measure(ctx, b) })
	if err != nil {
		return err
	}
	var last time.Time
	for cluster, more := range writes {
		m.writes[cluster] = append(m.writes[cluster], more...)
		for _, w := range more {
			if w.At.After(last) {
				last = w.At
			}
		}
	}
	m.add(b, stageDone, last.Sub(b.began))
	if m.copied {
		if err := m.copy(ctx, writes); err != nil {
			return err
		}
	}
	return m.clear(ctx, b)
}

// copy measures the time that a plain program needs for the same writes.
func (m *measurement) copy(ctx context.Context, writes map[string][]audit.Write) error {
	c, err := floor.NewCopy(ctx, m.Bed.On, writes, ofFloor+"-"+m.name)
	if err != nil {
		return err
	}
	return m.withoutAgents(ctx, func() error {
		began := time.Now()
		err := c.Write(ctx)
		m.times[ofFloor][stageDone] = append(m.times[ofFloor][stageDone], time.Since(began))
		return errors.Join(err, c.Clear(context.WithoutCancel(ctx)))
	})
}

// prepare creates the block's services and waits until all effects have ended.
func (m *measurement) prepare(ctx context.Context, b *block) (err error) {
	if b.observer, err = bed.Observe(ctx, b.to, b.namespace); err != nil {
		return err
	}
	err = bed.Each(ctx, b.services, func(ctx context.Context, s bed.Service) error {
		if err := s.Create(ctx, b.from); err != nil || !m.exported {
			return err
		}
		return s.Export(ctx, b.from)
	})
	if err != nil {
		return err
	}
	if m.exported {
		for _, s := range b.services {
			if _, err := b.observer.Await(ctx, bed.Usable(s.Name), bed.Endpoints(s.Name, s.Endpoints)); err != nil {
				return err
			}
		}
	}
	list, first := &discoveryv1.EndpointSliceList{}, b.services[0].Name
	if err := b.from.List(ctx, list, client.InNamespace(b.namespace), client.MatchingLabels{discoveryv1.LabelServiceName: first}); err != nil {
		return err
	}
	b.slices = list.Items
	return bed.Pause(ctx, 2*time.Second)
}

// measure runs the steps and records when their effects are seen.
func (m *measurement) measure(ctx context.Context, b *block) error {
	steps := m.comparison.steps(b)
	began := make([]time.Time, len(steps))
	var last, written time.Time
	await := func(i int) error {
		for _, stage := range steps[i].stages {
			// A bare floor does not reach stages that are not reported.
			if !slices.ContainsFunc(m.results, func(r result) bool { return r.stage == stage.name }) {
				continue
			}
			at, err := b.observer.Await(ctx, stage.marks...)
			if err != nil {
				return err
			}
			if at.After(last) {
				last = at
			}
			if m.together || len(steps) <= warmUp || i >= warmUp {
				m.add(b, stage.name, at.Sub(began[i]))
			}
		}
		return nil
	}
	for i := range steps {
		if err := bed.Pause(ctx, m.pause); err != nil {
			return err
		}
		began[i] = time.Now()
		err := steps[i].do(ctx)
		written = time.Now()
		if err == nil && !m.together {
			err = await(i)
		}
		if err != nil {
			return err
		}
	}
	for i := 0; m.together && i < len(steps); i++ {
		if err := await(i); err != nil {
			return err
		}
	}
	b.began = began[0]
	m.add(b, stageTotal, last.Sub(b.began))
	m.add(b, stageLag, last.Sub(written))
	if b.of == ofAtoll {
		m.steps += len(steps)
	}
	return nil
}

func (m *measurement) add(b *block, stage string, took time.Duration) {
	m.times[b.of][stage] = append(m.times[b.of][stage], took)
}

// clear deletes the block's services and waits until their imports are deleted.
func (m *measurement) clear(ctx context.Context, b *block) error {
	err := bed.Each(ctx, b.services, func(ctx context.Context, s bed.Service) error { return s.Delete(ctx, b.from) })
	for _, s := range b.services {
		if err == nil {
			_, err = b.observer.Await(ctx, bed.Gone(s.Name), bed.Endpoints(s.Name, 0))
		}
	}
	return err
}

// report adds the figures.
func (m *measurement) report(c *figure.Case) {
	for _, r := range m.results {
		f := figure.Times(r.name, r.unit, m.times[ofAtoll][r.stage], m.times[ofFloor][r.stage])
		if r.floors > 0 {
			f = f.AtMostFloors(r.floors)
		}
		c.Add(f.Because(r.note))
	}
	for _, cluster := range []string{lab.Broker, exporter, importer} {
		if m.slices != nil {
			writes := float64(len(ofSlices(m.writes[cluster]))) / float64(m.steps)
			c.Add(m.slices(figure.Once("writes of slices for each change, "+places[cluster], figure.Writes, writes)))
		}
		c.Notes = append(c.Notes, fmt.Sprintf("%s: agents' writes %s in %d blocks: %s", m.name, places[cluster], m.Blocks, kinds(m.writes[cluster])))
	}
}
