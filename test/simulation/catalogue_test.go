package simulation

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/atoll-mcs/atoll/internal/mcs/names"
	"github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
)

// TestCatalogueIsNotFoughtOver makes two members writers of the same catalogue entry, because
// the watch of one member no longer delivers events. The members must not overwrite each other
// in a tight loop.
func TestCatalogueIsNotFoughtOver(t *testing.T) {
	waits(t)
	var deaf atomic.Bool
	b, members := joinAll(t, 2, Options{})
	first, second := members[0], members[1]
	planes.NoError(t, second.Stop())
	second.options.Broker.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(r)
			if err == nil && strings.HasSuffix(r.URL.Path, "/exportedservices") {
				response.Body = deafBody{response.Body, r.Context(), &deaf}
			}
			return response, err
		})
	})
	planes.NoError(t, second.Start(t.Context()))
	for _, m := range members {
		planes.Create(t, m.Client, objects.Namespace("shop"), objects.Export("shop", "web"))
	}
	planes.Create(t, second.Client, objects.Service("shop", "web", 80))
	catalogued(t, b.Admin, "web", "sim2")
	deaf.Store(true)
	planes.Create(t, first.Client, objects.Service("shop", "web", 80)) // its export is older
	api := b.API
	written := func(n int) (all int) {
		before := api.Writes()["serviceimports"]
		eventually(t, fmt.Sprintf("%d writes", n), func(context.Context) error {
			if all = api.Writes()["serviceimports"] - before; all < n {
				return io.ErrNoProgress
			}
			return nil
		})
		return all
	}
	written(4) // both write
	began := time.Now()
	// Each member changes the entry twice a second, and then its status.
	if n, limit := written(40), 10+int(2*2*2*time.Since(began).Seconds()); n > limit {
		t.Errorf("%d writes in %v, at most %d", n, time.Since(began), limit)
	}
}

// catalogued waits for a catalogue entry that names these clusters.
func catalogued(t *testing.T, onBroker client.Client, service string, clusters ...string) {
	t.Helper()
	entry := objects.Entry("shop", service, "", "")
	planes.Until(t, fmt.Sprintf("the catalogue has %s of %v", service, clusters), onBroker, entry, func() error {
		if have := planes.Exporters(entry); !slices.Equal(have, clusters) {
			return fmt.Errorf("the entry names %v", have)
		}
		return nil
	})
}

// TestCatalogueWaitsForWhoIsThenLost deletes a member's objects on the broker while the member
// is unreachable. The catalogue entry of its service must not change until the member counts as
// lost.
func TestCatalogueWaitsForWhoIsThenLost(t *testing.T) {
	waits(t)
	n, members := joinOver(t, 3)
	onBroker := n.broker.Admin
	shop(t, members...)
	alive, dying := members[0], members[2]
	export(t, alive, "web", "10.201.0.1", "")
	export(t, dying, "web", "10.203.0.1", "")
	catalogued(t, onBroker, "web", "sim1", "sim3")
	for _, m := range members {
		expect(t, "both are imported", m, "10.201.0.1", "10.203.0.1")
	}
	n.cutOff(dying.ID)
	planes.Delete(t, onBroker, objects.Record(dying.ID.String(), "shop", "web"))
	n.pods("10.203.0", false)
	expect(t, "the lost one's are withdrawn", alive, "10.201.0.1")
	catalogued(t, onBroker, "web", "sim1")
}

// TestCatalogueHasOneWriterFromTheBeginning lets a member export a service of another member
// whose heartbeat it has not seen yet. The other member stays the only writer of the entry.
func TestCatalogueHasOneWriterFromTheBeginning(t *testing.T) {
	waits(t)
	b, members := joinAll(t, 2, Options{})
	first, second := members[0], members[1]
	shop(t, members...)
	planes.Create(t, first.Client, objects.Service("shop", "web", 80), objects.Export("shop", "web")) // no slice that would name it
	catalogued(t, b.Admin, "web", "sim1")
	planes.NoError(t, first.Stop())
	planes.NoError(t, second.Stop())
	var wrote atomic.Int32
	second.options.Broker.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripperFunc(func(r *http.Request) (*http.Response, error) {
			if r.Method != http.MethodGet && strings.Contains(r.URL.Path, "/serviceimports") {
				wrote.Add(1)
			}
			return next.RoundTrip(r)
		})
	})
	planes.Delete(t, b.Admin, objects.Lease("sim1"))
	planes.NoError(t, second.Start(t.Context()))
	export(t, second, "web", "10.202.0.1", "")
	eventually(t, "both are imported", func(ctx context.Context) error {
		return planes.Imported(ctx, second.Client, "shop", "web", "sim1", "sim2")
	})
	planes.NoError(t, first.Start(t.Context()))
	catalogued(t, b.Admin, "web", "sim1", "sim2")
	if n := wrote.Load(); n > 0 {
		t.Errorf("the second has written %d times", n)
	}
}

// TestCatalogueFollowsWhatIsBelieved starts an agent that cannot accept a record because a user
// edited its import, and an agent that can. Then the broker's owner forbids an export.
func TestCatalogueFollowsWhatIsBelieved(t *testing.T) {
	waits(t)
	b, members := joinAll(t, 2, Options{})
	first, second := members[0], members[1]
	shop(t, members...)
	export(t, first, "web", "10.201.0.1", "")
	catalogued(t, b.Admin, "web", "sim1")
	export(t, second, "web", "10.202.0.1", "")
	catalogued(t, b.Admin, "web", "sim1", "sim2")
	expect(t, "both are imported", first, "10.201.0.1", "10.202.0.1")

	planes.NoError(t, first.Stop())
	imp, right := objects.Import("shop", "web"), ""
	planes.Change(t, first.Client, imp, func(o *mcsv1beta1.ServiceImport) {
		right = o.Annotations[names.AnnotationApplied]
		o.Annotations[names.AnnotationApplied] = fmt.Sprintf("sim2=%d", int64(1)<<50)
	})
	planes.Delete(t, b.Admin, objects.Entry("shop", "web", "", ""))
	planes.NoError(t, first.Start(t.Context()))
	planes.Until(t, "the import names the cluster that it waits for", first.Client, imp, func() error {
		if c := meta.FindStatusCondition(imp.Status.Conditions, "Ready"); c == nil || !strings.Contains(c.Message, "sim2") {
			return fmt.Errorf("%v", c)
		}
		return nil
	})
	planes.NoError(t, first.Stop())
	planes.Change(t, first.Client, imp, func(o *mcsv1beta1.ServiceImport) { o.Annotations[names.AnnotationApplied] = right })
	planes.NoError(t, first.Start(t.Context()))
	catalogued(t, b.Admin, "web", "sim1", "sim2")

	planes.Permit(t, b.Admin, map[string]string{"namespaces.sim2": "elsewhere"})
	catalogued(t, b.Admin, "web", "sim1")
}

// deafBody withholds data of a response after deaf is set.
type deafBody struct {
	io.ReadCloser
	ctx  context.Context
	deaf *atomic.Bool
}

func (b deafBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	if b.deaf.Load() {
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	return n, err
}
