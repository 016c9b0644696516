// Package console shows a clusterset in a browser: what packages live, report and checkup find, and nothing of its own. It writes
// nothing to any cluster.
package console

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
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
	overviewTime = 250 * time.Millisecond
	// pendingTime is how often services with pending work are described again: what is pending for too long is an error.
	pendingTime = 10 * time.Second
)

// Console keeps the view of a clusterset current.
type Console struct {
	targets []checkup.Target
	locate  credential.Locate
	set     *live.Clusterset
	wake    chan struct{}

	mu      sync.Mutex
	dirty   map[types.NamespacedName]struct{}
	general bool

	view     sync.Mutex
	overview Overview
	rows     map[string]json.RawMessage
	viewers  map[*viewer]struct{}
	checks   Checks
	basis    string // what all rows depend on
	pending  map[types.NamespacedName]struct{}
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
		targets: targets, locate: locate, wake: make(chan struct{}, 1),
		dirty: map[types.NamespacedName]struct{}{}, general: true,
		rows: map[string]json.RawMessage{}, viewers: map[*viewer]struct{}{}, pending: map[types.NamespacedName]struct{}{},
	}
	var err error
	c.set, err = live.New(targets, locate, direct, c.changed)
	return c, err
}

// Run keeps the view current until ctx is done.
func (c *Console) Run(ctx context.Context) {
	var all sync.WaitGroup
	all.Go(func() { c.set.Run(ctx) })
	all.Go(func() { c.follow(ctx) })
	all.Wait()
}

func (c *Console) changed(service types.NamespacedName) {
	c.mu.Lock()
	if service == (types.NamespacedName{}) {
		c.general = true
	} else {
		c.dirty[service] = struct{}{}
	}
	c.mu.Unlock()
	wake(c.wake)
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
		pause := max(collectTime, 2*time.Since(began))
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
		case <-again.C:
			for service := range c.pending {
				c.changed(service)
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
	c.mu.Lock()
	dirty, general := c.dirty, c.general
	c.dirty = map[types.NamespacedName]struct{}{}
	now := time.Now()
	due := general && now.Sub(*last) >= overviewTime
	c.general = general && !due
	c.mu.Unlock()
	if general && !due {
		time.AfterFunc(overviewTime-now.Sub(*last), func() { wake(c.wake) })
	}
	if due {
		*last = now
		o := overview(c.set, now)
		if basis := basisOf(c.set, o); basis != c.basis { // every row depends on it
			c.basis = basis
			for _, service := range c.set.Services() {
				dirty[service] = struct{}{}
			}
			c.view.Lock()
			for id := range c.rows {
				namespace, name, _ := strings.Cut(id, "/")
				dirty[types.NamespacedName{Namespace: namespace, Name: name}] = struct{}{}
			}
			c.view.Unlock()
		}
		c.view.Lock()
		o.Checks = c.checks
		c.overview = o
		c.tell(nil, true)
		c.view.Unlock()
	}
	for some := range slices.Chunk(slices.Collect(maps.Keys(dirty)), 500) {
		c.describe(some)
	}
}

// describe makes the rows of services again, and tells the pages those that are different.
func (c *Console) describe(services []types.NamespacedName) {
	general := make([]*survey.Survey, len(c.set.Members))
	for i, m := range c.set.Members {
		general[i] = m.Overview()
	}
	made := make([]*Row, len(services))
	for i, service := range services {
		made[i] = row(c.set, general, service)
		if delete(c.pending, service); made[i].isPending() {
			c.pending[service] = struct{}{}
		}
	}
	c.view.Lock()
	defer c.view.Unlock()
	var changed []string
	for i, r := range made {
		id := services[i].String()
		if r == nil {
			if _, had := c.rows[id]; had {
				delete(c.rows, id)
				changed = append(changed, id)
			}
			continue
		}
		if text := encode(r); string(text) != string(c.rows[id]) {
			c.rows[id] = text
			changed = append(changed, id)
		}
	}
	c.tell(changed, false)
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

// basisOf returns what the rows of all services depend on: the ids of the clusters, the permissions on the broker, and whether the
// broker can be read.
func basisOf(set *live.Clusterset, o Overview) string {
	type basis struct {
		Read        bool
		Clusters    []string
		Permissions any
	}
	b := basis{Read: o.Broker.Read}
	for _, c := range o.Clusters {
		b.Clusters = append(b.Clusters, c.ID)
		if c.Member != nil {
			b.Clusters = append(b.Clusters, c.Member.Namespaces...)
		}
	}
	return string(encode(b))
}

// Now returns the whole view.
func (c *Console) Now() Change {
	c.view.Lock()
	defer c.view.Unlock()
	o := c.overview
	return Change{Overview: &o, Services: maps.Clone(c.rows), All: true}
}

// watch returns a viewer and what it sees now. The caller ends it with leave.
func (c *Console) watch() (*viewer, Change) {
	v := &viewer{rows: map[string]struct{}{}, wake: make(chan struct{}, 1)}
	c.view.Lock()
	c.viewers[v] = struct{}{}
	c.view.Unlock()
	return v, c.Now()
}

func (c *Console) leave(v *viewer) {
	c.view.Lock()
	defer c.view.Unlock()
	delete(c.viewers, v)
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
