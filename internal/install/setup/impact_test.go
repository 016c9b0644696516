package setup

import (
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"

	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	brokerpkg "github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/credential"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
)

// Other exporters of a service are read from the broker's records. Records that are withdrawn,
// for the hub only, or not permitted do not count.
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
		t.Errorf("other clusters export %v, want %v", shared, want)
	}
}

// If the broker's records cannot be read, the effects of leaving are derived from the records
// that this cluster has applied. Imports of other tools and the status of imports do not count.
func TestLeaveImpactWithoutBroker(t *testing.T) {
	var asked atomic.Int32
	broker := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusForbidden)
	}))
	defer broker.Close()
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"sub":"system:serviceaccount:%s:%s","exp":1}`, objects.Clusterset, names.MemberAccount("c1")))
	membership := credential.Membership{
		ClusterID: "c1", Clusterset: objects.Clusterset, Server: broker.URL, Token: "e30." + claims + ".x",
		CA: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: broker.Certificate().Raw}),
	}
	imported := func(name, manager, applied string) *mcsv1beta1.ServiceImport {
		i := objects.Import("shop", name)
		i.Labels, i.Annotations = map[string]string{names.LabelManagedBy: manager}, map[string]string{names.AnnotationApplied: applied}
		i.Status.Clusters = []mcsv1beta1.ClusterStatus{{Cluster: "c1"}, {Cluster: "c2"}}
		return i
	}
	scheme := brokerpkg.Scheme()
	if err := aboutv1beta1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	cluster := &install.Target{Client: fake.NewClientBuilder().WithScheme(scheme).WithObjects(
		objects.Namespace("kube-system"), membership.Secret(names.SystemNamespace),
		objects.Export("shop", "shared"), imported("shared", names.AgentManager, "c2=3"),
		imported("unlabelled", "", "c2=3"), imported("another-tool", "", ""),
		objects.Export("shop", "alone"), imported("alone", names.AgentManager, ""),
		objects.Export("shop", "foreign"), imported("foreign", "another", ""),
	).Build()}
	for _, offline := range []bool{true, false} {
		lines, err := LeaveImpact(t.Context(), cluster, LeaveRequest{Offline: offline})
		if err != nil {
			t.Fatal(err)
		}
		if want := []string{
			"No other cluster exports 2 services (shop/alone, shop/foreign): clients can no longer connect.",
			"Other clusters stop using this cluster's endpoints of service shop/shared.",
			"Pods of this cluster can no longer reach 3 services (shop/alone, shop/shared, shop/unlabelled) by clusterset name or clusterset IP.",
		}; !slices.Equal(lines, want) || (asked.Load() == 0) != offline {
			t.Errorf("offline=%t: the effects are %q, after %d requests to the broker", offline, lines, asked.Load())
		}
	}
}

// Leaving deletes the ServiceImports that Atoll manages, with or without its label, and no others.
func TestRemoveImportedServiceImports(t *testing.T) {
	imported := func(name, manager, applied string) *mcsv1beta1.ServiceImport {
		i := objects.Import("shop", name)
		i.Labels, i.Annotations = map[string]string{names.LabelManagedBy: manager}, map[string]string{names.AnnotationApplied: applied}
		return i
	}
	cluster := &install.Target{Client: fake.NewClientBuilder().WithScheme(brokerpkg.Scheme()).WithObjects(
		imported("labelled", names.AgentManager, ""), imported("unlabelled", "", "c2=3"), imported("another-tool", "", ""), imported("foreign", "another", ""),
	).Build(), Report: func(install.Change, client.Object, string) {}}
	if err := removeImported(t.Context(), cluster); err != nil {
		t.Fatal(err)
	}
	left := &mcsv1beta1.ServiceImportList{}
	if err := cluster.List(t.Context(), left); err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, i := range left.Items {
		all = append(all, i.Name)
	}
	if want := []string{"another-tool", "foreign"}; !slices.Equal(all, want) {
		t.Errorf("%q are left, want %q", all, want)
	}
}
