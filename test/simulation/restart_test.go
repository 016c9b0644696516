package simulation

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// TestRestartWritesWhatHasChanged restarts an agent that exports a Service and has imported
// 1,500 slices from 40 clusters. While the agent was down, an endpoint changed in three
// imported slices and in its own Service. The agent must write exactly these four slices and
// send no other write request.
//
// Pitfall 30.
func TestRestartWritesWhatHasChanged(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds")
	}
	const clusters, slicesInAll, changed = 40, 1500, 3
	b, members := joinAll(t, clusters+1, Options{})
	importer := members[clusters]
	var sources []*discoveryv1.EndpointSlice // the first of each cluster
	for i, m := range members {
		n := slicesInAll*(i+1)/clusters - slicesInAll*i/clusters
		if m == importer {
			n = 1
		}
		sources = append(sources, exportFrom(t, m, i, n)...)
		if m != importer {
			planes.Create(t, importer.Client, objects.Namespace(namespaceOf(i)))
		}
	}
	eventually(t, "everything is imported", func(ctx context.Context) error {
		return importsReady(ctx, importer, clusters+1, slicesInAll+1)
	})
	// The agent imports its own export without the broker.
	eventually(t, "its own is on the broker", func(ctx context.Context) error {
		return holds(ctx, b.Admin, []string{sources[len(sources)-1].Endpoints[0].Addresses[0]})
	})
	settled(t, members)

	planes.NoError(t, importer.Stop())
	var want []string
	for _, i := range []int{0, 7, clusters - 1, clusters}[:changed+1] {
		address := fmt.Sprintf("10.250.0.%d", i+1)
		sources[i].Endpoints[0].Addresses[0] = address
		planes.NoError(t, members[i].Client.Update(t.Context(), sources[i]))
		want = append(want, address)
	}
	eventually(t, "changes are on the broker", func(ctx context.Context) error {
		return holds(ctx, b.Admin, want[:changed])
	})
	settled(t, members)

	before := counted(importer)
	onBrokerBefore := versionsOf(t, b.Admin)
	api := b.API
	wastedBefore := api.Wasted()
	began := time.Now()
	planes.NoError(t, importer.Start(t.Context()))
	eventually(t, "changes are imported", func(ctx context.Context) error { return holds(ctx, importer.Client, want) })
	t.Logf("current again after %v", time.Since(began).Round(time.Millisecond))
	settled(t, members)
	after := counted(importer)
	if got := after.minus(before); !maps.Equal(got, counts{"written endpointslices": changed + 1}) {
		t.Errorf("requests for writes in the importing cluster: %v", got)
	}
	var written []string
	for key, version := range versionsOf(t, b.Admin) {
		if onBrokerBefore[key] != version {
			written = append(written, key)
		}
	}
	if own := sources[clusters]; !slices.Equal(written, []string{fmt.Sprintf("%s.%s.%s", own.Name, own.Namespace, importer.ID)}) {
		t.Errorf("slices written on the broker: %v", written)
	}
	if wasted := api.Wasted(); !maps.Equal(wasted, wastedBefore) {
		t.Errorf("writes on the broker that changed nothing: %v, and before the restart %v", wasted, wastedBefore)
	}
}

func namespaceOf(i int) string { return fmt.Sprintf("of-%d", i) }

// exportFrom has a member export a Service of n slices with two endpoints each, and returns
// the first of them.
func exportFrom(t *testing.T, m *Member, number, n int) []*discoveryv1.EndpointSlice {
	t.Helper()
	ns := namespaceOf(number)
	planes.Create(t, m.Client, objects.Namespace(ns))
	planes.Create(t, m.Client, objects.Service(ns, "web", 80))
	var first []*discoveryv1.EndpointSlice
	for i := range n {
		prefix := fmt.Sprintf("10.%d.%d.", 100+number, i)
		s := objects.Slice(ns, fmt.Sprintf("web-%d", i), "web", prefix+"1", prefix+"2")
		planes.Create(t, m.Client, s)
		if i == 0 {
			first = append(first, s)
		}
	}
	planes.Create(t, m.Client, objects.Export(ns, "web"))
	return first
}

// importsReady is nil when a member has so many imports, all Ready, and so many imported
// slices.
func importsReady(ctx context.Context, m *Member, imports, inAll int) error {
	list := &mcsv1beta1.ServiceImportList{}
	if err := m.Client.List(ctx, list); err != nil {
		return err
	}
	ready := 0
	for _, imp := range list.Items {
		if slices.ContainsFunc(imp.Status.Conditions, func(c metav1.Condition) bool { return c.Type == "Ready" && c.Status == metav1.ConditionTrue }) {
			ready++
		}
	}
	imported := &discoveryv1.EndpointSliceList{}
	if err := m.Client.List(ctx, imported, planes.Managed); err != nil {
		return err
	}
	if ready != imports || len(imported.Items) != inAll {
		return fmt.Errorf("%d imports are ready, and there are %d slices", ready, len(imported.Items))
	}
	return nil
}

// holds returns nil if an API server's managed slices contain all addresses.
func holds(ctx context.Context, c client.Client, addresses []string) error {
	have, err := planes.Endpoints(ctx, c)
	for _, a := range addresses {
		if err == nil && !slices.Contains(have, a) {
			err = fmt.Errorf("%s is missing", a)
		}
	}
	return err
}

// counts has the number of write requests, by result and resource.
type counts map[string]int

func counted(m *Member) counts {
	c := counts{}
	for resource, n := range m.API.Writes() {
		c["written "+resource] = n
	}
	for resource, n := range m.API.Wasted() {
		c["wasted "+resource] = n
	}
	return c
}

// minus returns the counts that have grown, by how much.
func (c counts) minus(before counts) counts {
	more := counts{}
	for key, n := range c {
		if n > before[key] {
			more[key] = n - before[key]
		}
	}
	return more
}

// settled returns when no member has sent a write request to its cluster for longer than agents
// delay changes.
func settled(t *testing.T, members []*Member) {
	t.Helper()
	const calm = 1500 * time.Millisecond
	state := func() []counts {
		var all []counts
		for _, m := range members {
			all = append(all, counted(m))
		}
		return all
	}
	last, since := state(), time.Now()
	eventually(t, "nothing is written any more", func(context.Context) error {
		if now := state(); !slices.EqualFunc(last, now, maps.Equal[counts, counts]) {
			last, since = now, time.Now()
		}
		if time.Since(since) < calm {
			return errors.New("agents keep writing")
		}
		return nil
	})
}

// versionsOf returns the versions of all slices on an API server, by name.
func versionsOf(t *testing.T, c client.Client) map[string]string {
	t.Helper()
	list := &discoveryv1.EndpointSliceList{}
	planes.NoError(t, c.List(t.Context(), list))
	versions := map[string]string{}
	for _, s := range list.Items {
		versions[s.Name] = s.ResourceVersion
	}
	return versions
}
