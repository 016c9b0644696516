package integration

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/atoll-mcs/atoll/internal/kit"
)

// kit knows some refusals by the API server's words alone. TestEachRefusalIsOne has those of policies and webhooks.
func TestWordsOfTheAPIServer(t *testing.T) {
	const ns = "words"
	namespace(t, ns, "c1")
	first := service(ns, "first", 80)
	create(t, "c1", first)
	taken := first.Spec.ClusterIP
	for name, tt := range map[string]struct {
		change  func(*corev1.ServiceSpec)
		field   string
		address string
		isTaken bool
	}{
		"an address of another Service": {func(s *corev1.ServiceSpec) { s.ClusterIP = taken }, "spec.clusterIP", taken, true},
		"an address outside the range":  {func(s *corev1.ServiceSpec) { s.ClusterIP = "192.0.2.1" }, "spec.clusterIP", "192.0.2.1", false},
		"an unknown distribution":       {func(s *corev1.ServiceSpec) { s.TrafficDistribution = ptr.To("PreferFar") }, "spec.trafficDistribution", "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := service(ns, "second", 80)
			tt.change(&s.Spec)
			err := on["c1"].Create(t.Context(), s)
			if err == nil {
				remove(t, "c1", s)
			}
			if err == nil || !kit.IsRefusal(err) || !kit.RefusesField(err, tt.field) || kit.RefusesField(err, "spec.ports") {
				t.Fatalf("the API server says %v", err)
			}
			if address, isTaken := kit.RefusedAddress(err, []string{"10.0.0.9", tt.address}); address != tt.address || isTaken != tt.isTaken {
				t.Errorf("address %q, taken %t: %v", address, isTaken, err)
			}
		})
	}
}
