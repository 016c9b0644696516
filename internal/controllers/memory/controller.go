// Package memory keeps what is known of the broker's epoch, and of what its administrators permit members, in a
// ConfigMap of the own cluster, so that a process that is started while the broker has lost something
// knows what there was.
package memory

import (
	"context"
	"log/slog"
	"maps"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/controllers"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

const (
	// firstRetry and lastRetry bound how long to wait before writing again what could not be written.
	firstRetry = time.Second
	lastRetry  = time.Minute
	// doubtful is how long it is not believed that the ConfigMap may not be read, and askAgain how long to wait in between: an
	// API server that has just started may refuse for a moment what it allows.
	doubtful = 3 * time.Second
	askAgain = doubtful / 6
)

// Controller owns the ConfigMap.
type Controller struct {
	notes controllers.Notes
	epoch *broker.Epoch
	log   *slog.Logger
	wake  chan struct{}
	// clusterset is which one it is that is remembered.
	clusterset string
}

// NewController returns a controller for a clusterset that writes by writer and reads by reader, past any copy.
func NewController(reader client.Reader, writer client.Writer, e *broker.Epoch, clusterset string, log *slog.Logger) *Controller {
	return &Controller{notes: notes(reader, writer), epoch: e, clusterset: clusterset, log: log, wake: make(chan struct{}, 1)}
}

func notes(reader client.Reader, writer client.Writer) controllers.Notes {
	return controllers.Notes{Name: names.BrokerMemory, Reader: reader, Writer: writer}
}

// Name is the controller's name in logs.
func (c *Controller) Name() string { return "memory" }

// Register adds the controller to a manager, whose leader runs it.
func (c *Controller) Register(mgr ctrl.Manager) error { return mgr.Add(c) }

// NeedLeaderElection has the leader alone write.
func (c *Controller) NeedLeaderElection() bool { return true }

// Start writes whenever there is something new to remember, until ctx is done.
func (c *Controller) Start(ctx context.Context) error {
	wake := func() {
		select {
		case c.wake <- struct{}{}:
		default:
		}
	}
	defer c.epoch.OnChange(wake)()
	defer c.epoch.Permissions.OnChange(func(names.ClusterID) { wake() })()
	if c.epoch.Await(ctx) != nil {
		return nil
	}
	var written map[string]string
	for pause := firstRetry; ctx.Err() == nil; {
		data := encode(Memory{c.epoch.Memory(), c.clusterset, c.epoch.Permissions.Known()})
		var again <-chan time.Time
		if !maps.Equal(data, written) {
			if err := c.notes.Write(ctx, data); err == nil {
				written, pause = data, firstRetry
			} else if ctx.Err() == nil {
				c.log.Error("writing what is known of the broker failed, will try again", "error", err)
				again, pause = time.After(pause), min(2*pause, lastRetry)
			}
		}
		for waiting := true; waiting; {
			select {
			case <-ctx.Done():
				waiting = false
			case <-again:
				waiting = false
			case <-c.wake:
				waiting = again != nil // what could not be written is not tried again for each change
			}
		}
	}
	return nil
}

// Load reads what was remembered of a clusterset. Where there is nothing, or it may not be read, as after an
// upgrade of the agent before its rights, nothing is.
func Load(ctx context.Context, reader client.Reader, clusterset string) (Memory, error) {
	for began := time.Now(); ; {
		have, err := notes(reader, nil).Read(ctx)
		switch {
		case have != nil:
			return decode(have).Of(clusterset), nil
		case !apierrors.IsForbidden(err):
			return Memory{}, err
		case time.Since(began) >= doubtful:
			return Memory{}, nil
		}
		select {
		case <-ctx.Done():
			return Memory{}, ctx.Err()
		case <-time.After(askAgain):
		}
	}
}
