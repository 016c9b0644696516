package simulation

import (
	"context"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// What one member exports beyond a limit is not imported, whatever others export; what was
// imported first stays, after a restart too, and what was left out comes in when there is room.
func TestOneMemberExportsTooMuch(t *testing.T) {
	b, onBroker, err := MemoryBroker()
	planes.NoError(t, err)
	members := joinAll(t, b, 3, Options{Args: []string{"--max-services-per-member=2", "--max-endpoints-per-member=3"}})
	shop(t, members...)
	greedy, other, importer := members[0], members[1], members[2]
	imports := func(what string, wanted ...string) {
		t.Helper()
		eventually(t, what, func(ctx context.Context) error {
			list := &mcsv1beta1.ServiceImportList{}
			if err := importer.Client.List(ctx, list); err != nil {
				return err
			}
			var got []string
			for _, imp := range list.Items {
				for _, c := range imp.Status.Clusters {
					got = append(got, c.Cluster+"/"+imp.Name)
				}
			}
			if slices.Sort(got); !slices.Equal(got, wanted) {
				return fmt.Errorf("imports are %v, not %v", got, wanted)
			}
			return nil
		})
	}
	has := func(what string, wanted ...string) {
		t.Helper()
		eventually(t, what, func(ctx context.Context) error {
			got, err := endpoints(ctx, importer)
			if err == nil && !slices.Equal(got, wanted) {
				err = fmt.Errorf("endpoints are %v, not %v", got, wanted)
			}
			return err
		})
	}
	said := listen(importer)

	export(t, greedy, "b", "10.1.0.2", "")
	imports("the first service", "sim1/b")
	export(t, greedy, "c", "10.1.0.3", "")
	imports("the second service", "sim1/b", "sim1/c")
	export(t, greedy, "a", "10.1.0.1", "")
	export(t, greedy, "d", "10.1.0.4", "")
	export(t, other, "a", "10.2.0.1", "")
	export(t, other, "d", "10.2.0.4", "")
	imports("all of the other member's", "sim1/b", "sim1/c", "sim2/a", "sim2/d")
	said.once(t, "ServicesLimited", "shop")
	has("all that is imported", "10.1.0.2", "10.1.0.3", "10.2.0.1", "10.2.0.4")

	// One more endpoint has room.
	grow := func(name string, addresses ...string) {
		t.Helper()
		source := &discoveryv1.EndpointSlice{}
		planes.NoError(t, greedy.Client.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: name + "-1"}, source))
		source.Endpoints = nil
		for _, a := range addresses {
			source.Endpoints = append(source.Endpoints, discoveryv1.Endpoint{Addresses: []string{a}})
		}
		planes.NoError(t, greedy.Client.Update(t.Context(), source))
	}
	grow("c", "10.1.0.3", "10.1.3.1", "10.1.3.2")
	has("as many endpoints as there is room for", "10.1.0.2", "10.1.0.3", "10.1.3.1", "10.2.0.1", "10.2.0.4")
	said.once(t, "EndpointsLimited", "c")
	// Who comes first with a new agent does not matter.
	planes.NoError(t, importer.Stop())
	grow("b", "10.1.0.2", "10.1.2.1", "10.1.2.2")
	eventually(t, "it is on the broker", func(ctx context.Context) error {
		list := &discoveryv1.EndpointSliceList{}
		if err := onBroker.List(ctx, list); err != nil {
			return err
		}
		for _, s := range list.Items {
			if len(s.Endpoints) == 3 && s.Endpoints[0].Addresses[0] == "10.1.0.2" {
				return nil
			}
		}
		return fmt.Errorf("it is not")
	})
	said = listen(importer)
	planes.NoError(t, importer.Start(t.Context()))
	said.once(t, "EndpointsLimited", "b")
	said.once(t, "EndpointsLimited", "c")
	said.once(t, "ServicesLimited", "shop")
	export(t, other, "e", "10.2.0.5", "") // which stays beyond the other's limit
	imports("the same after a restart", "sim1/b", "sim1/c", "sim2/a", "sim2/d")
	has("the same endpoints after a restart", "10.1.0.2", "10.1.0.3", "10.1.3.1", "10.2.0.1", "10.2.0.4")

	planes.Delete(t, greedy.Client, objects.Export("shop", "b"))
	eventually(t, "another takes its place", func(ctx context.Context) error {
		imp := &mcsv1beta1.ServiceImport{}
		for _, name := range []string{"a", "d"} {
			if err := importer.Client.Get(ctx, client.ObjectKey{Namespace: "shop", Name: name}, imp); err != nil {
				return err
			}
			if len(imp.Status.Clusters) == 2 {
				return nil
			}
		}
		return fmt.Errorf("neither has both exporters")
	})
	grow("c", "10.1.3.2")
	eventually(t, "all endpoints have room now", func(ctx context.Context) error {
		got, err := endpoints(ctx, importer)
		if err == nil && (len(got) != 4 || !slices.Contains(got, "10.1.3.2")) {
			err = fmt.Errorf("endpoints are %v", got)
		}
		return err
	})
}

