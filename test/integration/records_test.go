package integration

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// withdraw withdraws a record that the test has written.
func withdraw(t *testing.T, record *brokerv1alpha1.ExportedService) {
	t.Helper()
	change(t, lab.Broker, record, func(r *brokerv1alpha1.ExportedService) { layout.Withdraw(r) })
}

// API servers before Kubernetes 1.34 refuse the newer values of a Service's traffic
// distribution; an admission policy simulates this here. The derived Service then has
// PreferClose and keeps following its import, and the import reports it.
func TestOlderTrafficDistribution(t *testing.T) {
	const ns = "older-server"
	namespace(t, ns, "c1", "c2")
	temporary(t, "c2", objects.Policy(ns, "services", "object.metadata.namespace != '"+ns+"' || !has(object.spec.trafficDistribution) || object.spec.trafficDistribution == 'PreferClose'",
		`spec.trafficDistribution: Unsupported value: supported values: "PreferClose"`, admissionv1.Create, admissionv1.Update)...)
	eventually(t, "c2 refuses the value", func() error {
		probe := service(ns, "probe", 80)
		probe.Spec.TrafficDistribution = ptr.To("PreferSameZone")
		if err := on["c2"].Create(t.Context(), probe, client.DryRunAll); !apierrors.IsInvalid(err) {
			return fmt.Errorf("the answer is %v", err)
		}
		return nil
	})

	exported := service(ns, "web", 80)
	exported.Spec.TrafficDistribution = ptr.To("PreferSameZone")
	create(t, "c1", exported, export(ns, "web"))
	follows := func(value string, ports int) *mcsv1beta1.ServiceImport {
		t.Helper()
		said := fmt.Sprintf("This cluster's API server does not support the traffic distribution %s, which requires Kubernetes 1.34 or later. The derived Service uses PreferClose instead.", value)
		imp := expectImport(t, "c2", ns, "web", func(imp *mcsv1beta1.ServiceImport) error { return errors.Join(says(said)(imp), from("c1")(imp)) })
		s := service(ns, "web-clusterset")
		planes.Until(t, "the derived Service follows", on["c2"], s, func() error {
			if ptr.Deref(s.Spec.TrafficDistribution, "") != "PreferClose" || len(s.Spec.Ports) != ports || s.Spec.ClusterIP != imp.Spec.IPs[0] {
				return fmt.Errorf("the derived Service is %+v", s.Spec)
			}
			return nil
		})
		return imp
	}
	before := follows("PreferSameZone", 1)
	change(t, "c1", exported, func(s *corev1.Service) {
		s.Spec.Ports, s.Spec.TrafficDistribution = service(ns, "web", 80, 81).Spec.Ports, ptr.To("PreferSameNode")
	})
	follows("PreferSameNode", 2)
	// The re-created Service keeps its address, although the API server refuses the first
	// attempt.
	remove(t, "c2", service(ns, "web-clusterset"))
	if after := follows("PreferSameNode", 2); after.Spec.IPs[0] != before.Spec.IPs[0] {
		t.Errorf("the import has the address %v, want %v", after.Spec.IPs, before.Spec.IPs)
	}
	expectImport(t, "c1", ns, "web", func(imp *mcsv1beta1.ServiceImport) error {
		if ready := meta.FindStatusCondition(imp.Status.Conditions, "Ready"); ready == nil || strings.Contains(ready.Message, "PreferClose") {
			return errors.New("c1's API server knows the value")
		}
		return nil
	})
}

// A MultiClusterService without a matching port exposes nothing. The MultiClusterService and
// the ServiceExport report this until the Service has the port.
func TestNoPortIsExposed(t *testing.T) {
	const ns = "no-port"
	namespace(t, ns, "c1", "c2", lab.Broker)
	create(t, lab.Broker, service(ns, "web", 80, 82))
	provider(t, "c1", ns, "10.1.1.1")
	mcs := expose(t, ns, "{types: [CrossCluster], ports: [{name: p82}]}")
	expectExport(t, "c1", ns, true)
	e := export(ns, "web")
	planes.Condition(t, on["c1"], e, "Ready", "False/Pending", "The Service has none of the ports that MultiClusterService no-port/web exposes. Ports of the Service: p80 80, p81 81. Exposed ports: p82.")
	expectExposed(t, mcs, "Exported", metav1.ConditionFalse, "with one of the ports in spec.ports")
	noImport(t, "c2", ns)
	setPorts(t, "c1", service(ns, "web"), 80, 82)
	expectCondition(t, "c1", e, "Ready", metav1.ConditionTrue, "Exported")
	expectImport(t, "c2", ns, "web", from("c1"))
	setPorts(t, "c1", service(ns, "web"), 80)
	expectCondition(t, "c1", e, "Ready", metav1.ConditionFalse, "Pending")
	noImport(t, "c2", ns)
}
