package convergence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/internal/broker/layout"
	"github.com/atoll-mcs/atoll/internal/mcs/names"
	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/simulation"
	"github.com/atoll-mcs/atoll/test/simulation/apiserver"
)

// faultTest is an exporting and an importing member with their broker, and what can go wrong with these. The exporting one exports shop/web.
type faultTest struct {
	*testing.T
	ctx      context.Context
	broker   *apiserver.Server
	admin    client.Client
	exporter *simulation.Member
	from, to client.Client
	// dead says that no endpoint answers.
	dead atomic.Bool
	// loseRenewal has the answer to the exporter's next renewal be lost.
	loseRenewal atomic.Bool
	// hold has the exporter's next change of a slice on the broker stay on its way, in held, and seem to have failed.
	hold atomic.Bool
	held chan *http.Request
	wire http.RoundTripper
}

// withFaults has members and a broker in a bubble.
func withFaults(t *testing.T, f func(*faultTest)) {
	inBubble(t, func(ctx context.Context) {
		p := &faultTest{T: t, ctx: ctx, broker: apiserver.New(250), held: make(chan *http.Request, 1)}
		b, admin, err := simulation.MemoryBrokerOn(p.broker)
		p.do(err)
		p.admin = admin
		members, err := simulation.JoinAll(ctx, b, 1, 2, simulation.Options{Args: []string{"--service-grace=1s"}, Dial: p.dial, Wrap: p.wrap})
		p.do(err)
		defer func() {
			if err := simulation.StopAll(members); err != nil {
				t.Error(err)
			}
		}()
		p.exporter, p.from, p.to = members[0], members[0].Client, members[1].Client
		for _, c := range []client.Client{p.from, p.to} {
			p.do(c.Create(ctx, made.Namespace("shop")))
		}
		p.export("web", "10.1.1.1")
		p.within("web is imported", time.Minute, p.has("web", "10.1.1.1"))
		f(p)
	})
}

func (p *faultTest) do(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *faultTest) dial(context.Context, string, string) (net.Conn, error) {
	<-time.After(10 * time.Millisecond)
	if p.dead.Load() {
		return nil, &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}
	}
	return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
}

type lossy struct {
	*faultTest
	next http.RoundTripper
}

func (p *faultTest) wrap(next http.RoundTripper) http.RoundTripper { return lossy{p, next} }

// arrives has a request that was held arrive at the broker, and returns the status of the answer.
func (p *faultTest) arrives(late *http.Request) int {
	p.Helper()
	response, err := p.wire.RoundTrip(late)
	p.do(err)
	p.do(response.Body.Close())
	return response.StatusCode
}

// RoundTrip implements http.RoundTripper.
func (l lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	<-time.After(time.Millisecond) // what takes no time at all seems to be confirmed by what was before
	if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/namespaces/"+broker.DefaultNamespace+"/endpointslices/") && l.hold.CompareAndSwap(true, false) {
		body, err := io.ReadAll(r.Body)
		late := r.Clone(l.ctx)
		late.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		late.Body, _ = late.GetBody()
		l.wire = l.next
		l.held <- late
		return nil, errors.Join(err, errors.New("it is on its way"))
	}
	response, err := l.next.RoundTrip(r)
	if err == nil && r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/leases/sim1") && l.loseRenewal.CompareAndSwap(true, false) {
		_ = response.Body.Close()
		return nil, errors.New("the answer is lost")
	}
	return response, err
}

// export exports a service with one endpoint.
func (p *faultTest) export(name, address string) {
	p.Helper()
	for _, o := range []client.Object{made.Service("shop", name, 80), made.Slice("shop", name+"-x", name, address), made.Export("shop", name)} {
		p.do(p.from.Create(p.ctx, o))
	}
}

func (p *faultTest) unexport(name string) { p.do(p.from.Delete(p.ctx, made.Export("shop", name))) }

// has is what is wrong where the importer should have just this endpoint of a service, "" for none.
func (p *faultTest) has(name, want string) func() string {
	return func() string {
		list := &discoveryv1.EndpointSliceList{}
		p.do(p.to.List(p.ctx, list, client.InNamespace("shop"), client.MatchingLabels{names.LabelServiceName: name}))
		var all []string
		for _, s := range list.Items {
			for _, e := range s.Endpoints {
				all = append(all, e.Addresses...)
			}
		}
		if have := strings.Join(all, " "); have != want {
			return name + " has the endpoints " + have
		}
		return ""
	}
}

// published is what is wrong where the broker should have a record of a service, or should not, "" for none.
func (p *faultTest) published(name string, want bool) func() string {
	return func() string {
		record := layout.Record(broker.DefaultNamespace, made.Record("sim1", "shop", name).Spec)
		err := p.admin.Get(p.ctx, client.ObjectKeyFromObject(record), record)
		p.do(client.IgnoreNotFound(err))
		if have := err == nil && !layout.Withdrawn(record); have != want {
			return fmt.Sprintf("of %s the broker has a record: %t", name, have)
		}
		return ""
	}
}

