package convergence

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	made "github.com/atoll-mcs/atoll/test/objects"
	"github.com/atoll-mcs/atoll/test/planes"
	"github.com/atoll-mcs/atoll/test/simulation"
)

// mischief is a fault of an API server that every controller must handle.
type mischief struct {
	// refuse is the response to the first write of each object; nil for none.
	refuse *apierrors.StatusError
	// late delays watch events, so that every cache is stale.
	late time.Duration
}

var untroubled = regexp.MustCompile("/(leases|memberclusters|events)")

func (m mischief) wrap() func(next http.RoundTripper) http.RoundTripper {
	var seen sync.Map
	return func(next http.RoundTripper) http.RoundTripper {
		return trip(func(r *http.Request) (*http.Response, error) {
			if m.refuse != nil && r.Method != http.MethodGet && !untroubled.MatchString(r.URL.Path) {
				if _, again := seen.LoadOrStore(keyOfWrite(r), true); !again {
					return refusal(r, m.refuse)
				}
			}
			response, err := next.RoundTrip(r)
			if err == nil && m.late > 0 && r.URL.Query().Get("watch") != "" {
				response.Body = lateBody{response.Body, m.late}
			}
			return response, err
		})
	}
}

// keyOfWrite identifies the object of a write. For a creation the name is in the body, not in
// the path.
func keyOfWrite(r *http.Request) string {
	key := r.Method + " " + r.URL.Path
	if r.Method != http.MethodPost || r.Body == nil {
		return key
	}
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	var object metav1.PartialObjectMetadata
	if json.Unmarshal(body, &object) == nil && object.Name != "" {
		return key + "/" + object.Name
	}
	return key + "/" + fmt.Sprint(len(body))
}

// lateBody is a watch with delayed events.
type lateBody struct {
	io.ReadCloser
	by time.Duration
}

// Read returns data after a delay.
func (b lateBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	<-time.After(b.by)
	return n, err
}

// TestExportsCope exports, changes and deletes a service while API servers misbehave: the first
// write of every object fails (conflict, quota, internal error), or every cache is stale. The
// other cluster must follow every change.
func TestExportsCope(t *testing.T) {
	conflict := apierrors.NewConflict(schema.GroupResource{}, "", errors.New("mischief"))
	for name, m := range map[string]mischief{
		"nothing":          {},
		"conflicts":        {refuse: conflict},
		"refusals":         {refuse: apierrors.NewForbidden(schema.GroupResource{}, "", errors.New("mischief"))},
		"failures":         {refuse: apierrors.NewInternalError(errors.New("mischief"))},
		"caches behind":    {late: 700 * time.Millisecond},
		"both, and behind": {refuse: conflict, late: 300 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T) { cope(t, m) })
		})
	}
}

func cope(t *testing.T, m mischief) {
	t.Cleanup(func() { <-time.After(2 * m.late) }) // until the last events have come
	p := newPair(t, simulation.Options{Args: []string{"--service-grace=1s"}, Wrap: m.wrap()})
	const limit = 2 * time.Minute
	p.export("web", "10.1.1.1")
	export := made.Export("shop", "web")
	p.within("the import", limit, p.imported(p.from, "10.1.1.1"), p.imported(p.to, "10.1.1.1"), func() error {
		planes.Read(t, p.from, export)
		if !meta.IsStatusConditionTrue(export.Status.Conditions, "Ready") {
			return fmt.Errorf("the export's conditions are %v", export.Status.Conditions)
		}
		return nil
	})
	vip := p.vip(p.to)
	p.roll("web", "10.1.1.2")
	p.within("another endpoint", limit, p.imported(p.to, "10.1.1.2"))
	planes.Delete(t, p.to, made.Service("shop", "web-clusterset"))
	p.within("the derived Service again", limit, p.imported(p.to, "10.1.1.2"))
	if now := p.vip(p.to); now != vip {
		t.Errorf("the clusterset IP was %s and is %s", vip, now)
	}
	p.unexport("web")
	p.within("the end", limit, p.ended)
}
