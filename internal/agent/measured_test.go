package agent

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/kit/metrics"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// Every drain of the cluster has a metric, with its end if it has one.
func TestDrainsAreMeasured(t *testing.T) {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, mcsv1beta1.Install} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	meta := func(namespace, name, drained string) metav1.ObjectMeta {
		m := metav1.ObjectMeta{Namespace: namespace, Name: name}
		if drained != "" {
			m.Annotations = map[string]string{names.AnnotationDrained: drained}
		}
		return m
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects([]client.Object{
		&corev1.Namespace{ObjectMeta: meta("", names.SystemNamespace, "true")},
		&corev1.Namespace{ObjectMeta: meta("", "a", "2026-11-28T12:00:00Z")}, &corev1.Namespace{ObjectMeta: meta("", "b", "")},
		&mcsv1beta1.ServiceExport{ObjectMeta: meta("b", "web", "tomorrow")}, &mcsv1beta1.ServiceExport{ObjectMeta: meta("b", "db", "false")},
	}...).Build()
	got, err := drains(t.Context(), c, true)
	want := []metrics.Drain{
		{Scope: "broker"}, {Scope: "namespace", Namespace: "a", End: time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)}, {Scope: "cluster"},
		{Scope: "service", Namespace: "b", Service: "web"},
	}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("drains (-want +got), %v:\n%s", err, diff)
	}
	if got, err = drains(t.Context(), c, false); len(got) != 3 || err != nil {
		t.Errorf("without the broker's: %v, %v", got, err)
	}
}