// within waits, by the bubble's time, until checks have nothing to say; web keeps an endpoint all the time.
func (p *faultTest) within(what string, limit time.Duration, checks ...func() string) {
	p.Helper()
	for began := time.Now(); ; <-time.After(200 * time.Millisecond) {
		var problems []string
		for _, check := range checks {
			problems = append(problems, check())
		}
		if problems = slices.DeleteFunc(problems, func(s string) bool { return s == "" }); len(problems) == 0 {
			p.Logf("%s: after %v", what, time.Since(began).Round(time.Millisecond))
			return
		}
		if time.Since(began) > limit {
			p.Fatalf("%s: not within %v: %s", what, limit, strings.Join(problems, "; "))
		}
	}
}

// keeps has f run while web is never without the endpoint that it has, nor with another one than these.
func (p *faultTest) keeps(f func(), addresses ...string) {
	p.Helper()
	ctx, cancel := context.WithCancel(p.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; <-time.After(100 * time.Millisecond) {
			if !slices.ContainsFunc(addresses, func(a string) bool { return p.has("web", a)() == "" }) {
				p.Errorf("web was imported, and is not: %s", p.has("web", addresses[0])())
				return
			}
		}
	}()
	f()
	cancel()
	<-done
}

// remove has an administrator remove the exporter, as atoll broker members remove does, after its agent has ended.
func (p *faultTest) remove() {
	p.Helper()
	member := &brokerv1alpha1.MemberCluster{}
	p.do(p.admin.Get(p.ctx, client.ObjectKey{Namespace: broker.DefaultNamespace, Name: p.exporter.ID.String()}, member))
	member.Spec.State = brokerv1alpha1.MemberRemoved
	p.do(p.admin.Update(p.ctx, member))
}