// A namespace that goes leaves room for what waits in another one, of which the agent learns while it
// deals with the first. Afterwards it goes on dealing with others.
func TestANamespaceThatGoesLeavesRoom(t *testing.T) {
	b, _, err := MemoryBroker()
	planes.NoError(t, err)
	members := joinAll(t, b, 3, Options{Args: []string{"--max-services-per-member=1"}})
	importer := members[1].Client
	namespace := func(number int) *corev1.Namespace {
		n := objects.Namespace(namespaceOf(number))
		planes.Create(t, importer, n)
		return n
	}
	slicesIn := func(number, n int) func(context.Context) error {
		return func(ctx context.Context) error {
			list := &discoveryv1.EndpointSliceList{}
			err := importer.List(ctx, list, client.InNamespace(namespaceOf(number)))
			if err == nil && len(list.Items) != n {
				err = fmt.Errorf("%d slices", len(list.Items))
			}
			return err
		}
	}
	first := namespace(0)
	namespace(1)
	exportFrom(t, members[0], 0, 1)
	eventually(t, "the first is imported", slicesIn(0, 1))
	exportFrom(t, members[0], 1, 1)
	settled(t, members)
	planes.NoError(t, slicesIn(1, 0)(t.Context()))
	planes.Delete(t, importer, first)
	eventually(t, "the other one is imported", slicesIn(1, 1))
	namespace(2)
	exportFrom(t, members[2], 2, 1)
	eventually(t, "another member's is imported, from a namespace that is new", slicesIn(2, 1))
}

// Of what waits some goes with its namespace, or is in one that is closed: others get the room, whoever waits
// longer.
func TestRoomGoesToWhatCanBeImported(t *testing.T) {
	b, _, err := MemoryBroker()
	planes.NoError(t, err)
	members := joinAll(t, b, 2, Options{Args: []string{"--max-services-per-member=1"}})
	importer := members[1].Client
	for _, number := range []int{0, 1, 2, 3} {
		planes.Create(t, importer, objects.Namespace(namespaceOf(number)))
	}
	imported := func(wanted ...string) func(context.Context) error {
		return func(ctx context.Context) error {
			list := &discoveryv1.EndpointSliceList{}
			if err := importer.List(ctx, list); err != nil {
				return err
			}
			var got []string
			for _, s := range list.Items {
				got = append(got, s.Namespace)
			}
			if slices.Sort(got); !slices.Equal(got, wanted) {
				return fmt.Errorf("slices are in %v, not %v", got, wanted)
			}
			return nil
		}
	}
	remove := func(number int) {
		planes.Delete(t, importer, objects.Namespace(namespaceOf(number)))
	}
	for i, number := range []int{0, 1, 2} {
		exportFrom(t, members[0], number, 1)
		if i == 0 {
			eventually(t, "the first is imported", imported(namespaceOf(0)))
		} else {
			settled(t, members)
		}
	}
	planes.NoError(t, imported(namespaceOf(0))(t.Context()))
	remove(1) // of what waits the first
	remove(0)
	eventually(t, "the one is imported that is left", imported(namespaceOf(2)))
	remove(2)
	exportFrom(t, members[0], 3, 1)
	eventually(t, "and then one that is new", imported(namespaceOf(3)))
}
