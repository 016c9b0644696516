package simulation

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	brokerpkg "github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/test/planes"
)

// record is what agents log.
type record struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *record) Write(line []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.text.Write(line)
}

func (r *record) has(words ...string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range words {
		if !strings.Contains(r.text.String(), w) {
			return false
		}
	}
	return true
}

// A member whose id turns out to be another cluster's, while it runs, writes nothing to the broker any more, and
// says so in its log, with what to do. What others have imported from it stays. When the id is its
// own again it goes on.
//
// Pitfall 34.
func TestAnIDIsTakenAtRunTime(t *testing.T) {
	t.Parallel()
	b, onBroker, err := MemoryBroker()
	planes.NoError(t, err)
	var log record
	members := joinAll(t, b, 2, Options{Args: []string{"--lease-timeout=4s"}, Log: slog.New(slog.NewTextHandler(&log, nil))})
	shop(t, members...)
	export(t, members[0], "web", "10.201.0.1", "")
	imported := func(address string) func(context.Context) error {
		return func(ctx context.Context) error { return importsAddress(ctx, members[1], address) }
	}
	eventually(t, "it is imported", imported("10.201.0.1"))
	settled(t, members)

	owner := ownedBy(t, onBroker, members[0], "another")
	eventually(t, "it is said what to do", func(context.Context) error {
		if !log.has("does not take part in the clusterset", "choose another id", "atoll leave", "atoll broker remove sim1") {
			return errors.New("nothing is said")
		}
		return nil
	})
	change(t, members[0], "10.201.0.2")
	settled(t, members)
	planes.NoError(t, imported("10.201.0.1")(t.Context()))

	ownedBy(t, onBroker, members[0], owner)
	eventually(t, "it goes on", imported("10.201.0.2"))
}

// ownedBy has a member's entry say of which cluster it is, and returns of which it was.
func ownedBy(t *testing.T, onBroker client.Client, m *Member, uid string) (was string) {
	t.Helper()
	// Its agent may write it at the same time.
	planes.NoError(t, retry.RetryOnConflict(retry.DefaultBackoff, func() error {
		entry := &brokerv1alpha1.MemberCluster{}
		if err := onBroker.Get(t.Context(), client.ObjectKey{Namespace: brokerpkg.DefaultNamespace, Name: m.ID.String()}, entry); err != nil {
			return err
		}
		was, entry.Spec.ClusterUID = entry.Spec.ClusterUID, uid
		return onBroker.Update(t.Context(), entry)
	}))
	return was
}

func change(t *testing.T, m *Member, address string) {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{}
	planes.NoError(t, m.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-1"}, slice))
	slice.Endpoints[0].Addresses[0] = address
	planes.NoError(t, m.Client.Update(t.Context(), slice))
}

func importsAddress(ctx context.Context, m *Member, address string) error {
	list := &discoveryv1.EndpointSliceList{}
	if err := m.Client.List(ctx, list, client.InNamespace("shop")); err != nil {
		return err
	}
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			if e.Addresses[0] == address {
				return nil
			}
		}
	}
	return errors.New("nothing is imported of " + address)
}
