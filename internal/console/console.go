// Package console shows the results of packages live, report and checkup in a browser. It writes nothing to any
// cluster.
package console

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/doctor/checkup"
	"github.com/atoll-mcs/atoll/internal/doctor/live"
	"github.com/atoll-mcs/atoll/internal/doctor/survey"
)

const (
	// collectTime is how long changes are collected before they are sent: one change of a service is a few events.
	collectTime = 100 * time.Millisecond
	// overviewTime is how often the clusters are described again at most: heartbeats come all the time.
	overviewTime = 500 * time.Millisecond
	// pendingTime is how often services with pending work are described again: what is pending for too long is an error.
	pendingTime = 5 * time.Second
	// patience is the longest pause between two descriptions.
	patience = 500 * time.Millisecond
)

// Console keeps the view of a clusterset current.
type Console struct {
	targets []checkup.Target
	locate  credential.Locate
	direct  *rest.Config
	set     *live.Clusterset
	wake    chan struct{}

	mu      sync.Mutex
	dirty   map[types.NamespacedName]map[int]struct{} // the places where a service has changed
	general bool
	busy    bool // dirty services are being described

	// These belong to follow.
	entries map[types.NamespacedName]*entry
	pending map[types.NamespacedName][]int
	basis   basis

	view     sync.Mutex
	overview Overview
	rows     map[string]json.RawMessage
	viewers  map[*viewer]struct{}
	checks   Checks
	settled  bool // a first overview is there
	closed   chan struct{}
	// left is when the last page was closed.
	left time.Time

	checkNow chan struct{}
}

// basis is what all services' rows depend on.
type basis struct {
	// members are what members are called, and hasEndpoints says whose EndpointSlices have been read.
	members      []identity
	hasEndpoints []bool
	// broker has what decides what its records mean: whether it can be read, and the members' permissions.
	broker string
}

// viewer is a page that gets changes.
type viewer struct {
	mu       sync.Mutex
	rows     map[string]struct{}
	overview bool
	wake     chan struct{}
}

// Change is what a page gets: the overview if it has changed, and the services that have. Services that are gone are null.
type Change struct {
	Overview *Overview                  `json:"overview,omitempty"`
	Services map[string]json.RawMessage `json:"services,omitempty"`
	// All means that there are no other services.
	All bool `json:"all,omitempty"`
}

// New returns a console of clusters. locate and direct say how to reach the broker, as in package live.
func New(targets []checkup.Target, locate credential.Locate, direct *rest.Config) (*Console, error) {
	c := &Console{
		targets: targets, locate: locate, direct: direct, wake: make(chan struct{}, 1), dirty: map[types.NamespacedName]map[int]struct{}{}, general: true,
		entries: map[types.NamespacedName]*entry{}, pending: map[types.NamespacedName][]int{},
		rows: map[string]json.RawMessage{}, viewers: map[*viewer]struct{}{}, closed: make(chan struct{}),
		checkNow: make(chan struct{}), left: time.Now(),
	}
	var err error
	if c.set, err = live.New(targets, locate, direct, c.changed); err == nil {
		c.overview = overview(c.set, identify(c.set), time.Now())
	}
	return c, err
}

// Run keeps the view current until ctx is done, and ends all streams then.
func (c *Console) Run(ctx context.Context) {
	context.AfterFunc(ctx, func() { close(c.closed) })
	var all sync.WaitGroup
	all.Go(func() { c.set.Run(ctx) })
	all.Go(func() { c.follow(ctx) })
	all.Go(func() { c.makeChecks(ctx) })
	all.Wait()
}

func (c *Console) changed(at int, service types.NamespacedName) {
	c.mu.Lock()
	if c.general = c.general || at == live.OfBroker || service == (types.NamespacedName{}); service != (types.NamespacedName{}) {
		c.mark(service, at)
	}
	c.mu.Unlock()
	wake(c.wake)
}

// mark notes that a service has changed at a place. The caller holds the lock.
func (c *Console) mark(service types.NamespacedName, at int) {
	if c.dirty[service] == nil {
		c.dirty[service] = map[int]struct{}{}
	}
	c.dirty[service][at] = struct{}{}
}

func wake(waiting chan struct{}) {
	select {
	case waiting <- struct{}{}:
	default:
	}
}

