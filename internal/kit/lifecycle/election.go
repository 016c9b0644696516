package lifecycle

import (
	"context"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
)

// NewIdentity returns this process's identity in elections, for all its terms.
func NewIdentity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("creating an identity for this replica: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// ObservedLock is a leader election Lease for a program that keeps state between its terms. It calls other whenever it
// finds that another replica holds the Lease. A Lease that is merely lost, such as during an API server outage, does
// not count.
func ObservedLock(config *rest.Config, namespace, name, identity string, other func()) (resourcelock.Interface, error) {
	lock, err := resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, namespace, name, resourcelock.ResourceLockConfig{Identity: identity}, config, RenewDeadline)
	if err != nil {
		return nil, fmt.Errorf("preparing leader election: %w", err)
	}
	return observedLock{lock, other}, nil
}

type observedLock struct {
	resourcelock.Interface
	other func()
}

// Get implements resourcelock.Interface. Candidates call it every RetryPeriod.
func (l observedLock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.other()
	}
	return record, raw, err
}
