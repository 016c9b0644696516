// Package publication has this cluster say, in its MemberCluster on the broker, that all that it
// exports is published. It says so when its agent has become leader, and again whenever something
// of it may have been lost there, after having published that anew (docs/adr/0031-epochs.md). Until then the others
// keep what they have imported. What can't be published for its own sake, one export that is refused, does not
// keep it from saying so of the rest.
package publication

import (
	"context"
	"log/slog"

	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/status"
)

// Controller makes the statement.
type Controller struct {
	local    client.Reader
	broker   *broker.View
	progress *status.Progress
	state    func(place, version string)
	log      *slog.Logger
	wake     chan struct{}
}

// NewController returns a controller that has all exports looked at by progress, and then makes
// the statement by state, about the namespace of a UID and what was seen there up to a version.
func NewController(local client.Reader, view *broker.View, progress *status.Progress, state func(place, version string), log *slog.Logger) *Controller {
	return &Controller{local: local, broker: view, progress: progress, state: state, log: log, wake: make(chan struct{}, 1)}
}

// Name is the controller's name in logs.
func (c *Controller) Name() string { return "publication" }

// Register adds the controller to a manager, whose leader runs it.
func (c *Controller) Register(mgr ctrl.Manager) error { return mgr.Add(c) }

// NeedLeaderElection has the leader alone make statements: it is the one that publishes.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start makes statements until ctx is done.
func (c *Controller) Start(ctx context.Context) error {
	epoch := c.broker.Epoch
	defer epoch.OnChange(func() {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	})()
	for _, await := range []func(context.Context) error{c.broker.AwaitExports, c.broker.AwaitPublished, epoch.Await} {
		if await(ctx) != nil {
			return nil
		}
	}
	for ctx.Err() == nil {
		lost, place := epoch.Lost(), epoch.Place()
		changed := func() bool { return lost != epoch.Lost() || place != epoch.Place() }
		version, err := c.broker.AwaitOwn(ctx)
		if err != nil || changed() || !c.publish(ctx, changed) {
			continue // ctx is done, or more was lost meanwhile
		}
		c.state(place, version)
		for ctx.Err() == nil && !changed() {
			c.sleep(ctx, nil)
		}
		if ctx.Err() == nil {
			c.log.Info("what this cluster exports may have been lost on the broker, or somebody asks: it is compared, and published again where it was lost")
		}
	}
	return nil
}

// publish has all be tried that this cluster exports, or has on the broker, and returns true when it was; false
// if things have changed before that.
func (c *Controller) publish(ctx context.Context, changed func() bool) bool {
	services, err := c.services(ctx)
	if err != nil {
		return false // the agent ends; a cache that is synced does not fail before
	}
	done := c.progress.Begin(services)
	for ctx.Err() == nil && !changed() {
		select {
		case <-done:
			return true
		default:
			c.sleep(ctx, done)
		}
	}
	return false
}

func (c *Controller) services(ctx context.Context) ([]types.NamespacedName, error) {
	exports, err := local.ServiceExports(ctx, c.local)
	if err != nil {
		return nil, err
	}
	services := append(c.broker.ServicesOf(c.broker.Self), c.broker.PublishedServices()...)
	for _, e := range exports {
		services = append(services, e.NamespacedName)
	}
	return services, nil
}

// sleep returns when something has changed, or is done.
func (c *Controller) sleep(ctx context.Context, done <-chan struct{}) {
	select {
	case <-ctx.Done():
	case <-done:
	case <-c.wake:
	}
}
