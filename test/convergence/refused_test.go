package convergence

import (
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	brokerv1alpha1 "github.com/atoll-mcs/atoll/api/broker/v1alpha1"
	"github.com/atoll-mcs/atoll/internal/broker"
	"github.com/atoll-mcs/atoll/test/planes"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// TestWhatIsRefusedForLongIsNotGone deletes all published objects of a member on the broker and
// refuses new ones for half an hour, as with a reduced quota. The backends are alive, so the
// service stays imported. After the broker accepts writes again, the import ends when the
// export ends.
func TestWhatIsRefusedForLongIsNotGone(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		var full atomic.Bool
		p := newPair(t, simulation.Options{Wrap: func(next http.RoundTripper) http.RoundTripper {
			return trip(func(r *http.Request) (*http.Response, error) {
				create := r.Method == http.MethodPost && (strings.HasSuffix(r.URL.Path, "/exportedservices") || strings.HasSuffix(r.URL.Path, "/endpointslices"))
				if create && full.Load() && strings.Contains(r.URL.Path, "/namespaces/"+broker.DefaultNamespace+"/") {
					return refusal(r, apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("exceeded quota")))
				}
				return next.RoundTrip(r)
			})
		}})
		p.export("web", "10.1.1.1")
		imported := p.imported(p.to, "10.1.1.1")
		p.within("the import", time.Minute, imported)
		full.Store(true)
		in := client.InNamespace(broker.DefaultNamespace)
		planes.NoError(t, p.admin.DeleteAllOf(t.Context(), &discoveryv1.EndpointSlice{}, in))
		planes.NoError(t, p.admin.DeleteAllOf(t.Context(), &brokerv1alpha1.ExportedService{}, in))
		for began := time.Now(); time.Since(began) < 30*time.Minute; <-time.After(5 * time.Second) {
			if err := imported(); err != nil {
				t.Fatalf("after %v: %v", time.Since(began), err)
			}
		}
		full.Store(false)
		p.within("the service is published again", 2*time.Minute, func() error {
			list := &discoveryv1.EndpointSliceList{}
			if err := p.admin.List(t.Context(), list, in); err != nil || len(list.Items) == 0 {
				return errors.Join(err, errors.New("no EndpointSlice is published"))
			}
			return nil
		})
		p.unexport("web")
		p.within("the end", 2*time.Minute, p.ended)
	})
}
