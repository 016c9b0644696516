// Package properties watches this cluster's ClusterProperties (KEP-2149), which its MemberCluster publishes.
package properties

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/cache"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/kit"
	"github.com/atoll-mcs/atoll/internal/kit/lifecycle"
	"github.com/atoll-mcs/atoll/internal/mcs/validation"
)

// pause is the minimum time between two publications. All members receive each of them.
const pause = 500 * time.Millisecond

type values = map[string]brokerv1alpha1.PropertyValue

// Properties are this cluster's ClusterProperties.
type Properties struct {
	publish func()
	log     *slog.Logger
	changed chan struct{} // receives a value when valid may differ from published

	mu    sync.Mutex
	known bool // all has all properties
	all   values
	// valid are those to publish. leftOut are the names of the others.
	valid   values
	leftOut map[string]string
	// published are those that the MemberCluster has, or soon gets.
	published values
}

// New returns properties that call publish when the MemberCluster must be written.
func New(publish func(), log *slog.Logger) *Properties {
	return &Properties{publish: publish, log: log, changed: make(chan struct{}, 1), all: values{}}
}

// Follow tracks the ClusterProperties until ctx is done. While the API server does not serve them, it retries: nothing
// else of the agent needs them.
func (p *Properties) Follow(ctx context.Context, member cache.Cache) {
	defer p.forget()
	if !lifecycle.Retry(ctx, p.log, "watching ClusterProperties", func(ctx context.Context) error {
		return kit.Follow(ctx, member, &aboutv1beta1.ClusterProperty{}, p.event)
	}) {
		return
	}
	p.mu.Lock()
	p.known = true
	p.update()
	p.mu.Unlock()
	for {
		select {
		case <-ctx.Done():
			return
		case <-p.changed:
			p.publish()
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

// forget leaves the published properties to the next leader.
func (p *Properties) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.known = false
}

func (p *Properties) event(_ context.Context, e kit.Event[*aboutv1beta1.ClusterProperty]) {
	p.mu.Lock()
	defer p.mu.Unlock()
	name := e.Latest().Name
	if e.Deleted() {
		delete(p.all, name)
	} else {
		p.all[name] = brokerv1alpha1.PropertyValue(e.New.Spec.Value)
	}
	if p.known {
		p.update()
	}
}

// update computes the properties to publish. The caller holds mu.
func (p *Properties) update() {
	before := p.leftOut
	p.valid, p.leftOut = validation.Properties(p.all)
	for _, name := range slices.Sorted(maps.Keys(p.leftOut)) {
		if _, logged := before[name]; !logged {
			p.log.Warn("A ClusterProperty is not published to other clusters", "name", name, "reason", p.leftOut[name])
		}
	}
	if maps.Equal(p.valid, p.published) {
		return
	}
	select {
	case p.changed <- struct{}{}:
	default: // already queued
	}
}

// Publish returns the properties to publish, given the published ones.
func (p *Properties) Publish(published values) values {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.known {
		published = p.valid
	}
	p.published = published
	return published
}