// follow describes what has changed.
func (c *Console) follow(ctx context.Context) {
	var last time.Time
	again := time.NewTicker(pendingTime)
	defer again.Stop()
	for {
		began := time.Now()
		c.refresh(&last)
		// While clusters are read for the first time, services change all the time.
		pause := min(max(collectTime, 2*time.Since(began)), patience)
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-again.C:
			c.changed(live.OfBroker, types.NamespacedName{}) // heartbeats get old without any change
			for service, all := range c.pending {
				for _, at := range all {
					c.changed(at, service)
				}
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// refresh describes the services that have changed, and the clusters unless that was a moment ago.
func (c *Console) refresh(last *time.Time) {
	now := time.Now()
	c.mu.Lock()
	due := c.general && now.Sub(*last) >= overviewTime
	if c.general && !due {
		time.AfterFunc(overviewTime-now.Sub(*last), func() { wake(c.wake) })
	}
	c.general = c.general && !due
	c.mu.Unlock()
	if due {
		*last = now
		members := identify(c.set)
		o := overview(c.set, members, now)
		c.rebase(o, members)
		c.view.Lock()
		o.Checks = c.checks
		c.overview, c.settled = o, true
		c.tell(nil, true)
		c.view.Unlock()
	}
	c.mu.Lock()
	dirty := c.dirty
	c.dirty, c.busy = map[types.NamespacedName]map[int]struct{}{}, len(dirty) > 0
	c.mu.Unlock()
	if len(dirty) == 0 {
		return
	}
	defer func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.busy = false
	}()
	general := make([]*survey.Survey, len(c.set.Members))
	for i, m := range c.set.Members {
		general[i] = m.Overview()
	}
	broker := c.set.BrokerGeneral()
	for some := range slices.Chunk(slices.Collect(maps.Keys(dirty)), 500) {
		c.describe(some, dirty, general, broker)
	}
}

// rebase marks what depends on the clusters' ids, and on what decides what the broker's records mean.
func (c *Console) rebase(o Overview, members []identity) {
	now := basis{members: members}
	for _, m := range c.set.Members {
		now.hasEndpoints = append(now.hasEndpoints, m.HasEndpoints())
	}
	services, revision := c.set.BrokerServices()
	now.broker = fmt.Sprint(o.Broker.Read, revision)
	before := c.basis
	c.basis = now
	c.mu.Lock()
	defer c.mu.Unlock()
	if before.broker != now.broker {
		for _, service := range services { // also those that were there before the broker could be read
			c.mark(service, live.OfBroker)
		}
	}
	for service, e := range c.entries {
		if before.broker != now.broker {
			c.mark(service, live.OfBroker)
		}
		for at := range e.members {
			if before.members[at] != now.members[at] || before.hasEndpoints[at] != now.hasEndpoints[at] {
				c.mark(service, at)
			}
		}
	}
}

// describe reads services again where they have changed, and tells the pages those that are different.
func (c *Console) describe(services []types.NamespacedName, dirty map[types.NamespacedName]map[int]struct{}, general []*survey.Survey, onBroker *survey.Broker) {
	texts := make([]json.RawMessage, len(services))
	for i, service := range services {
		e := c.entries[service]
		if e == nil {
			e = &entry{members: map[int]memberEntry{}}
			c.entries[service] = e
		}
		broker := c.set.BrokerOf(onBroker, service)
		for at := range dirty[service] {
			if at == live.OfBroker {
				e.readBroker(broker)
				for at, m := range e.members {
					if m.own != nil { // what its export is depends on the record
						c.readMember(e, at, service, general[at], broker)
					}
				}
				continue
			}
			c.readMember(e, at, service, general[at], broker)
		}
		delete(c.pending, service)
		if r := e.row(service.String(), c.basis.members); r != nil {
			texts[i] = encode(r)
			if all := e.pendingAt(); len(all) > 0 {
				c.pending[service] = all
			}
		} else if len(e.members) == 0 { // else these are not shown now
			delete(c.entries, service)
		}
	}
	c.view.Lock()
	defer c.view.Unlock()
	var changed []string
	for i, text := range texts {
		id := services[i].String()
		switch had, has := c.rows[id]; {
		case text == nil && has:
			delete(c.rows, id)
			changed = append(changed, id)
		case text != nil && string(text) != string(had):
			c.rows[id] = text
			changed = append(changed, id)
		}
	}
	c.tell(changed, false)
}

func (c *Console) readMember(e *entry, at int, service types.NamespacedName, general *survey.Survey, broker *survey.Broker) {
	s := c.set.Members[at].Survey(general, service)
	s.Broker = broker
	e.readMember(at, s, c.basis.hasEndpoints[at])
}

// tell tells the pages what has changed. The caller holds the view's lock.
func (c *Console) tell(rows []string, overview bool) {
	if len(rows) == 0 && !overview {
		return
	}
	for v := range c.viewers {
		v.mu.Lock()
		for _, id := range rows {
			v.rows[id] = struct{}{}
		}
		v.overview = v.overview || overview
		v.mu.Unlock()
		wake(v.wake)
	}
}

// Now returns the whole view.
func (c *Console) Now() Change {
	c.view.Lock()
	defer c.view.Unlock()
	o := c.overview
	return Change{Overview: &o, Services: maps.Clone(c.rows), All: true}
}

// maxPages limits the pages of one console that are open.
const maxPages = 30

var errTooManyPages = fmt.Errorf("%d pages of this console are open: close some", maxPages)

// watch returns a viewer and what it sees now. The caller ends it with leave.
func (c *Console) watch() (*viewer, Change, error) {
	v := &viewer{rows: map[string]struct{}{}, wake: make(chan struct{}, 1)}
	c.view.Lock()
	tooMany := len(c.viewers) >= maxPages
	if !tooMany {
		c.viewers[v] = struct{}{}
	}
	c.view.Unlock()
	if tooMany {
		return nil, Change{}, errTooManyPages
	}
	return v, c.Now(), nil
}

func (c *Console) leave(v *viewer) {
	c.view.Lock()
	defer c.view.Unlock()
	delete(c.viewers, v)
	c.left = time.Now()
}

// unwatched returns for how long no page has been open.
func (c *Console) unwatched() time.Duration {
	c.view.Lock()
	defer c.view.Unlock()
	if len(c.viewers) > 0 {
		return 0
	}
	return time.Since(c.left)
}

// next returns what has changed for a viewer.
func (c *Console) next(v *viewer) Change {
	c.view.Lock()
	defer c.view.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	var change Change
	if v.overview {
		o := c.overview
		change.Overview = &o
	}
	if len(v.rows) > 0 {
		change.Services = make(map[string]json.RawMessage, len(v.rows))
		for id := range v.rows {
			change.Services[id] = c.rows[id] // null if it is gone
		}
	}
	v.rows, v.overview = map[string]struct{}{}, false
	return change
}