// What the rules on missing and older objects promise (docs/explanation/protocol.md), fault by fault: those that random worlds meet by chance alone, or never.
func TestFaults(t *testing.T) {
	for name, f := range map[string]func(*faultTest){
		// Of an export that ended after the backup nothing stays, and what was made since is there again, with versions that are all higher than any before.
		"restored with higher versions": func(p *faultTest) {
			p.export("ended", "10.1.1.3")
			p.within("it is imported", time.Minute, p.has("ended", "10.1.1.3"))
			backup := p.broker.Backup()
			p.unexport("ended")
			p.export("since", "10.1.1.4")
			p.within("what was done since", time.Minute, p.has("ended", ""), p.has("since", "10.1.1.4"))
			<-time.After(15 * time.Second) // heartbeats tell
			p.keeps(func() {
				p.broker.Restore(backup)
				p.broker.Bump(1_000_000)
				p.within("it is repaired", usual, p.published("ended", false), p.published("since", true))
				<-time.After(usual)
			}, "10.1.1.1")
			p.within("all is right", time.Second, p.has("ended", ""), p.has("since", "10.1.1.4"))
		},
		// The exporter goes back: others take what replaces something on the broker, and believe after two comparisons what was exported anew since the
		// backup, whose record is older now. They take nothing away before.
		"the exporter's own API server is restored": func(p *faultTest) {
			p.export("again", "10.1.1.5")
			p.within("it is imported", time.Minute, p.has("again", "10.1.1.5"))
			backup := p.exporter.API.Backup()
			<-time.After(2 * time.Second) // creation times have seconds
			p.unexport("again")
			p.within("it is withdrawn", time.Minute, p.has("again", ""))
			p.do(p.from.Create(p.ctx, made.Export("shop", "again")))
			p.within("it is imported again", time.Minute, p.has("again", "10.1.1.5"))
			record := made.Record(p.exporter.ID.String(), "shop", "again")
			p.do(p.admin.Get(p.ctx, client.ObjectKeyFromObject(record), record))
			before := layout.Revision(record)
			slice := &discoveryv1.EndpointSlice{}
			p.do(p.from.Get(p.ctx, client.ObjectKey{Namespace: "shop", Name: "web-x"}, slice))
			slice.Endpoints[0].Addresses = []string{"10.1.1.2"}
			p.do(p.from.Update(p.ctx, slice))
			p.export("since", "10.1.1.4")
			p.within("what was done since", time.Minute, p.has("web", "10.1.1.2"), p.has("since", "10.1.1.4"))
			p.keeps(func() {
				p.exporter.API.Restore(backup)
				p.within("what is higher is taken", usual, p.has("web", "10.1.1.1"), p.has("since", ""))
				p.within("what is lower is believed", usual, func() string {
					imp := made.Import("shop", "again")
					err := errors.Join(p.admin.Get(p.ctx, client.ObjectKeyFromObject(record), record), p.to.Get(p.ctx, client.ObjectKeyFromObject(imp), imp))
					applied := fmt.Sprintf("%s=%d", p.exporter.ID, layout.Revision(record))
					if have := imp.Annotations[names.AnnotationApplied]; err != nil || layout.Revision(record) >= before || !strings.Contains(have, applied) {
						return fmt.Sprintf("the import is made of %s, and not of %s, lower than %d: %v", have, applied, before, err)
					}
					return p.has("again", "10.1.1.5")()
				})
			}, "10.1.1.1", "10.1.1.2")
		},
		// Importers drop everything of a member that was removed, and take what it publishes when it has joined again, whatever they knew before.
		"removed, and joined again from a backup": func(p *faultTest) {
			backup := p.exporter.API.Backup()
			p.export("since", "10.1.1.4")
			p.within("what was done since", time.Minute, p.has("since", "10.1.1.4"))
			p.do(p.exporter.Stop())
			p.remove()
			p.within("all of it is dropped", 5*time.Second, p.has("web", ""), p.has("since", ""))
			p.exporter.API.Restore(backup)
			p.do(p.exporter.Start(p.ctx))
			p.within("it is imported again", time.Minute, p.has("web", "10.1.1.1"), p.has("since", ""))
		},
		// A replica that was paused while it wrote, and is the leader no longer: what it wrote conflicts, or is lower where the broker was restored to what it knew.
		"a paused leader wakes up": func(p *faultTest) {
			backup := p.broker.Backup()
			rolls := func(address string) {
				slice := &discoveryv1.EndpointSlice{}
				p.do(p.from.Get(p.ctx, client.ObjectKey{Namespace: "shop", Name: "web-x"}, slice))
				slice.Endpoints[0].Addresses = []string{address}
				p.do(p.from.Update(p.ctx, slice))
				p.within("the new endpoint", time.Minute, p.has("web", address))
			}
			p.hold.Store(true)
			rolls("10.1.1.2")
			rolls("10.1.1.3")
			late := <-p.held
			again := late.Clone(p.ctx)
			again.Body, _ = late.GetBody()
			p.keeps(func() {
				if status := p.arrives(late); status != http.StatusConflict {
					p.Errorf("a write that was held: status %d", status)
				}
				<-time.After(usual)
				p.broker.Restore(backup)
				if status := p.arrives(again); status != http.StatusOK {
					p.Errorf("a write that was held, to what it knew: status %d", status)
				}
				<-time.After(usual)
			}, "10.1.1.3")
			slice := &discoveryv1.EndpointSlice{}
			p.do(p.admin.Get(p.ctx, client.ObjectKey{Namespace: broker.DefaultNamespace, Name: names.BrokerSlice("sim1", "shop", "web-x")}, slice))
			if have := slice.Endpoints[0].Addresses[0]; have != "10.1.1.3" {
				p.Errorf("the broker has %s still", have)
			}
		},
		// A withdrawal that was overtaken by another export says nothing.
		"restored to a state between an end and the next beginning": func(p *faultTest) {
			p.unexport("web")
			p.within("it is withdrawn", time.Minute, p.has("web", ""))
			backup := p.broker.Backup()
			p.do(p.from.Create(p.ctx, made.Export("shop", "web")))
			p.within("it is imported again", time.Minute, p.has("web", "10.1.1.1"))
			<-time.After(15 * time.Second)
			p.keeps(func() {
				p.broker.Restore(backup)
				p.within("it is repaired", usual, p.published("web", true))
				<-time.After(usual)
			}, "10.1.1.1")
		},
		// The restore was found when the Lease was read.
		"restored, and the answer to the first renewal is lost": func(p *faultTest) {
			backup := p.broker.Backup()
			p.export("since", "10.1.1.4")
			p.within("what was done since", time.Minute, p.has("since", "10.1.1.4"))
			<-time.After(15 * time.Second)
			p.keeps(func() {
				p.broker.Restore(backup)
				p.loseRenewal.Store(true)
				p.within("the renewal is lost", time.Minute, func() string {
					if p.loseRenewal.Load() {
						return "it is not yet"
					}
					return ""
				})
				p.within("it is repaired", usual, p.published("since", true))
				<-time.After(usual)
			}, "10.1.1.1")
			p.within("all is right", time.Second, p.has("since", "10.1.1.4"))
		},
		// Who dies before it has published again is lost, and what is missing of it is believed.
		"the exporter dies right after a wipe": func(p *faultTest) {
			p.do(p.exporter.Stop())
			p.dead.Store(true)
			in := client.InNamespace(broker.DefaultNamespace)
			for _, kind := range []client.Object{&discoveryv1.EndpointSlice{}, &brokerv1alpha1.ExportedService{}, &brokerv1alpha1.MemberCluster{}} {
				p.do(p.admin.DeleteAllOf(p.ctx, kind, in))
			}
			p.do(p.admin.DeleteAllOf(p.ctx, &coordinationv1.Lease{}, in))
			p.within("its endpoints are withdrawn", 2*time.Minute, p.has("web", ""))
			p.dead.Store(false)
			p.do(p.exporter.Start(p.ctx))
			p.within("it is back", time.Minute, p.has("web", "10.1.1.1"))
		},
	} {
		t.Run(name, func(t *testing.T) { withFaults(t, f) })
	}
}
