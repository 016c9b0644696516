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
	"github.com/atoll-mcs/atoll/test/planes"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// faultTest is a pair with faults. The exporter exports shop/web.
type faultTest struct {
	*pair
	// dead makes all endpoints unreachable.
	dead atomic.Bool
	// loseRenewal drops the response to the exporter's next lease renewal.
	loseRenewal atomic.Bool
	// hold fails the exporter's next change of a slice on the broker. The request waits in held
	// and can arrive later.
	hold atomic.Bool
	held chan *http.Request
	wire http.RoundTripper
}

// withFaults runs f with members and a broker in a bubble.
func withFaults(t *testing.T, f func(*faultTest)) {
	inBubble(t, func(t *testing.T) {
		p := &faultTest{held: make(chan *http.Request, 1)}
		p.pair = newPair(t, simulation.Options{Args: []string{"--service-grace=1s"}, Dial: p.dial, Wrap: p.wrap})
		p.export("web", "10.1.1.1")
		p.within("web is imported", time.Minute, p.has("web", "10.1.1.1"))
		f(p)
	})
}

func (p *faultTest) dial(context.Context, names.ClusterID, string, string) (net.Conn, error) {
	<-time.After(10 * time.Millisecond)
	if p.dead.Load() {
		return nil, &net.OpError{Op: "dial", Err: syscall.EHOSTUNREACH}
	}
	return nil, &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}
}

func (p *faultTest) wrap(next http.RoundTripper) http.RoundTripper {
	return trip(func(r *http.Request) (*http.Response, error) {
		if strings.Count(r.URL.Path, "/") > 3 { // not discovery: caches hold a lock during discovery, and a lock stops the bubble's time
			<-time.After(time.Millisecond) // without a delay, an old object seems to confirm the new write
		}
		if r.Method == http.MethodPut && strings.Contains(r.URL.Path, "/namespaces/"+broker.DefaultNamespace+"/endpointslices/") && p.hold.CompareAndSwap(true, false) {
			body, err := io.ReadAll(r.Body)
			late := r.Clone(p.Context())
			late.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
			late.Body, _ = late.GetBody()
			p.wire = next
			p.held <- late
			return nil, errors.Join(err, errors.New("the request is held"))
		}
		response, err := next.RoundTrip(r)
		if err == nil && r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/leases/sim1") && p.loseRenewal.CompareAndSwap(true, false) {
			_ = response.Body.Close()
			return nil, errors.New("the answer is lost")
		}
		return response, err
	})
}

// arrives delivers a held request to the broker and returns the response status.
func (p *faultTest) arrives(late *http.Request) int {
	p.Helper()
	response, err := p.wire.RoundTrip(late)
	planes.NoError(p.T, err)
	planes.NoError(p.T, response.Body.Close())
	return response.StatusCode
}

// keeps runs f and checks that web always has an endpoint, and only endpoints from addresses.
func (p *faultTest) keeps(f func(), addresses ...string) {
	p.Helper()
	ctx, cancel := context.WithCancel(p.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ; ctx.Err() == nil; <-time.After(100 * time.Millisecond) {
			if !slices.ContainsFunc(addresses, func(a string) bool { return p.has("web", a)() == nil }) {
				p.Errorf("web was imported, and is not: %v", p.has("web", addresses[0])())
				return
			}
		}
	}()
	f()
	cancel()
	<-done
}

