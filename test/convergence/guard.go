package convergence

import (
	"context"
	"errors"
	"fmt"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	made "github.com/atoll-mcs/atoll/test/objects"
)

// guard watches, in one cluster, a service that every cluster exports and no user changes. The
// clusterset IP must not change, and endpoints must not be withdrawn while they are alive and
// reachable from this cluster, whatever else fails.
type guard struct {
	world   *world
	cluster *cluster
	stop    func()

	mu       sync.Mutex
	failed   error
	armed    bool // all endpoints were imported once
	vip      string
	excusing map[string]bool // clusters that were unreachable since the last verdict
	slices   map[string]discoveryv1.EndpointSlice
}

var steady = types.NamespacedName{Namespace: steadyNamespace, Name: "base"}

// makeSteady exports a service that no user changes.
func (c *cluster) makeSteady(ctx context.Context) error {
	return errors.Join(
		c.makeService(ctx, made.Service(steady.Namespace, steady.Name, 80)),
		c.makeSlice(ctx, made.Slice(steady.Namespace, "base-1", steady.Name, c.steadyAddress())),
		c.makeExport(ctx, made.Export(steady.Namespace, steady.Name)),
		c.makePolicy(ctx, forImport(steady), &wish{}), // all clusters, whatever the cluster's default is
	)
}

func (c *cluster) steadyAddress() string { return fmt.Sprintf("10.%d.255.1", 200+c.number) }

// watchSteady starts the watch in a converged cluster.
func (w *world) watchSteady(ctx context.Context, c *cluster) (*guard, error) {
	g := &guard{world: w, cluster: c, excusing: map[string]bool{}, slices: map[string]discoveryv1.EndpointSlice{}}
	endpoints, err := c.admin.Watch(ctx, &discoveryv1.EndpointSliceList{}, client.InNamespace(steadyNamespace), client.MatchingLabels{discoveryv1.LabelManagedBy: names.AgentManager})
	if err != nil {
		return nil, err
	}
	imports, err := c.admin.Watch(ctx, &mcsv1beta1.ServiceImportList{}, client.InNamespace(steadyNamespace))
	if err != nil {
		return nil, err
	}
	var ended sync.WaitGroup
	for _, events := range []watch.Interface{endpoints, imports} {
		ended.Go(func() {
			for e := range events.ResultChan() {
				g.see(e)
			}
		})
	}
	g.stop = func() {
		endpoints.Stop()
		imports.Stop()
		ended.Wait()
	}
	return g, nil
}

func (g *guard) see(e watch.Event) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch o := e.Object.(type) {
	case *mcsv1beta1.ServiceImport:
		if e.Type == watch.Deleted || len(o.Spec.IPs) != 1 || g.vip != "" && g.vip != o.Spec.IPs[0] {
			g.fail("the import of %s is %s: %v, and had %s", steady, e.Type, o.Spec.IPs, g.vip)
			return
		}
		g.vip = o.Spec.IPs[0]
	case *discoveryv1.EndpointSlice:
		if e.Type == watch.Deleted {
			delete(g.slices, o.Name)
		} else {
			g.slices[o.Name] = *o
		}
		g.checkEndpoints()
	}
}

// checkEndpoints checks the endpoints. The caller holds mu.
func (g *guard) checkEndpoints() {
	here := map[string]bool{}
	for _, s := range g.slices {
		for _, e := range s.Endpoints {
			if len(s.Ports) > 0 {
				here[e.Addresses[0]] = true
			}
		}
	}
	if !g.armed {
		g.armed = len(here) == len(g.world.clusters) // the first events only repeat the state at the start of the watch
		return
	}
	for _, c := range g.world.clusters {
		if !here[c.steadyAddress()] && !g.excusing[c.id.String()] {
			g.fail("the endpoint %s of %s was withdrawn, although it is alive and reachable", c.steadyAddress(), c.id)
		}
	}
}

// fail keeps the first failure. The caller holds mu.
func (g *guard) fail(format string, args ...any) {
	if g.failed == nil {
		g.failed = fmt.Errorf("%s, %v: %s", g.cluster.id, g.world.elapsed(), fmt.Sprintf(format, args...))
	}
}

// excuse allows the withdrawal of a cluster's endpoints until the next verdict.
func (g *guard) excuse(id string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.excusing[id] = true
}

func (g *guard) excused() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.excusing) > 0
}

// verdict returns the failure and forgets all excuses. The clusterset must have converged.
func (g *guard) verdict() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	clear(g.excusing)
	return g.failed
}
