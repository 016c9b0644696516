package agent

import (
	"context"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/isolation"
	"github.com/atoll-mcs/atoll/internal/mcs/command"
)

const (
	// isolationEvery is how often the leader tries whether the broker refuses what members may not write, and isolationRetry
	// is the pause after a try that says nothing.
	isolationEvery = time.Hour
	isolationRetry = time.Minute
)

// isolated remembers what the last try said. The zero value knows nothing.
type isolated struct {
	last atomic.Pointer[brokerv1alpha1.Isolation]
}

// known returns what the last try said, or else otherwise.
func (i *isolated) known(otherwise brokerv1alpha1.Isolation) brokerv1alpha1.Isolation {
	if last := i.last.Load(); last != nil {
		return *last
	}
	return otherwise
}

// watch tries when this replica leads and hourly, until ctx is done, and calls changed when the result is another one.
func (i *isolated) watch(ctx context.Context, elected <-chan struct{}, m *member, broker client.Client, changed func()) {
	select {
	case <-ctx.Done():
		return
	case <-elected:
	}
	defer i.last.Store(nil) // another replica leads, and may learn something else
	for failed := ""; ; {
		pause := isolationEvery
		limited, cancel := context.WithTimeout(ctx, m.options.LeaseTimeout)
		now, err := isolation.Test(limited, broker, m.membership.Clusterset, m.membership.ClusterID)
		cancel()
		reason := ""
		switch {
		case ctx.Err() != nil:
			return
		case err != nil:
			pause, reason = isolationRetry, err.Error()
			if reason != failed {
				m.log.Warn("Failed to test whether the broker limits members to their own objects. The agent retries", "error", err)
			}
		case now != i.known(""):
			i.say(ctx, m, now)
			i.last.Store(&now)
			changed()
		}
		failed = reason
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait.Jitter(pause, 0.1)):
		}
	}
}

func (i *isolated) say(ctx context.Context, m *member, now brokerv1alpha1.Isolation) {
	if now != brokerv1alpha1.NotIsolated {
		if i.known("") != "" {
			m.log.Info("The broker limits members to their own objects again")
		}
		return
	}
	text := "The broker does not limit members to their own objects: it accepted a write in the name of another cluster, as a dry run. " +
		"Every member can replace the exports of all others until the broker's admission policies are restored. The broker's administrator restores them: " +
		command.Broker.Atoll("broker deploy --clusterset %s", m.membership.Clusterset)
	m.log.Error(text)
	m.warn(ctx, "BrokerNotIsolated", "Join", text)
}
