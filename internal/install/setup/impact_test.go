package setup

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	brokerpkg "github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/test/objects"
)

// Who else exports a service is read from the broker's records: not from those that are withdrawn, for the hub alone, or
// not permitted.
func TestExporters(t *testing.T) {
	record := func(id, service string, change func(*brokerv1alpha1.ExportedService)) client.Object {
		r := objects.Record(id, "shop", service, objects.Port(80))
		if change != nil {
			change(r)
		}
		return r
	}
	c := fake.NewClientBuilder().WithScheme(brokerpkg.Scheme()).WithObjects(
		objects.Permissions(map[string]string{"namespaces.c3": "other"}),
		record("c1", "shared", nil), record("c2", "shared", nil),
		record("c1", "alone", nil), record("c3", "alone", nil),
		record("c1", "hub", nil), record("c2", "hub", func(r *brokerv1alpha1.ExportedService) { r.Spec.Scope = brokerv1alpha1.ScopeHub }),
		record("c1", "ended", nil), record("c2", "ended", func(r *brokerv1alpha1.ExportedService) { layout.Withdraw(r) }),
	).Build()
	all, err := readExporters(t.Context(), &install.Target{Client: c}, objects.Clusterset)
	if err != nil {
		t.Fatal(err)
	}
	var shared []string
	for _, name := range []string{"shared", "alone", "hub", "ended", "unknown"} {
		if all.include(types.NamespacedName{Namespace: "shop", Name: name}, "c1") {
			shared = append(shared, name)
		}
	}
	if want := []string{"shared"}; !slices.Equal(shared, want) {
		t.Errorf("others export %v, want %v", shared, want)
	}
}
