package status

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Problems collects the problems of services, for the controller that owns their conditions. Each part of a service has
// one writer. The zero value is empty.
type Problems struct {
	mu      sync.Mutex
	of      map[types.NamespacedName]map[Part]Problem
	slices  map[slice]types.NamespacedName // the service of each slice with a problem
	changes kit.Changes[types.NamespacedName]
}

// Part is a part of a service: an EndpointSlice of a cluster, or another object.
type Part struct {
	// Kind is the object's kind, or "" for an EndpointSlice and for what a service consists of, besides EndpointSlices.
	Kind string
	// Cluster is "" for what this cluster publishes.
	Cluster names.ClusterID
	Slice   string
}

// Compare orders parts.
func (p Part) Compare(other Part) int {
	return cmp.Or(strings.Compare(p.Kind, other.Kind), strings.Compare(p.Cluster.String(), other.Cluster.String()), strings.Compare(p.Slice, other.Slice))
}

type slice struct {
	namespace string
	part      Part
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

// Set sets the problem of a service's part, such as an EndpointSlice; the zero Problem means none.
func (p *Problems) Set(service types.NamespacedName, part Part, now Problem) {
	if p.set(service, part, now) {
		p.changes.Publish(service)
	}
}

// SetSlice is Set for an EndpointSlice, which may move to another service. If it has none, service is the zero name in
// the slice's namespace.
func (p *Problems) SetSlice(service types.NamespacedName, part Part, now Problem) {
	of := slice{service.Namespace, part}
	p.mu.Lock()
	before, found := p.slices[of]
	if p.slices == nil {
		p.slices = map[slice]types.NamespacedName{}
	}
	if p.slices[of] = service; service.Name == "" || now.none() {
		delete(p.slices, of)
	}
	p.mu.Unlock()
	if found && before != service {
		p.Set(before, part, Problem{})
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

func (o Problem) none() bool { return o.Failure == "" && len(o.Warnings) == 0 }

func (p *Problems) set(service types.NamespacedName, part Part, now Problem) (changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	before := p.of[service][part]
	if now.Waiting {
		now.Waiting, now.Failure = false, before.Failure
	}
	if now.Failure != "" {
		if now.Since = before.Since; now.Since.IsZero() {
			now.Since = time.Now()
		}
	}
	if before.Failure == now.Failure && slices.Equal(before.Warnings, now.Warnings) {
		return false
	}
	if p.of == nil {
		p.of = map[types.NamespacedName]map[Part]Problem{}
	}
	if p.of[service] == nil {
		p.of[service] = map[Part]Problem{}
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
func (p *Problems) Of(service types.NamespacedName) map[Part]Problem {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.of[service])
}
