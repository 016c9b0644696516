package floor

import (
	"context"
	"maps"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/atoll-mcs/atoll/lab/audit"
	"github.com/atoll-mcs/atoll/test/bench/bed"
	"github.com/atoll-mcs/atoll/test/simulation"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

const namespace = "floor"

// servers are the three API servers of a chain, in memory.
type servers struct {
	from, broker, to *apiserver.Server
	chain            *Chain
}

func start(t *testing.T, bare bool) *servers {
	t.Helper()
	s := &servers{from: apiserver.New(1), broker: apiserver.New(2), to: apiserver.New(3), chain: &Chain{Namespace: namespace, Bare: bare}}
	for server, c := range map[*apiserver.Server]*client.WithWatch{s.from: &s.chain.From, s.broker: &s.chain.Broker, s.to: &s.chain.To} {
		var err error
		if *c, err = client.NewWithWatch(server.Config(), client.Options{Scheme: simulation.Scheme()}); err != nil {
			t.Fatal(err)
		}
		must(t, (*c).Create(t.Context(), bed.NamespaceObject(namespace)))
	}
	return s
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// wrote fails the test unless a server has had exactly these writes.
func wrote(t *testing.T, name string, server *apiserver.Server, want map[string]int) {
	t.Helper()
	got := server.Writes()
	delete(got, "namespaces")
	if !maps.Equal(got, want) {
		t.Errorf("%s: writes %v, want %v", name, got, want)
	}
}

// TestNoWriteTooMany checks that the floor makes no unnecessary write.
func TestNoWriteTooMany(t *testing.T) {
	for _, bare := range []bool{true, false} {
		s := start(t, bare)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		service := bed.Service{Namespace: namespace, Name: "web", Endpoints: 250}
		must(t, service.Create(ctx, s.chain.From))
		ctx, stop, err := s.chain.Run(ctx)
		must(t, err)
		o, err := bed.Observe(ctx, s.chain.To, namespace)
		must(t, err)
		must(t, service.Export(ctx, s.chain.From))
		marks := []bed.Mark{bed.Exists("web")}
		onBroker, inImporter := map[string]int{"exportedservices": 1}, map[string]int{"serviceimports": 1}
		if !bare {
			marks = append(marks, bed.Usable("web"), bed.Endpoints("web", 250))
			onBroker["endpointslices"], inImporter["endpointslices"], inImporter["services"] = 3, 3, 1
		}
		_, err = o.Await(ctx, marks...)
		must(t, err)
		wrote(t, "broker", s.broker, onBroker)
		wrote(t, "importer", s.to, inImporter)
		wrote(t, "exporter", s.from, map[string]int{"services": 1, "endpointslices": 3, "serviceexports": 1})
		if !bare {
			s.change(ctx, t, o, service)
			wrote(t, "broker", s.broker, map[string]int{"exportedservices": 1, "endpointslices": 4})
			wrote(t, "importer", s.to, map[string]int{"serviceimports": 1, "services": 1, "endpointslices": 4})
		}
		stop()
		must(t, s.chain.Clear(t.Context()))
	}
}

// TestCopyMakesTheSameWrites repeats the writes of an object on a copy.
func TestCopyMakesTheSameWrites(t *testing.T) {
	s := start(t, true)
	service := bed.Service{Namespace: namespace, Name: "web", Endpoints: 1}
	must(t, service.Create(t.Context(), s.chain.To))
	must(t, s.chain.To.Create(t.Context(), bed.NamespaceObject("copies")))
	before := s.to.Writes()["endpointslices"]
	write := audit.Write{Verb: "create", Resource: "endpointslices", Namespace: namespace, Name: service.Slices()[0].Name, Code: 201}
	writes := []audit.Write{write, write, write}
	writes[1].Verb, writes[2].Verb, writes[2].Code = "update", "update", 409
	c, err := NewCopy(t.Context(), map[string]client.WithWatch{"c2": s.chain.To}, map[string][]audit.Write{"c2": writes}, "copies")
	must(t, err)
	must(t, c.Write(t.Context()))
	if n := s.to.Writes()["endpointslices"] - before; n != 2 {
		t.Errorf("%d writes, want the 2 that succeeded", n)
	}
	must(t, c.Clear(t.Context()))
}

// change changes an endpoint and waits until the change has arrived, without the fields that
// only the exporting cluster needs.
func (s *servers) change(ctx context.Context, t *testing.T, o *bed.Observer, service bed.Service) {
	t.Helper()
	slice := &discoveryv1.EndpointSlice{}
	must(t, s.chain.From.Get(ctx, types.NamespacedName{Namespace: namespace, Name: service.Slices()[1].Name}, slice))
	slice.Endpoints[3] = bed.Endpoint(namespace, 999999)
	must(t, s.chain.From.Update(ctx, slice))
	_, err := o.Await(ctx, bed.Appeared(bed.Address(999999)))
	must(t, err)
	must(t, s.chain.To.Get(ctx, client.ObjectKeyFromObject(slice), slice))
	if e := slice.Endpoints[3]; e.NodeName != nil || e.TargetRef != nil || e.Zone == nil {
		t.Errorf("arrived as %+v", e)
	}
}
