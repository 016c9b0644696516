package importedslice

import (
	"fmt"
	"slices"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/local"
	"github.com/atoll-mcs/atoll/internal/mcs/merge"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
)

// exporters are the clusters that export each service.
type exporters map[string][]string

func (e exporters) of(service types.NamespacedName, _ *merge.Export) []merge.Export {
	var all []merge.Export
	for _, cluster := range e[service.Name] {
		all = append(all, merge.Export{ClusterID: cluster})
	}
	return all
}

// in returns the controller of the cluster c1, in which there are these objects.
func in(t *testing.T, exported exporters, objects ...client.Object) *Controller {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, mcsv1beta1.Install} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&discoveryv1.EndpointSlice{}, local.SliceIndex, local.IndexSlice).Build()
	return &Controller{local: c, broker: &broker.View{Self: "c1"}, exports: exported.of}
}

func importedSlice(service, cluster string) *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: service + "." + cluster, Labels: map[string]string{
			discoveryv1.LabelManagedBy: names.AgentManager, discoveryv1.LabelServiceName: service + "-clusterset",
			names.LabelServiceName: service, names.LabelSourceCluster: cluster,
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
	}
}

func serviceImport(name string) *mcsv1beta1.ServiceImport {
	return &mcsv1beta1.ServiceImport{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}}
}

// parts writes requests as service/cluster, sorted, each once.
func parts(requests []Request) []string {
	var all []string
	for _, r := range requests {
		all = append(all, fmt.Sprintf("%s/%s", r.Service.Name, r.Cluster))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func expect(t *testing.T, what string, requests []Request, want ...string) {
	t.Helper()
	if got := parts(requests); !slices.Equal(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

// An import's parts are its own cluster's, those of its exporters, and those of which
// there is still something.
func TestPartsOfAnImport(t *testing.T) {
	c := in(t, exporters{"db": {"c1", "c2", "c3"}, "web": {"c2"}}, importedSlice("web", "c2"), importedSlice("web", "c9"), importedSlice("api", "c3"))
	expect(t, "new", c.partsOf(t.Context(), serviceImport("new")), "new/c1")
	expect(t, "with exporters", c.partsOf(t.Context(), serviceImport("db")), "db/c1", "db/c2", "db/c3")
	expect(t, "an exporter left", c.partsOf(t.Context(), serviceImport("web")), "web/c1", "web/c2", "web/c9")
}

// After a restart every part is looked at of which there is an import or a slice.
func TestAllParts(t *testing.T) {
	c := in(t, exporters{"web": {"c2"}}, serviceImport("web"), serviceImport("api"), importedSlice("web", "c9"), importedSlice("gone", "c4"))
	all, err := c.allParts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "all", all, "api/c1", "web/c1", "web/c2", "web/c9")
	all, err = c.partsIn(t.Context(), "shop")
	if err != nil {
		t.Fatal(err)
	}
	expect(t, "of a namespace whose slices are known now", all, "api/c1", "gone/c4", "web/c1", "web/c2", "web/c9")
}
