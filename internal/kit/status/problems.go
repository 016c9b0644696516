package status

import (
	"context"
	"maps"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atoll-mcs/atoll/internal/kit"
)

// Problems collects the problems of services, for the controller that owns their conditions. Each part of a service has
// one writer. The zero value is empty.
type Problems struct {
	mu      sync.Mutex
	of      map[types.NamespacedName]map[string]Outcome
	slices  map[types.NamespacedName]types.NamespacedName // the service of each slice with a problem; the part names the slice
	changes kit.Changes[types.NamespacedName]
}

// Changes publishes the services whose problems change.
func (p *Problems) Changes() *kit.Changes[types.NamespacedName] { return &p.changes }

// Reported maps a service whose problems change to itself.
func Reported(_ context.Context, service types.NamespacedName) []reconcile.Request {
	if service.Name == "" {
		return nil // the start: nothing is reported yet
	}
	return []reconcile.Request{{NamespacedName: service}}
}

// Set sets the problem of a service's part, such as an EndpointSlice; the zero Outcome means none.
func (p *Problems) Set(service types.NamespacedName, part string, now Outcome) {
	if p.set(service, part, now) {
		p.changes.Publish(service)
	}
}

// SetSlice is Set for an EndpointSlice, which may move to another service. If it has none, service is the zero name in
// the slice's namespace.
func (p *Problems) SetSlice(service types.NamespacedName, part string, now Outcome) {
	slice := types.NamespacedName{Namespace: service.Namespace, Name: part}
	p.mu.Lock()
	before, found := p.slices[slice]
	if p.slices == nil {
		p.slices = map[types.NamespacedName]types.NamespacedName{}
	}
	if p.slices[slice] = service; service.Name == "" || now.none() {
		delete(p.slices, slice)
	}
	p.mu.Unlock()
	if found && before != service {
		p.Set(before, part, Outcome{})
	}
	if service.Name != "" {
		p.Set(service, part, now)
	}
}

// Clear removes all problems.
func (p *Problems) Clear() {
	p.mu.Lock()
	reported := slices.Collect(maps.Keys(p.of))
	p.of, p.slices = nil, nil
	p.mu.Unlock()
	p.changes.Publish(reported...)
}

func (o Outcome) none() bool { return o.Failure == "" && len(o.Warnings) == 0 }

func (p *Problems) set(service types.NamespacedName, part string, now Outcome) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.of[service][part]
	if before.Failure == now.Failure && slices.Equal(before.Warnings, now.Warnings) {
		return false
	}
	if p.of == nil {
		p.of = map[types.NamespacedName]map[string]Outcome{}
	}
	if p.of[service] == nil {
		p.of[service] = map[string]Outcome{}
	}
	p.of[service][part] = now
	if now.none() {
		delete(p.of[service], part)
	}
	if len(p.of[service]) == 0 {
		delete(p.of, service)
	}
	return true
}

// Of returns the problems of a service, by part.
func (p *Problems) Of(service types.NamespacedName) map[string]Outcome {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.of[service])
}
