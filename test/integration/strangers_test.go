package integration

import (
	"context"
	"errors"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/objects"
)

// What a member says of addresses is not trusted: those that are this cluster's own, or nobody's,
// are left out of the import, which says so, and whatever else it exports is imported. Of its
// own endpoints a cluster knows best.
func TestStrangeAddressesAreRefused(t *testing.T) {
	const ns = "strangers"
	namespace(t, ns, "c1", "c2")
	create(t, "c2", service(ns, "web", 80))
	// 10.101.0.1 is the API server's Service in c1, and 239.1.1.1 a multicast address.
	source := slice(ns, "web-x", "web", "10.9.9.9", "10.101.0.1", "239.1.1.1")
	create(t, "c2", source, export(ns, "web"))
	imp := expectImport(t, "c1", ns, "web", from("c2"))
	expectAddresses(t, "c1", ns, "c2/10.9.9.9")
	expectAddresses(t, "c2", ns, "c2/10.101.0.1", "c2/10.9.9.9") // a multicast address is nobody's
	expectEvents(t, ns, map[types.UID]string{imp.UID: "web"}, []string{"EndpointsRefused"})

	// A change of one slice is judged too.
	change(t, "c2", source, func(s *discoveryv1.EndpointSlice) {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.9.9.10"}}, discoveryv1.Endpoint{Addresses: []string{"10.101.7.7"}})
	})
	expectAddresses(t, "c1", ns, "c2/10.9.9.10", "c2/10.9.9.9")

	// So is what was there before a node had its address, until the node is gone.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "stranger"}}
	create(t, "c1", node)
	named := client.MergeFrom(node.DeepCopy()) // others write nodes too
	node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeHostName, Address: "stranger"}, {Type: corev1.NodeInternalIP, Address: "10.9.9.10"}}
	noError(t, on["c1"].Status().Patch(t.Context(), node, named))
	expectAddresses(t, "c1", ns, "c2/10.9.9.9")
	remove(t, "c1", node)
	expectAddresses(t, "c1", ns, "c2/10.9.9.10", "c2/10.9.9.9")
}

// What another cluster exports from a namespace of the system is not imported, which the namespace
// says, until an administrator allows it here.
func TestSystemNamespacesAreClosed(t *testing.T) {
	const ns = "default"
	label := func(ctx context.Context, cluster, value string) {
		t.Helper()
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{"atoll.dev/exports":%s}}}`, value)
		noError(t, on[cluster].Patch(ctx, objects.Namespace(ns), client.RawPatch(types.MergePatchType, patch)))
	}
	label(t.Context(), "c2", `"allowed"`)
	t.Cleanup(func() {
		label(context.Background(), "c1", "null")
		label(context.Background(), "c2", "null")
	})
	create(t, "c2", service(ns, "closed", 80), slice(ns, "closed-x", "closed", "10.9.9.9"))
	eventually(t, "the namespace is open to exports", func() error {
		e := export(ns, "closed")
		if err := on["c2"].Create(t.Context(), e); err != nil {
			return err
		}
		t.Cleanup(func() { _ = on["c2"].Delete(context.Background(), e) })
		return nil
	})
	expectImport(t, "c2", ns, "closed", from("c2"))
	eventually(t, "c1 says that it does not import it", func() error {
		list := &eventsv1.EventList{}
		if err := on["c1"].List(t.Context(), list, client.InNamespace(ns)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == "SystemNamespace" && e.Regarding.Kind == "Namespace" && e.Related.Name == "closed" {
				return nil
			}
		}
		return errors.New("there is no Event")
	})
	if err := on["c1"].Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "closed"}, &mcsv1beta1.ServiceImport{}); !apierrors.IsNotFound(err) {
		t.Errorf("the import: %v", err)
	}
	label(t.Context(), "c1", `"allowed"`)
	expectImport(t, "c1", ns, "closed", from("c2"))
	expectAddresses(t, "c1", ns, "c2/10.9.9.9")

	// Where the cluster itself exports the service, as each does its DNS, others' parts come and go alike.
	own := share(t, "c1", ns, "closed", "10.9.9.8")
	expectImport(t, "c1", ns, "closed", from("c1", "c2"))
	expectAddresses(t, "c1", ns, "c1/10.9.9.8", "c2/10.9.9.9")
	label(t.Context(), "c1", `"refused"`)
	expectImport(t, "c1", ns, "closed", from("c1"))
	expectAddresses(t, "c1", ns, "c1/10.9.9.8")
	label(t.Context(), "c1", `"allowed"`)
	expectImport(t, "c1", ns, "closed", from("c1", "c2"))
	expectAddresses(t, "c1", ns, "c1/10.9.9.8", "c2/10.9.9.9")

	// Nor does what is not imported weigh in what the cluster says of its own export.
	create(t, "c2", service(ns, "other", 8080), export(ns, "other"))
	create(t, "c1", service(ns, "other", 80))
	other := export(ns, "other")
	create(t, "c1", other)
	expectCondition(t, "c1", other, "Conflict", metav1.ConditionTrue, "PortConflict")
	label(t.Context(), "c1", `"refused"`)
	expectCondition(t, "c1", other, "Conflict", metav1.ConditionFalse, "NoConflicts")
	label(t.Context(), "c1", `"allowed"`)
	expectCondition(t, "c1", other, "Conflict", metav1.ConditionTrue, "PortConflict")

	remove(t, "c1", own)
	expectImport(t, "c1", ns, "closed", from("c2"))

	label(t.Context(), "c1", `"refused"`)
	eventually(t, "it is imported no more", func() error {
		err := on["c1"].Get(t.Context(), client.ObjectKey{Namespace: ns, Name: "closed"}, &mcsv1beta1.ServiceImport{})
		if !apierrors.IsNotFound(err) {
			return fmt.Errorf("the import: %v", err)
		}
		return nil
	})
}
