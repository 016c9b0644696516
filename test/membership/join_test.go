package membership

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	aboutv1beta1 "github.com/atoll-mcs/atoll/api/about/v1beta1"
	trafficv1alpha1 "github.com/atoll-mcs/atoll/api/traffic/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/install"
	"github.com/atoll-mcs/atoll/internal/install/render"
	"github.com/atoll-mcs/atoll/lab"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// Pitfall 32: two clusters and the broker itself join and leave. Only objects that users have
// created stay.
func TestJoinAndLeave(t *testing.T) {
	const ns = "shop"
	before := map[string]map[string]bool{}
	for _, c := range clusters {
		before[c] = inventory(t, c)
	}
	if manifests := must(t, "", "broker deploy --dry-run"); !strings.Contains(manifests, "kind: ValidatingAdmissionPolicy") {
		t.Errorf("broker deploy --dry-run printed\n%s", manifests)
	}
	expectInventory(t, lab.Broker, before[lab.Broker])
	deployBroker(t)
	must(t, "", "broker deploy --context broker") // deploying again changes nothing
	deployed := inventory(t, lab.Broker)

	const removed = "memberclusters." // stay, and say so
	stop := map[string]func(){}
	ids := map[string]string{"c1": "c1", "c2": "c2.eu", lab.Broker: "hub"}
	for _, c := range clusters {
		id := ids[c]
		file := joinFile(t, id)
		manifests := must(t, file, "join - --dry-run --context "+c)
		if objects, err := install.Parse([]byte(manifests)); err != nil || len(objects) < 10 || strings.Contains(manifests, "eyJ") {
			t.Errorf("join --dry-run printed %d objects, %v, or the token", len(objects), err)
		}
		if c != lab.Broker {
			expectInventory(t, c, before[c])
		}
		path := write(t, "c.join", file)
		must(t, "", fmt.Sprintf("join %s --cluster-id %s --wait 0 --context %s", path, id, c))
		must(t, "", fmt.Sprintf("join %s --wait 0 --context %s", path, c)) // joining again with the used file succeeds
		create(t, c, namespace(ns))
		stop[c] = startAgent(t, asAgent(t, c), t.Output())
	}
	for c, id := range ids {
		property := &aboutv1beta1.ClusterProperty{}
		if err := on[c].Get(t.Context(), client.ObjectKey{Name: aboutv1beta1.ClusterIDProperty}, property); err != nil || property.Spec.Value != id {
			t.Errorf("%s has the property %+v, %v", c, property.Spec, err)
		}
		create(t, c, service(ns, "web"), export(ns, "web"))
	}
	all := []string{"c1", "c2.eu", "hub"}
	for _, c := range clusters {
		expectImport(t, c, ns, "web", all...)
	}

	policy := &trafficv1alpha1.TrafficPolicy{ObjectMeta: objects.Meta(ns, "mine"), Spec: trafficv1alpha1.TrafficPolicySpec{
		TargetRefs: []trafficv1alpha1.LocalPolicyTargetReference{{Group: "multicluster.x-k8s.io", Kind: "ServiceImport", Name: "web"}},
		Preference: render.PreferLocal.Policy().Spec.Preference,
	}}
	create(t, "c1", policy)
	planes.Until(t, "the policy has a status", on["c1"], policy, func() error {
		if len(policy.Status.Targets) == 0 {
			return errors.New("no status")
		}
		return nil
	})

	const corefile = ".:53 {\n    errors\n    kubernetes cluster.local\n}\n"
	dns := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "coredns"}, Data: map[string]string{"Corefile": corefile}}
	create(t, "c1", dns)
	must(t, "", "dns install --context c1 --server 10.101.0.9")
	if plan := must(t, "", "leave --dry-run --context c1"); !strings.Contains(plan, "delete ServiceImport shop/web\n") ||
		!strings.Contains(plan, "delete ExportedService atoll-clusterset/web.shop.c1\n") || !strings.Contains(plan, "delete Namespace atoll-system\n") || !strings.Contains(plan, "change ConfigMap kube-system/coredns\n") {
		t.Errorf("leave --dry-run printed\n%s", plan)
	}
	ends(t, 64, "", "leave --context c1", "Other clusters stop using this cluster's endpoints of service shop/web.",
		"Pods of this cluster can no longer reach service shop/web by clusterset name or clusterset IP.", "Standard input is not a terminal", "add --yes")
	expectImport(t, "c1", ns, "web", all...)
	others := objects.Published("c9", ns, "others", "others") // leave must not touch the clusterset's objects on a broker that is a member
	create(t, lab.Broker, others)
	expectClustersColumn(t)
	for i, c := range clusters {
		if c == "c1" {
			if err := on[c].Get(t.Context(), client.ObjectKeyFromObject(dns), dns); err != nil || dns.Data["Corefile"] == corefile {
				t.Errorf("the cluster's DNS is not wired: %v", err)
			}
		}
		stop[c]() // as its pods are when their Deployment is deleted
		must(t, "", "leave --yes --context "+c)
		if c == "c1" {
			if err := on[c].Get(t.Context(), client.ObjectKeyFromObject(dns), dns); err != nil || dns.Data["Corefile"] != corefile {
				t.Errorf("after leaving the Corefile is %q, %v", dns.Data["Corefile"], err)
			}
			planes.Delete(t, on[c], dns)
			planes.Read(t, on[c], policy)
			if len(policy.Status.Targets) > 0 {
				t.Errorf("after leaving the policy's status is %+v", policy.Status)
			}
			planes.Delete(t, on[c], policy)
		}
		mine := service(ns, "web")
		planes.Read(t, on[c], mine)
		kept := []string{"/" + ns, " shop/", "serviceexports.multicluster.x-k8s.io", mine.Spec.ClusterIP}
		if c == "c1" {
			kept = append(kept, "trafficpolicies.traffic.atoll.dev") // it had an object
		}
		if c == lab.Broker {
			planes.Read(t, on[c], others)
			expectInventory(t, c, deployed, append(kept, removed, others.Name)...)
			planes.Delete(t, on[c], others)
		} else {
			expectInventory(t, c, before[c], kept...)
		}
		e := export(ns, "web")
		if err := on[c].Get(t.Context(), client.ObjectKeyFromObject(e), e); err != nil || len(e.Status.Conditions) > 0 {
			t.Errorf("%s: the export's conditions are %+v, %v", c, e.Status.Conditions, err)
		}
		for _, other := range clusters[i+1:] {
			expectImport(t, other, ns, "web", all[i+1:]...)
		}
		// After the last ServiceExport is deleted, leave only has to remove the CRD.
		planes.Delete(t, on[c], e)
		must(t, "", "leave --yes --context "+c)
	}
	for _, c := range clusters {
		for _, o := range []client.Object{service(ns, "web"), namespace(ns)} {
			planes.Delete(t, on[c], o)
		}
		if c == lab.Broker {
			expectInventory(t, c, deployed, removed)
		} else {
			expectInventory(t, c, before[c])
		}
	}
}

// expectClustersColumn checks that kubectl get prints the clusters of a catalogue entry.
func expectClustersColumn(t *testing.T) {
	t.Helper()
	crd := &apiextensionsv1.CustomResourceDefinition{ObjectMeta: objects.Meta("", "serviceimports.multicluster.x-k8s.io")}
	planes.Read(t, on[lab.Broker], crd)
	for _, v := range crd.Spec.Versions {
		if !slices.ContainsFunc(v.AdditionalPrinterColumns, func(c apiextensionsv1.CustomResourceColumnDefinition) bool { return c.Name == "Clusters" }) {
			t.Errorf("the columns are %v", v.AdditionalPrinterColumns)
		}
	}
}
