package simulation

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/planes"
)

// TestNobodyIsAwaitedForEver has a member's clock be set back by an hour while its agent is away and the broker is put back: what the agent says then
// is earlier than what it has said before, and not what the other member awaits. It is asked to say something later, and does; until then
// its changes wait.
func TestNobodyIsAwaitedForEver(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	b, admin, err := MemoryBroker()
	planes.NoError(t, err)
	n := newNetwork(b)
	members := joinAll(t, n, 2, Options{Args: []string{"--lease-timeout=2s"}, Dial: n.dial})
	exporter, importer := members[0], members[1]
	shop(t, members...)
	export(t, exporter, "web", "10.201.0.1", "")
	expect(t, "it is imported", importer, "10.201.0.1")

	entry := &brokerv1alpha1.MemberCluster{}
	says := func(ago time.Duration) {
		t.Helper()
		planes.NoError(t, admin.Get(t.Context(), client.ObjectKey{Namespace: broker.DefaultNamespace, Name: exporter.ID.String()}, entry))
		entry.Spec.Published.At = metav1.NewMicroTime(time.Now().Add(-ago).Truncate(time.Microsecond))
		planes.NoError(t, admin.Update(t.Context(), entry))
	}
	planes.NoError(t, exporter.Stop())
	ahead := time.Now().Add(time.Hour)
	says(-time.Hour)
	says(time.Minute)
	// Somebody deletes what it has on the broker, at which others look, and find what it says to be from before.
	planes.NoError(t, admin.DeleteAllOf(t.Context(), &discoveryv1.EndpointSlice{}, client.InNamespace(broker.DefaultNamespace)))
	eventually(t, "it is awaited", func(ctx context.Context) error {
		memory := &corev1.ConfigMap{}
		if err := importer.Client.Get(ctx, client.ObjectKey{Namespace: names.SystemNamespace, Name: names.BrokerMemory}, memory); err != nil {
			return err
		}
		if known := memory.Data[exporter.ID.String()]; !strings.Contains(known, "awaited") {
			return fmt.Errorf("what is known of it: %q", known)
		}
		return nil
	})
	expect(t, "what is imported is kept", importer, "10.201.0.1")
	// The exporter's endpoints change meanwhile.
	slice := &discoveryv1.EndpointSlice{}
	planes.NoError(t, exporter.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: "web-1"}, slice))
	slice.Endpoints[0].Addresses[0] = "10.201.0.9"
	planes.NoError(t, exporter.Client.Update(t.Context(), slice))
	planes.NoError(t, exporter.Start(t.Context()))
	expect(t, "what has changed is imported", importer, "10.201.0.9")
	eventually(t, "it has said something later", func(ctx context.Context) error {
		if err := admin.Get(ctx, client.ObjectKeyFromObject(entry), entry); err != nil {
			return err
		}
		if at := entry.Spec.Published.At; !at.After(ahead) {
			return fmt.Errorf("it has said so at %v, want after %v", at, ahead)
		}
		return nil
	})
}
