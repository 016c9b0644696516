package convergence

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
	"github.com/atoll-mcs/atoll/test/simulation"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// pair is an exporting member, an importing member and their broker. Both members have the
// namespace shop.
type pair struct {
	*testing.T
	broker   *apiserver.Server
	admin    client.WithWatch // of the broker
	exporter *simulation.Member
	from, to client.WithWatch
}

// newPair starts two members in a bubble.
func newPair(t *testing.T, o simulation.Options) *pair {
	t.Helper()
	b, err := simulation.MemoryBroker()
	planes.NoError(t, err)
	members, err := simulation.JoinAll(t.Context(), b, 2, o)
	planes.NoError(t, err)
	t.Cleanup(func() {
		if err := simulation.StopAll(members); err != nil {
			t.Error(err)
		}
	})
	p := &pair{T: t, broker: b.API, admin: b.Admin, exporter: members[0], from: members[0].Client, to: members[1].Client}
	for _, c := range []client.Client{p.from, p.to} {
		planes.Create(t, c, made.Namespace("shop"))
	}
	return p
}

// export exports a service with one endpoint.
func (p *pair) export(name, address string) {
	p.Helper()
	planes.Create(p.T, p.from, made.Service("shop", name, 80), made.Slice("shop", name+"-x", name, address), made.Export("shop", name))
}

func (p *pair) unexport(name string) {
	p.Helper()
	planes.Delete(p.T, p.from, made.Export("shop", name))
}

// roll replaces the endpoint of a service.
func (p *pair) roll(name, address string) {
	p.Helper()
	planes.Change(p.T, p.from, made.Slice("shop", name+"-x", name), func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses[0] = address })
}

// endpoints returns the imported endpoints of a service in a cluster.
func (p *pair) endpoints(c client.Client, name string) []string {
	p.Helper()
	all, err := planes.Endpoints(p.Context(), c, client.MatchingLabels{names.LabelServiceName: name})
	planes.NoError(p.T, err)
	return all
}

// has returns an error unless the importer has exactly these endpoints of a service.
func (p *pair) has(name string, want ...string) func() error {
	return func() error {
		if have := p.endpoints(p.to, name); !slices.Equal(have, want) {
			return fmt.Errorf("%s has the endpoints %v", name, have)
		}
		return nil
	}
}

// record reads the record of an exported service on the broker.
func (p *pair) record(name string) (record client.Object, published bool) {
	p.Helper()
	record = layout.Record(broker.DefaultNamespace, made.Record(p.exporter.ID.String(), "shop", name).Spec)
	err := p.admin.Get(p.Context(), client.ObjectKeyFromObject(record), record)
	planes.NoError(p.T, client.IgnoreNotFound(err))
	return record, err == nil && !layout.Withdrawn(record)
}

// published returns an error unless the broker has a record of the service, or has none if want
// is false.
func (p *pair) published(name string, want bool) func() error {
	return func() error {
		if _, have := p.record(name); have != want {
			return fmt.Errorf("broker has a record of %s: %t, want the opposite", name, have)
		}
		return nil
	}
}

// imported returns an error unless a cluster's import of web has exactly one endpoint.
func (p *pair) imported(c client.Client, address string) func() error {
	return func() error {
		imp, service, list := made.Import("shop", "web"), made.Service("shop", "web-clusterset"), &discoveryv1.EndpointSliceList{}
		err := errors.Join(
			c.Get(p.Context(), client.ObjectKeyFromObject(imp), imp), c.Get(p.Context(), client.ObjectKeyFromObject(service), service),
			c.List(p.Context(), list, client.InNamespace("shop"), client.MatchingLabels{discoveryv1.LabelServiceName: service.Name}),
		)
		switch {
		case err != nil:
			return err
		case !slices.Equal(imp.Spec.IPs, service.Spec.ClusterIPs) || len(imp.Spec.IPs) == 0:
			return fmt.Errorf("the import has %v, the derived Service %v", imp.Spec.IPs, service.Spec.ClusterIPs)
		case len(list.Items) != 1 || len(list.Items[0].Endpoints) != 1 || list.Items[0].Endpoints[0].Addresses[0] != address:
			return fmt.Errorf("the slices are %v", list.Items)
		case !meta.IsStatusConditionTrue(imp.Status.Conditions, "Ready") || len(imp.Status.Clusters) != 1:
			return fmt.Errorf("the status is %v", imp.Status)
		}
		return nil
	}
}

// vip returns the clusterset IP of web in a cluster.
func (p *pair) vip(c client.Client) string {
	p.Helper()
	imp := made.Import("shop", "web")
	planes.Read(p.T, c, imp)
	return strings.Join(imp.Spec.IPs, " ")
}

// ended returns an error while anything of the export of web is left.
func (p *pair) ended() error {
	for _, c := range []client.Client{p.from, p.to} {
		err := c.Get(p.Context(), client.ObjectKey{Namespace: "shop", Name: "web"}, &mcsv1beta1.ServiceImport{})
		if err := planes.IsGone(err); err != nil {
			return fmt.Errorf("the import: %w", err)
		}
		if left := p.endpoints(c, "web"); len(left) > 0 {
			return fmt.Errorf("there are the endpoints %v", left)
		}
	}
	slices := &discoveryv1.EndpointSliceList{}
	if err := p.admin.List(p.Context(), slices, client.InNamespace(broker.DefaultNamespace)); err != nil || len(slices.Items) > 0 {
		return fmt.Errorf("%d slices on the broker, %w", len(slices.Items), err)
	}
	if record, _ := p.record("web"); !layout.Withdrawn(record) {
		return fmt.Errorf("the record is %v", record.GetAnnotations())
	}
	return nil
}

// within waits, in the bubble's time, until all checks succeed.
func (p *pair) within(what string, limit time.Duration, checks ...func() error) {
	p.Helper()
	for began := time.Now(); ; <-time.After(100 * time.Millisecond) {
		var wrong error
		for _, check := range checks {
			wrong = errors.Join(wrong, check())
		}
		if wrong == nil {
			return
		}
		if time.Since(began) > limit {
			p.Fatalf("%s: not within %v: %v", what, limit, wrong)
		}
	}
}

// trip is a function as a RoundTripper.
type trip func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (f trip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
