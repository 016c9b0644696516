package lifecycle

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// NewIdentity returns what tells this process from other replicas in elections, for all of its terms.
func NewIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("naming this replica: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// ObservedLock is a Lease by which replicas elect a leader, for a program that keeps something from one term to the
// next, by its identity: other is called, by whoever looks at the Lease, each time that another replica is found to have it. A Lease
// that is merely lost, as when the API server is away, is nobody else's.
func ObservedLock(config *rest.Config, namespace, name, identity string, other func()) (resourcelock.Interface, error) {
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, name, resourcelock.ResourceLockConfig{Identity: identity}, config, RenewDeadline)
	if err != nil {
		return nil, fmt.Errorf("preparing the election of a leader: %w", err)
	}
	return observedLock{lock, other}, nil
}

type observedLock struct {
	resourcelock.Interface
	other func()
}

// Get implements resourcelock.Interface. Whoever wants to be the leader calls it every RetryPeriod.
func (l observedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.other()
	}
	return record, raw, err
}