// TestFaults checks the rules on missing and older objects (docs/explanation/protocol.md), one
// fault per subtest. Random worlds reach these faults rarely or never.
func TestFaults(t *testing.T) {
	for name, f := range map[string]func(*faultTest){
		// After the restore, the export that ended after the backup must be withdrawn again,
		// and the export that was created since must be published again. All versions are
		// higher than before.
		"restored with higher versions": func(p *faultTest) {
			p.export("ended", "10.1.1.3")
			p.within("the service is imported", time.Minute, p.has("ended", "10.1.1.3"))
			backup := p.broker.Backup()
			p.unexport("ended")
			p.export("since", "10.1.1.4")
			p.within("changes since the backup are imported", time.Minute, p.has("ended"), p.has("since", "10.1.1.4"))
			<-time.After(15 * time.Second) // heartbeats tell
			p.keeps(func() {
				p.broker.Restore(backup)
				p.broker.Bump(1_000_000)
				p.within("the exporter repairs the broker", usual, p.published("ended", false), p.published("since", true))
				<-time.After(usual)
			}, "10.1.1.1")
			p.within("all is right", time.Second, p.has("ended"), p.has("since", "10.1.1.4"))
		},
		// The exporter restarts with an old state. Importers accept replacements on the broker
		// at once. After two comparisons they also accept an export that was created again
		// since the backup and has an older record now. They withdraw nothing before.
		"the exporter's own API server is restored": func(p *faultTest) {
			p.export("again", "10.1.1.5")
			p.within("the service is imported", time.Minute, p.has("again", "10.1.1.5"))
			backup := p.exporter.API.Backup()
			<-time.After(2 * time.Second) // creation times have seconds
			p.unexport("again")
			p.within("the service is withdrawn", time.Minute, p.has("again"))
			planes.Create(p.T, p.from, made.Export("shop", "again"))
			p.within("the service is imported again", time.Minute, p.has("again", "10.1.1.5"))
			record, _ := p.record("again")
			before := layout.Revision(record)
			p.roll("web", "10.1.1.2")
			p.export("since", "10.1.1.4")
			p.within("changes since the backup are imported", time.Minute, p.has("web", "10.1.1.2"), p.has("since", "10.1.1.4"))
			p.keeps(func() {
				p.exporter.API.Restore(backup)
				p.within("higher revisions are imported", usual, p.has("web", "10.1.1.1"), p.has("since"))
				p.within("lower revisions are accepted", usual, func() error {
					record, _ := p.record("again")
					imp := made.Import("shop", "again")
					planes.Read(p.T, p.to, imp)
					applied := fmt.Sprintf("%s=%d", p.exporter.ID, layout.Revision(record))
					if have := imp.Annotations[names.AnnotationApplied]; layout.Revision(record) >= before || !strings.Contains(have, applied) {
						return fmt.Errorf("the import has applied %s, want %s, with a revision lower than %d", have, applied, before)
					}
					return p.has("again", "10.1.1.5")()
				})
			}, "10.1.1.1", "10.1.1.2")
		},
		// Importers drop everything of a removed member. After the member joins again,
		// importers accept its objects, whatever revisions they knew before.
		"removed, and joined again from a backup": func(p *faultTest) {
			backup := p.exporter.API.Backup()
			p.export("since", "10.1.1.4")
			p.within("changes since the backup are imported", time.Minute, p.has("since", "10.1.1.4"))
			planes.NoError(p.T, p.exporter.Stop())
			member := made.Member(p.exporter.ID.String()) // as atoll broker members remove does
			planes.Change(p.T, p.admin, member, func(m *brokerv1alpha1.MemberCluster) { m.Spec.State = brokerv1alpha1.MemberRemoved })
			p.within("all imports of the member are dropped", 5*time.Second, p.has("web"), p.has("since"))
			p.exporter.API.Restore(backup)
			planes.NoError(p.T, p.exporter.Start(p.Context()))
			p.within("the services are imported again", time.Minute, p.has("web", "10.1.1.1"), p.has("since"))
		},
		// A paused replica is no longer the leader when its write arrives. The write conflicts;
		// after a restore the write may succeed, and then its revision is lower.
		"a paused leader wakes up": func(p *faultTest) {
			backup := p.broker.Backup()
			rolls := func(address string) {
				p.roll("web", address)
				p.within("the new endpoint", time.Minute, p.has("web", address))
			}
			p.hold.Store(true)
			rolls("10.1.1.2")
			rolls("10.1.1.3")
			late := <-p.held
			again := late.Clone(p.Context())
			again.Body, _ = late.GetBody()
			p.keeps(func() {
				if status := p.arrives(late); status != http.StatusConflict {
					p.Errorf("a held write of the old leader: status %d", status)
				}
				<-time.After(usual)
				p.broker.Restore(backup)
				if status := p.arrives(again); status != http.StatusOK {
					p.Errorf("a held write of the old leader, after the restore: status %d", status)
				}
				<-time.After(usual)
			}, "10.1.1.3")
			slice := made.Published("sim1", "shop", "web-x", "web")
			planes.Read(p.T, p.admin, slice)
			if have := slice.Endpoints[0].Addresses[0]; have != "10.1.1.3" {
				p.Errorf("the broker has %s still", have)
			}
		},
		// A withdrawal does not count if the same service was exported again later.
		"restored to a state between an end and the next beginning": func(p *faultTest) {
			p.unexport("web")
			p.within("the service is withdrawn", time.Minute, p.has("web"))
			backup := p.broker.Backup()
			planes.Create(p.T, p.from, made.Export("shop", "web"))
			p.within("the service is imported again", time.Minute, p.has("web", "10.1.1.1"))
			<-time.After(15 * time.Second)
			p.keeps(func() {
				p.broker.Restore(backup)
				p.within("the exporter repairs the broker", usual, p.published("web", true))
				<-time.After(usual)
			}, "10.1.1.1")
		},
		// The agent detected the restore when it read the Lease.
		"restored, and the answer to the first renewal is lost": func(p *faultTest) {
			backup := p.broker.Backup()
			p.export("since", "10.1.1.4")
			p.within("changes since the backup are imported", time.Minute, p.has("since", "10.1.1.4"))
			<-time.After(15 * time.Second)
			p.keeps(func() {
				p.broker.Restore(backup)
				p.loseRenewal.Store(true)
				p.within("the renewal is lost", time.Minute, func() error {
					if p.loseRenewal.Load() {
						return errors.New("the renewal was not lost yet")
					}
					return nil
				})
				p.within("the exporter repairs the broker", usual, p.published("since", true))
				<-time.After(usual)
			}, "10.1.1.1")
			p.within("all is right", time.Second, p.has("since", "10.1.1.4"))
		},
		// The exporter dies before it publishes again. It is lost, so importers accept that its
		// objects are missing.
		"the exporter dies right after a wipe": func(p *faultTest) {
			planes.NoError(p.T, p.exporter.Stop())
			p.dead.Store(true)
			in := client.InNamespace(broker.DefaultNamespace)
			for _, kind := range []client.Object{&discoveryv1.EndpointSlice{}, &brokerv1alpha1.ExportedService{}, &brokerv1alpha1.MemberCluster{}} {
				planes.NoError(p.T, p.admin.DeleteAllOf(p.Context(), kind, in))
			}
			planes.NoError(p.T, p.admin.DeleteAllOf(p.Context(), &coordinationv1.Lease{}, in))
			p.within("its endpoints are withdrawn", 2*time.Minute, p.has("web"))
			p.dead.Store(false)
			planes.NoError(p.T, p.exporter.Start(p.Context()))
			p.within("the service is imported again", time.Minute, p.has("web", "10.1.1.1"))
		},
	} {
		t.Run(name, func(t *testing.T) { withFaults(t, f) })
	}
}
