package simulation

import (
	"context"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/names"
)

// TestMembersInMemory has an export of one member imported by the others, follow a change,
// and go, without any program beside this one.
func TestMembersInMemory(t *testing.T) {
	b, onBroker, err := MemoryBroker()
	must(t, err)
	members := joinAll(t, b, 3, Options{})
	for _, m := range members {
		must(t, m.Client.Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop"}}))
	}
	exporter := members[0].Client
	web := metav1.ObjectMeta{Namespace: "shop", Name: "web"}
	must(t, exporter.Create(t.Context(), &corev1.Service{ObjectMeta: web, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}}))
	source := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080))}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.1.0.1"}}},
	}
	must(t, exporter.Create(t.Context(), source))
	export := &mcsv1beta1.ServiceExport{ObjectMeta: web}
	must(t, exporter.Create(t.Context(), export))

	for _, m := range members {
		eventually(t, m.ID.String()+" imports it", func(ctx context.Context) error { return imported(ctx, m, "10.1.0.1") })
	}
	source.Endpoints[0].Addresses[0] = "10.1.0.2"
	must(t, exporter.Update(t.Context(), source))
	for _, m := range members {
		eventually(t, m.ID.String()+" follows a change", func(ctx context.Context) error { return imported(ctx, m, "10.1.0.2") })
	}
	must(t, exporter.Delete(t.Context(), export))
	for _, m := range members {
		eventually(t, m.ID.String()+" has nothing left", func(ctx context.Context) error {
			return none(ctx, m.Client, &mcsv1beta1.ServiceImportList{}, &discoveryv1.EndpointSliceList{}, managed)
		})
	}
	eventually(t, "the broker has nothing left", func(ctx context.Context) error {
		return none(ctx, onBroker, &brokerv1alpha1.ExportedServiceList{}, &discoveryv1.EndpointSliceList{})
	})
}

var managed = client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager}

// imported is nil when a member has the import with an address, and one endpoint.
func imported(ctx context.Context, m *Member, address string) error {
	imp := &mcsv1beta1.ServiceImport{}
	if err := m.Client.Get(ctx, client.ObjectKey{Namespace: "shop", Name: "web"}, imp); err != nil {
		return err
	}
	slices := &discoveryv1.EndpointSliceList{}
	if err := m.Client.List(ctx, slices, managed); err != nil {
		return err
	}
	if len(imp.Spec.IPs) != 1 || len(slices.Items) != 1 || slices.Items[0].Endpoints[0].Addresses[0] != address {
		return fmt.Errorf("import %+v, slices %+v", imp.Spec, slices.Items)
	}
	return nil
}

// none is nil when there are no imports or exports, and no slices that opts select.
func none(ctx context.Context, c client.Client, first client.ObjectList, slices *discoveryv1.EndpointSliceList, opts ...client.ListOption) error {
	if err := c.List(ctx, first); err != nil {
		return err
	}
	if err := c.List(ctx, slices, opts...); err != nil {
		return err
	}
	if n := meta.LenList(first) + len(slices.Items); n > 0 {
		return fmt.Errorf("%d objects are left", n)
	}
	return nil
}

// joinAll has members 1 to last join, and ends their agents with the test.
func joinAll(t *testing.T, b Broker, last int, o Options) []*Member {
	t.Helper()
	members, err := JoinAll(t.Context(), b, 1, last, o)
	must(t, err)
	t.Cleanup(func() {
		if err := StopAll(members); err != nil {
			t.Error(err)
		}
	})
	return members
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func eventually(t *testing.T, what string, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	again := time.NewTicker(10 * time.Millisecond)
	defer again.Stop()
	for {
		err := f(ctx)
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			t.Fatalf("%s: %v", what, err)
		case <-again.C:
		}
	}
}
